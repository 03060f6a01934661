package command

import (
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/history"
	"fedkit.example/fedkit/progress"
)

type followCommand struct {
	File string `arg:"" help:"Options.Checkpoint or Options.History of the run."`
	form
}

// Run shows the line of progress.Line on standard error. In JSON it prints the rounds at the end.
func (f *followCommand) Run(c *console) error {
	h, err := progress.Follow(f.File)
	if err != nil {
		return fedkit.Invalid("file", f.File, "one that a run writes: "+err.Error())
	}
	for i := 0; f.JSON && h != nil && err == nil && i < len(h.Rounds); i++ {
		err = c.line(lineOf(&h.Rounds[i]))
	}
	switch {
	case err != nil:
		return err
	case h == nil || h.Stopped:
		return errStopped
	}
	return nil
}

// line is a round as one line of JSON, without what a round does not have.
type line struct {
	Round     int                     `json:"round"`
	Seconds   float64                 `json:"seconds"`
	Clock     fedkit.Float            `json:"clock,omitempty"`  // s of the simulated clock, at the end of the round
	Missed    int                     `json:"missed,omitempty"` // clients that were late, dropped out or sat the round out
	Clients   int                     `json:"clients"`
	Steps     int                     `json:"steps"`
	TrainLoss *fedkit.Float           `json:"train_loss,omitempty"` // mean over the clients of the round
	Loss      *fedkit.Float           `json:"loss,omitempty"`
	Accuracy  *fedkit.Float           `json:"accuracy,omitempty"`
	Own       *fedkit.Float           `json:"own_accuracy,omitempty"`    // on the clients' own examples
	Unseen    *fedkit.Float           `json:"unseen_accuracy,omitempty"` // of clients that never took part
	Clusters  *history.Clustering     `json:"clustering,omitempty"`
	Metrics   map[string]fedkit.Float `json:"metrics,omitempty"`
	Notes     map[string]fedkit.Float `json:"notes,omitempty"`
	BytesUp   int64                   `json:"bytes_up"`
	BytesDown int64                   `json:"bytes_down"`
}

func lineOf(r *fedkit.Record) line {
	l := line{Round: r.Round, Seconds: r.Seconds, Clock: r.Clock, Missed: len(r.Absences), Notes: r.Notes, Clusters: r.Clustering, BytesUp: r.BytesUp, BytesDown: r.BytesDown}
	if all := r.Training(); all != nil {
		l.Clients, l.Steps, l.TrainLoss = all.Clients, all.Steps, &all.Loss
	}
	if s := r.Score(); s != nil {
		l.Loss, l.Accuracy, l.Metrics = &s.Loss, &s.Accuracy, s.Metrics
	}
	if own := r.Mean(); own != nil {
		l.Own = &own.Accuracy
	}
	if unseen := r.MeanUnseen(); unseen != nil {
		l.Unseen = &unseen.Accuracy
	}
	return l
}
