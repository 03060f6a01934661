package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit/internal/remote"
)

// readPart returns some bytes of a result. The result stays on the host, until another is read, or for a while.
func (w *worker) readPart(r readRequest) (data []byte, whole int64, err error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.read != r.Key {
		b, ok, err := w.machine.Read(r.Key)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			return nil, 0, errLost
		}
		w.read, w.data = r.Key, b
	}
	w.drop.Reset(silent)
	n, err := r.within(int64(len(w.data)))
	if err != nil {
		return nil, 0, err
	}
	return w.data[r.From : r.From+n], int64(len(w.data)), nil
}

// hash returns the hashes of results, a line each.
func (w *worker) hash(r readRequest) (data []byte, whole int64, err error) {
	for key := range strings.FieldsSeq(r.Key) {
		b, ok, err := w.machine.Read(key)
		if err != nil {
			return nil, 0, err
		}
		if !ok {
			return nil, 0, errLost
		}
		data = append(data, hashOf(b)+"\n"...)
	}
	return data, 0, nil
}

// forgetRun forgets the results of a run, or of a notebook.
func (w *worker) forgetRun(prefix string) {
	of := func(key string) bool { return strings.HasPrefix(key, prefix) }
	w.forget(of, of)
}

// forgetKeys forgets results.
func (w *worker) forgetKeys(keys []string) {
	w.forget(func(call string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, call+"/") })
	}, func(key string) bool { return slices.Contains(keys, key) })
}

// forget forgets results, and notes that nobody needs those of calls that are not finished.
func (w *worker) forget(call, key func(string) bool) {
	w.mu.Lock()
	for id, j := range w.jobs {
		j.unwanted = j.unwanted || call(id)
	}
	w.mu.Unlock()
	w.machine.Forget(key)
}

// fetch gets an object from a desk. One that the desk cannot deliver counts as missing: the notebook sends it again.
func (w *worker) fetch(ctx context.Context, desk, hash string) ([]byte, error) {
	first, whole, err := w.object(ctx, desk, readRequest{hash, 0, chunk})
	if err != nil || whole <= int64(len(first)) {
		return first, err
	}
	if whole > w.memory {
		return nil, fmt.Errorf("an object of %s: too large for this worker, which keeps at most %s; start it with more --memory", bytesText(whole), bytesText(w.memory))
	}
	w.fetching.Lock()
	defer w.fetching.Unlock()
	data := make([]byte, whole)
	err = fill(ctx, data, copy(data, first), func(ctx context.Context, from, size int) ([]byte, error) {
		some, _, err := w.object(ctx, desk, readRequest{hash, int64(from), int64(size)})
		return some, err
	})
	return data, err
}

// object gets some bytes of an object, and the size of the whole.
func (w *worker) object(ctx context.Context, desk string, r readRequest) (data []byte, whole int64, err error) {
	for try := 0; ; try++ {
		waiting, cancel := context.WithTimeout(ctx, chunkTimeout)
		m, err := w.nc.RequestWithContext(waiting, desks+desk+"."+w.beat.Worker+wantData, r.encode())
		cancel()
		if err = said(m, err); err == nil {
			whole, err = strconv.ParseInt(m.Header.Get(sizeField), 10, 64)
			return m.Data, whole, err
		}
		if errors.Is(err, errLost) || try == 2 || ctx.Err() != nil {
			return nil, 0, fmt.Errorf("%w: %w", remote.ErrNoObject, err)
		}
		pause(ctx, beat/2)
	}
}
