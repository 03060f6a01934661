package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
)

// clock replaces the observer's clock by one that the test sets.
func clock(t *testing.T) *atomic.Int64 {
	t.Helper()
	var at atomic.Int64
	begin := time.Now()
	now = func() time.Time { return begin.Add(time.Duration(at.Load())) }
	t.Cleanup(func() { now = time.Now })
	return &at
}

// locked writes a lock, as another machine would, and returns its folder and its path.
func locked(t *testing.T, id, text string) (dir, path string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "runs [α] *")
	path = filepath.Join(dir, ".locks", id)
	expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
	expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
	return dir, path
}

const (
	name      = "Fed [x] y-0123456789ab"
	elsewhere = `{"host":"gpu2","pid":1,"token":"A","boot":"b","space":"pid:[1]","began":"7"}`
)

// wantLocks compares what is in the folder of locks.
func wantLocks(t *testing.T, dir string, want ...string) {
	t.Helper()
	files := expect.Value(os.ReadDir(filepath.Join(dir, ".locks")))(t)
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("locks: %q, want %q", names, want)
	}
}

// A lock is stale once it has not changed for half a minute by the observer's clock, whatever the clock of its holder, and whatever is in
// it.
func TestStaleLocks(t *testing.T) {
	for what, text := range map[string]string{"whole": elsewhere, "empty": "", "torn": elsewhere[:40], "something else": "\x00[1]\n", "without process table": `{"host":"mac","pid":1}`} {
		for _, off := range []time.Duration{0, -5 * time.Hour, 5 * time.Hour} {
			at := clock(t)
			dir, path := locked(t, name, text)
			touch := func(off time.Duration) { expect.OK(t, os.Chtimes(path, time.Now(), time.Now().Add(off))) }
			for _, c := range []struct {
				seconds int64
				do      func()
				free    bool
			}{
				{0, func() { touch(off) }, false}, {29, nil, false}, {29, func() { touch(off - time.Second) }, false}, {58, nil, false},
				{58, func() { expect.OK(t, os.WriteFile(path, []byte(text+" "), 0o600)) }, false}, {87, nil, false}, {89, nil, true},
			} {
				if at.Store(c.seconds * int64(time.Second)); c.do != nil {
					c.do()
				}
				l, err := tryLock(dir, name)
				if err != nil || (l != nil) != c.free {
					t.Errorf("%s, %v off, after %d s: %v, %v, want free: %v", what, off, c.seconds, l, err, c.free)
				}
				if c.free {
					wantLocks(t, dir, name)
				}
				l.release()
			}
			wantLocks(t, dir)
		}
	}
}

// A process of this machine that has ended holds nothing.
func TestDeadHolders(t *testing.T) {
	me := self()
	if me.Boot == "" || me.Space == "" || me.Began == "" {
		t.Skip("the system does not tell processes apart")
	}
	c := exec.Command("true")
	expect.OK(t, c.Run())
	gone, boot, space, earlier := me, me, me, me
	gone.PID, boot.Boot, space.Space, earlier.Began = c.Process.Pid, "other", "pid:[1]", "1"
	elsewhere := gone
	elsewhere.Boot = "other"
	for _, c := range []struct {
		what string
		h    holder
		dead bool
	}{
		{"this process", me, false}, {"one that ended", gone, true}, {"one that ended elsewhere", elsewhere, false}, {"another start of the machine", boot, false},
		{"another container", space, false}, {"an earlier process of this number", earlier, true}, {"nobody", holder{}, false}, {"no number", holder{PID: -1, Boot: me.Boot, Space: me.Space}, false},
	} {
		text := string(expect.Value(json.Marshal(c.h))(t))
		dir, _ := locked(t, name, text)
		if l, err := tryLock(dir, name); err != nil || (l != nil) != c.dead {
			t.Errorf("%s: %v, %v", c.what, l, err)
		} else if l.release(); c.dead {
			wantLocks(t, dir)
		}
	}
}

