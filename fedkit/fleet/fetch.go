package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go/jetstream"
)

// fetch gets an object from the store. What the hub cannot give now counts as not there: the notebook sends it again.
func (w *work) fetch(ctx context.Context, hash string) (data []byte, err error) {
	for try := range 3 {
		if try > 0 {
			pause(ctx, 200*time.Millisecond)
		}
		if data, err = w.object(ctx, hash); err == nil || errors.Is(err, errTooLarge) || ctx.Err() != nil {
			return data, err
		}
		if errors.Is(err, jetstream.ErrObjectNotFound) {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", remote.ErrNoObject, err)
}

var errTooLarge = errors.New("too large for this worker")

// object gets an object, for as long as some of it comes.
func (w *work) object(ctx context.Context, hash string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Hour) // without a deadline, the library gives a whole object five seconds
	defer cancel()
	stalled := time.AfterFunc(slowest, cancel)
	defer stalled.Stop()
	store, err := w.js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, err
	}
	object, err := store.Get(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer object.Close()
	info, err := object.Info()
	if err != nil {
		return nil, err
	}
	if info.Size > uint64(w.memory) {
		return nil, fmt.Errorf("an object of %s: %w, which keeps at most %s; start it with more --memory", size(info.Size), errTooLarge, size(uint64(w.memory)))
	}
	if info.Size > chunk {
		stalled.Stop()
		w.fetching.Lock()
		defer w.fetching.Unlock()
	}
	data := make([]byte, info.Size)
	for read := 0; read < len(data); {
		stalled.Reset(slowest)
		n, err := object.Read(data[read:])
		if read += n; err != nil && read < len(data) {
			return nil, err
		}
	}
	if n, err := object.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) { // it is compared with its digest at the end
		return nil, fmt.Errorf("object %.12s… is damaged: %w", hash, err)
	}
	return data, nil
}

// slowest is how long nothing of an object may come.
const slowest = 10 * time.Second
