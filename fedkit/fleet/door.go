package fleet

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// door is who a hub lets in: who has the notebooks' key, and workers. Each of these makes a key of its own, for which the key in its file
// vouches, and may speak under the name of its own key alone. So the file lets anybody be a new worker, and nobody one that is there.
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

// nameOf returns the name of the worker with a public key. No other key has it: it is 80 bits of a hash.
func nameOf(public string) string {
	sum := sha256.Sum256([]byte(public))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
}
