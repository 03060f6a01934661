package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"fedkit.example/fedkit/internal/remote"
	"github.com/nats-io/nats.go"
)

// fetch gets an object from the store. One that the hub cannot deliver counts as missing: the notebook sends it again.
func (w *worker) fetch(ctx context.Context, hash string) (data []byte, err error) {
	for try := range 3 {
		if try > 0 {
			pause(ctx, 200*time.Millisecond)
		}
		if data, err = w.object(ctx, hash); err == nil || errors.Is(err, errTooLarge) || ctx.Err() != nil {
			return data, err
		}
		if errors.Is(err, errLost) {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", remote.ErrNoObject, err)
}

var errTooLarge = errors.New("too large for this worker")

// object gets an object from a desk, and gives up once no more of it arrives.
func (w *worker) object(ctx context.Context, hash string) (data []byte, err error) {
	parts, err := w.nc.SubscribeSync(w.nc.NewInbox())
	if err != nil {
		return nil, err
	}
	defer func() { _ = parts.Unsubscribe() }()
	for r, ask := (dataRequest{Hash: hash}), true; ; {
		if ask {
			request, err := json.Marshal(r)
			if err != nil {
				return nil, err
			}
			if err := w.nc.PublishRequest(desks+w.beat.Worker+wantData, parts.Subject, request); err != nil {
				return nil, err
			}
		}
		m, size, err := w.part(ctx, parts)
		if err != nil {
			return nil, err
		}
		if data == nil {
			if data = make([]byte, 0, size); size > chunk {
				w.fetching.Lock()
				defer w.fetching.Unlock()
			}
		}
		data = append(data, m.Data...)
		r.Have, r.From = uint64(len(data)), m.Header.Get(nextField)
		if ask = r.From != ""; ask && r.Have >= size {
			break
		}
	}
	if hashOf(data) != hash {
		return nil, fmt.Errorf("object %.12s… is damaged", hash)
	}
	return data, nil
}

// part waits for the next part of an object, and returns the size of the whole too.
func (w *worker) part(ctx context.Context, parts *nats.Subscription) (m *nats.Msg, whole uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTimeout)
	defer cancel()
	m, err = parts.NextMsgWithContext(ctx)
	switch {
	case err != nil:
		return nil, 0, err
	case m.Header.Get(replyLost) != "":
		return nil, 0, errLost
	case m.Header.Get(replyError) != "":
		return nil, 0, errors.New(m.Header.Get(replyError))
	}
	if whole, err = strconv.ParseUint(m.Header.Get(sizeField), 10, 64); err == nil && whole > uint64(w.memory) {
		err = fmt.Errorf("an object of %s: %w, which keeps at most %s; start it with more --memory", size(whole), errTooLarge, size(uint64(w.memory)))
	}
	return m, whole, err
}

// chunkTimeout is the limit for the next chunk of an object.
const chunkTimeout = 10 * time.Second
