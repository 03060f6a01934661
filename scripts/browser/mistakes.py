"""Cells that readers write, and what they must see below them."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
FIRST = re.search(r"## A first cell\n.*?```go\n(.*?)```", README, re.DOTALL)[1]
HEAD = 'import "fmt"'  # starts the kernel; what cells use of fedkit is imported by itself
FED = "fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.MLP(16)))"
LOCAL = "Local: fedkit.Local{Epochs: 1, Batch: 16, LR: 0.1}"


def training(options, then, strategy=f"&strategy.FedAvg{{{LOCAL}}}"):
    """A cell that runs a strategy with these options."""
    return f"%%\n{FED}\nh := must.M1(fedkit.Run(context.Background(), fed, {strategy}, fedkit.Options{{{options}}}))\n{then}"


# A cell that trains again when its slider is moved.
EXPLORE = """import (
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/notebook"
)

%%
notebook.Explore(func(alpha float64) chart.Row {
	fed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: alpha}, model.MLP(64)))
	h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 20}))
	return chart.Row{plot.Accuracy(h).Titled(fmt.Sprintf("α is %v", alpha)), plot.Labels(fed)}
}, notebook.Range{Name: "α", From: 0.1, To: 10, Start: 0.3, Log: true})"""

OWN = """type Mine struct {
	Local fedkit.Local
	State struct{ X *fedkit.Matrix }
}

func (s *Mine) Start(r *fedkit.Round) error { s.State.X = r.Models(1); return r.Err() }

func (s *Mine) Round(r *fedkit.Round) error {
	var weights []float64
	u := r.Train(fedkit.Job{Clients: r.Select(nil, 1), Start: s.State.X, Local: s.Local})
	s.State.X = s.State.X.Add(u.Delta().Mean(u.Examples()).Scale(weights[3]))
	return r.Err()
}

func (s *Mine) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }

"""

# By name: the cell, what is seen below it, and what is not.
STACK = r"goroutine \d|\.go:\d+ \+0x|Panicking|gonb_\w+/|failed to run"
DRAW = "plot.Accuracy(h).Show()"
MISTAKES = {
    "typo": (training("Rounds: 3", "plot.Acuracy(h).Show()"), [r"Line 4.*undefined: plot\.Acuracy", r"did you mean Accuracy\?"], []),
    "field": (
        training("Rounds: 3", DRAW, f"&strategy.FedAvg{{Fracton: 0.5, {LOCAL}}}"),
        [r"Line 3.*unknown field Fracton", r"did you mean Fraction\?", r"Fraction +C, share of the clients in a round, in \(0, 1\]; default all", "Selector", "Aggregator"],
        [],
    ),
    "unused": (training("Rounds: 3", ""), [r"Line 3.*declared and not used: h", "alone on the last line, a variable is shown"], []),
    "type": (training("Rounds: 3", DRAW, f'&strategy.FedAvg{{Fraction: "half", {LOCAL}}}'), [r'Line 3.*cannot use "half" .*as float64 value'], []),
    "pointer": (training("Rounds: 3", DRAW, f"strategy.FedAvg{{{LOCAL}}}"), [r"write &strategy\.FedAvg\{…\}"], []),
    "must": (f"%%\nfed := fedkit.New(datasets.Digits(), partition.IID{{Clients: 5}}, model.MLP(16))\nfed", [r"must\.M1\("], []),
    "earlier": ("%%\nplot.Accuracy(h).Show()", [r"Line 2.*undefined: h", "a cell is a program of its own", r"fedkit\.Load", r"study\.New"], []),
    "main": ('fmt.Println("no main")', [r"Line 1.*expected declaration", r"write %% above fmt\.Println"], [STACK]),
    "python": ("%%\nfor i in range(3):\n\tfmt.Println(i)", [r"Line 2", r"Go writes for i := range 3 \{ … \}$"], [STACK]),
    "option": (training("Rounds: 3", DRAW, f"&strategy.FedAvg{{Fraction: 2, {LOCAL}}}"), [r"^error: fedkit: FedAvg: invalid: Fraction = 2: must be in \(0, 1\]", r"Cell \[\d+\] Line 3"], [STACK]),
    "panic": (OWN + training("Rounds: 3", DRAW, f"&Mine{{{LOCAL}}}"), [r"^error: fedkit: Mine: round 1: .*index out of range \[3\]", r"Cell \[\d+\] Line 11"], [STACK]),
    "index": ("%%\na, i := []int{1}, 3\nfmt.Println(a[i])", [r"^panic: runtime error: index out of range \[3\] with length 1", r"Cell \[\d+\] Line 3"], [STACK]),
}
