package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fedkit.example/fedkit/internal/remote"
)

// kinds counts the workers that can be given calls, by kind. The caller holds f.mu.
func (f *Fleet) kinds() map[Platform]int {
	kinds := map[Platform]int{}
	for _, w := range f.workers {
		if w.counts() {
			kinds[w.Kind]++
		}
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
	for name, w := range f.workers {
		load := given[name] + w.others
		if !w.counts() || !slices.Contains(s.kinds, w.kind) || slices.Contains(s.not, name) || s.which == inTurn && given[name] > w.Slots || s.which == atIdle && load > 0 {
			continue
		}
		if each := float64(load) / float64(w.Slots); best == nil || cmp.Or(cmp.Compare(w.wrong, best.wrong), cmp.Compare(each, least)) < 0 {
			best, worker, least = w, name, each
		}
	}
	return worker
}

// room returns how many calls of a kind should be under way: as many as workers do at once, and one more for each of them.
func (f *Fleet) room(kind string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.workers {
		if w.counts() && w.kind == kind {
			n += w.Slots + 1
		}
	}
	return n
}

// AtOnce implements fedkit.Machines.
func (f *Fleet) AtOnce() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, w := range f.workers {
		if w.counts() {
			n += w.Slots
		}
	}
	return n
}