// Of many who want a lock at the same moment, one gets it.
func TestOneWins(t *testing.T) {
	for _, text := range []string{"none", elsewhere} {
		for range 20 {
			at := clock(t)
			dir, path := locked(t, name, text)
			if text == "none" {
				expect.OK(t, os.Remove(path))
			} else if l, err := tryLock(dir, name); l != nil || err != nil {
				t.Fatal(l, err)
			}
			at.Store(int64(stale))
			var won [16]*lock
			var all sync.WaitGroup
			begin := make(chan struct{})
			for i := range won {
				all.Go(func() {
					<-begin
					for range 5 {
						l, err := tryLock(dir, name)
						if err != nil {
							t.Error(err)
						}
						if l != nil {
							won[i] = l
							return
						}
					}
				})
			}
			close(begin)
			all.Wait()
			n := 0
			for _, l := range won {
				if l != nil {
					n++
					expect.OK(t, l.held())
				}
				l.release()
			}
			if n != 1 {
				t.Errorf("%d hold it", n)
			}
			wantLocks(t, dir)
		}
	}
}

// A holder whose lock was taken over is told so, and leaves the new one.
func TestLostLocks(t *testing.T) {
	at, dir := clock(t), t.TempDir()
	defer func() { renewal = 5 * time.Second }()
	renewal = time.Hour
	l := expect.Value(tryLock(dir, name))(t)
	for _, free := range []bool{false, false, true} { // first seen, seen again, and stale
		other := expect.Value(tryLock(dir, name))(t)
		if (other != nil) != free || errors.Is(l.held(), errTaken) != free {
			t.Errorf("%v, %v, want free: %v", other, l.held(), free)
		}
		if at.Add(int64(stale / 2)); free {
			l.release()
			expect.OK(t, other.held())
		}
		other.release()
	}
	if err := l.held(); !errors.Is(err, errTaken) {
		t.Error(err)
	}
	wantLocks(t, dir)
}

// Runs of dead processes are not computed, also if only time tells; a live one is told at its first renewal, whatever its clock.
func TestComputing(t *testing.T) {
	defer func() { stale, poll = 30*time.Second, 20*time.Millisecond }()
	dir, path := locked(t, name, elsewhere)
	if got := fmt.Sprint(Computing(dir)); got != "[{"+name+" gpu2}]" {
		t.Error(got)
	}
	long := time.Now().Add(-time.Hour)
	expect.OK(t, os.Chtimes(path, long, long))
	over := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				long = long.Add(time.Second)
				_ = os.Chtimes(path, long, long)
			}
		}
	})
	if got := Computing(dir); len(got) != 1 {
		t.Error(got)
	}
	close(over)
	renewing.Wait()
	stale, poll = 40*time.Millisecond, time.Millisecond
	expect.OK(t, os.Chtimes(path, long, long))
	if got := Computing(dir); len(got) != 0 {
		t.Error(got)
	}
	stale = 30 * time.Second
	expect.OK(t, errors.Join(os.MkdirAll(filepath.Join(dir, name), 0o700), os.WriteFile(filepath.Join(dir, name, entryFile), nil, 0o600)))
	if got := Computing(dir); len(got) != 0 { // it is stored
		t.Error(got)
	}
}

// A folder whose file system lacks what processes need that share it is refused.
func TestFoldersThatLackSomething(t *testing.T) {
	wasCreate, wasRename := create, rename
	defer func() { create, rename = wasCreate, wasRename }()
	for _, c := range []struct {
		words  string
		create func(string) (*os.File, error)
		rename func(from, to string) error
	}{
		{"", wasCreate, wasRename},
		{"atomic rename, such as a local disk, Lustre, or NFS 3 and later: here a file was made twice: true", os.Create, wasRename},
		{"twice: false; renamed over, with error file already exists", wasCreate, func(string, string) error { return fs.ErrExist }},
		{`with error <nil>, it held "mine"`, wasCreate, func(from, _ string) error { return os.Remove(from) }},
		{`with error <nil>, it held "the"`, wasCreate, func(from, to string) error {
			return errors.Join(os.WriteFile(to, []byte("the"), 0o600), os.Remove(from))
		}},
		{`with error <nil>, it held "theirs"`, wasCreate, func(from, to string) error { return os.WriteFile(to, []byte("theirs"), 0o600) }},
		{"must be a folder that can be written to: permission denied", func(string) (*os.File, error) { return nil, fs.ErrPermission }, wasRename},
	} {
		create, rename = c.create, c.rename
		s := New(filepath.Join(t.TempDir(), "runs"))
		err := s.writable()
		if c.words == "" && err != nil || c.words != "" && (err == nil || !strings.HasPrefix(err.Error(), "study: Study.Dir = "+s.Dir+": must be a folder ") || !strings.Contains(err.Error(), c.words)) {
			t.Errorf("%v, want %s", err, c.words)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir, ".*")); left != nil {
			t.Error(left)
		}
	}
}
