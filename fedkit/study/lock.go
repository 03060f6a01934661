package study

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Intervals of locks. Staleness is a time that passed on the observer's own clock: clocks of different machines are never compared.
var (
	renewal = 5 * time.Second  // of a lock by its holder
	stale   = 30 * time.Second // a lock that was not renewed for so long has lost its holder
	poll    = time.Second      // between looks at the locks of others
	now     = time.Now
)

// What locks need of a file system.
var (
	createNew = func(path string) (*os.File, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	}
	rename = os.Rename
)

// errTaken ends a run whose lock was lost.
var errTaken = errors.New("another process took the run over, as this one was suspended, or its disk hung, for half a minute or more")

// lock lets one process at a time compute or remove a run, on all machines that share the folder. It is a file .locks/ID, made by
// exclusive create, whose time its holder sets every few seconds. One that is not renewed for long, or whose holder has ended on this
// machine, is taken over.
type lock struct {
	path, text string
	ctx        context.Context // until it is released or, with the cause errTaken, lost
	end        context.CancelCauseFunc
}

// holder is who holds a lock: the content of its file.
type holder struct {
	Host  string `json:"host"`
	PID   int    `json:"pid"`
	Token string `json:"token"`           // of this lock alone
	Boot  string `json:"boot,omitempty"`  // of the machine, anew each time that it starts
	Space string `json:"space,omitempty"` // the process table that has the PID: a container may have its own
	Began string `json:"began,omitempty"` // when the process started
}

// self is this process. Only Linux says which process table is whose.
var self = sync.OnceValue(func() (h holder) {
	h.Host, _ = os.Hostname()
	h.PID = os.Getpid()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	h.Boot = strings.TrimSpace(string(boot))
	h.Space, _ = os.Readlink("/proc/self/ns/pid")
	h.Began, _, _ = stat(h.PID)
	return h
})

// stat returns when a process started, in ticks of the machine, and whether it is one that ended, and its parent has not noticed.
func stat(pid int) (began string, ended bool, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third on, after a name that may have any character
	if len(fields) < 20 {
		return "", false, errors.Join(err, fs.ErrNotExist)
	}
	return fields[19], strings.Contains("ZX", fields[0]), nil
}

// dead reports whether the holder was a process of this machine, and has ended.
func (h holder) dead() bool {
	me := self()
	if me.Boot == "" || me.Space == "" || me.Began == "" || h.Boot != me.Boot || h.Space != me.Space {
		return false
	}
	began, ended, err := stat(h.PID)
	if err != nil { // gone, or another user's and hidden
		p, err := os.FindProcess(h.PID)
		return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
	}
	return ended || began != h.Began
}

// sight is a lock's file as it was seen.
type sight struct {
	text  string
	time  time.Time // of the file: only whether it changes counts
	since time.Time // when it was first seen like this
}

func (s sight) same(o sight) bool { return s.text == o.text && s.time.Equal(o.time) }

// holder returns who holds the lock, nobody if the file was not written whole.
func (s sight) holder() (h holder) {
	_ = json.Unmarshal([]byte(s.text), &h)
	return h
}

func (s sight) stale() bool { return now().Sub(s.since) >= stale || s.holder().dead() }

// see reads a lock's file. It is opened each time, since that asks a network's server.
func see(path string) (s sight, err error) {
	f, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		var b []byte
		b, err = io.ReadAll(io.LimitReader(f, 1<<16))
		s = sight{string(b), info.ModTime(), now()}
	}
	if errors.Is(err, syscall.ESTALE) { // removed on the server
		err = fs.ErrNotExist
	}
	return s, err
}

// sights are the locks of others as this process last saw them.
var sights struct {
	sync.Mutex
	of map[string]sight
}

// observe is see, and remembers since when the file has not changed.
func observe(path string) (sight, error) {
	s, err := see(path)
	sights.Lock()
	defer sights.Unlock()
	if was, ok := sights.of[path]; ok && was.same(s) {
		s.since = was.since
	}
	if delete(sights.of, path); err == nil {
		if sights.of == nil {
			sights.of = map[string]sight{}
		}
		sights.of[path] = s
	}
	return s, err
}

// tryLock returns nil if another process has the lock.
func tryLock(dir, id string) (*lock, error) {
	path := filepath.Join(dir, ".locks", id)
	l, err := (*lock)(nil), os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		l, err = lockFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	return l, nil
}

