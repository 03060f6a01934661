package fleet

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// HubOptions say where a hub is and how much it holds. The zero value, but for File, is a hub for this machine alone.
type HubOptions struct {
	File   string   // written for workers and notebooks, with their keys; required
	Dir    string   // where it keeps objects and its own keys; default: File + ".hub"
	Listen string   // host:port that other machines reach it by; TLS is on then. Default: loopback, any port
	Names  []string // further host names and addresses that it is reached by, for its certificate
	Memory int64    // bytes of calls that wait, at most; default 256 MB
	Disk   int64    // bytes of objects, at most; default 16 GB
}

// Hub is an embedded NATS server with JetStream: it passes calls, answers and objects on, and computes nothing.
type Hub struct {
	server *server.Server
	file   string
}

// Sizes of a hub.
const (
	hubMemory  = 256 << 20
	hubDisk    = 16 << 30
	maxPayload = 4 << 20 // bytes of a message
)

// secrets are what a hub keeps, so that its file stays right when it is started again.
type secrets struct {
	Notebook, Worker string // seeds
	Certificate, Key string // PEM
	Names            []string
	Port             int
}

// StartHub starts a hub and writes its file. Started again with the same Dir, it has the same keys, and the same port if it is free.
func StartHub(o HubOptions) (h *Hub, err error) {
	defer func() {
		if err != nil {
			h, err = nil, fmt.Errorf("fleet: hub: %w", err)
		}
	}()
	if o.File == "" {
		return nil, errors.New("File is empty: want the path of the file for workers and notebooks")
	}
	o.Dir = cmp.Or(o.Dir, o.File+".hub")
	host, port, err := o.address()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	kept, err := o.secrets(host)
	if err != nil {
		return nil, err
	}
	anyPort := port == server.RANDOM_PORT
	if anyPort && kept.Port != 0 {
		port = kept.Port
	}
	s, err := o.start(host, port, kept)
	if err != nil && anyPort && port != server.RANDOM_PORT { // somebody else has it now
		s, err = o.start(host, server.RANDOM_PORT, kept)
	}
	if err != nil {
		return nil, err
	}
	h = &Hub{s, o.File}
	kept.Port = s.Addr().(*net.TCPAddr).Port
	t := &ticket{Version: ticketVersion, Notebook: kept.Notebook, Worker: kept.Worker, CA: kept.Certificate}
	scheme := "nats"
	if o.Listen != "" {
		scheme = "tls"
	}
	t.URL = fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(reachable(host), strconv.Itoa(kept.Port)))
	if err = errors.Join(kept.write(o.Dir), t.write(o.File)); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// address returns where to listen.
func (o *HubOptions) address() (host string, port int, err error) {
	if o.Listen == "" {
		return "127.0.0.1", server.RANDOM_PORT, nil
	}
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", 0, fmt.Errorf("Listen %q: want host:port, such as 0.0.0.0:4222", o.Listen)
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("Listen %q: want a port in [0, 65535]", o.Listen)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return cmp.Or(host, "0.0.0.0"), port, nil
}

// reachable is the host name in the file: a hub that listens everywhere is found by the name of its machine.
func reachable(host string) string {
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		return host
	}
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}

func (o *HubOptions) start(host string, port int, k *secrets) (*server.Server, error) {
	options := &server.Options{
		Host: host, Port: port, NoSigs: true, MaxPayload: maxPayload, MaxPending: 256 << 20,
		JetStream: true, StoreDir: o.Dir, JetStreamMaxMemory: cmp.Or(o.Memory, hubMemory), JetStreamMaxStore: cmp.Or(o.Disk, hubDisk),
	}
	for role, seed := range []string{k.Notebook, k.Worker} {
		pair, err := nkeys.FromSeed([]byte(seed))
		if err != nil {
			return nil, err
		}
		public, err := pair.PublicKey()
		if err != nil {
			return nil, err
		}
		user := &server.NkeyUser{Nkey: public}
		if role == int(worker) {
			user.Permissions = workerMay
		}
		options.Nkeys = append(options.Nkeys, user)
	}
	if o.Listen != "" {
		pair, err := tls.X509KeyPair([]byte(k.Certificate), []byte(k.Key))
		if err != nil {
			return nil, err
		}
		options.TLS, options.TLSTimeout = true, 5
		options.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS13}
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, err
	}
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, fmt.Errorf("cannot listen at %s:%d", host, port)
	}
	return s, nil
}

// secrets returns the keys that the hub had before, or new ones.
func (o *HubOptions) secrets(host string) (*secrets, error) {
	k := new(secrets)
	b, err := os.ReadFile(filepath.Join(o.Dir, "keys.json"))
	switch {
	case err == nil:
		if err := json.Unmarshal(b, k); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Dir, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for _, seed := range []*string{&k.Notebook, &k.Worker} {
		if *seed != "" {
			continue
		}
		pair, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		s, err := pair.Seed()
		if err != nil {
			return nil, err
		}
		*seed = string(s)
	}
	names := append([]string{host, reachable(host), "localhost", "127.0.0.1"}, o.Names...)
	if o.Listen == "" {
		k.Certificate, k.Key = "", ""
	} else if k.Certificate == "" || fmt.Sprint(names) != fmt.Sprint(k.Names) {
		k.Names = names
		if err := k.certify(); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *secrets) write(dir string) error {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	return writeSecret(filepath.Join(dir, "keys.json"), b)
}

// certify makes a certificate that vouches for itself.
func (k *secrets) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "fedkit hub"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, name := range k.Names {
		if ip := net.ParseIP(name); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	k.Certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	k.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return nil
}

// File returns the path of the file for workers and notebooks.
func (h *Hub) File() string { return h.file }

// URL returns the address.
func (h *Hub) URL() string { return h.server.ClientURL() }

// Close ends the hub.
func (h *Hub) Close() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}
