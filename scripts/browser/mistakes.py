"""Cells that readers write, and what they must see below them."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
FIRST = re.search(r"```go\n(.*?)```", README, re.DOTALL)[1]
HEAD = FIRST.partition("%%")[0].strip()
FED = "fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.MLP(16)))"
LOCAL = "Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}"


def training(options, then, strategy=f"&strategy.FedAvg{{{LOCAL}}}"):
    """A cell that runs a strategy with these options."""
    return f"%%\n{FED}\nh := must.M1(fedkit.Run(context.Background(), fed, {strategy}, fedkit.Options{{{options}}}))\n{then}"


MISTAKES = {
    "name": (training("Rounds: 3", "plot.Acuracy(h).Show()"), [r"Line 4.*undefined: plot\.Acuracy"], []),
}
