// Package sealed lets clients send the server a few numbers that nobody on the way can read or change: by HPKE (RFC 9180) of
// the standard library, with X25519, HKDF-SHA256 and AES-256-GCM.
package sealed

import (
	"crypto/ecdh"
	"crypto/hpke"
	"encoding/binary"
	"fmt"
)

// KeyBytes is the length of the server's public key, and Overhead what sealing adds to 8 bytes per number: an
// encapsulated key and a tag.
const KeyBytes, Overhead = 32, 32 + 16

// Server holds a key pair.
type Server struct{ key hpke.PrivateKey }

// NewServer draws a key pair.
func NewServer() (Server, error) {
	key, err := hpke.DHKEM(ecdh.X25519()).GenerateKey()
	return Server{key}, err
}

// PublicKey returns the key that clients seal with.
func (s Server) PublicKey() []byte { return s.key.PublicKey().Bytes() }

// Seal encrypts the values [n] of a client, in 8n + Overhead bytes, which differ each time.
func Seal(publicKey []byte, client int, values []float64) ([]byte, error) {
	key, err := hpke.DHKEM(ecdh.X25519()).NewPublicKey(publicKey)
	if err != nil {
		return nil, fmt.Errorf("client %d: the server's key: %w", client, err)
	}
	plain, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		return nil, fmt.Errorf("client %d: %w", client, err)
	}
	return hpke.Seal(key, hpke.HKDFSHA256(), hpke.AES256GCM(), sender(client), plain)
}

// Open returns the n values that a client sealed, or an error that names the client if it did not, or sealed another number
// of them.
func (s Server) Open(client int, sealed []byte, n int) ([]float64, error) {
	plain, err := hpke.Open(s.key, hpke.HKDFSHA256(), hpke.AES256GCM(), sender(client), sealed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("client %d: what it sealed does not open: %w", client, err)
	case len(plain) != 8*n:
		return nil, fmt.Errorf("client %d sealed %d bytes: want %d, for %d numbers", client, len(plain), 8*n, n)
	}
	values := make([]float64, n)
	_, err = binary.Decode(plain, binary.LittleEndian, values)
	return values, err
}

// sender binds a sealed message to its client: nobody can send it as another's.
func sender(client int) []byte { return fmt.Appendf(nil, "fedkit client %d", client) }
