package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"fedkit.example/fedkit/internal/lru"
	"fedkit.example/fedkit/internal/text"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"
)

// store brings objects to a desk, and remembers which are there.
type store struct {
	fleet *Fleet
	desk  string

	mu     sync.Mutex
	known  *lru.Cache[string, *stored] // by hash
	hashes sync.Map                    // *hashes, by weak.Pointer[tensors.Tensor]
}

// object is a part of a call that is too large to travel with it.
type object struct {
	hash  string
	size  int
	bytes func() ([]byte, error)
}

// stored says whether the desk has an object.
type stored struct {
	putting sync.Mutex
	there   atomic.Bool
	doubted atomic.Bool // a worker found it missing or incomplete
}

// mostKnown is how many objects are remembered.
const mostKnown = 1 << 14

// Sizes of what travels.
const (
	chunk        = 512 << 10        // bytes of an object or a result per message
	window       = 4                // chunks of one under way
	chunkTimeout = 10 * time.Second // limit for the reply with the next one
)

// hashes memoizes the hashes of a tensor: of all its bytes, and of each row.
type hashes struct {
	once sync.Once
	all  string
	err  error

	byRow sync.Once
	data  []byte // the tensor's bytes, of which each call needs some rows
	rows  []string
	often []bool // whether the row occurs more than once
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func bytesText[N int | int64 | uint64](n N) string { return text.Bytes(float64(n)) }

// hashesOf returns the memoized hashes of a tensor, which never changes.
func (s *store) hashesOf(t *tensors.Tensor) *hashes {
	key := weak.Make(t)
	if h, ok := s.hashes.Load(key); ok {
		return h.(*hashes)
	}
	h, known := s.hashes.LoadOrStore(key, new(hashes))
	if !known {
		runtime.AddCleanup(t, func(key weak.Pointer[tensors.Tensor]) { s.hashes.Delete(key) }, key)
	}
	return h.(*hashes)
}

// tensor returns a tensor as an object.
func (s *store) tensor(t *tensors.Tensor) (o object, err error) {
	h := s.hashesOf(t)
	h.once.Do(func() {
		var b []byte
		if b, h.err = xla.HostBytes(t); h.err == nil {
			h.all = hashOf(b)
		}
	})
	return object{h.all, int(t.ByteSize()), func() ([]byte, error) { return xla.HostBytes(t) }}, h.err
}

// rowsOf returns the memoized hashes of the rows of a matrix too.
func (s *store) rowsOf(t *tensors.Tensor) (*hashes, error) {
	h := s.hashesOf(t)
	h.byRow.Do(func() {
		if h.data, h.err = xla.HostBytes(t); h.err != nil {
			return
		}
		seen, n := map[string]int{}, t.Shape().Dimensions[0]
		h.rows, h.often = make([]string, n), make([]bool, n)
		for i := range h.rows {
			h.rows[i] = hashOf(h.row(i))
			seen[h.rows[i]]++
		}
		for i := range h.rows {
			h.often[i] = seen[h.rows[i]] > 1
		}
	})
	return h, h.err
}

// row returns the bytes of a row.
func (h *hashes) row(i int) []byte {
	size := len(h.data) / max(1, len(h.rows))
	return h.data[i*size : (i+1)*size : (i+1)*size]
}

// objectOf returns bytes as an object.
func objectOf(hash string, b []byte) object {
	return object{hash, len(b), func() ([]byte, error) { return b, nil }}
}

// of returns what is known of an object.
func (s *store) of(hash string) *stored {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known.Get(hash, func() *stored { return new(stored) })
}

// forget forgets where objects are: the hub may be a new one.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = lru.New[string, *stored](mostKnown)
}

// doubt marks objects that a worker did not find.
func (s *store) doubt(hashes []string) {
	for _, hash := range hashes {
		o := s.of(hash)
		o.doubted.Store(true)
		o.there.Store(false)
	}
}

// put brings the objects that the desk lacks. It waits while the hub is away.
func (s *store) put(ctx context.Context, objects []object) error {
	for _, o := range objects {
		for try := 0; ; try++ {
			err := s.putOne(ctx, o)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if errors.Is(err, ErrNoHub) {
				return err
			}
			if _, full := errors.AsType[refused](err); full && try >= 2 || try > 20 {
				return fmt.Errorf("fleet: the hub does not take an object of %s: %w", bytesText(o.size), err)
			}
			pause(ctx, beat/5)
		}
	}
	return nil
}

func (s *store) putOne(ctx context.Context, o object) error {
	is := s.of(o.hash)
	is.putting.Lock()
	defer is.putting.Unlock()
	if is.there.Load() {
		return nil
	}
	ctx, cancel, err := s.fleet.hub(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	r := putRequest{Hash: o.hash, Size: int64(o.size)}
	if err = errLost; !is.doubted.Load() {
		_, err = s.send(ctx, r, nil) // an earlier run, or another notebook, may have brought it
	}
	if errors.Is(err, errLost) {
		var b []byte
		if b, err = o.bytes(); err == nil {
			err = s.upload(ctx, r, b)
		}
	}
	if err == nil {
		is.doubted.Store(false)
		is.there.Store(true)
	}
	return err
}

// upload sends an object, some chunks at a time.
func (s *store) upload(ctx context.Context, r putRequest, b []byte) error {
	r.Upload = rand.Uint64()
	group, some := errgroup.WithContext(ctx)
	group.SetLimit(window)
	for ; len(b) > chunk; b = b[chunk:] {
		part, data := r, b[:chunk]
		group.Go(func() error { _, err := s.send(some, part, data); return err })
		r.From += chunk
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.Last = true
	_, err := s.send(ctx, r, b)
	return err
}

// send sends a request to the desk, and returns how many bytes it stores.
func (s *store) send(ctx context.Context, r putRequest, data []byte) (stored int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, chunkTimeout)
	defer cancel()
	head, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	m := nats.NewMsg(desks + s.desk + put)
	m.Header.Set(putField, string(head))
	m.Data = data
	reply, err := s.fleet.nc.RequestMsgWithContext(ctx, m)
	if err == nil {
		stored, _ = strconv.ParseInt(reply.Header.Get(sizeField), 10, 64) // about
	}
	return stored, said(reply, err)
}

// fill reads bytes from a position on, some chunks at a time.
func fill(ctx context.Context, data []byte, from int, read func(ctx context.Context, from, size int) ([]byte, error)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(window)
	for from := from; from < len(data); from += chunk {
		group.Go(func() error {
			some, err := read(ctx, from, min(chunk, len(data)-from))
			copy(data[from:], some)
			return err
		})
	}
	return group.Wait()
}

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
