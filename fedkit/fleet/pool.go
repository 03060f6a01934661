package fleet

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"fedkit.example/fedkit/internal/remote"
)

// counting yields the workers that can be given calls, of some kinds or, without any, of all. The caller holds f.mu.
func (f *Fleet) counting(kinds ...string) iter.Seq[*member] {
	return func(yield func(*member) bool) {
		for _, w := range f.workers {
			if w.counts() && (kinds == nil || slices.Contains(kinds, w.kind)) && !yield(w) {
				return
			}
		}
	}
}

// kinds counts them by kind.
func (f *Fleet) kinds() map[Platform]int {
	kinds := map[Platform]int{}
	for w := range f.counting() {
		kinds[w.Kind]++
	}
	return kinds
}

// choose returns the kinds of workers that a run may use, and waits for a first worker.
func (f *Fleet) choose(ctx context.Context) ([]string, error) {
	for begin := time.Now(); ; pause(ctx, beat/10) {
		f.mu.Lock()
		kinds := f.kinds()
		f.mu.Unlock()
		switch {
		case len(kinds) == 1 || len(kinds) > 1 && f.Mixed:
			var keys []string
			for k := range kinds {
				keys = append(keys, k.Key())
			}
			slices.Sort(keys)
			return keys, nil
		case len(kinds) > 1:
			var list []string
			for k, n := range kinds {
				list = append(list, fmt.Sprintf("%d × %s", n, k))
			}
			slices.Sort(list)
			return nil, fmt.Errorf("fleet: workers of %d kinds, which round differently: %s; stop all but one kind, or set Fleet.Mixed", len(kinds), strings.Join(list, "; "))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case time.Since(begin) > f.patience():
			return nil, f.nobody()
		}
	}
}

// Device implements fedkit.Machines.
func (f *Fleet) Device() (kind, hardware string, err error) {
	if _, err := f.choose(context.Background()); err != nil {
		return "", "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	devices, machines := map[string]bool{}, map[string]bool{}
	for k := range f.kinds() {
		devices[strings.TrimSpace(k.Device+" "+k.Flags)], machines[k.hardware()] = true, true
	}
	return strings.Join(slices.Sorted(maps.Keys(devices)), "+"), strings.Join(slices.Sorted(maps.Keys(machines)), " + "), nil
}

// nobody returns the error for a fleet without workers, with the reasons why those that are there do not count.
func (f *Fleet) nobody() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	more := ""
	for _, w := range f.workers {
		switch {
		case w.out != "":
			more += fmt.Sprintf("; %s was left out: %s", w.label(), w.out)
		case w.Protocol != remote.Protocol:
			more += fmt.Sprintf("; %s speaks version %d and this fedkit %d: start it from the same version", w.label(), w.Protocol, remote.Protocol)
		}
	}
	if kinds := f.kinds(); len(kinds) > 0 { // of other kinds than the run began with
		more += "; those that are there round differently from those that the run began with"
	}
	return fmt.Errorf("fleet: %w for %v: start one with ./scripts/worker %s%s", ErrNoWorker, f.patience(), f.file, more)
}

// free returns the worker for a seat that has the least to do: calls that were given to it from here, and those of other notebooks as of
// its last heartbeat. In turn it is given as many as it does at once, and one more, which it makes ready meanwhile. A worker that gave
// wrong answers comes last.
func (f *Fleet) free(s seat, given map[string]int) (worker string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var best *member
	least := 0.
	for w := range f.counting(s.kinds...) {
		load := given[w.name] + w.others
		if slices.Contains(s.not, w.name) || s.which == inTurn && given[w.name] > w.Slots || s.which == atIdle && load > 0 {
			continue
		}
		if each := float64(load) / float64(w.Slots); best == nil || cmp.Or(cmp.Compare(w.wrong, best.wrong), cmp.Compare(each, least)) < 0 {
			best, worker, least = w, w.name, each
		}
	}
	return worker
}

// Concurrency implements fedkit.Machines.
func (f *Fleet) Concurrency() int { return f.atOnce(0) }

// atOnce returns how many calls workers of some kinds do at once, and some more for each of them.
func (f *Fleet) atOnce(more int, kinds ...string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.counting(kinds...) {
		n += w.Slots + more
	}
	return n
}
