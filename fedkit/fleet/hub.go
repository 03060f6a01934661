package fleet

import (
	"cmp"
	"context"
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
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/file"
	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// HubOptions configure a hub. With no more than File, it serves this machine alone.
type HubOptions struct {
	// File is written for workers and notebooks, with their keys; required. With Listen a second one is written beside it, with
	// the key of workers alone, for less trusted machines: fleet.worker.json beside fleet.json. The guide says what it allows.
	File   string
	Dir    string   // objects and the hub's own keys; default: File + ".hub"
	Listen string   // host:port for other machines, which use TLS. Default: loopback, any port
	Names  []string // host names and addresses for its certificate; the first is for the file. Default: this machine's name
	Memory int64    // limit on bytes buffered for a worker or notebook that reads slowly; what exceeds it is sent again. Default 256 MB
	Disk   int64    // limit on the bytes of objects; default 16 GB

	// Logf receives the server's warnings, such as a full disk or a failed TLS handshake. Default: none.
	Logf func(format string, a ...any)
}

// Hub is an embedded NATS server and a desk: it relays calls, answers and objects, and computes nothing.
type Hub struct {
	server *server.Server
	desk   *nats.Conn
	lock   *flock.Flock // of the folder
	url    string
	file   string
	less   string // path of the file with the key of workers alone
}

// Sizes of a hub.
const (
	hubMemory  = 256 << 20
	hubDisk    = 16 << 30
	maxPayload = 4 << 20 // bytes of a message

	leastMemory = 16e6 // bytes: a few messages

	objectsDir = "objects" // folder in that of the hub
)

// secrets are what a hub stores, so that its file stays valid after a restart.
type secrets struct {
	Notebook, Worker string // seeds
	Certificate, Key string // PEM
	Names            []string
	Port             int
}

// StartHub starts a hub and writes its file. Started again with the same Dir, it has the same keys, and the same port if it is free.
func StartHub(o HubOptions) (*Hub, error) {
	h := &Hub{file: o.File}
	if err := h.start(o); err != nil {
		h.Close()
		return nil, fmt.Errorf("fleet: hub: %w", err)
	}
	return h, nil
}

func (h *Hub) start(o HubOptions) error {
	if o.File == "" {
		return fedkit.Invalid("File", "nothing", "the path of the file for workers and notebooks")
	}
	if o.Memory != 0 && o.Memory < leastMemory {
		return fedkit.Invalid("Memory", o.Memory, fmt.Sprintf("at least %s", bytesText(int64(leastMemory))))
	}
	host, port, err := o.address()
	if err != nil {
		return err
	}
	if err := o.makeDir(); err != nil {
		return err
	}
	h.lock = flock.New(filepath.Join(o.Dir, "lock"))
	moment, cancel := context.WithTimeout(context.Background(), time.Second) // another hub may be shutting down
	defer cancel()
	if _, err := h.lock.TryLockContext(moment, 20*time.Millisecond); err != nil {
		if moment.Err() == nil {
			return err
		}
		return fmt.Errorf("another one keeps its objects in %s", o.Dir)
	}
	kept, err := o.secrets(host)
	if err != nil {
		return err
	}
	anyPort := port == server.RANDOM_PORT
	if anyPort && kept.Port != 0 {
		port = kept.Port
	}
	h.server, err = o.start(host, port, kept)
	if err != nil && anyPort && port != server.RANDOM_PORT { // another process has the port now
		h.server, err = o.start(host, server.RANDOM_PORT, kept)
	}
	if err != nil {
		return err
	}
	if h.desk, err = (&ticket{Notebook: kept.Notebook}).connectNotebook(nats.Name("desk"), nats.InProcessServer(h.server)); err != nil {
		return err
	}
	if err := serve(h.desk, hubDesk, filepath.Join(o.Dir, objectsDir), cmp.Or(o.Disk, hubDisk)); err != nil {
		return err
	}
	kept.Port = h.server.Addr().(*net.TCPAddr).Port
	scheme, name := "nats", host
	if o.Listen != "" {
		scheme, name = "tls", append(o.Names, reachable(host))[0]
	}
	h.url = fmt.Sprintf("%s://%s", scheme, net.JoinHostPort(name, strconv.Itoa(kept.Port)))
	t := &ticket{Version: ticketVersion, URL: h.url, Notebook: kept.Notebook, Worker: kept.Worker, CA: kept.Certificate}
	if err := errors.Join(kept.write(o.Dir), t.write(o.File)); err != nil || o.Listen == "" {
		return err
	}
	t.Notebook, h.less = "", forWorkers(o.File)
	return t.write(h.less)
}

// makeDir makes the folder, with access for its owner only, as it holds data and keys. If it was named, it may hold other
// files: then this goes for the objects alone, and keys have their own mode.
func (o *HubOptions) makeDir() error {
	private := filepath.Join(o.Dir, objectsDir)
	if o.Dir == "" {
		o.Dir = o.File + ".hub"
		private = o.Dir
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, objectsDir), 0o700); err != nil {
		return err
	}
	return os.Chmod(private, 0o700)
}

