package datasets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/janpfeifer/must"

	"fedkit.example/fedkit/fedtest/expect"
)

// realFiles is the folder with published files that FEDKIT_DATA names.
var realFiles = os.Getenv("FEDKIT_DATA")

// Tests download from servers of their own, and look for files in folders of their own.
func TestMain(m *testing.M) {
	os.Unsetenv("FEDKIT_OFFLINE")
	os.Unsetenv("FEDKIT_DATA")
	os.Exit(m.Run())
}

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

// resumable answers as file servers do, with the requested range.
func resumable(w http.ResponseWriter, r *http.Request, file []byte) {
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
}

// checkCache fails unless the cache holds just these files of the tiny data set.
func checkCache(t *testing.T, cache string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(cache, "tiny"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		if e.Name() != ".lock" {
			found = append(found, e.Name())
		}
	}
	expect.That(t, strings.Join(found, " ") == strings.Join(want, " "), "the cache holds %v, want %v", found, want)
}

var allFour = []string{"test-images.gz", "test-labels.gz", "train-images.gz", "train-labels.gz"}

func TestDownload(t *testing.T) {
	p, _ := tiny(serve(t, honest))
	cache := filepath.Join(t.TempDir(), "made", "on the way")
	var said bytes.Buffer
	checkTiny(t, expect.Value((&Loader{Cache: cache, Progress: &said}).load(context.Background(), p))(t))
	checkCache(t, cache, allFour...)
	for _, want := range []string{"downloading " + p.mirrors[0] + "train-images.gz", "test-labels: 100 %"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("progress is %q, want %q in it", said.String(), want)
		}
	}
	checkTiny(t, expect.Value((&Loader{Cache: cache, Offline: true}).load(context.Background(), p))(t))
}

func TestDownloadFailures(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(w http.ResponseWriter, r *http.Request, file []byte)
		want   string
		left   []string
	}{
		"404": {func(w http.ResponseWriter, r *http.Request, _ []byte) { http.NotFound(w, r) },
			"the server answered 404 Not Found", nil},
		"wrong content": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Write(zipped(idx([]int{3, 2, 2}, make([]byte, 12)...)))
		}, "the download has content with SHA-256", nil},
		"a page instead": {func(w http.ResponseWriter, _ *http.Request, _ []byte) { io.WriteString(w, "<html>log in</html>") },
			"the download is not an idx file", nil},
		"body breaks off": {func(w http.ResponseWriter, _ *http.Request, file []byte) {
			w.Header().Set("Content-Length", "100000")
			w.Write(file)
		}, "broke off after ", []string{"train-images.gz.part"}},
		"body is short": {func(w http.ResponseWriter, _ *http.Request, file []byte) { w.Write(file[:len(file)-9]) },
			"unexpected EOF", nil},
		"body never ends": {func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			for block := make([]byte, 1<<16); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "sends more than 1048604 bytes", nil},
		"another range": {func(w http.ResponseWriter, r *http.Request, file []byte) {
			if r.Header.Get("Range") == "" {
				w.Header().Set("Content-Length", "100000")
				w.Write(file[:9])
				return
			}
			w.Header().Set("Content-Range", "bytes 2-99999/100000")
			w.WriteHeader(http.StatusPartialContent)
		}, "broke off after 9 bytes", []string{"train-images.gz.part"}},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			bad, good := serve(t, test.answer), serve(t, honest)
			p, _ := tiny(bad)
			expect.Error(t, bad+"train-images.gz: ", test.want)((&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p))
			checkCache(t, cache, test.left...)

			p.mirrors = []string{bad, good}
			checkTiny(t, expect.Value((&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p))(t))
			checkCache(t, cache, allFour...)
		})
	}
}

