package fedkit

// Watcher is told how a run proceeds, by the goroutine that runs it: progress lines and live plots are watchers.
type Watcher interface {
	// Round is called after every round; the last element of h.Rounds is new, and the run is to reach round of.
	Round(h *History, of int)
	// Done is called once, when the run is over: finished, stopped by an interrupt (h.Stopped; err is nil), canceled or failed.
	Done(h *History, err error)
}

// StartWatcher is a Watcher that is told before the first round is over, which may take long: programs are compiled first.
type StartWatcher interface {
	Watcher
	// Start is called when the run begins, before anything is computed; it is to reach round of. If it goes on from a checkpoint,
	// Start is called once more, with the checkpoint's rounds in h.Rounds.
	Start(h *History, of int)
}

// PlanWatcher is a Watcher that can show the progress of a whole study.
type PlanWatcher interface {
	Watcher
	// Plan is called once, before the first run of a study: it has this many runs, of which some are stored already and
	// are not run. Of each other run, Round and Done are called, side by side if runs go on side by side.
	Plan(runs, stored int)
}
