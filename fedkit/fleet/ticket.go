package fleet

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/text"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// ticket is the content of a fleet's file: the address of the hub, and the keys to it.
type ticket struct {
	Version int    `json:"version"`
	URL     string `json:"url"`
	CA      string `json:"ca,omitempty"` // PEM; if set, the hub accepts TLS only
	// Seeds of NATS keys: of notebooks, which run programs; and to sign the keys that workers generate, one each.
	Notebook string `json:"notebook,omitempty"`
	Worker   string `json:"worker,omitempty"`
	// Credentials is a .creds file for your own NATS server, instead of the keys.
	Credentials string `json:"credentials,omitempty"`
}

const ticketVersion = 1

// ErrTicket says that a fleet's file cannot be used.
var ErrTicket = errors.New("the fleet's file cannot be used")

func readTicket(path string) (t *ticket, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fleet: %w: %s: %w; ./scripts/hub writes one", ErrTicket, path, text.ShortError(err))
		}
	}()
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	t = new(ticket)
	if err := json.Unmarshal(b, t); err != nil {
		return nil, err
	}
	switch {
	case t.Version != ticketVersion:
		return nil, fmt.Errorf("version %d: this fedkit reads version %d", t.Version, ticketVersion)
	case t.URL == "":
		return nil, errors.New("it has no url")
	}
	return t, nil
}

// write writes the file, readable by its owner only.
func (t *ticket) write(path string) error {
	b, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return file.WriteSecret(path, append(b, '\n'))
}

// ofHub reports whether the file is for a hub, not for your own NATS server.
func (t *ticket) ofHub() bool { return t.Credentials == "" && t.Notebook+t.Worker != "" }

// connectNotebook opens the connection of a notebook.
func (t *ticket) connectNotebook(more ...nats.Option) (*nats.Conn, error) {
	if !t.ofHub() {
		return t.connect(notebookInbox, more...)
	}
	if t.Notebook == "" {
		return nil, fmt.Errorf("fleet: %w: it has a key for workers, and none for notebooks", ErrTicket)
	}
	_, login, err := loginOf(nkeys.FromSeed([]byte(t.Notebook)))
	if err != nil {
		return nil, fmt.Errorf("fleet: %w: its key: %w", ErrTicket, err)
	}
	return t.connect(notebookInbox, append(more, login)...)
}

// connectWorker opens the connection of a worker, and returns its name: that of the key pair that it generates here.
func (t *ticket) connectWorker(more ...nats.Option) (nc *nats.Conn, name string, err error) {
	if !t.ofHub() {
		name = newName()
		nc, err = t.connect(workerInbox+name, more...)
		return nc, name, err
	}
	join, err := nkeys.FromSeed([]byte(t.Worker))
	if err != nil {
		return nil, "", fmt.Errorf("fleet: %w: its key for workers: %w", ErrTicket, err)
	}
	public, login, err := loginOf(nkeys.CreateUser())
	token := ""
	if err == nil {
		token, err = vouch(join, public)
	}
	if err != nil {
		return nil, "", fmt.Errorf("fleet: worker: %w", err)
	}
	name = nameOf(public)
	nc, err = t.connect(workerInbox+name, append(more, login, nats.Token(token))...)
	return nc, name, err
}

// loginOf returns the public key of a pair, and the option to connect with it.
func loginOf(key nkeys.KeyPair, failed error) (public string, login nats.Option, err error) {
	if failed != nil {
		return "", nil, failed
	}
	public, err = key.PublicKey()
	return public, nats.Nkey(public, key.Sign), err
}

// connect opens a connection that reconnects forever. Replies go to the client's own inbox, so that nobody reads those of others.
func (t *ticket) connect(inbox string, more ...nats.Option) (*nats.Conn, error) {
	options := append([]nats.Option{nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.Timeout(5 * time.Second),
		nats.CustomInboxPrefix(inbox), nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(32 << 20)}, more...)
	if t.CA != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, fmt.Errorf("fleet: %w: its ca is no certificate", ErrTicket)
		}
		options = append(options, nats.Secure(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}))
	}
	if t.Credentials != "" {
		options = append(options, nats.UserCredentials(t.Credentials))
	}
	nc, err := nats.Connect(t.URL, options...)
	switch {
	case err == nil:
		return nc, nil
	case errors.Is(err, nats.ErrAuthorization):
		return nil, fmt.Errorf("fleet: %w: hub %s refuses its key: it is of another hub, or an old one", ErrTicket, t.URL)
	case errors.Is(err, nats.ErrNoServers):
		return nil, fmt.Errorf("fleet: %w answers at %s: start it with ./scripts/hub", ErrNoHub, t.URL)
	}
	return nil, fmt.Errorf("fleet: hub %s: %w", t.URL, err)
}
