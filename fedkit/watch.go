package fedkit

// Watcher is told how a run proceeds, by the goroutine that runs it: progress lines and live plots are watchers.
type Watcher interface {
	// Round is called after every round; the last element of h.Rounds is new, and the run is to reach round of.
	Round(h *History, of int)
	// Done is called once, when the run is over: finished, stopped by an interrupt (h.Stopped; err is nil), canceled or failed.
	Done(h *History, err error)
}