func lockFile(path string) (*lock, error) {
	for {
		h := self()
		h.Token = rand.Text()
		text, _ := json.Marshal(h)
		err := writeNew(path, string(text))
		if err == nil {
			l := &lock{path: path, text: string(text)}
			l.ctx, l.end = context.WithCancelCause(context.Background())
			go l.renew()
			return l, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		s, err := observe(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !s.stale() { // released just now, or held
			return nil, nil
		}
		if err == nil {
			var cleared bool
			if cleared, err = takeAway(path, s); err == nil && !cleared {
				return nil, nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// takeAway removes a stale lock; then its place is open to everyone. One process at a time does so, under a lock of its own: another's
// removal would hit the lock of who came next.
func takeAway(path string, was sight) (bool, error) {
	guard, err := lockFile(path + "~")
	if guard == nil {
		return false, err
	}
	defer guard.release()
	if is, err := see(path); err != nil || !is.same(was) {
		return false, nil
	}
	aside := path + "~" + rand.Text()
	if err := rename(path, aside); err != nil {
		return false, err
	}
	is, err := see(aside)
	if err != nil {
		return false, err
	}
	if !is.same(was) { // its holder woke up in between
		err = writeNew(path, is.text)
	}
	_ = os.Remove(aside)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return is.same(was), err
}

// writeNew makes a file, and fails if there is one.
func writeNew(path, text string) error {
	f, err := createNew(path)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// renew shows others that the holder lives.
func (l *lock) renew() {
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-time.After(renewal):
		}
		switch err := l.held(); {
		case errors.Is(err, errTaken):
			l.end(err)
		case err == nil:
			_ = os.Chtimes(l.path, time.Now(), time.Now()) // else the next time
		}
	}
}

// held returns errTaken if the lock was lost, or another error if that cannot be told.
func (l *lock) held() error {
	for range 4 {
		s, err := see(l.path)
		switch {
		case err == nil && s.text == l.text:
			return nil
		case err == nil:
			return errTaken
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		time.Sleep(50 * time.Millisecond) // who renamed it by mistake puts it back
	}
	return errTaken
}

// while returns a context that also ends, with the cause errTaken, when the lock is lost.
func (l *lock) while(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

func (l *lock) release() {
	if l == nil {
		return
	}
	l.end(nil)
	if s, err := see(l.path); err == nil && s.text == l.text {
		_ = os.Remove(l.path)
	}
}

// alive returns who holds a lock, and whether somebody does. A lock whose time is long past or to come is observed until it is renewed
// or stale: that is no more than a reason to look twice.
func alive(path string) (holder, bool) {
	s, err := observe(path)
	for err == nil && !s.stale() && time.Since(s.time).Abs() >= stale {
		time.Sleep(poll)
		was := s
		if s, err = observe(path); err == nil && !s.same(was) {
			break
		}
	}
	return s.holder(), err == nil && !s.stale()
}

// clearAfterKills removes the locks of processes of this machine that were killed, and the checkpoints of runs that they had stored.
func clearAfterKills(dir string) {
	files, _ := os.ReadDir(filepath.Join(dir, ".locks"))
	for _, f := range files {
		if !form.MatchString(strings.TrimRight(f.Name(), "~")) {
			continue
		}
		l, _ := tryLock(dir, f.Name())
		if l == nil {
			continue
		}
		if r, err := read(dir, f.Name()); err == nil && !r.Retry {
			r.removeCheckpoint()
		}
		l.release()
	}
}

// Active is a run that a process computes.
type Active struct {
	ID   string
	Host string // name of the machine; empty if unknown
}

// Computing returns the runs that processes compute in a folder now, on any machine. A process that ended on another machine is
// told by its lock, which it no longer renews: that takes up to half a minute, or else it counts for as long after its end.
func Computing(dir string) []Active {
	files, _ := os.ReadDir(filepath.Join(dir, ".locks"))
	runs := make([]Active, len(files))
	var looking sync.WaitGroup
	for i, f := range files {
		if _, err := os.Stat(filepath.Join(dir, f.Name(), entryFile)); err == nil || !form.MatchString(f.Name()) {
			continue // it is stored
		}
		looking.Go(func() {
			if h, ok := alive(filepath.Join(dir, ".locks", f.Name())); ok {
				runs[i] = Active{f.Name(), h.Host}
			}
		})
	}
	looking.Wait()
	return slices.DeleteFunc(runs, func(r Active) bool { return r.ID == "" })
}
