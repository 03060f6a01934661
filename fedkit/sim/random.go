package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// stream returns the random numbers for one purpose (at most 24 bytes), so that drawing more for one does not shift those
// of another.
func stream(seed uint64, purpose string) *rand.Rand {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	copy(key[8:], purpose)
	return rand.New(rand.NewChaCha8(key))
}

// seeded returns "seed 7", or nothing for seed 0.
func seeded(seed uint64) []string {
	if seed == 0 {
		return nil
	}
	return []string{fmt.Sprintf("seed %d", seed)}
}
