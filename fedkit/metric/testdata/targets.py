"""Numbers for targets_test.go: metrics of random tags and values by scikit-learn.

Run with scikit-learn 1.9.1 and NumPy 2.4.6; writes targets.json beside itself. Outputs and values are drawn from NumPy's PCG64 and
rounded to float32, so that Go can read them exactly.
"""

import json
import pathlib

import numpy as np
from sklearn.metrics import f1_score, mean_absolute_error, r2_score, root_mean_squared_error

rng = np.random.default_rng(12)
measures = {"r2": r2_score, "rmse": root_mean_squared_error, "mae": mean_absolute_error}
cases = []
for n, t in (40, 3), (7, 2), (30, 1):
    outputs = rng.normal(size=(n, t)).astype(np.float32)
    tags = rng.integers(0, 2, size=(n, t))
    values = (outputs + 0.7 * rng.normal(size=(n, t))).astype(np.float32)
    f1 = f1_score(tags, outputs > 0, average="micro") if t > 1 else f1_score(tags[:, 0], outputs[:, 0] > 0)
    cases.append({"outputs": outputs.astype(float).tolist(), "tags": tags.ravel().tolist(), "values": values.astype(float).ravel().tolist(),
                  "f1": f1, **{name: measure(values.astype(np.float64), outputs.astype(np.float64)) for name, measure in measures.items()}})
pathlib.Path(__file__).with_name("targets.json").write_text(json.dumps(cases))
