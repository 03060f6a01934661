package fleet

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// door authenticates clients: notebooks by their key, and workers. A worker generates its own key pair, signed with the key in its file,
// and may publish under its own name alone. So anyone with the file can be a new worker, and nobody can pose as another one.
type door struct{ notebook, worker nkeys.KeyPair }

func newDoor(k *secrets) (d *door, err error) {
	d = new(door)
	if d.notebook, err = nkeys.FromSeed([]byte(k.Notebook)); err != nil {
		return nil, err
	}
	d.worker, err = nkeys.FromSeed([]byte(k.Worker))
	return d, err
}

// Check implements server.Authentication.
func (d *door) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	key, err := nkeys.FromPublicKey(o.Nkey)
	if err != nil {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(o.Sig)
	if err != nil || key.Verify(c.GetNonce(), signature) != nil {
		return false
	}
	if notebook, err := d.notebook.PublicKey(); err == nil && o.Nkey == notebook {
		c.RegisterUser(new(server.User))
		return true
	}
	vouched, err := base64.RawURLEncoding.DecodeString(o.Token)
	if err != nil || d.worker.Verify(vouchedFor(o.Nkey), vouched) != nil {
		return false
	}
	c.RegisterUser(&server.User{Permissions: workerMay(nameOf(o.Nkey))})
	return true
}

// vouch signs the public key of a worker.
func vouch(join nkeys.KeyPair, public string) (token string, err error) {
	signature, err := join.Sign(vouchedFor(public))
	return base64.RawURLEncoding.EncodeToString(signature), err
}

func vouchedFor(public string) []byte { return []byte("fedkit worker " + public) }

// nameOf derives a worker's name from its public key. No two keys share it: it is 80 bits of a hash.
func nameOf(public string) string {
	sum := sha256.Sum256([]byte(public))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}