// forWorkers is the path of the second file.
func forWorkers(file string) string {
	extension := filepath.Ext(file)
	return strings.TrimSuffix(file, extension) + ".worker" + extension
}

// address returns where to listen.
func (o *HubOptions) address() (host string, port int, err error) {
	if o.Listen == "" {
		return "127.0.0.1", server.RANDOM_PORT, nil
	}
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return "", 0, fedkit.Invalid("Listen", o.Listen, "host:port, such as 0.0.0.0:4222")
	}
	if port, err = strconv.Atoi(text); err != nil || port < 0 || port > 65535 {
		return "", 0, fedkit.Invalid("Listen", o.Listen, "host:port with a port in [0, 65535]")
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return cmp.Or(host, "0.0.0.0"), port, nil
}

// reachable returns the host name for the file: the machine's name if the hub listens everywhere.
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
	door, err := newDoor(k)
	if err != nil {
		return nil, err
	}
	options := &server.Options{
		Host: host, Port: port, NoSigs: true, MaxPayload: maxPayload, MaxPending: cmp.Or(o.Memory, hubMemory), MaxSubs: 1 << 16,
		CustomClientAuthentication: door, AlwaysEnableNonce: true,
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
	log := &serverLog{o.Logf, make(chan error, 1)}
	s.SetLogger(log, false, false)
	ready := make(chan bool, 1)
	go s.Start()
	go func() { ready <- s.ReadyForConnections(10 * time.Second) }()
	select {
	case err = <-log.fatal:
	case ok := <-ready:
		if ok {
			return s, nil
		}
		err = errors.New("the server does not start")
	}
	s.Shutdown()
	return nil, err
}

// serverLog passes on what a server warns of, and captures the error with which it cannot start. Notices, as of each start, are dropped.
type serverLog struct {
	say   func(format string, a ...any)
	fatal chan error
}

func (l *serverLog) Fatalf(format string, a ...any) {
	select {
	case l.fatal <- fmt.Errorf(format, a...):
	default: // it has started, or the first one is the cause
		l.Errorf(format, a...)
	}
}

func (l *serverLog) Errorf(format string, a ...any) {
	if l.say != nil {
		l.say("hub: "+format, a...)
	}
}

func (l *serverLog) Warnf(format string, a ...any) { l.Errorf(format, a...) }
func (*serverLog) Noticef(string, ...any)          {}
func (*serverLog) Debugf(string, ...any)           {}
func (*serverLog) Tracef(string, ...any)           {}

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
	return file.WriteSecret(filepath.Join(dir, "keys.json"), b)
}

// certify makes a self-signed certificate.
func (k *secrets) certify() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := &x509.Certificate{Subject: pkix.Name{CommonName: "fedkit hub"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
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

// WorkerFile returns the path of the file with the key of workers alone; "" if the hub is for this machine alone.
func (h *Hub) WorkerFile() string { return h.less }

// URL returns the address, as the files have it.
func (h *Hub) URL() string { return h.url }

// Close ends the hub.
func (h *Hub) Close() {
	if h.desk != nil {
		h.desk.Close()
	}
	if h.server != nil {
		h.server.Shutdown()
		h.server.WaitForShutdown()
	}
	if h.lock != nil {
		_ = h.lock.Unlock() // the end of the process unlocks it too
	}
}

// used reports whether anybody but the desk is connected.
func (h *Hub) used() bool { return h.server.NumClients() > 1 }

// HubState is the state of a fleet's hub.
type HubState struct {
	URL  string // without a password
	Disk int64  // bytes of objects
}

// Hub asks the hub for its state.
func (f *Fleet) Hub(ctx context.Context) (HubState, error) {
	url := f.nc.ConnectedUrlRedacted()
	stored, err := f.store.send(ctx, putRequest{Hash: hashOf(nil)}, nil)
	if err != nil && !errors.Is(err, errLost) {
		return HubState{}, fmt.Errorf("fleet: hub %s: %w", url, err)
	}
	return HubState{url, stored}, nil
}
