package fleet_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fleet"
	"fedkit.example/fedkit/strategy"
)

// asNotebook carries the file of a fleet to a process that runs a strategy on it, and prints its rounds.
const asNotebook = "FEDKIT_TEST_NOTEBOOK"

func scaffold() *strategy.SCAFFOLD {
	return &strategy.SCAFFOLD{Fraction: 0.5, Local: fedkit.Local{Epochs: 2, Batch: 8, LR: 0.05}}
}

func twelve() (*fedkit.Federation, error) {
	return fedtest.Quadratic(20, 31, 8, 24, 17, 40, 22, 9, 13, 28, 36, 11)
}

// checkpointed are the options of a run that is killed. It has more rounds than there is time for.
func checkpointed(file string, on fedkit.Machines) fedkit.Options {
	return fedkit.Options{Rounds: 100, EvalEvery: 50, Seed: 6, Checkpoint: file, CheckpointEvery: 1, Fleet: on}
}

func beNotebook(file string) error {
	fed, err := twelve()
	if err != nil {
		return err
	}
	f, err := fleet.Join(file)
	if err != nil {
		return err
	}
	for h, err := range fedkit.Rounds(context.Background(), fed, scaffold(), checkpointed(filepath.Join(filepath.Dir(file), "checkpoint"), f)) {
		if err != nil {
			return err
		}
		fmt.Println("round", len(h.Rounds))
	}
	return nil
}

// A notebook that dies resumes from its checkpoint, on the same fleet.
func TestKilledNotebook(t *testing.T) {
	fed, err := twelve()
	if err != nil {
		t.Fatal(err)
	}
	s := scaffold()
	h, err := fedkit.Run(t.Context(), fed, s, checkpointed(filepath.Join(t.TempDir(), "checkpoint"), nil))
	if err != nil {
		t.Fatal(err)
	}
	want, err := fedtest.Outcome(s, h)
	if err != nil {
		t.Fatal(err)
	}

	f := local(t, 2)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), asNotebook+"="+f.File()), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rounds := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if rounds++; rounds == 20 {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || rounds < 20 || rounds >= 100 {
		t.Fatalf("it was not killed in the middle: %d rounds, %v", rounds, err)
	}

	s = scaffold()
	if h, err = fedkit.Run(t.Context(), fed, s, checkpointed(filepath.Join(filepath.Dir(f.File()), "checkpoint"), f)); err != nil {
		t.Fatal(err)
	}
	got, err := fedtest.Outcome(s, h)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("it ended with other bytes than a run without a fleet (%v)", err)
	}
}