// The download gives up on a server that falls silent, before its answer and in the middle of it.
func TestDownloadStalls(t *testing.T) {
	defer func(d time.Duration) { stalled = d }(stalled)
	stalled = 50 * time.Millisecond
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
			expect.Error(t, "no data for 50ms")((&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p))
			// On a busy machine the first bytes may come too late to be kept.
			if _, err := os.Stat(filepath.Join(cache, "tiny", "train-images.gz.part")); first > 0 && err == nil {
				checkCache(t, cache, "train-images.gz.part")
			} else {
				checkCache(t, cache)
			}
		})
	}
}

func TestDownloadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cache := t.TempDir()
	p, _ := tiny(serve(t, func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.Write(file[:10])
		w.(http.Flusher).Flush()
		awaitPart(t, cache, 10)
		cancel()
		<-r.Context().Done()
	}))
	p.mirrors = append(p.mirrors, serve(t, func(http.ResponseWriter, *http.Request, []byte) {
		t.Error("the next mirror was asked after the context had ended")
	}))
	l := &Loader{Cache: cache, Progress: io.Discard}
	for range 2 { // canceled on the way, and before
		_, err := l.load(ctx, p)
		expect.That(t, errors.Is(err, context.Canceled), "error %v", err)
		checkCache(t, cache, "train-images.gz.part")
	}
}

// awaitPart waits until this much of the first file of the tiny data set has been written.
func awaitPart(t *testing.T, cache string, size int64) {
	for range 1000 {
		if info, err := os.Stat(filepath.Join(cache, "tiny", "train-images.gz.part")); err == nil && info.Size() >= size {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the part does not grow")
}

// A server that does not accept connections costs its timeout once, and not again in every call. Other mirrors are still asked.
func TestDownloadFromAnUnreachableServer(t *testing.T) {
	dials := 0
	transport, limit := client.Transport, reach
	client.Transport = &http.Transport{DisableKeepAlives: true, DialContext: within(func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, "unreachable.example:") {
			dials++
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(context.Background(), network, address) // in its own time
	})}
	reach = 10 * time.Millisecond
	t.Cleanup(func() { client.Transport, reach = transport, limit })

	p, _ := tiny("http://unreachable.example/")
	for _, want := range []string{"unreachable.example:80 was not reached within 10ms", "unreachable.example:80 was not reached a moment ago"} {
		expect.Error(t, want)((&Loader{Cache: t.TempDir()}).load(context.Background(), p))
	}
	p.mirrors = append(p.mirrors, serve(t, honest))
	checkTiny(t, expect.Value((&Loader{Cache: t.TempDir(), Progress: io.Discard}).load(context.Background(), p))(t))
	expect.That(t, dials == 1, "%d attempts to connect, want 1", dials)
}

// A download resumes, or starts again if what is there is not the beginning of the file.
func TestDownloadResumes(t *testing.T) {
	_, contents := tiny()
	whole := zipped(contents["train-images"])
	for name, test := range map[string]struct {
		part   []byte
		ranges []string // requested
	}{
		"the beginning":  {whole[:10], []string{"bytes=10-"}},
		"all of it":      {whole, []string{fmt.Sprintf("bytes=%d-", len(whole))}},
		"something else": {[]byte("something"), []string{"bytes=9-", ""}},
		"more than there is": {append(bytes.Clone(whole), make([]byte, 2<<20)...),
			[]string{fmt.Sprintf("bytes=%d-", len(whole)+2<<20), ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var ranges []string
			p, _ := tiny(serve(t, func(w http.ResponseWriter, r *http.Request, file []byte) {
				if strings.Contains(r.URL.Path, "train-images") {
					ranges = append(ranges, r.Header.Get("Range"))
				}
				resumable(w, r, file)
			}))
			cache := putIn(t, "tiny", map[string][]byte{"train-images.gz.part": test.part})
			checkTiny(t, expect.Value((&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p))(t))
			checkCache(t, cache, allFour...)
			expect.That(t, slices.Equal(ranges, test.ranges), "asked for %q, want %q", ranges, test.ranges)
		})
	}
}

// The part simulates a full disk: writing to it fails in the same way.
func TestDownloadToAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	p, _ := tiny(serve(t, honest))
	cache := putIn(t, "tiny", nil)
	must.M(os.Symlink("/dev/full", filepath.Join(cache, "tiny", "train-images.gz.part")))
	_, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
	expect.That(t, errors.Is(err, syscall.ENOSPC), "error %v, want %v", err, syscall.ENOSPC)
	checkCache(t, cache)
}

