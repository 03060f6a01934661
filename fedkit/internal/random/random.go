// Package random has the randomness of runs: all of it comes from a seed, a purpose, and numbers such as the round and the client.
package random

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Of is fedkit.Random.
func Of(seed uint64, purpose string, ids ...int) *rand.Rand {
	b := binary.LittleEndian.AppendUint64(nil, seed)
	for _, id := range ids {
		b = binary.LittleEndian.AppendUint64(b, uint64(id))
	}
	return rand.New(rand.NewChaCha8(sha256.Sum256(append(b, purpose...))))
}

// Draws is the source of randomness for one call of Train; the calls of a round are counted from 1.
type Draws struct {
	Seed        uint64
	Round, Call int
	Batches     int // the call whose batches it has, and whose random bits for models
}

// Order returns the generator that shuffles a client's examples in an epoch.
func (d Draws) Order(client, epoch int) *rand.Rand {
	if d.Batches == 1 {
		return Of(d.Seed, "batches", d.Round, client, epoch)
	}
	return Of(d.Seed, "batches", d.Round, client, epoch, d.Batches)
}

// Key returns a client's random bits for models with randomness, such as dropout, or for noise, which is never drawn twice.
func (d Draws) Key(client int, noise bool) (key [3]uint64) {
	rng := Of(d.Seed, "model's randomness", d.Round, client, d.Batches)
	if noise {
		rng = Of(d.Seed, "noise", d.Round, client, d.Call)
	}
	for i := range key {
		key[i] = rng.Uint64()
	}
	return key
}
