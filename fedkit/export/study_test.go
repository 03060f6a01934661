package export_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/export"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/model"
	"fedkit.example/fedkit/strategy"
	"fedkit.example/fedkit/study"
)

// A study's event files have every round of every run, in a folder each; where tensorboard is there, it reads the same.
func TestTensorBoardOfAStudy(t *testing.T) {
	dir := t.TempDir()
	fed := expect.Value(fedkit.New(datasets.Digits(), partition.IID{Clients: 4}, model.MLP(2)))(t)
	st := study.New(filepath.Join(dir, "runs"))
	st.Watch, st.Log = export.TensorBoard(filepath.Join(dir, "events")), io.Discard
	for _, lr := range []float64{0.1, 0.2} {
		st.Add(fed, &strategy.FedAvg{Local: fedkit.Local{LR: lr}}, fedkit.Options{Rounds: 3}, "η", lr)
	}
	runs := expect.Value(st.Run(context.Background()))(t)
	folders, _ := filepath.Glob(filepath.Join(dir, "events", "FedAvg, seed 0, *"))
	expect.Must(t, len(folders) == 2, "folders %v", folders)
	var accuracies, want []float32
	for _, folder := range folders {
		for _, v := range export.ReadEvents(t, folder) {
			if v.Tag == "global/accuracy" {
				accuracies = append(accuracies, v.Value)
			}
		}
	}
	for _, h := range runs.Histories() {
		for _, r := range h.Rounds {
			want = append(want, float32(r.Global.Accuracy))
		}
	}
	slices.Sort(accuracies)
	slices.Sort(want)
	expect.That(t, slices.Equal(accuracies, want), "%v, want %v", accuracies, want)

	python := os.Getenv("FEDKIT_TENSORBOARD") // a Python that has it
	if python == "" {
		return
	}
	out := expect.Value(exec.CommandContext(t.Context(), python, "-c", `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
a = EventAccumulator(sys.argv[1]); a.Reload()
print(json.dumps([[e.step, tag, e.value] for tag in a.Tags()["scalars"] for e in a.Scalars(tag)]))`, folders[0]).Output())(t)
	var theirs [][3]any
	expect.OK(t, json.Unmarshal(out, &theirs))
	ours := export.ReadEvents(t, folders[0])
	expect.That(t, len(theirs) == len(ours), "tensorboard reads %d values of %d", len(theirs), len(ours))
	for _, v := range theirs {
		expect.That(t, slices.Contains(ours, export.Value{int(v[0].(float64)), v[1].(string), float32(v[2].(float64))}), "%v is not written", v)
	}
}
