package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test program is the command itself if FEDKIT_COMMAND is set. Under the race detector the plugin's destructors abort
// when a process exits normally.
func TestMain(m *testing.M) {
	if os.Getenv("FEDKIT_COMMAND") != "" {
		syscall.Exit(execute(os.Args[1:], standard()))
	}
	syscall.Exit(m.Run())
}

// do runs the command in this process.
func do(args ...string) (status int, out, err string) {
	var o, e bytes.Buffer
	status = execute(args, &console{out: &o, err: &e})
	return status, o.String(), e.String()
}

// process returns the command as a process.
func process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), "FEDKIT_COMMAND=1")
	return c
}

// small is a run of a second.
var small = []string{"run", "--data", "Digits", "--partition", "IID Clients=4", "--model", "MLP Hidden=4", "--rounds", "2"}

func with(args []string, more ...string) []string { return append(args[:len(args):len(args)], more...) }

// Each mistake ends with status 2, a message that names what is allowed or meant, and nothing printed or written.
func TestMistakesAreRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{"broken.yaml": "strategy: {type: [", "section.yaml": "stratgy: FedAvg\n", "twice.yaml": "data: Digits\nData: MNIST\n", "list.yaml": "- a\n", "empty.yaml": "# nothing\n"} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := os.ReadDir(dir)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"did you mean FedProx?", with(small, "--strategy", "FedPox")},
		{"Strategy.Mo = 0.1: must be an option of strategy.FedProx (did you mean Mu?)", with(small, "--strategy", "FedProx Mo=0.1")},
		{"Strategy.Local.LR = fast: must be a number", with(small, "--strategy", "FedProx Local.LR=fast")},
		{"Fraction = 2: must be in (0, 1]", with(small, "--strategy", "FedAvg Fraction=2", "--checkpoint", at("new/checkpoint"), "--save", at("new/history"))},
		{"did you mean MNIST?", with(small, "--strategy", "FedAvg", "--data", "MNST")},
		{"Beta = -1: must be at least 0", with(small, "--strategy", "FedAvg", "--data", "Synthetic Beta=-1")},
		{"did you mean Dirichlet?", with(small, "--strategy", "FedAvg", "--partition", "dirichle")},
		{"Alpha = 0: must be > 0", with(small, "--strategy", "FedAvg", "--partition", "Dirichlet Clients=4")},
		{"did you mean Clients?", with(small, "--strategy", "FedAvg", "--partition", "clint=4")},
		{"Clients = 9999", with(small, "--strategy", "FedAvg", "--partition", "Clients=9999")},
		{"did you mean LeNet?", with(small, "--strategy", "FedAvg", "--model", "LaNet")},
		{"did you mean SignFlip?", with(small, "--strategy", "FedAvg", "--attack", "By=SingFlip")},
		{"share = 2: must be in [0, 1]", with(small, "--strategy", "FedAvg", "--attack", "By=SignFlip Share=2")},
		{"attack.Share = nothing: must be given", with(small, "--strategy", "FedAvg", "--attack", "By=SignFlip")},
		{"hold out: invalid: n = 99: must be in [1, ", with(small, "--strategy", "FedAvg", "--holdout", "Clients=99")},
		{"hold out: invalid: n = 0: must be in [1, ", with(small, "--strategy", "FedAvg", "--holdout", "Seed=1")},
		{"did you mean Devices?", with(small, "--strategy", "FedAvg", "--devices", "Device")},
		{"Up: Constant = -1: must be a number ≥ 0", with(small, "--strategy", "FedAvg", "--devices", "Devices Up=-1")},
		{"Pace.OverSelection = -1: must be ", with(small, "--strategy", "FedAvg", "--options", "Pace.OverSelection=-1")},
		{"Concurrency = 99: must be at most ", with(small, "--strategy", "FedBuff Concurrency=99")},
		{"attack.By = nothing: must be given", with(small, "--strategy", "FedAvg", "--attack", "Share=0.3")},
		{"--store = " + at("stroe") + ": must be a folder that a study has made", []string{"results", "list", "--store", at("stroe")}},
		{"did you mean EvalEvery?", with(small, "--strategy", "FedAvg", "--options", "EvalEvry=2")},
		{"Rounds = 0: must be at least 1", with(small, "--strategy", "FedAvg", "--rounds", "0")},
		{"strategy = nothing: must be given, such as FedAvg", small},
		{"data = nothing", []string{"run", "--strategy", "FedAvg"}},
		{"no such file", []string{"run", at("missing.yaml")}},
		{"broken.yaml", []string{"run", at("broken.yaml")}},
		{"data = nothing", []string{"run", at("empty.yaml"), "--strategy", "FedAvg"}},
		{"list.yaml", []string{"run", at("list.yaml")}},
		{"did you mean Strategy?", []string{"run", at("section.yaml")}},
		{"given twice", []string{"run", at("twice.yaml")}},
		{"--strategy", []string{"run", "--stratgy", "FedAvg"}},
		{`did you mean "run"?`, []string{"rum"}},
		{"did you mean Krum?", with(small, "--strategy", "FedAvg Aggregator=Kurm")},
		{"did you mean FedProx?", with(small, "--strategy", "FedPrx")},
	} {
		status, out, err := do(c.args...)
		if status != refused || out != "" || !strings.Contains(err, c.says) {
			t.Errorf("%q: status %d, printed %q and %q, want %q", c.args, status, out, err, c.says)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != len(files) {
		t.Errorf("%v", left)
	}
}

// A data set whose files are missing is a failure that says where to put them.
func TestMissingFilesAreExplained(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	status, out, err := do(with(small, "--strategy", "FedAvg", "--data", "FEMNIST")...)
	if status != failed || out != "" || !strings.Contains(err, "FEDKIT_DATA") {
		t.Errorf("status %d, printed %q and %q", status, out, err)
	}
}
