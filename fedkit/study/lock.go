package study

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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
	create = func(path string) (*os.File, error) {
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
	Boot  string `json:"boot,omitempty"`  // of the machine, a new one each time that it starts
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
	h.Began = began(h.PID)
	return h
})

// began returns when a process of this machine started, in ticks; "" if it is gone, or hidden from this user.
func began(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // from the third on, after a name that may have any character
	switch {
	case len(fields) < 20:
		return ""
	case fields[0] == "Z":
		return "ended, as its parent has yet to notice"
	}
	return fields[19]
}

// dead reports whether the holder was a process of this machine, and has ended.
func (h holder) dead() bool {
	me := self()
	if me.Boot == "" || me.Space == "" || me.Began == "" || h.Boot != me.Boot || h.Space != me.Space {
		return false
	}
	if is := began(h.PID); is != "" {
		return is != h.Began
	}
	p, err := os.FindProcess(h.PID)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// sight is a lock's file as it was seen.
type sight struct {
	text   string
	time   time.Time // of the file: only whether it changes counts
	since  time.Time // when it was first seen like this
	holder holder    // nobody if the file was not written whole
}

func (s sight) same(o sight) bool { return s.text == o.text && s.time.Equal(o.time) }

func (s sight) stale() bool { return now().Sub(s.since) >= stale || s.holder.dead() }

// see reads a lock's file. Opening it asks a network's server for its state.
func see(path string) (s sight, err error) {
	b, err := os.ReadFile(path)
	info, gone := os.Stat(path)
	switch {
	case errors.Is(err, syscall.ESTALE): // removed on the server
		return s, fs.ErrNotExist
	case err != nil || gone != nil:
		return s, cmp.Or(err, gone)
	}
	s = sight{text: string(b), time: info.ModTime(), since: now()}
	_ = json.Unmarshal(b, &s.holder)
	return s, nil
}

// sights are the locks of others as this process last saw them, by path.
var sights sync.Map

// observe is see, and remembers since when the file has not changed.
func observe(path string) (sight, error) {
	s, err := see(path)
	if was, ok := sights.Load(path); ok && was.(sight).same(s) {
		s.since = was.(sight).since
	}
	sights.Store(path, s)
	return s, err
}

// tryLock returns nil if another process has the lock.
func tryLock(dir, id string) (l *lock, err error) {
	path := filepath.Join(dir, ".locks", id)
	if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
		l, err = lockFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	return l, nil
}

func lockFile(path string) (*lock, error) {
	h := self()
	h.Token = rand.Text()
	text, _ := json.Marshal(h)
	err := writeNew(path, string(text))
	if errors.Is(err, fs.ErrExist) {
		if err = takeAway(path); err == nil {
			err = writeNew(path, string(text))
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	l := &lock{path: path, text: string(text)}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	go l.renew(renewal)
	return l, nil
}

// takeAway removes a stale lock: then its place is open to everyone. The error is fs.ErrExist if it is held. One process at a time
// removes it, under a lock of its own, since a second one would hit the lock of who came next.
func takeAway(path string) error {
	was, err := observe(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !was.stale():
		return fs.ErrExist
	}
	guard, err := lockFile(path + "~")
	if guard == nil {
		return cmp.Or(err, fs.ErrExist)
	}
	defer guard.release()
	if is, err := see(path); err != nil || !is.same(was) || os.Remove(path) != nil {
		return fs.ErrExist // its holder woke up
	}
	return nil
}

// writeNew makes a file, and fails if there is one.
func writeNew(path, text string) error {
	f, err := create(path)
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
func (l *lock) renew(every time.Duration) {
	for wait(l.ctx, every) {
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
	s, err := see(l.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.text != l.text {
		return errTaken
	}
	return err
}

func (l *lock) release() {
	if l == nil {
		return
	}
	if l.end(nil); l.held() == nil {
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
	return s.holder, err == nil && !s.stale()
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
	ID   string // of the run: see Run.ID
	Host string // the name of the machine; empty if unknown
}

// Computing returns the runs that processes compute in a folder now, on any machine. That the process of another machine has ended
// shows within half a minute, since it no longer renews its lock: Computing may wait for as long.
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
