package partition

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"reflect"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Manifest says exactly what data a run saw: two runs with equal hashes had the same examples at the same clients.
// It is saved with every history.
type Manifest struct {
	Rule    string         `json:"rule"`             // in words
	Config  *config.Config `json:"config,omitempty"` // of the rule, with every option and seed; nil in old files
	Data    string         `json:"data"`             // SHA-256 of the data set's content, in hexadecimal
	Clients string         `json:"clients"`          // SHA-256 of who holds which rows, in hexadecimal

	// Seeds is what old files have in place of Config: the rule's Seed, then that of its Of, and so on.
	Seeds []uint64 `json:"seeds,omitempty"`
}

// Manifest returns the manifest of a deal that the rule made. Its hashes are taken over little-endian numbers:
//
//	Data     Shape, Classes; of the training and then of the test part: Bytes, Scale, Shift, Floats, Targets, Labels,
//	         Owner; Groups
//	Clients  of each client: Group, Train, Test
//
// in this order. Each slice follows its length; an int is written as int64, anything else in the field's own type. Names
// are not hashed. MNIST takes some tens of milliseconds.
func (d *Deal) Manifest(rule Rule) Manifest {
	return Manifest{Rule: rule.String(), Config: config.Of(rule), Data: hashData(d.Data), Clients: hashClients(d.Clients)}
}

// Equal says whether two runs saw the same data: the hashes are equal, and so is Config if both have one. Rule is not
// compared, because its wording may change.
func (m Manifest) Equal(other Manifest) bool {
	return m.Data == other.Data && m.Clients == other.Clients &&
		(m.Config == nil || other.Config == nil || reflect.DeepEqual(m.Config, other.Config))
}

// String returns the rule and the first digits of both hashes.
func (m Manifest) String() string {
	return fmt.Sprintf("%s; data %.12s, clients %.12s", m.Rule, m.Data, m.Clients)
}

func hashData(d *datasets.Dataset) string {
	h := sha256.New()
	integers(h, len(d.Shape))
	integers(h, d.Shape...)
	integers(h, d.Classes)
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		integers(h, len(s.Bytes))
		h.Write(s.Bytes)
		words(h, []float32{s.Scale, s.Shift}, math.Float32bits)
		for _, values := range [][]float32{s.Floats, s.Targets} {
			integers(h, len(values))
			words(h, values, math.Float32bits)
		}
		for _, values := range [][]int32{s.Labels, s.Owner} {
			integers(h, len(values))
			words(h, values, func(v int32) uint32 { return uint32(v) })
		}
	}
	integers(h, len(d.Groups))
	integers(h, d.Groups...)
	return hex.EncodeToString(h.Sum(nil))
}

func hashClients(clients []Client) string {
	h := sha256.New()
	for _, c := range clients {
		integers(h, c.Group, len(c.Train))
		integers(h, c.Train...)
		integers(h, len(c.Test))
		integers(h, c.Test...)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// integers writes int64 values.
func integers(h hash.Hash, values ...int) {
	b := make([]byte, 0, 8*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	h.Write(b)
}

// words writes 32-bit values in blocks.
func words[T any](h hash.Hash, values []T, bits func(T) uint32) {
	b := make([]byte, 0, 1<<16)
	for _, v := range values {
		if b = binary.LittleEndian.AppendUint32(b, bits(v)); len(b) == cap(b) {
			h.Write(b)
			b = b[:0]
		}
	}
	h.Write(b)
}
