package fedkit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// A full disk ends a run with an error that says so, and what was written whole is still there: once there is room, the
// run goes on from it to the same bytes. A folder that cannot be written is refused before the first round.
func TestFullDisk(t *testing.T) {
	if dir := os.Getenv("FEDKIT_TEST_DISK"); dir != "" {
		onSmallDisk(t, dir)
		return
	}
	p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDisk$")
	p.Env = append(os.Environ(), "FEDKIT_TEST_DISK="+t.TempDir())
	p.SysProcAttr = &syscall.SysProcAttr{ // where anybody may mount
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := p.CombinedOutput()
	switch text := string(out); {
	case len(out) == 0 && err != nil, strings.Contains(text, "SKIP"):
		t.Skip("no small disk can be had here: ", text, err)
	case err != nil:
		t.Errorf("%s, %v", text, err)
	}
}

func onSmallDisk(t *testing.T, dir string) {
	mount := func(flags uintptr, size string) {
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size="+size); err != nil {
			fmt.Println("SKIP", err)
			t.SkipNow()
		}
	}
	mount(0, "48k")
	fed, _ := toy(t, 4, 9)
	straight, again := trained(), trained()
	want := expect.Value(Run(context.Background(), fed, straight, Options{Rounds: 60}))(t)
	o := Options{Rounds: 60, Checkpoint: filepath.Join(dir, "c"), History: filepath.Join(dir, "h")}
	full, err := Run(context.Background(), fed, trained(), o)
	expect.Must(t, errors.Is(err, syscall.ENOSPC) && len(full.Rounds) >= 5 && len(full.Rounds) != 60 && strings.Contains(err.Error(), fmt.Sprintf("round %d: ", len(full.Rounds))),
		"a full disk: %v after %d rounds", err, len(full.Rounds))
	back, err := Load(o.History)
	expect.That(t, err == nil && len(back.Rounds) >= len(full.Rounds)-1 && reflect.DeepEqual(back.Rounds, full.Rounds[:len(back.Rounds)]),
		"its history has %d of %d rounds, %v", len(back.Rounds), len(full.Rounds), err)
	mount(syscall.MS_REMOUNT|syscall.MS_RDONLY, "48k")
	if _, err := Run(context.Background(), fed, trained(), o); !errors.Is(err, ErrInvalid) || !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "must be a file that can be written") {
		t.Errorf("a disk that is read only: %v", err)
	}
	mount(syscall.MS_REMOUNT, "1m")
	first := 0
	var last *History
	for h, err := range Rounds(context.Background(), fed, again, o) {
		expect.OK(t, err)
		if last = h; first == 0 {
			first = len(h.Rounds)
		}
	}
	// How many of the rounds are in the checkpoint depends on how fast the disk was.
	expect.That(t, first != 0 && bytes.Equal(bytesOf(t, straight.State, want), bytesOf(t, again.State, last)),
		"with room, a run that had %d rounds goes on with round %d, to other bytes", len(full.Rounds), first)
}
