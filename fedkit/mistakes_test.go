package fedkit_test

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/fedtest"
	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/notebook"
	"github.com/gomlx/gomlx/core/graph"
)

// clumsy is a user's strategy with one mistake.
type clumsy struct {
	fails string // Start, Round or Serve
	do    func(s *clumsy, r *fedkit.Round) error
	Part  part
	State struct {
		X    *fedkit.Matrix
		Kept []map[string]struct{ y *fedkit.Matrix }
	}
}

// part panics where its federation should be checked.
type part struct{ err error }

func (p part) Check(*fedkit.Federation, int) error {
	if p.err != nil {
		panic(p.err) // @check
	}
	return nil
}

func (s *clumsy) in(method string, r *fedkit.Round) error {
	if s.fails != method {
		return nil
	}
	return s.do(s, r) // @do
}

func (s *clumsy) Start(r *fedkit.Round) error { s.State.X = r.Models(1); return s.in("Start", r) }

func (s *clumsy) Round(r *fedkit.Round) error {
	r.Train(fedkit.Job{Clients: r.Select(nil, 0), Start: s.State.X, Local: fedkit.Local{Batch: 4, LR: 0.1}})
	return s.in("Round", r) // @round
}

func (s *clumsy) Serve(r *fedkit.Round) fedkit.Serving {
	r.Fail(s.in("Serve", r))
	return fedkit.Serving{Global: s.State.X}
}

var broken = fedkit.NewProgram("broken", func(a []*graph.Node) *graph.Node { return graph.Add(a[0], graph.Reshape(a[0], 2, 2)) })

func deep(r *fedkit.Round) error {
	var none []int
	none[r.T]++ // @deep
	return nil
}

func narrow() *fedkit.Matrix { return fedkit.NewMatrix([]float32{1}, 1, 1) }

//go:embed mistakes_test.go
var source string

// lines puts the number of the line that ends in "// @x" where a text says @x.
func lines(text string) string {
	return regexp.MustCompile(`@\w+`).ReplaceAllStringFunc(text, func(mark string) string {
		before, _, _ := strings.Cut(source, "// "+mark+"\n")
		return strconv.Itoa(1 + strings.Count(before, "\n"))
	})
}

