"""Numbers for server_test.go: what Flower's own strategies do with ten parameters in 20 rounds.

Run with flwr 1.41.0 and NumPy; writes flower.json beside itself. The updates are drawn from NumPy's PCG64 and rounded
to float32, so that Go can read them exactly. Flower starts v at 0, arXiv 2003.00295 at tau^2. "v0" says which of the two a
case has; for the second, the strategy's own v_t is set before the first round.
"""

import json
import pathlib
from types import SimpleNamespace

import numpy as np
from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAdagrad, FedAdam, FedAvgM, FedYogi

ROUNDS, D = 20, 10
rng = np.random.default_rng(7)
start = rng.normal(size=D).astype(np.float32)
# Updates of very different sizes, some smaller than tau, with a common direction that momentum can find.
size = np.logspace(-4, 0.5, D)
deltas = ((0.5 + rng.normal(size=(ROUNDS, D))) * size).astype(np.float32)


def play(strategy, v0):
    x, track = start.astype(np.float64), []
    if v0:
        strategy.v_t = {"x": np.full(D, v0)}
    for t in range(1, ROUNDS + 1):
        arrays = ArrayRecord({"x": Array(x)})
        if isinstance(strategy, FedAvgM):
            if strategy.current_arrays is None:
                strategy.current_arrays = arrays
        else:
            strategy.current_arrays = {"x": x}
        arrived = ArrayRecord({"x": Array(x + deltas[t - 1])})
        content = RecordDict({"arrays": arrived, "metrics": MetricRecord({"num-examples": 1.0})})
        reply = SimpleNamespace(content=content, has_error=lambda: False)  # a real Message needs a running task
        new, _ = strategy.aggregate_train(t, [reply])
        x = new["x"].numpy()
        track.append(x.tolist())
    return track


tau = 1e-3
cases = []
for name, make, options, v0 in [
    ("FedAvgM", FedAvgM, dict(server_learning_rate=0.7, server_momentum=0.9), 0),
    ("FedAvgM", FedAvgM, dict(server_learning_rate=1.0, server_momentum=0.0), 0),
    ("FedAdagrad", FedAdagrad, dict(eta=0.1, tau=tau), tau**2),
    ("FedAdagrad", FedAdagrad, dict(eta=0.1, tau=1e-9), 0),
    ("FedAdam", FedAdam, dict(eta=0.1, beta_1=0.9, beta_2=0.99, tau=tau), tau**2),
    ("FedAdam", FedAdam, dict(eta=0.1, beta_1=0.9, beta_2=0.99, tau=1e-9), 0),
    ("FedYogi", FedYogi, dict(eta=0.01, beta_1=0.9, beta_2=0.99, tau=tau), tau**2),
    ("FedYogi", FedYogi, dict(eta=0.01, beta_1=0.9, beta_2=0.99, tau=1e-9), 0),
]:
    cases.append({"strategy": name, "options": options, "v0": v0, "x": play(make(**options), v0)})

out = {"start": start.tolist(), "deltas": deltas.tolist(), "cases": cases}
pathlib.Path(__file__).with_name("flower.json").write_text(json.dumps(out) + "\n")
