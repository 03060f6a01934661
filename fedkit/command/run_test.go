package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
)

// decode reads the lines of a run, and its summary.
func decode(t *testing.T, out string) (rounds []line, s summary) {
	t.Helper()
	for text := range strings.Lines(out) {
		var l struct {
			line
			Summary *summary `json:"summary"`
		}
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if l.Summary != nil {
			return rounds, *l.Summary
		}
		rounds = append(rounds, l.line)
	}
	t.Fatalf("no summary after %d rounds", len(rounds))
	return nil, s
}

// A run without any accuracy has no best one, and NaN in one round does not hide the others.
func TestSummaryOfOddAccuracies(t *testing.T) {
	h := &fedkit.History{}
	if s := summaryOf(h, nil); s.Best == s.Best {
		t.Errorf("best of nothing is %g", s.Best)
	}
	for i, a := range []float64{0.5, math.NaN(), 0.25} {
		h.Rounds = append(h.Rounds, fedkit.Record{Round: i + 1, Global: &fedkit.Score{Accuracy: fedkit.Float(a)}})
	}
	if s := summaryOf(h, nil); s.Best != 0.5 {
		t.Errorf("best is %g", s.Best)
	}
}

// A preset is a file that is there already.
func TestRunPreset(t *testing.T) {
	status, out, log := do("run", "--preset", "mnist-2NN", "--data", "Digits", "--partition", "IID Clients=20", "--rounds", "1")
	if rounds, s := decode(t, out); status != done || len(rounds) != 1 || !strings.Contains(log, "published  rounds to 97 %: 87") {
		t.Error(status, s, log)
	}
	for want, args := range map[string][]string{
		`preset = "mnist": must be one of mnist-2nn`: {"run", "--preset", "mnist"},
		`preset = mnist-2nn: must be without a file`: {"run", "testdata/run.yaml", "--preset", "mnist-2nn"},
		`Clients`: {"run", "--preset", "mnist-2nn", "--data", "Digits", "--partition", "Clients=0"},
	} {
		if status, _, log := do(args...); status != refused || !strings.Contains(log, want) {
			t.Errorf("%d: %s, want %s", status, log, want)
		}
	}
}

// A file is run as written, and flags override it. The history is that of the same run in Go.
func TestRunPrintsRoundsAndSummary(t *testing.T) {
	saved := filepath.Join(t.TempDir(), "runs", "history")
	status, out, log := do("run", "testdata/run.yaml", "--strategy", "Mu=0.01", "--rounds", "2", "--save", saved)
	if status != done {
		t.Fatal(status, log)
	}
	rounds, s := decode(t, out)
	if len(rounds) != 2 || s.Rounds != 2 || s.Clients != 10 || s.Seed != 1 || s.Stopped || s.Accuracy <= 0 || s.Best < s.Accuracy {
		t.Errorf("%+v, %+v", rounds, s)
	}
	if want := "strategy.FedProx{Fraction: 0.5, Local: {Batch: 16, Epochs: 1, LR: 0.1}, Mu: 0.01}"; s.Strategy.String() != want {
		t.Errorf("%v, want %s", s.Strategy, want)
	}
	last := rounds[1]
	if last.Clients != 5 || last.Steps == 0 || last.TrainLoss == nil || *last.Accuracy != s.Accuracy || last.Own == nil || last.BytesUp == 0 || len(last.Metrics) != 2 {
		t.Errorf("%+v", last)
	}
	if !strings.Contains(s.Partition, "Dirichlet α = 0.3; sign flip × 2 by clients") || !strings.Contains(log, s.Partition) {
		t.Errorf("%s\n%s", s.Partition, log)
	}
	if h, err := fedkit.Load(saved); err != nil || h.Accuracy() != float64(s.Accuracy) {
		t.Error(h, err)
	}
}

// What the help prints does as printed, here with fewer rounds: commands, and the files of a run and of a study.
func TestPrintedCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	block := func(command, start string) string { // those that begin so, without their margin
		_, help, _ := do(command, "--help")
		found := regexp.MustCompile(`(?m)(^    ` + start + `.*\n(      .*\n|    \w+: .*\n|    vary:\n)*\n?)+`).FindString(help)
		return strings.ReplaceAll("\n"+found, "\n    ", "\n")
	}
	expect.OK(t, os.WriteFile("experiment.yaml", []byte(block("run", "strategy:")), 0o600))
	expect.OK(t, os.WriteFile("study.yaml", []byte(block("study", "base:")), 0o600))
	if status, out, log := do("study", "status", "study.yaml"); status != done || !strings.Contains(out, "60 to run") {
		t.Errorf("%d: %s%s", status, out, log)
	}
	commands := strings.NewReplacer("…", "--data Digits --partition 'IID Clients=20' --model MLP", ">mu.jsonl", "").Replace(block("run", "fedkit run"))
	words := expect.Value(exec.Command("sh", "-ec", `fedkit() { printf '%s\n' "$@" --rounds 1 ""; }`+commands).Output())(t)
	n := 0
	for command := range strings.SplitSeq(strings.TrimSpace(string(words)), "\n\n") {
		n++
		if status, _, log := do(strings.Split(command, "\n")...); status != done {
			t.Errorf("%q: %d: %s", command, status, log)
		}
	}
	if n != 3 {
		t.Errorf("found %d commands", n)
	}
}