// TestDownloadInAnotherProcess is the other process of TestProcessesShareACache.
func TestDownloadInAnotherProcess(t *testing.T) {
	mirror := os.Getenv("FEDKIT_TEST_MIRROR")
	if mirror == "" {
		t.Skip("run by TestProcessesShareACache")
	}
	p, _ := tiny(mirror)
	checkTiny(t, expect.Value((&Loader{Progress: io.Discard}).load(context.Background(), p))(t))
}

// A process waits for another that is downloading the same file. If that one is killed, it resumes the download.
func TestProcessesShareACache(t *testing.T) {
	for name, kill := range map[string]bool{"the first succeeds": false, "the first is killed": true} {
		t.Run(name, func(t *testing.T) {
			var (
				mu       sync.Mutex
				ranges   []string
				asked    = make(chan bool)
				goOn     = make(chan bool)
				cache    = t.TempDir()
				waiting  = make(chan bool)
				progress = watchedWriter(func(p []byte) {
					if bytes.Contains(p, []byte("waiting for train-images.gz")) {
						close(waiting)
					}
				})
			)
			mirror := serve(t, func(w http.ResponseWriter, r *http.Request, file []byte) {
				if !strings.Contains(r.URL.Path, "train-images") {
					resumable(w, r, file)
					return
				}
				mu.Lock()
				ranges = append(ranges, r.Header.Get("Range"))
				first := len(ranges) == 1
				mu.Unlock()
				if !first {
					resumable(w, r, file)
					return
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(file)))
				w.Write(file[:10])
				w.(http.Flusher).Flush()
				close(asked)
				<-goOn
				w.Write(file[10:])
			})
			child := exec.Command(os.Args[0], "-test.run=^TestDownloadInAnotherProcess$")
			child.Env = append(os.Environ(), "FEDKIT_CACHE="+cache, "FEDKIT_TEST_MIRROR="+mirror)
			must.M(child.Start())
			<-asked
			awaitPart(t, cache, 10)

			var wait sync.WaitGroup
			wait.Go(func() {
				p, _ := tiny(mirror)
				checkTiny(t, expect.Value((&Loader{Cache: cache, Progress: progress}).load(context.Background(), p))(t))
			})
			<-waiting
			want := []string{""}
			if kill {
				child.Process.Kill()
				want = append(want, "bytes=10-")
			}
			close(goOn)
			if err := child.Wait(); (err != nil) != kill {
				t.Errorf("the other process: %v", err)
			}
			wait.Wait()
			checkCache(t, cache, allFour...)
			mu.Lock()
			defer mu.Unlock()
			expect.That(t, slices.Equal(ranges, want), "asked for %q, want %q", ranges, want)
		})
	}
}

type watchedWriter func(p []byte)

func (w watchedWriter) Write(p []byte) (int, error) { w(p); return len(p), nil }

func TestCacheCannotBeWritten(t *testing.T) {
	p, _ := tiny(serve(t, honest))
	t.Run("a file is in the way", func(t *testing.T) {
		cache := filepath.Join(t.TempDir(), "file")
		must.M(os.WriteFile(cache, nil, 0o644))
		expect.Error(t, cache)((&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p))
	})
	t.Run("read only", func(t *testing.T) {
		cache := t.TempDir()
		must.M(os.Chmod(cache, 0o555))
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
	p, _ := tiny(serve(t, honest))
	cache := t.TempDir()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			d, err := (&Loader{Cache: cache, Progress: io.Discard}).load(context.Background(), p)
			expect.That(t, err == nil && d.Train.Len() == 3, "error %v", err)
		})
	}
	wait.Wait()
	checkCache(t, cache, allFour...)
}
