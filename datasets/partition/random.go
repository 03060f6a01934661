package partition

import (
	"encoding/binary"
	"math/rand/v2"
)

// stream returns the random stream for one purpose ("train", "shares", at most 24 bytes), so that drawing more for one
// does not shift the others.
func stream(seed uint64, purpose string) rand.Source {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], purpose)
	return rand.NewChaCha8(key)
}

// shuffled returns 0..n−1 in random order.
func shuffled(n int, src rand.Source) []int { return rand.New(src).Perm(n) }
