package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/internal/file"
	"fedkit.example/fedkit/internal/interrupt"
	"fedkit.example/fedkit/internal/text"
)

// Submit is Run for a study that is computed elsewhere: if runs are missing, a shell command starts the processes that compute them,
// and Submit follows the folder until all are stored. Nothing is computed here.
//
//	runs := must.M1(st.Submit(ctx, "sbatch --array=1-8 scripts/study.slurm ~/fedkit 19_machines"))
//
// The command finds the absolute path of the folder in FEDKIT_STUDY_DIR. It must run the same study there, with --models if
// Study.Models is set, and return once the jobs are submitted. What it prints is logged, and kept in the folder in a file
// .submitted.NUMBER: while that is there, Submit follows these jobs, says so, and submits nothing. Remove the file to submit again,
// for example if a time limit ended the jobs before all runs were stored. It is removed when the study is complete, and a study with
// other runs has another one. Nor is anything submitted while other processes compute all that is missing.
//
// Study.Watch is told of runs as they are stored; fedkit study status has the rounds of those under way. A run that fails for an
// external reason counts as it was first stored. The stop button ends the following without an error, and leaves the jobs alone.
//
// Errors: those of Run; Study.Recompute, which is for the command to do; a command that fails.
func (s *Study) Submit(ctx context.Context, command string) (Runs, error) {
	switch {
	case strings.TrimSpace(command) == "":
		return nil, fmt.Errorf("study: %w", fedkit.Invalid("command", `""`, "one that starts jobs, such as sbatch"))
	case s.Recompute:
		return nil, fmt.Errorf("study: %w", fedkit.Invalid("Study.Recompute", true, "false in Submit: its command may compute all again (fedkit study run --again)"))
	}
	return s.run(ctx, func(ctx context.Context, missing []*plan) error { return s.submit(ctx, command, missing) })
}

func (s *Study) submit(ctx context.Context, command string, missing []*plan) error {
	if err := s.writable(); err != nil {
		return err
	}
	ctx, release := interrupt.Context(ctx)
	defer release()
	active := Computing(s.Dir)
	idle := slices.ContainsFunc(missing, func(p *plan) bool {
		return !slices.ContainsFunc(active, func(a Active) bool { return a.ID == p.ID })
	})
	if before, err := os.ReadFile(s.note()); err == nil {
		s.sayf("submitted before: %s\nto submit again, remove %s\n", strings.TrimSpace(string(before)), s.note())
	} else if !idle {
		s.sayf("other processes compute all that is missing\n")
	} else if err := s.start(ctx, command); err != nil {
		return err
	}
	s.follow(ctx, &queue{missing: slices.Clone(missing)}, s.watcher(missing), true)
	left := len(slices.DeleteFunc(slices.Clone(missing), func(p *plan) bool { return p.stored }))
	if errors.Is(context.Cause(ctx), fedkit.ErrStopped) && left > 0 {
		s.sayf("stopped following: the jobs go on; %d of %d runs are left\n", left, len(missing))
		return nil
	}
	return s.ended(context.Cause(ctx), missing)
}

// note is the path of a file about what was submitted for the runs of the study.
func (s *Study) note() string {
	var keys []string
	for _, p := range s.distinct() {
		keys = append(keys, p.Key)
	}
	slices.Sort(keys)
	return filepath.Join(s.Dir, fmt.Sprintf(".submitted.%.6x", sha256.Sum256([]byte(strings.Join(keys, " ")))))
}

// start runs the command, and notes what it printed. It prints to a file, which what it leaves in the background may hold open.
func (s *Study) start(ctx context.Context, command string) error {
	out, err := os.CreateTemp("", "fedkit-submit")
	if err != nil {
		return fmt.Errorf("study: %w", err)
	}
	defer func() { _, _ = out.Close(), os.Remove(out.Name()) }()
	dir, err := filepath.Abs(s.Dir)
	if err == nil {
		c := exec.CommandContext(ctx, "sh", "-c", command)
		c.Env, c.Stdout, c.Stderr = append(os.Environ(), "FEDKIT_STUDY_DIR="+dir), out, out
		err = c.Run()
	}
	printed, _ := io.ReadAll(io.NewSectionReader(out, 0, 1<<16))
	said := strings.TrimSpace(text.Lines(string(printed)))
	if err != nil {
		return fmt.Errorf("study: Submit: %s: %w: %s", command, cmp.Or(context.Cause(ctx), err), said)
	}
	s.sayf("%s\n%s\n", command, said)
	return file.Write(s.note(), []byte(command+"\n"+said+"\n"))
}