// Flags alone suffice, and after a failure the rounds before it are printed.
func TestRunFails(t *testing.T) {
	status, out, log := do(with(small, "--strategy", "FedAvg Local.LR=1e30 Local.Batch=8", "--rounds", "20")...)
	rounds, s := decode(t, out)
	if status != failed || len(rounds) == 20 || len(rounds) != s.Rounds || !strings.Contains(s.Error, "not finite") || !strings.Contains(log, "not finite") {
		t.Errorf("status %d, %d rounds, %+v\n%s", status, len(rounds), s, log)
	}
}

// An interrupt, and SIGTERM as from Slurm, end a run between rounds. The same command then resumes from its checkpoint, and
// prints what an uninterrupted run prints.
func TestStoppedRunsGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is concurrent in the command itself")
	}
	const rounds = 500
	metrics := "Metrics=["
	for class := range 10 { // long lines: the pipe holds fewer than 400
		metrics += fmt.Sprintf("Recall Class=%d, ", class)
	}
	args := with(small, "--strategy", "FedAvg Fraction=0.5", "--rounds", fmt.Sprint(rounds), "--options", metrics+"] EvalEvery=5")
	checkpoint := filepath.Join(t.TempDir(), "checkpoint")
	for _, by := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		c := process(with(args, "--checkpoint", checkpoint)...)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		expect.OK(t, err)
		r, text := bufio.NewReader(out), strings.Builder{}
		for i := 0; ; i++ {
			l, err := r.ReadString('\n')
			text.WriteString(l)
			if err != nil {
				break
			}
			if i == 30 {
				expect.OK(t, c.Process.Signal(by))
			}
		}
		_ = c.Wait()
		lines, s := decode(t, text.String())
		if c.ProcessState.ExitCode() != stopped || !s.Stopped || len(lines) != s.Rounds || len(lines) < 31 || len(lines) == rounds {
			t.Fatalf("%v: %v after %d rounds, %+v", by, c.ProcessState, len(lines), s)
		}
	}
	_, there, _ := do(with(args, "--checkpoint", checkpoint)...)
	_, never, _ := do(args...)
	if a, b := withoutTimes(there), withoutTimes(never); a != b || strings.Count(a, "\n") != rounds+1 {
		t.Errorf("%d bytes that differ from %d", len(a), len(b))
	}
}

var times = regexp.MustCompile(`"(eval_)?seconds":[^,]*,`)

func withoutTimes(out string) string { return times.ReplaceAllString(out, "") }

// Hold-out clients are evaluated, in every line.
func TestRunScoresUnseenClients(t *testing.T) {
	status, out, log := do("run", "--strategy", "IFCA Local.LR=0.1 Local.Batch=16", "--data", "Digits", "--partition", "IID Clients=10",
		"--model", "MLP", "--rounds", "1", "--holdout", "Clients=3 Seed=2")
	if status != done {
		t.Fatal(status, log)
	}
	rounds, s := decode(t, out)
	if len(rounds) != 1 || rounds[0].Unseen == nil || rounds[0].Clusters == nil || s.Clients != 7 || !strings.HasSuffix(s.Partition, "; 3 clients held out, seed 2") {
		t.Errorf("%+v, %+v", rounds, s)
	}
}

// On devices, every line has the simulated clock, and the clients that were missed.
func TestRunOnDevices(t *testing.T) {
	status, out, log := do("run", "--strategy", "FedBuff Concurrency=4 K=2 Staleness=Hinge Local.LR=0.1 Local.Batch=16", "--data", "Digits", "--partition", "IID Clients=10",
		"--model", "MLP", "--rounds", "5", "--devices", "Devices PerExample=0.01 Up.type=LogNormal Up.Median=1e4 Up.Sigma=1 Drop=0.3 Seed=2")
	if status != done {
		t.Fatal(status, log)
	}
	rounds, s := decode(t, out)
	missed := 0
	for _, r := range rounds {
		missed += r.Missed
	}
	if len(rounds) != 5 || rounds[0].Clock <= 0 || rounds[4].Clock <= rounds[0].Clock || s.Clock != rounds[4].Clock || missed == 0 || !strings.HasSuffix(s.Partition, "seed 2") {
		t.Errorf("%+v, %+v", rounds, s)
	}
}
