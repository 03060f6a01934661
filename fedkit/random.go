package fedkit

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Random returns the generator for one purpose. It depends only on the arguments, not on earlier draws or the worker, so the same
// seed gives the same bytes. Round and client are typical ids.
func Random(seed uint64, purpose string, ids ...int) *rand.Rand {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	return rand.New(rand.NewChaCha8(sha256.Sum256(append(b, purpose...))))
}
