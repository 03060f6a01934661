package partition

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/config"
)

// Manifest identifies the data of a run: two runs with equal hashes had the same examples at the same clients. It is
// saved with every history.
type Manifest struct {
	Rule    string         `json:"rule"`             // in words
	Config  *config.Config `json:"config,omitempty"` // of the rule, with every option and seed
	Data    string         `json:"data"`             // SHA-256 of the data set's content, in hexadecimal
	Clients string         `json:"clients"`          // SHA-256 of who holds which rows, in hexadecimal
}

// Manifest returns the manifest of a deal that the rule made. Its hashes are taken over little-endian numbers:
//
//	Data     Shape, Classes; of the training and then of the test part: Bytes, Scale, Shift, Floats, Targets, Labels,
//	         Owner; Groups; with several inputs, the word "inputs", Inputs; with several targets, tags or positions, the
//	         word "truth", [2]Width, Tags
//	Clients  of each client: Group, Train, Test; then, if there are any, the word "validation" and of each client: Validation
//
// in this order. Each slice follows its length; an int is written as int64, anything else in the field's own type. Names
// are not hashed. MNIST takes tens of milliseconds.
func (d *Partitioned) Manifest(rule Rule) Manifest {
	if rule == nil || d.Data == nil {
		return Manifest{}
	}
	return Manifest{Rule: rule.String(), Config: config.Of(rule), Data: hashData(d.Data), Clients: hashClients(d.Clients)}
}

// Equal reports whether two runs saw the same data: the hashes and Config are equal. Rule is not compared, because its
// wording may change.
func (m Manifest) Equal(other Manifest) bool {
	return m.Data == other.Data && m.Clients == other.Clients && reflect.DeepEqual(m.Config, other.Config)
}

// String returns the rule and the first digits of both hashes.
func (m Manifest) String() string {
	return fmt.Sprintf("%s; data %.12s, clients %.12s", m.Rule, m.Data, m.Clients)
}

func hashData(d *datasets.Dataset) string {
	h := sha256.New()
	integers(h, d.Shape)
	write(h, int64(d.Classes))
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		list(h, s.Bytes)
		write(h, []float32{s.Scale, s.Shift})
		list(h, s.Floats)
		list(h, s.Targets)
		list(h, s.Labels)
		list(h, s.Owner)
	}
	integers(h, d.Groups)
	if d.Inputs != nil { // others keep the hash they had before there were any; so below
		write(h, []byte("inputs"))
		for _, shape := range d.Inputs {
			integers(h, shape)
		}
	}
	if d.Train.Width > 1 || d.Test.Width > 1 || d.Tags {
		write(h, []byte("truth"))
		integers(h, []int{d.Train.Width, d.Test.Width})
		write(h, d.Tags)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func hashClients(clients []Client) string {
	h := sha256.New()
	for _, c := range clients {
		write(h, int64(c.Group))
		integers(h, c.Train)
		integers(h, c.Test)
	}
	if slices.ContainsFunc(clients, func(c Client) bool { return len(c.Validation) > 0 }) { // others keep the hash they had before there were any
		write(h, []byte("validation"))
		for _, c := range clients {
			integers(h, c.Validation)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// write writes a number, or a slice without its length. A hash never fails.
func write(h hash.Hash, values any) { binary.Write(h, binary.LittleEndian, values) }

// list writes a slice after its length.
func list[T any](h hash.Hash, values []T) {
	write(h, int64(len(values)))
	write(h, values)
}

func integers(h hash.Hash, values []int) {
	wide := make([]int64, len(values))
	for i, v := range values {
		wide[i] = int64(v)
	}
	list(h, wide)
}
