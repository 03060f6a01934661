package fedkit

// Watcher follows the progress of a run, as progress lines and live plots do. The run's goroutine calls it.
type Watcher interface {
	// Round is called after every round, with the new record last in h.Rounds; of is the planned number of rounds.
	Round(h *History, of int)
	// Done is called once, when the run is over: finished, stopped by an interrupt (h.Stopped; err is nil), canceled or failed.
	Done(h *History, err error)
}

// StartWatcher is a Watcher that is notified before the first round, which may be slow since it compiles programs.
type StartWatcher interface {
	Watcher
	// Start is called when the run begins, before anything is computed; of is the planned number of rounds. If the run resumes
	// from a checkpoint, Start is called again, with the checkpoint's rounds in h.Rounds.
	Start(h *History, of int)
}

// PlanWatcher is a Watcher that can show the progress of a whole study.
type PlanWatcher interface {
	Watcher
	// Plan is called once, before the first run of a study, with its number of runs, and how many of them are stored already and
	// not run. Round and Done are called for each other run, concurrently if runs are concurrent.
	Plan(runs, stored int)
}
