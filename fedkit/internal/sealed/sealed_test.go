package sealed_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/internal/sealed"
	"github.com/janpfeifer/must"
)

func TestSealed(t *testing.T) {
	server := must.M1(sealed.NewServer())
	key, values := server.PublicKey(), []float64{0.25, 0, 0.75}
	a, b := must.M1(sealed.Seal(key, 3, values)), must.M1(sealed.Seal(key, 3, values))
	if bytes.Equal(a, b) {
		t.Error("the same bytes twice: who listens could tell equal values")
	}
	if len(key) != sealed.KeyBytes || len(a) != 8*len(values)+sealed.Overhead {
		t.Errorf("a key of %d bytes, and %d bytes for %d numbers", len(key), len(a), len(values))
	}
	if got := must.M1(server.Open(3, a, 3)); !slices.Equal(got, values) {
		t.Errorf("opened %v, want %v", got, values)
	}
}

// Open refuses messages that are altered, cut off, empty, sealed for another server, sent as another client's or of another size.
func TestOpenRefuses(t *testing.T) {
	server, other := must.M1(sealed.NewServer()), must.M1(sealed.NewServer())
	right := must.M1(sealed.Seal(server.PublicKey(), 3, []float64{1, 2, 3}))
	for at := range right {
		changed := bytes.Clone(right)
		changed[at] ^= 1
		if _, err := server.Open(3, changed, 3); err == nil || !strings.Contains(err.Error(), "client 3: what it sealed does not open") {
			t.Errorf("byte %d changed: error %v", at, err)
		}
	}
	for name, c := range map[string]struct {
		sealed []byte
		client int
		want   string
	}{
		"cut off":        {right[:len(right)-1], 3, "client 3: what it sealed does not open"},
		"empty":          {nil, 3, "client 3: what it sealed does not open"},
		"another server": {must.M1(sealed.Seal(other.PublicKey(), 3, []float64{1, 2, 3})), 3, "client 3: what it sealed does not open"},
		"another client": {right, 4, "client 4: what it sealed does not open"},
		"too few":        {must.M1(sealed.Seal(server.PublicKey(), 3, []float64{1, 2})), 3, "client 3 sealed 16 bytes: want 24, for 3 numbers"},
		"too many":       {must.M1(sealed.Seal(server.PublicKey(), 3, make([]float64, 4))), 3, "client 3 sealed 32 bytes: want 24, for 3 numbers"},
	} {
		if _, err := server.Open(c.client, c.sealed, 3); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	if _, err := sealed.Seal([]byte("no key"), 3, nil); err == nil || !strings.Contains(err.Error(), "client 3: the server's key") {
		t.Errorf("error %v for bytes that are no key", err)
	}
}
