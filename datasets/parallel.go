package datasets

import (
	"cmp"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// parallel calls work for 0..n−1, at most one per processor at a time. All of them run; the error returned is the one
// with the lowest index, the same every time.
func parallel(n int, work func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { errs[i] = work(i); return nil })
	}
	group.Wait()
	return cmp.Or(errs...)
}
