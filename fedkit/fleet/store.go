package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"weak"

	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/nats-io/nats.go/jetstream"
)

// store tracks the objects that this process has put into the hub's content-addressed store: programs, parts of the data, initial
// models.
type store struct {
	fleet   *Fleet
	objects jetstream.ObjectStore

	mu     sync.Mutex
	known  map[string]*object // by hash
	turn   int64
	bytes  int64
	hashes sync.Map // *hashes, by weak.Pointer[tensors.Tensor]
}

// object is a part of a call that is too large to travel with it.
type object struct {
	hash  string
	size  int
	bytes func() ([]byte, error)

	putting   sync.Mutex
	there     bool
	doubted   bool  // a worker found it missing or incomplete
	temporary bool  // to be removed once no call in flight needs it
	users     int   // calls in flight that need it
	turn      int64 // last use, for LRU eviction
}

// storeLimit is the size in bytes above which the store evicts objects that no call in flight needs.
const storeLimit = 1 << 30

// storeAge is the time to live of an object at the hub. One that is needed longer is sent again.
const storeAge = 24 * time.Hour

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
func (s *store) tensor(t *tensors.Tensor) (*object, error) {
	h := s.hashesOf(t)
	h.once.Do(func() {
		var b []byte
		if b, h.err = xla.HostBytes(t); h.err == nil {
			h.all = hashOf(b)
		}
	})
	if h.err != nil {
		return nil, h.err
	}
	return s.object(h.all, int(t.ByteSize()), func() ([]byte, error) { return xla.HostBytes(t) }), nil
}

// rows returns rows of a matrix: a row that occurs once travels inline, since no other call reads it; any other is an object.
func (s *store) rows(t *tensors.Tensor, at []int) (parts []part, err error) {
	h, n := s.hashesOf(t), t.Shape().Dimensions[0]
	h.byRow.Do(func() {
		if h.data, h.err = xla.HostBytes(t); h.err != nil {
			return
		}
		seen := map[string]int{}
		h.rows, h.often = make([]string, n), make([]bool, n)
		for i := range h.rows {
			h.rows[i] = hashOf(h.row(i))
			seen[h.rows[i]]++
		}
		for i := range h.rows {
			h.often[i] = seen[h.rows[i]] > 1
		}
	})
	if h.err != nil {
		return nil, h.err
	}
	for _, i := range at {
		row := h.row(i)
		if last := len(parts) - 1; h.often[i] {
			o := s.object(h.rows[i], len(row), func() ([]byte, error) { return row, nil })
			parts = append(parts, part{size: o.size, object: o})
		} else if last >= 0 && parts[last].object == nil {
			parts[last].inline = append(parts[last].inline, row...)
			parts[last].size += len(row)
		} else {
			parts = append(parts, part{size: len(row), inline: slices.Clone(row)})
		}
	}
	return parts, nil
}

// row returns the bytes of a row.
func (h *hashes) row(i int) []byte {
	size := len(h.data) / max(1, len(h.rows))
	return h.data[i*size : (i+1)*size : (i+1)*size]
}

// given wraps bytes that only one call needs in an object.
func (s *store) given(b []byte) *object {
	o := s.object(hashOf(b), len(b), func() ([]byte, error) { return b, nil })
	s.mu.Lock()
	defer s.mu.Unlock()
	o.temporary = true
	return o
}

// object returns the object with a hash, known or new. Callers that need it in the store hold it.
func (s *store) object(hash string, size int, bytes func() ([]byte, error)) *object {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[string]*object{}
	}
	o := s.known[hash]
	if o == nil {
		o = &object{hash: hash, size: size}
		s.known[hash] = o
	}
	if o.bytes == nil || !o.there || o.users == 0 { // the tensor of an earlier call may have been freed
		o.bytes = bytes
	}
	s.turn++
	o.turn = s.turn
	return o
}

// hold pins objects in the store until letGo. One that was forgotten and is known anew is replaced by its successor.
func (s *store) hold(objects []*object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, o := range objects {
		switch known := s.known[o.hash]; known {
		case o:
		case nil:
			s.known[o.hash] = o
		default:
			objects[i] = known
		}
		objects[i].users++
	}
}

// letGo unpins objects, which may then be evicted.
func (s *store) letGo(objects []*object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range objects {
		if o.users--; o.users == 0 && o.temporary && o.there {
			s.remove(o)
		}
	}
	s.makeRoom(storeLimit)
}

// makeRoom evicts unpinned objects, least recently used first, down to this many bytes. The caller holds s.mu.
func (s *store) makeRoom(most int64) {
	for s.bytes > most {
		var oldest *object
		for _, o := range s.known {
			if o.there && o.users == 0 && (oldest == nil || o.turn < oldest.turn) {
				oldest = o
			}
		}
		if oldest == nil {
			return
		}
		s.remove(oldest)
	}
}

// remove removes an object. The caller holds s.mu.
func (s *store) remove(o *object) {
	o.there = false
	s.bytes -= int64(o.size)
	delete(s.known, o.hash)
	objects := s.objects
	go func() { _ = objects.Delete(context.Background(), o.hash) }() // a failure costs room, no more
}

// has reports whether an object is in the store.
func (s *store) has(o *object) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return o.there
}

// forget marks objects as possibly lost: those with these hashes, or all. Objects that no call needs are dropped.
func (s *store) forget(hashes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, o := range s.known {
		if len(hashes) > 0 && !slices.Contains(hashes, hash) {
			continue
		}
		if o.there {
			s.bytes -= int64(o.size)
		}
		o.there, o.doubted = false, hashes != nil
		if o.users == 0 {
			delete(s.known, hash)
		}
	}
}

// put uploads the objects that the store lacks. It waits while the hub is away.
func (s *store) put(ctx context.Context, objects []*object) error {
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
			pause(ctx, beat/5)
			if full := isFull(err); full && try < 2 {
				s.mu.Lock()
				s.makeRoom(0)
				s.mu.Unlock()
				pause(ctx, beat)
			} else if full || try > 20 {
				return fmt.Errorf("fleet: the hub does not take an object of %s: %w", size(uint64(o.size)), err)
			}
		}
	}
	return nil
}

// isFull reports whether the hub has no room.
func isFull(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case 10002, 10023, 10028, 10047, 10077: // limits exceeded, insufficient resources, memory exceeded, storage exceeded, maximum bytes exceeded
		return true
	}
	return false
}

func (s *store) putOne(ctx context.Context, o *object) error {
	o.putting.Lock()
	defer o.putting.Unlock()
	s.mu.Lock()
	there, doubted, read := o.there, o.doubted, o.bytes
	s.mu.Unlock()
	if there {
		return nil
	}
	ctx, cancel, err := s.fleet.hub(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	info, err := s.objects.GetInfo(ctx, o.hash) // uploaded by an earlier run, or another notebook
	if known := err == nil && info.Size == uint64(o.size) && !doubted; !known {
		if err == nil {
			_ = s.objects.Delete(ctx, o.hash) // to free its chunks; if that fails, the new entry still replaces it
		}
		b, err := read()
		if err != nil {
			return err
		}
		if err := s.send(ctx, o.hash, b); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.there {
		s.bytes += int64(o.size)
	}
	o.there, o.doubted = true, false
	return nil
}

// chunk is the number of bytes of an object or a result per message.
const chunk = 512 << 10
