package strategy_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/sim"
)

// killed are the options of a run that is killed.
func killed(file string) fedkit.Options {
	return fedkit.Options{Rounds: 12, EvalEvery: 6, Seed: 8, Keep: fedkit.Keep{Results: 2}, CheckpointEvery: 1, Checkpoint: file, History: file + ".jsonl"}
}

// onDevices puts some of the strategies on a simulated clock: all asynchronous ones, FedEff, which needs one, and some whose
// clients train more than once in a round.
func onDevices(fed *fedkit.Federation, name string) (*fedkit.Federation, error) {
	if !slices.ContainsFunc([]string{"CCFL", "FedAsync", "FedBuff", "FedEff", "FedRep", "LCFL", "SCAFFOLD"}, func(s string) bool { return strings.HasPrefix(name, s) }) {
		return fed, nil
	}
	return fed.WithDevices(sim.Devices{PerExample: sim.LogNormal{Median: 1e-3, Sigma: 1}, Up: sim.Uniform{Low: 1e3, High: 1e4}, Drop: sim.Constant(0.2),
		OnFor: sim.Constant(0.4), OffFor: sim.Constant(0.1), Seed: 3})
}

// ending is the result of a run: its State, and its records without times. Gob's bytes differ between processes.
func ending(s fedkit.Strategy, h *fedkit.History) (string, error) {
	all := sha256.New()
	state, _ := config.Field(s, "State")
	if err := dump(all, state); err != nil {
		return "", err
	}
	for _, r := range h.Rounds {
		r.Seconds, r.EvalTime = 0, 0
		if err := json.NewEncoder(all).Encode(r); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", all.Sum(nil)), nil
}

// dump writes all contents of a State.
func dump(w io.Writer, v reflect.Value) (err error) {
	if m, ok := v.Interface().(*fedkit.Matrix); ok && m != nil {
		b, err := m.MarshalBinary()
		_, _ = w.Write(b)
		return err
	}
	fmt.Fprintln(w, v.Type(), v.Kind() == reflect.Slice && v.IsNil())
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range v.Fields() {
			err = cmp.Or(err, dump(w, f))
		}
	case reflect.Slice, reflect.Array:
		for _, e := range v.Seq2() {
			err = cmp.Or(err, dump(w, e))
		}
	case reflect.Pointer, reflect.Map, reflect.Interface:
		if !v.IsNil() {
			return fmt.Errorf("%v: dump does not know how to write it", v.Type())
		}
	default:
		fmt.Fprintln(w, v.Interface())
	}
	return err
}

// survive runs strategies with checkpoints, one after the other, and prints every round and each result.
func survive(names []string, dir string) error {
	fed, err := fedtest.Quadratic()
	if err != nil {
		return err
	}
	for _, name := range names {
		s, o := all()[name], killed(filepath.Join(dir, name))
		on, err := onDevices(fed, name)
		if err != nil {
			return err
		}
		var h *fedkit.History
		for h, err = range fedkit.Rounds(context.Background(), on, s, o) {
			fmt.Printf("%s: round %d\n", name, len(h.Rounds))
		}
		if err != nil {
			return err
		}
		streamed, err := fedkit.Load(o.History)
		if err != nil {
			return err
		}
		sum, err := ending(s, h)
		if again, _ := ending(s, streamed); err != nil || again != sum || streamed.Stopped {
			return fmt.Errorf("%s: the file has another history, error %v", name, err)
		}
		fmt.Printf("%s: %s\n", name, sum)
	}
	return nil
}

// killing has processes run strategies, kills them at random moments, one or two times in each strategy, and returns how
// often, and what the strategies came to.
func killing(t *testing.T, names []string, seed uint64) (kills int, sums map[string]string) {
	rng, dir := rand.New(rand.NewPCG(seed, 0)), t.TempDir()
	sums = map[string]string{}
	due := map[string]int{}
	for i, name := range names {
		due[name] = 1 + min(i%3, 1)
	}
	for len(sums) < len(names) {
		left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return sums[name] != "" })
		p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledAnywhere$")
		p.Env = append(os.Environ(), "FEDKIT_TEST_SURVIVE="+dir, "FEDKIT_TEST_STRATEGIES="+strings.Join(left, ";"))
		var said strings.Builder
		p.Stderr = &said
		out, err := p.StdoutPipe()
		if err == nil {
			err = p.Start()
		}
		if err != nil {
			t.Error(err)
			return kills, sums
		}
		kill, lines := -1, bufio.NewScanner(out)
		for lines.Scan() {
			name, what, _ := strings.Cut(lines.Text(), ": ")
			var round int
			switch n, _ := fmt.Sscanf(what, "round %d", &round); {
			case len(what) == 64:
				sums[name], kill = what, -1
			case n == 0:
				said.WriteString(what)
			case kill < 0 && due[name] > 0:
				kill = round + rng.IntN(12/(1+due[name]))
				fallthrough
			case round == kill && due[name] > 0:
				if round < kill {
					break
				}
				time.Sleep(time.Duration(rng.IntN(4000)) * time.Microsecond)
				_ = p.Process.Kill()
				due[name]--
				kills++
			}
		}
		if err := p.Wait(); err != nil && !strings.Contains(err.Error(), "killed") || err == nil && said.Len() > 0 {
			t.Errorf("%v: %s", err, &said)
			return kills, sums
		}
	}
	return kills, sums
}

// A run that is killed at any moment and restarted ends with the same bytes as an uninterrupted one.
func TestKilledAnywhere(t *testing.T) {
	if dir := os.Getenv("FEDKIT_TEST_SURVIVE"); dir != "" {
		if err := survive(strings.Split(os.Getenv("FEDKIT_TEST_STRATEGIES"), ";"), dir); err != nil {
			fmt.Println(err)
		}
		return
	}
	expect.Long(t, "processes are killed, and no goroutine")
	names := slices.Sorted(maps.Keys(all()))
	var both [2]map[string]string
	var kills [2]int
	var lanes sync.WaitGroup
	for i := range both {
		lanes.Go(func() {
			kills[i], both[i] = killing(t, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Index(names, name)%2 != i }), uint64(i))
		})
	}
	lanes.Wait()
	expect.That(t, (kills[0]+kills[1]) >= 50, "%d kills, want 50 or more", (kills[0] + kills[1]))
	fed := quadratic(t)
	for i, name := range names {
		s, o := all()[name], killed("")
		o.Checkpoint, o.History = "", ""
		on := expect.Value(onDevices(fed, name))(t)
		want, err := ending(s, run(t, on, s, o))
		got := both[i%2][name]
		expect.That(t, err == nil && got == want, "%s comes to %q after kills, to %q without, error %v", name, got, want, err)
	}
}
