package fedkit

import "context"

// Interruptible returns a context that an interrupt ends, the stop button of a notebook or Ctrl-C, with ErrStopped as its
// cause. Until release is called, the first interrupt does not end the program. Run and Rounds do this themselves; a program
// of many runs needs it for the moments between them.
func Interruptible(ctx context.Context) (_ context.Context, release func()) { return listen(ctx) }
