package study_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/study"
)

// A full disk ends a study with that error. Stored runs stay, no file is half-written, and with more room the study resumes.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=96k"); err != nil {
		t.Skip("a small file system cannot be mounted here:", err)
	}
	defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	fed := ten()
	make := func() *study.Study {
		st := study.New(dir)
		st.Parallel = 1
		for seed := range uint64(10) {
			st.Add(fed, avg(0.1), fedkit.Options{Rounds: 3, Seed: seed})
		}
		return st
	}
	st := make()
	st.Log, st.Watch = &strings.Builder{}, &counter{}
	runs, err := st.Run(ctx)
	if !errors.Is(err, syscall.ENOSPC) || len(runs) == 0 || len(runs) == 10 {
		t.Fatal(len(runs), err)
	}
	if listed, damaged := study.List(dir); len(listed) != len(runs) || damaged != nil {
		t.Error(len(listed), len(runs), damaged)
	}
	for _, h := range runs.Histories() {
		if h == nil || len(h.Rounds) != 3 {
			t.Error(h)
		}
	}
	expect.OK(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=10m"))
	if again, _ := run(t, make()); len(again) != 10 {
		t.Error(len(again))
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", ".*"))
	if len(left) > 0 {
		t.Error(left)
	}
}

// A complete study needs no write access to its folder.
func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			t.Skip("root can write anywhere, and a read-only file system cannot be mounted here:", err)
		}
		defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
		readOnly(t, dir, func() error { return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, "") })
		return
	}
	dir := filepath.Join(t.TempDir(), "runs")
	readOnly(t, dir, func() error { return os.Chmod(dir, 0o555) })
	_ = os.Chmod(dir, 0o777) // for the removal
}

func readOnly(t *testing.T, dir string, protect func() error) {
	t.Helper()
	fed := ten()
	st := study.New(dir)
	st.Add(fed, avg(0.1), fedkit.Options{Rounds: 1})
	run(t, st)
	expect.OK(t, protect())
	if runs, _ := run(t, st); len(runs) != 1 || len(runs.Histories()) != 1 {
		t.Error(runs)
	}
	st.Add(fed, avg(0.2), fedkit.Options{Rounds: 1})
	if runs, err := st.Run(ctx); err == nil || !strings.Contains(err.Error(), "must be a folder that can be written to") || len(runs) != 1 {
		t.Error(runs, err)
	}
	if runs, _ := study.List(dir); runs.Remove() == nil {
		t.Error("something was removed")
	}
}
