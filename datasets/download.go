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
	"time"

	"github.com/gofrs/flock"
)

// stalled is how long a server may send nothing before the download is given up.
var stalled = 30 * time.Second // a variable for the tests

var client = &http.Client{Transport: &http.Transport{
	Proxy:               http.ProxyFromEnvironment,
	DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	TLSHandshakeTimeout: 10 * time.Second,
	ForceAttemptHTTP2:   true,
}}

// download fetches a file into a folder and returns its path. The file appears there complete and checked or not at
// all: it grows under its name with .part, is checked, and is renamed. A part that a broken connection or a killed
// process left is gone on from.
func (l *Loader) download(ctx context.Context, address, folder string, s *source) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(folder, s.name)
	part, unlock, err := l.lockPart(ctx, path)
	if err != nil || part == nil {
		return path, err
	}
	defer unlock()
	defer func() {
		// What is worth nothing has been cut to nothing.
		if info, statErr := part.Stat(); err != nil && (statErr != nil || info.Size() == 0) {
			os.Remove(part.Name())
		}
		part.Close()
	}()

	resumed, err := l.get(ctx, address, part, s)
	if err != nil {
		return "", err
	}
	if err = verify(part, s); err != nil && resumed { // the beginning may have been another file's
		if _, err = l.get(ctx, address, part, s); err == nil {
			err = verify(part, s)
		}
	}
	if err != nil {
		return "", err
	}
	if err := part.Sync(); err != nil {
		return "", errors.Join(err, part.Truncate(0))
	}
	return path, os.Rename(part.Name(), path)
}

// lockPart opens path.part for this process alone, waiting for others that have it. It returns nil where one of them
// has completed the file in the meantime.
func (l *Loader) lockPart(ctx context.Context, path string) (part *os.File, unlock func(), err error) {
	name := path + ".part"
	for waited := false; ctx.Err() == nil; waited = true {
		lock := flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o644))
		locked, err := lock.TryLock()
		if err == nil && !locked {
			if !waited {
				fmt.Fprintf(l.progress(), "waiting for %s, which another process is downloading\n", filepath.Base(path))
			}
			_, err = lock.TryLockContext(ctx, 100*time.Millisecond)
		}
		if err != nil {
			lock.Close()
			return nil, nil, err
		}
		_, missing := os.Stat(path)
		part, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil && sameFile(lock, part) {
			if missing == nil { // the part is one that the lock's opening has made
				part.Close()
				os.Remove(name)
				lock.Close()
				return nil, nil, nil
			}
			return part, func() { lock.Close() }, nil
		}
		// What is locked has been renamed or removed by the process that had it before.
		if err == nil {
			part.Close()
		}
		lock.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		if missing == nil {
			return nil, nil, nil
		}
	}
	return nil, nil, context.Cause(ctx)
}

func sameFile(lock *flock.Flock, f *os.File) bool {
	a, errA := lock.Stat()
	b, errB := f.Stat()
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// verify checks what has been downloaded, and empties it where it is wrong.
func verify(part *os.File, s *source) error {
	_, err := part.Seek(0, io.SeekStart)
	if err == nil {
		err = s.check(part)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("what came %w", err), part.Truncate(0))
	}
	return nil
}

// get appends to the part what the address has beyond it, or writes it anew where the server gives only the whole. It
// reports whether it went on from what was there. After a failure the part holds what can be gone on from.
func (l *Loader) get(ctx context.Context, address string, part *os.File, s *source) (resumed bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("no data for %v", stalled)) })
	defer watch.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, err
	}
	request.Header.Set("Accept-Encoding", "gzip") // asked for by name, a .gz is left as it is
	have, err := part.Seek(0, io.SeekEnd)
	if err != nil {
		return false, err
	}
	if have > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	response, err := client.Do(request)
	if err != nil {
		return false, because(ctx, err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusOK:
		if have > 0 {
			if err := part.Truncate(0); err != nil {
				return false, err
			}
			have, err = part.Seek(0, io.SeekStart)
			if err != nil {
				return false, err
			}
		}
	case have > 0 && response.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return true, nil // there is no more
	case have > 0 && response.StatusCode == http.StatusPartialContent:
		if from := response.Header.Get("Content-Range"); !strings.HasPrefix(from, fmt.Sprintf("bytes %d-", have)) {
			return false, fmt.Errorf("the server sent the range %q: asked for was the rest from byte %d", from, have)
		}
	default:
		return false, fmt.Errorf("the server answered %s", response.Status)
	}
	meter := &meter{w: l.progress(), name: strings.TrimSuffix(s.name, ".gz")}
	meter.start(address, have, response.ContentLength)
	body := &watched{r: response.Body, seen: func(n int) { watch.Reset(stalled); meter.add(n) }}

	n, err := io.Copy(part, io.LimitReader(body, s.limit-have+1)) // a server that never stops is cut off
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk):
		return false, errors.Join(err, part.Truncate(0)) // a full disk is not to stay full
	case err != nil:
		return false, fmt.Errorf("broke off after %d bytes: %w", have+n, because(ctx, err))
	case have+n > s.limit:
		return false, errors.Join(fmt.Errorf("sends more than %d bytes", s.limit), part.Truncate(0))
	}
	return have > 0, nil
}

// because returns why a request failed: what ended its context, or the error without the address, which callers name.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// watched tells how many bytes each read brought.
type watched struct {
	r    io.Reader
	seen func(n int)
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.seen(n)
	}
	return n, err
}
