"""What a reader sees below a cell of the kernel "Go (fedkit)": values of last lines, hints on mistakes, panics, help.

Run by ./scripts/test scripts, or in scripts/ by python -m unittest cells_test.
"""

import html
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import nbformat
from jupyter_client.manager import KernelManager
from nbformat.v4 import new_code_cell, new_notebook

ROOT = Path(__file__).resolve().parent.parent
IMPORTS = """
import (
	"context"
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/plot"
	"fedkit.example/fedkit/strategy"
	"github.com/janpfeifer/must"
)

type Row = chart.Row

func federation() *fedkit.Federation {
	return must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.LogisticRegression()))
}

func run(s fedkit.Strategy) (*fedkit.History, error) {
	return fedkit.Run(context.Background(), federation(), s, fedkit.Options{Rounds: 2})
}
"""
FIGURE = "application/vnd.vegalite.v5+json"
MINE = """
type Mine struct{ State struct{ X *fedkit.Matrix } }

func (s *Mine) Start(r *fedkit.Round) error {
	s.State.X = r.Models(1)
	return r.Err()
}

func (s *Mine) Round(r *fedkit.Round) error {
	empty := []int{}
	empty[r.T] = 1
	return r.Err()
}

func (s *Mine) Serve(*fedkit.Round) fedkit.Serving { return fedkit.Serving{Global: s.State.X} }
%%
must.M1(run(&Mine{}))
"""

BAD = """
type Bad struct {{ strategy.State }}

func (s *Bad) Round(r *fedkit.Round) error {{
	u := r.Train(fedkit.Job{{Clients: r.AllClients(), Start: s.X}})
	s.X = {}
	_ = u
	return r.Err()
}}
%%
{}
"""


class Cell:
    """What a cell has shown: text, as a reader sees it, and the MIME types of its displays; ok if it ended without an error."""

    def __init__(self):
        self.text, self.types, self.ok = "", [], True

    def see(self, message):
        content = message["content"]
        match message["msg_type"]:
            case "stream":
                self.text += re.sub(r"\x1b\[\d*m", "", content["text"])
            case "display_data" | "update_display_data" | "execute_result":
                data = content["data"]
                self.types += data
                self.text += html.unescape(re.sub(r"<[^>]*>", "", data["text/html"])) if "text/html" in data else data.get("text/plain", "") + "\n"
            case "error":
                self.text += re.sub(r"\x1b\[\d*m", "", "\n".join(content["traceback"]))
                self.ok = False


