package strategy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"fedkit.example/fedkit"
)

// Runs may be concurrent in one process: all strategies at once give the same results as one by one.
func TestSideBySide(t *testing.T) {
	fed := quadratic(t, uneven...)
	records := func(s fedkit.Strategy, workers int) []byte {
		h, err := fedkit.Run(t.Context(), on(fed, s), s, fedkit.Options{Rounds: 4, EvalEvery: 2, Seed: 7, Workers: workers})
		if err != nil {
			return fmt.Append(nil, err)
		}
		for i := range h.Rounds {
			h.Rounds[i].Seconds, h.Rounds[i].EvalTime = 0, 0
		}
		b, err := json.Marshal(h.Rounds)
		if err != nil {
			return fmt.Append(nil, err)
		}
		return b
	}

	var atOnce sync.Map
	var runs sync.WaitGroup
	for name, s := range all() {
		runs.Go(func() { atOnce.Store(name, records(s, 2)) })
	}
	runs.Wait()
	for name, s := range all() {
		got, _ := atOnce.Load(name)
		if want := records(s, 1); !bytes.Equal(got.([]byte), want) || want[0] != '[' {
			t.Errorf("%s: at once\n%s\nalone\n%s", name, got, want)
		}
	}
}
