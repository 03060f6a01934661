package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
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
// all: it is written under a temporary name, checked, and renamed. Two downloads of one file do not disturb each other.
func (l *Loader) download(ctx context.Context, address, folder string, f *idxFile) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	temp, err := os.CreateTemp(folder, f.name+".*.part")
	if err != nil {
		return "", err
	}
	defer func() {
		temp.Close()
		if err != nil {
			os.Remove(temp.Name())
		}
	}()
	if err := l.get(ctx, address, temp, f); err != nil {
		return "", err
	}
	if err := errors.Join(temp.Chmod(0o644), temp.Sync()); err != nil {
		return "", err
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if _, err := f.decode(temp); err != nil {
		return "", fmt.Errorf("what came %w", err)
	}
	path = filepath.Join(folder, f.name+".gz")
	return path, os.Rename(temp.Name(), path)
}

// get copies what the address answers to w.
func (l *Loader) get(ctx context.Context, address string, w io.Writer, f *idxFile) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stalled, func() { cancel(fmt.Errorf("no data for %v", stalled)) })
	defer watch.Stop()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept-Encoding", "gzip") // asked for by name, a .gz is left as it is
	response, err := client.Do(request)
	if err != nil {
		return because(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answered %s", response.Status)
	}
	meter := &meter{w: l.progress(), name: f.name, total: response.ContentLength}
	meter.start(address)
	body := &watched{r: response.Body, seen: func(n int) { watch.Reset(stalled); meter.add(n) }}

	// No compressed file is much longer than its content: a server that never stops is cut off here.
	limit := int64(idxSize(f.dims)) + 1<<20
	n, err := io.Copy(w, io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("broke off after %d bytes: %w", n, because(ctx, err))
	case n > limit:
		return fmt.Errorf("sends more than %d bytes", limit)
	}
	return nil
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
