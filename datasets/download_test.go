package datasets

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve returns the address of a mirror that answers with answer, which gets the gzipped file asked for.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, file []byte)) string {
	t.Helper()
	_, contents := tiny()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), ".gz")
		answer(w, r, zipped(contents[name]))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

func honest(w http.ResponseWriter, _ *http.Request, file []byte) { w.Write(file) }

// checkCache fails unless the cache holds just these files of the tiny data set.
func checkCache(t *testing.T, cache string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, "tiny"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	if strings.Join(found, " ") != strings.Join(want, " ") {
		t.Errorf("the cache holds %v, want %v", found, want)
	}
}

var allFour = []string{"test-images.gz", "test-labels.gz", "train-images.gz", "train-labels.gz"}

func TestDownload(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	p, _ := tiny(serve(t, honest))
	cache := filepath.Join(t.TempDir(), "made", "on the way")
	var said bytes.Buffer
	d, err := (&Loader{Cache: cache, Progress: &said}).load(context.Background(), p)
	checkTiny(t, d, err)
	checkCache(t, cache, allFour...)
	for _, want := range []string{"downloading " + p.mirrors[0] + "train-images.gz", "test-labels: 100 %"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("progress is %q, want %q in it", said.String(), want)
		}
	}
	d, err = (&Loader{Cache: cache, Offline: true}).load(context.Background(), p)
	checkTiny(t, d, err)
}

func TestDownloadFailures(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, file []byte)
		want   string
	}{
		"404": {func(w http.ResponseWriter, r *http.Request, _ []byte) { http.NotFound(w, r) },
			"the server answered 404 Not Found"},
		"wrong content": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Write(zipped(idx([]int{3, 2, 2}, make([]byte, 12)...)))
		}, "what came has content with SHA-256"},
		"a page instead": {func(w http.ResponseWriter, _ *http.Request, _ []byte) { io.WriteString(w, "<html>log in</html>") },
			"what came is not an idx file"},
		"body breaks off": {func(w http.ResponseWriter, _ *http.Request, file []byte) {
			w.Header().Set("Content-Length", "100000")
			w.Write(file)
		}, "broke off after "},
		"body is short": {func(w http.ResponseWriter, _ *http.Request, file []byte) { w.Write(file[:len(file)-9]) },
			"unexpected EOF"},
		"body never ends": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			for block := make([]byte, 1<<16); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "sends more than 1048604 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			bad, good := serve(t, test.answer), serve(t, honest)
			p, _ := tiny(bad)
			_, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
			if err == nil || !strings.Contains(err.Error(), bad+"train-images.gz: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want the address and %q", err, test.want)
			}
			checkCache(t, cache)

			p.mirrors = []string{bad, good}
			d, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
			checkTiny(t, d, err)
			checkCache(t, cache, allFour...)
		})
	}
}

// A server that says nothing more is given up, before its answer and in the midst of it.
func TestDownloadStalls(t *testing.T) {
	defer func(d time.Duration) { stalled = d }(stalled)
	stalled = 50 * time.Millisecond
	t.Setenv("FEDKIT_DATA", "")
	for name, first := range map[string]int{"no answer": 0, "half an answer": 10} {
		t.Run(name, func(t *testing.T) {
			p, _ := tiny(serve(t, func(w http.ResponseWriter, r *http.Request, file []byte) {
				if first > 0 {
					w.Write(file[:first])
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			}))
			cache := t.TempDir()
			_, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
			if err == nil || !strings.Contains(err.Error(), "no data for 50ms") {
				t.Errorf("error %v", err)
			}
			checkCache(t, cache)
		})
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	ctx, cancel := context.WithCancel(context.Background())
	p, _ := tiny(serve(t, func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.Write(file[:10])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	p.mirrors = append(p.mirrors, serve(t, func(http.ResponseWriter, *http.Request, []byte) {
		t.Error("the next mirror was asked after the context had ended")
	}))
	cache := t.TempDir()
	l := &Loader{Cache: cache, Progress: io.Discard}
	for range 2 { // cancelled on the way, and before
		if _, err := l.load(ctx, p); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		checkCache(t, cache)
	}
}

func TestCacheCannotBeWritten(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	p, _ := tiny(serve(t, honest))
	t.Run("a file is in the way", func(t *testing.T) {
		cache := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(cache, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p); err == nil || !strings.Contains(err.Error(), cache) {
			t.Errorf("error %v, want the folder in it", err)
		}
	})
	t.Run("read only", func(t *testing.T) {
		cache := t.TempDir()
		if err := os.Chmod(cache, 0o555); err != nil {
			t.Fatal(err)
		}
		if f, err := os.Create(filepath.Join(cache, "probe")); err == nil {
			f.Close()
			t.Skip("this user may write into read-only folders")
		}
		if _, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p); !errors.Is(err, os.ErrPermission) {
			t.Errorf("error %v", err)
		}
	})
}

func TestDownloadsAtOnce(t *testing.T) {
	t.Setenv("FEDKIT_DATA", "")
	p, _ := tiny(serve(t, honest))
	cache := t.TempDir()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			d, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
			if err != nil || d.Train.Len() != 3 {
				t.Errorf("error %v", err)
			}
		})
	}
	wait.Wait()
	checkCache(t, cache, allFour...)
}
