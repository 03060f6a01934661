package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// stalled is the idle timeout of a download.
var stalled = 30 * time.Second // a variable for the tests

// reach is the timeout of connecting to a server; one that exceeded it is not tried again for unreached: many programs
// ask for their data several times, and do without what they cannot get.
var reach, unreached = 2 * time.Second, time.Minute

var client = &http.Client{Transport: &http.Transport{
	Proxy:               http.ProxyFromEnvironment,
	DialContext:         within(new(net.Dialer).DialContext),
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
}}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// within is connect with these limits.
func within(connect dial) dial {
	var failed sync.Map // by address, when it was not reached
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if at, ok := failed.Load(address); ok && time.Since(at.(time.Time)) < unreached {
			return nil, fmt.Errorf("%s was not reached a moment ago", address)
		}
		limited, cancel := context.WithTimeout(ctx, reach)
		defer cancel()
		conn, err := connect(limited, network, address)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			failed.Store(address, time.Now())
			err = fmt.Errorf("%s was not reached within %v", address, reach)
		}
		return conn, err
	}
}

// download fetches a file into a folder and returns its path. The file appears there complete and checked, or not at all:
// it is written under its name with .part, checked, and renamed. A .part left by a broken connection or a killed process
// is resumed. (That is why this is not left to renameio, which starts every write from an empty file.)
func (l *Loader) download(ctx context.Context, address, folder string, s *source) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(folder, s.name)
	lock, err := l.lock(ctx, path)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if _, err := os.Stat(path); err == nil { // by another process in the meantime
		return path, nil
	}
	part, err := os.OpenFile(path+".part", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer func() {
		// A part that cannot be resumed has been emptied.
		if info, statErr := part.Stat(); err != nil && (statErr != nil || info.Size() == 0) {
			os.Remove(part.Name())
		}
		part.Close()
	}()

	get := func() (resumed bool, err error) {
		if resumed, err = l.get(ctx, address, part, s); err == nil {
			err = verify(part, s)
		}
		return resumed, err
	}
	resumed, err := get()
	if err != nil && resumed { // the first bytes may have come from another file
		_, err = get()
	}
	if err != nil {
		return "", err
	}
	if err := part.Sync(); err != nil {
		return "", errors.Join(err, part.Truncate(0))
	}
	return path, os.Rename(part.Name(), path)
}

// lock waits until no other process downloads into the folder of a path. An empty file .lock stays there.
func (l *Loader) lock(ctx context.Context, path string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(filepath.Dir(path), ".lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		fmt.Fprintf(l.progress(), "waiting for %s, which another process is downloading\n", filepath.Base(path))
		_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// verify checks what has been downloaded, and empties it if it is wrong.
func verify(part *os.File, s *source) error {
	_, err := part.Seek(0, io.SeekStart)
	if err == nil {
		err = s.check(part)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the download %w", err), part.Truncate(0))
	}
	return nil
}

// get downloads the rest of the part, or all of it if the server cannot resume. It reports whether it resumed. After a
// failure the part holds what a later attempt can resume.
func (l *Loader) get(ctx context.Context, address string, part *os.File, s *source) (resumed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("no data for %v", stalled)) })
	defer watch.Stop()

	have, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	response, err := ask(ctx, address, have)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK && have > 0: // the whole file
		_, err := part.Seek(0, io.SeekStart)
		if err := errors.Join(err, part.Truncate(0)); err != nil {
			return false, err
		}
		have = 0
	case response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return true, nil // already complete
	}
	meter := &meter{w: l.progress(), name: strings.TrimSuffix(s.name, ".gz")}
	meter.start(address, have, response.ContentLength)
	body := io.TeeReader(response.Body, onWrite(func(n int) { watch.Reset(stalled); meter.add(n) }))

	n, err := io.Copy(part, io.LimitReader(body, s.limit-have+1)) // for a server that never stops
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk):
		return false, errors.Join(err, part.Truncate(0)) // free a full disk
	case err != nil:
		return false, fmt.Errorf("broke off after %d bytes: %w", have+n, because(ctx, err))
	case have+n > s.limit:
		return false, errors.Join(fmt.Errorf("sends more than %d bytes", s.limit), part.Truncate(0))
	}
	return have > 0, nil
}

// ask requests the file from byte have on. The answer is that part, the whole file, or, if have > 0, that there is no more.
func ask(ctx context.Context, address string, have int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "gzip") // set by hand, so that the transport leaves a .gz as it is
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, because(ctx, err)
	}
	switch status, from := response.StatusCode, response.Header.Get("Content-Range"); {
	case status == http.StatusOK, have > 0 && status == http.StatusRequestedRangeNotSatisfiable,
		have > 0 && status == http.StatusPartialContent && strings.HasPrefix(from, fmt.Sprintf("bytes %d-", have)):
		return response, nil
	case have > 0 && status == http.StatusPartialContent:
		err = fmt.Errorf("the server sent the range %q, not the rest from byte %d", from, have)
	default:
		err = fmt.Errorf("the server answered %s", response.Status)
	}
	response.Body.Close()
	return nil, err
}

// because returns why a request failed: what ended its context, or the error without the address, which callers add.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// onWrite is an io.Writer that reports how much is written, and discards it.
type onWrite func(n int)

func (f onWrite) Write(p []byte) (int, error) { f(len(p)); return len(p), nil }

// meter logs the start of a download and each quarter of it. Unlike a moving bar, lines look the same in a terminal, a
// notebook and a log.
type meter struct {
	w           io.Writer
	name        string
	done, total int64 // bytes; a total below 1 is unknown
	quarters    int64 // reported so far
}

// start announces a download of rest bytes (below 1: unknown) after the first have bytes, which are already there.
func (m *meter) start(url string, have, rest int64) {
	switch m.done = have; {
	case rest < 1:
		fmt.Fprintf(m.w, "downloading %s\n", url)
		return
	case have > 0:
		fmt.Fprintf(m.w, "downloading %s (the last %.1f of %.1f MB)\n", url, float64(rest)/1e6, float64(have+rest)/1e6)
	default:
		fmt.Fprintf(m.w, "downloading %s (%.1f MB)\n", url, float64(rest)/1e6)
	}
	m.total = have + rest
	m.quarters = 4 * have / m.total
}

func (m *meter) add(n int) {
	m.done += int64(n)
	if m.total < 1 {
		return
	}
	if q := 4 * m.done / m.total; q > m.quarters {
		m.quarters = q
		fmt.Fprintf(m.w, "  %s: %d %%\n", m.name, 25*q)
	}
}