class Cells(unittest.TestCase):
    maxDiff = None

    @classmethod
    def start(cls, **env):
        manager = KernelManager(kernel_name="fedkit")
        manager.start_kernel(env={**os.environ, "FEDKIT_HELP": "off", "TMPDIR": cls.folder, **env}, cwd=cls.folder)
        cls.addClassCleanup(manager.shutdown_kernel, now=True)
        client = manager.client()
        client.start_channels()
        cls.addClassCleanup(client.stop_channels)
        client.wait_for_ready(timeout=600)
        return client

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="fedkit-cells-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.helped = cls.start(FEDKIT_HELP="on")  # its gopls gets ready meanwhile
        cls.kernel, cls.plain = cls.start(), cls.start()
        imported = cls.run_cell(IMPORTS)
        assert imported.ok, imported.text

    @classmethod
    def run_cell(cls, source, kernel=None):
        cell = Cell()
        (kernel or cls.kernel).execute_interactive(source, timeout=600, output_hook=cell.see)
        return cell

    def shows(self, source, text="", figure=False, kernel=None):
        """The cell ends well; it shows this text and nothing else, and a figure or none."""
        cell = self.run_cell(source, kernel)
        self.assertTrue(cell.ok, cell.text)
        self.assertEqual(FIGURE in cell.types, figure, cell.types)
        self.assertRegex(cell.text.strip(), f"^(?s:{text})$")

    def fails(self, source, *parts, without=(), kernel=None):
        """The cell fails, and the reader sees these parts in this order, and neither folders nor commands."""
        cell = self.run_cell(source, kernel)
        self.assertFalse(cell.ok, cell.text)
        self.assertNotRegex(cell.text, r"gonb_\w+/|failed to run")
        at = 0
        for part in parts:
            found = cell.text.find(part, at)
            self.assertGreaterEqual(found, 0, f"no {part!r} in\n{cell.text}")
            at = found + len(part)
        for part in without:
            self.assertNotIn(part, cell.text)
        return cell.text

    def ask(self, request, marked, wanted):
        """Asks again while gopls starts, and returns how long the answer took. The cursor is at the bar."""
        end, source = time.monotonic() + 600, marked.replace("|", "")
        while True:
            begin = time.monotonic()
            answer = getattr(self.helped, request)(source, marked.index("|"), reply=True, timeout=600)["content"]
            said = answer.get("data", {}).get("text/markdown", "") + " ".join(answer.get("matches", []))
            if re.search(wanted, said, re.DOTALL):
                return time.monotonic() - begin
            self.assertLess(time.monotonic(), end, f"{marked!r}: no {wanted!r} in {said!r}")
            time.sleep(0.5)

    def test_last_line(self):
        head = r"FedAvg on digits: 5 clients, IID; .*\n +round +clients .*\n +2 +5 .*\nTest accuracy: FedAvg .* at round 2"
        self.shows("%%\nh := must.M1(run(&strategy.FedAvg{}))\nh", head, figure=True)
        self.shows("%%\nrun(&strategy.FedAvg{})", head, figure=True)
        self.shows("%%\nfederation()", r"digits: 5 clients, IID; .*parameters\nLabels of each client's training rows: 5 clients with 10 of 10 labels each", figure=True)
        self.shows("%%\nplot.Sizes(federation())", "Training rows.*", figure=True)
        self.shows("%%\nplot.Labels(federation()).Show()", "Labels of each client's training rows: 5 clients with 10 of 10 labels each", figure=True)
        self.shows("%%\nmust.M1(federation().Models(2, 0))", r"a matrix \[2, 650\]")
        self.shows("%%\n&fedkit.Updates{Models: must.M1(federation().Models(2, 0))}", r"&fedkit.Updates\{Models: a matrix \[2, 650\]\}")
        self.shows("%%\ndatasets.TestPart", "test part")
        self.shows("%%\n&strategy.FedAvg{Fraction: 0.5, Local: fedkit.Local{Epochs: 2}}", r"&strategy.FedAvg\{Fraction: 0.5, Local: fedkit.Local\{Epochs: 2\}\}")

    def test_imports(self):
        """What a cell uses of fedkit and of Go is imported by itself, and nowhere to be seen; a variable of a package's name stays one."""
        fed = "fed := must.M1(fedkit.New(datasets.Digits(), partition.IID{Clients: 5}, model.LogisticRegression()))\n"
        run = "h := must.M1(fedkit.Run(context.Background(), fed, &strategy.FedAvg{}, fedkit.Options{Rounds: 2}))\n"
        self.shows("%%\n" + fed + run + "plot.Accuracy(h).Show()", "Test accuracy: .*", figure=True, kernel=self.plain)
        self.shows("%%\nmodel, plot := struct{ Rounds int }{3}, math.Sqrt(4)\n_ = plot // plot.Show\nmodel.Rounds", "3", kernel=self.plain)
        self.shows('import model "strings"\n%%\nmodel.ToUpper("a")', "A", kernel=self.plain)
        self.fails("%%\n\nplot.Acuracy(nil)", "Line 3", "undefined: plot.Acuracy\n", "did you mean Accuracy? package plot has, among others:", kernel=self.plain)

    def test_plain_last_line(self):
        """Nothing of fedkit is linked into a cell that does not use it."""
        shows = lambda source, text="": self.shows(source, text, kernel=self.plain)
        shows("%%\n1 + 2", "3")
        shows('%%\n"a" + "b" // a comment', "ab")
        shows("%%\n[]int{\n\t1,\n\t2,\n}", r"\[1 2\]")
        shows('%%\nfmt.Println("once")', "once")
        shows("%%\nnew(sync.Mutex).Lock()")
        shows("%%\nx := 1\n_ = x")
        shows("func twice(x int) int { return 2 * x }\nfunc nothing() {}")
        shows("%%\nnothing()")
        shows("%%\ntwice(4)", "8")
        shows("%%\ntwice", r"func\(int\) int: a function; parentheses after its name call it")
        shows('!stat -c %s $GONB_TMP_DIR/gonb_* | awk \'{ print ($1 < 4e6 ? "small" : $1) }\'', "small")
        shows('%test\nimport "testing"\nfunc TestTwice(t *testing.T) { if twice(2) != 4 { t.Fail() } }', "=== RUN.*PASS")
        shows('import "fedkit.example/fedkit/table"\n%%\n&table.Table{Lines: [][]string{{"rule", "mean"}, {"accuracy", "0.9"}}}', r"rulemean\naccuracy0.9")

    def test_hints(self):
        self.fails(
            "%%\navg := &strategy.FedAvg{\n\tFracton: 0.5,\n}\navg",
            "Line 3", "unknown field Fracton in struct literal of type strategy.FedAvg\n",
            "did you mean Fraction? strategy.FedAvg has:", "Fraction    C, share of the clients in a round, in (0, 1]; default all",
            "Selector    chooses the cohort; default uniformly at random", without=["# gonb_"],
        )  # fmt: skip
        self.fails("%%\nplot.Acuracy(nil).Show()", "Line 2", "undefined: plot.Acuracy\n", "did you mean Accuracy? package plot has, among others:")
        self.fails("%%\nfmt.Println(strateg.FedAvg{})", "undefined: strateg\n", "did you mean strategy?")
        self.shows("%%\nkept := 1\nkept", "1")
        self.fails("%%\nfmt.Println(kept)", "Line 2", "undefined: kept\n", "kept was a variable of an earlier cell, and a cell is a program of its own", "fedkit.Options{History: ", "fedkit.Load(", "study.New(")
        self.fails("%%\nz = 1\nfmt.Println(z)", "undefined: z\n", "to declare it: z := …")
        self.fails("%%\nx := 1", "Line 2", "declared and not used: x\n", "alone on the last line, a variable is shown; _ = x uses x, too")
        self.fails("%%\nmust.M1(run(strategy.FedAvg{}))", "method Round has pointer receiver)\n", "write &strategy.FedAvg{…}")
        self.fails("type Empty struct{}\n%%\nrun(&Empty{})", "(missing method Round)\n", "fedkit.Strategy wants the method Round(r *Round) error")
        self.fails("%%\nh := run(&strategy.FedAvg{})\nh", "assignment mismatch: 1 variable but run returns 2 values\n", "must.M1(run(…)) ends the cell with it")
        self.fails("%%\nrun(&strategy.FedAvg{}).Accuracy()", "in single-value context\n", "must.M1(run(…))")
        self.fails("%%\nfedkit.Run(federation(), &strategy.FedAvg{}, fedkit.Options{Rounds: 1})", "not enough arguments in call to fedkit.Run", "context.Background()")
        self.fails("%%\nfmt.Println(True, None)", "undefined: True\n", "Go writes true", "undefined: None\n", "Go writes nil")
        self.fails("%%\nn := 3\nfmt.Println(n * 0.5)", "truncated to int\n", "float64(n) * 0.5")
        self.fails('import "fedkit.example/fedkit/stratgy"\n%%\nfmt.Println(stratgy.FedAvg{})', "Line 1", 'did you mean "fedkit.example/fedkit/strategy"?', without=["go get"])
        self.fails('%test\nfunc TestHint(t *testing.T) { fmt.Println(strategy.FedAvgg{}) }', "Line 2", "undefined: strategy.FedAvgg\n", "did you mean FedAvg?")

    def test_first_mistakes(self):
        """What Go's parser refuses: one line says where, and one what is meant. The others are in fedkit/cmd/cell/mistakes_test.go."""
        fails = lambda source, where, meant: self.assertRegex(self.fails(source, where, kernel=self.plain), rf"^Cell\[\d+\]: {where}: .*\n +{meant}$")
        fails('fmt.Println("no main")', "Line 1", r"what runs stands below a line %%.*: write %% above fmt\.Println\(\"no main\"\)")
        fails("%%\nfor i in range(3):\n\tfmt.Println(i)", "Line 2", r"Go writes for i := range 3 \{ … \}")
        fails("%%\nx := 1 # one", "Line 2", "a comment begins with //, not with #")
        fails("%%\nfmt.Println('text')", "Line 2", 'text stands in double quotes: "text"')
        fails("%%\nfunc twice(x int) int { return 2 * x }", "Line 2", "functions stand above %%: move twice there, .*")
        fails("%%\nfor i := range 3 {\n\tfmt.Println(i)", "Line 3", "a {, .* is opened above and never closed")

    def test_after_a_restart(self):
        """A name that stands in a cell above, which has not run."""
        path = Path(self.folder, "restarted.ipynb")
        nbformat.write(new_notebook(cells=[new_code_cell("func run(x int) int { return x }"), new_code_cell("%%\nrun(3)")]), path)
        self.fails("%%\nrun(3)", "undefined: run\n", "func run(x int) int stands in a cell that has not run", kernel=self.start(JPY_SESSION_NAME=str(path)))

    def test_what_ended_a_cell(self):
        self.fails(
            '%%\nfed := must.M1(fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: -1}, model.LogisticRegression()))\nfed',
            "error: partition.Dirichlet: Alpha = -1: must be a number > 0\n\tmain.main  [[ Cell [", "Line 2 ]]", without=["goroutine", "Panicking", "must.go"],
        )  # fmt: skip
        self.fails(MINE, "error: fedkit: Mine: round 1: panic: runtime error: index out of range [1] with length 0\n\tmain.(*Mine).Round  [[ Cell [", "Line 11 ]]", without=["goroutine"])
        self.fails("%%\nrun(&strategy.FedAvg{Fraction: 2})", "error: fedkit: FedAvg: ", "Fraction = 2", "Line 2 ]]")  # nobody looked at its error
        fails = lambda *given, **named: self.fails(*given, **named, kernel=self.plain)
        fails("%%\nempty := []int{}\nfmt.Println(1)\nempty[3] = 1", "panic: runtime error: index out of range [3] with length 0\n\tmain.main  [[ Cell [", "Line 4 ]]", without=["goroutine"])
        fails('%%\ngo func() { panic("elsewhere") }()\nselect {}', "panic: elsewhere", "main.main.func1()", "panic: elsewhere")
        fails("%%\nos.Exit(3)", "exit status 3")
        fails("%%\nsyscall.Kill(os.Getpid(), syscall.SIGKILL)\nselect {}", "the cell was killed (signal: killed): the system does that when memory is short")

    def test_mistakes_with_matrices(self):
        """Each says what is wrong and in which line, and the kernel lives on."""
        for formula, wrong in {
            "u.Models.Take(20)": "invalid: Matrix.Take: row 20 ",
            "s.X.Sub(u.Models.Columns(0, 5))": "invalid: Matrix.Sub: [1, 650] and [5, 5] do not fit",
            "u.Models.Mean([]float64{1})": "invalid: Matrix.Mean: ",
            "s.X.Add(nil)": "invalid: the matrix is nil",
        }.items():
            where = ("\n\tmain.(*Bad).Round  [[ Cell [", "Line 6 ]]")
            self.fails(BAD.format(formula, "must.M1(run(&Bad{}))"), "error: fedkit: Bad: round 1: ", wrong, *where, without=["goroutine"])
        self.shows(BAD.format("u.Models.Take(20)", "_, err := run(&Bad{})\nfmt.Println(err)"), r"fedkit: Bad: round 1: State.X: invalid: Matrix.Take: row 20 .*\n\tmain.\(\*Bad\).Round main.go:\d+")
        self.fails("%%\nmust.M1(federation().Models(2, 0)).Take(5).Err()", "error: invalid: Matrix.Take: row 5 ", "\n\tmain.main  [[ Cell [", "Line 2 ]]")

    def test_any_text(self):
        """Text that looks like places in the code, and much of it."""
        shows = lambda source, text="": self.shows(source, text, kernel=self.plain)
        shows('%%\nlog.SetFlags(log.LstdFlags | log.Lshortfile)\nlog.Print("hello")', r"\S+ \S+ main.go:\d+: hello")
        long = "9" * 20
        lines = ["a: b: c (main.go:26)", "a:b:0:main.go:2:0: x", "main.go:2:-7: x", f"a:b:{long}: main.go:3", f"main.go:{long}", f"main.go:3:{long}: x", ":: main.go:4", "main_test.go:0:0: x"]
        text = re.escape("\n".join(lines))
        shows("%%\nfmt.Fprintln(os.Stderr, `" + "\n".join(lines) + "`)", text)
        self.fails("%%\ngo panic(errors.New(`" + "\n".join(lines) + "`))\nselect {}", "a: b: c (main.go:26)", "goroutine ", kernel=self.plain)
        self.fails("%%\nvar x int = `\n" + "\n".join(lines) + "`", "Line 2", "cannot use", kernel=self.plain)
        self.fails("%%\nvar x int `\n" + "\n".join(lines) + "`", "Line 2", "expected ';', found `", kernel=self.plain)
        cell = self.run_cell('%%\nfor i := range 1_000_000 { fmt.Println("line", i) }', self.plain)
        self.assertRegex(cell.text, r"^line 0\nline 1\n(?s:.*)\n… lines left out: 9\d{5} …\nline 9\d{5}\n(?s:.*)\nline 999999\n$")
        self.assertLess(len(cell.text), 600_000)

    def test_with_help(self):
        """Shift-Tab says what a name of any kind means, and Tab offers the fields of a literal, which need not be closed."""
        kernel, ask = self.helped, self.ask
        ask("complete", "%%\n_ = &selection.|", r"\bOnePerCluster\b")  # nothing is imported yet
        ask("complete", "%%\n_ = &strategy.FedAvg{Fraction: 0.5, Sel|", r"^Selector$")
        ask("inspect", "%%\nstrategy.Fed|Avg{}", r"type FedAvg struct")
        self.run_cell(IMPORTS, kernel)
        inspect = lambda marked, wanted: ask("inspect", "%%\n" + marked, wanted)
        inspect("fedkit.Ru|n()", r"func fedkit\.Run\(.*Run runs the strategy")
        inspect("strategy.Fed|Avg{}", r"type FedAvg struct.*Σ_\{i∈S\}")
        inspect("_ = strategy.FedAvg{Frac|tion: 0.5}", r"field Fraction float64.*default all")
        inspect("_ = fedkit.Local{Epo|chs: 2}", r'default:"1".*passes over the client')
        inspect("h := &fedkit.History{}\nh.Acc|uracy()", r"Accuracy returns the accuracy of the last evaluated round")
        inspect("_ = fedkit.FullBa|tch", r"uses all of a client's examples")
        inspect("fed|kit.New()", r"Package fedkit is a toolkit")
        inspect("plot.Show(|)", r"Show shows any values")
        ask("complete", "%%\n_ = strategy.FedAvg{|}", r"\bFraction Selector Local Aggregator\b")
        ask("complete", "%%\n_ = &strategy.FedAvg{Fraction: 0.5, Sel|", r"^Selector$")
        ask("complete", "%%\nh := must.M1(fedkit.Run(context.Background(), nil, &strategy.FedAvg{}, fedkit.Options{|", r"^Rounds Seed\b")
        took = ask("complete", "%%\nplot.Acc|", r"^Accuracy ClientAccuracy$")
        self.assertLess(took, 5)  # half a second, if nothing else runs on the machine

    def test_start_without_go(self):
        """A kernel that cannot start says why in a line."""
        bare = tempfile.mkdtemp(dir=self.folder)
        for name in ("bash", "dirname"):
            os.symlink(shutil.which(name), Path(bare, name))
        start = subprocess.run(["bash", ROOT / "scripts/kernel/start.sh", "none"], env={"PATH": bare}, capture_output=True, text=True)
        self.assertEqual((start.returncode, start.stderr), (1, "the fedkit kernel needs Go (https://go.dev/dl): no 'go' on PATH\n"))


if __name__ == "__main__":
    unittest.main()