// Errors name the strategy's own lines and the step that went wrong.
func TestMistakesAreFound(t *testing.T) {
	fed := expect.Value(fedtest.Quadratic())(t)
	for _, c := range []struct {
		fails string
		do    func(s *clumsy, r *fedkit.Round) error
		want  string // a regular expression
	}{
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			s.State.X = s.State.X.Add(narrow()) // @add
			return r.Err()
		}, `^fedkit: clumsy: round 1: State\.X: invalid: Matrix\.Add: \[1, 5\] and \[1, 1\] do not fit\n\tfedkit_test\.TestMistakesAreFound\.func\d+ mistakes_test\.go:@add$`},
		{"Start", func(s *clumsy, r *fedkit.Round) error {
			y := struct{ y *fedkit.Matrix }{s.State.X.Take(5).Scale(2)} // @take
			s.State.Kept = []map[string]struct{ y *fedkit.Matrix }{nil, {"a": y}}
			return r.Err()
		}, `^fedkit: clumsy: start: State\.Kept\[1\]\[a\]\.y: invalid: Matrix\.Take: row 5 .*\n\tfedkit_test\.TestMistakesAreFound\.func\d+ mistakes_test\.go:@take$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			_, err := s.State.X.Apply(broken).Norms() // @apply
			return err
		}, `^fedkit: clumsy: round 1: program "broken": (.|\n)*\n\tfedkit_test\.TestMistakesAreFound\.func\d+ mistakes_test\.go:@apply$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			var none *fedkit.Matrix
			s.State.X = s.State.X.Sub(none) // @nil
			return nil
		}, `^fedkit: clumsy: round 1: State\.X: invalid: the matrix is nil\n\tfedkit_test\.TestMistakesAreFound\.func\d+ mistakes_test\.go:@nil$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			r.Fail(errors.New("mine"))
			return nil
		}, `^fedkit: clumsy: round 1: mine$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			r.Select(fedkit.SelectorFunc(func(r *fedkit.Round, _ int) []int {
				r.Losses(s.State.X, datasets.TrainPart, r.AllClients())
				r.Fail(errors.New("mine"))
				return nil
			}), 0)
			return nil
		}, `^fedkit: clumsy: round 1: select: mine$`},
		{"Serve", func(s *clumsy, r *fedkit.Round) error { return errors.New("mine") }, `^fedkit: clumsy: round 1: serve: mine$`},
		{"Serve", func(s *clumsy, r *fedkit.Round) error { s.State.X = nil; return nil }, `^fedkit: clumsy: round 1: serve: invalid: Serving = empty`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { return deep(r) }, // @call
			`^fedkit: clumsy: round 1: panic: runtime error: index out of range \[1\] with length 0
	fedkit_test\.deep mistakes_test\.go:@deep
	fedkit_test\.TestMistakesAreFound\.func9 mistakes_test\.go:@call
	fedkit_test\.\(\*clumsy\)\.in mistakes_test\.go:@do
	fedkit_test\.\(\*clumsy\)\.Round mistakes_test\.go:@round
	fedkit_test\.TestMistakesAreFound mistakes_test\.go:\d+$`},
		{"Start", func(s *clumsy, r *fedkit.Round) error { panic(fs.ErrExist) }, `start: panic: file already exists\n\tfedkit_test\.TestMis`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { notebook.Panic(errors.New("mine")); return nil }, `round 1: panic: mine\n\tfedkit_test\.TestMis`},
		{"Serve", func(s *clumsy, r *fedkit.Round) error { panic("so") }, `round 1: panic: so\n\tfedkit_test\.TestMis`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { return errors.New("mine") }, `^fedkit: clumsy: round 1: mine$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			r.Select(fedkit.SelectorFunc(func(*fedkit.Round, int) []int { return []int{0, 0} }), 0.5)
			return r.Err()
		}, `^fedkit: clumsy: round 1: select: invalid: Selector = \[0 0\]: must be different clients in \[0, 6\)$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { r.Select(nil, 2); return nil },
			`^fedkit: clumsy: round 1: select: invalid: fraction = 2: must be in \(0, 1\], a share of all clients, or 0 for all$`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { r.Select(nil, math.NaN()); return nil }, `round 1: select: invalid: fraction = NaN`},
		{"Round", func(s *clumsy, r *fedkit.Round) error {
			r.Fed = expect.Value(r.Fed.HoldOut(1, 1))(t)
			r.Train(fedkit.Job{Clients: r.AllClients(), Start: s.State.X})
			return nil
		}, `^fedkit: clumsy: round 1: train: invalid: Round\.Fed = another federation: must be the run's, which strategies do not set`},
		{"Serve", func(s *clumsy, r *fedkit.Round) error { r.Fed = expect.Value(r.Fed.HoldOut(1, 1))(t); return nil }, `round 1: .*: invalid: Round\.Fed`},
		{"Round", func(s *clumsy, r *fedkit.Round) error { r.Fed = nil; r.AllClients(); return nil }, `^fedkit: clumsy: round 1: .*invalid: Round\.Fed`},
	} {
		_, err := fedkit.Run(context.Background(), fed, &clumsy{fails: c.fails, do: c.do}, fedkit.Options{Rounds: 1})
		expect.That(t, err != nil && regexp.MustCompile(lines(c.want)).MatchString(err.Error()), "error %v\nwant %s", err, c.want)
		want := strings.Contains(c.want, "file already")
		expect.That(t, errors.Is(err, fs.ErrExist) == want, "%v is %v: %v, want %v", err, fs.ErrExist, !want, want)
	}
	_, err := fedkit.Run(context.Background(), fed, &clumsy{Part: part{fs.ErrExist}}, fedkit.Options{Rounds: 1})
	expect.That(t, errors.Is(err, fs.ErrExist) && strings.Contains(err.Error(), lines("panic while checking options: file already exists\n\tfedkit_test.part.Check mistakes_test.go:@check")),
		"error %v, want one from Check", err)
}
