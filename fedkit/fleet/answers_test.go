package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fedkit.example/fedkit/internal/engine"
	"fedkit.example/fedkit/internal/remote"
	"fedkit.example/fedkit/internal/xla"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/nats-io/nats.go"
)

// wrongAnswers are the invalid answers that a faulty worker may send.
var wrongAnswers = map[string]func(a *remote.Answer){
	"no results":             func(a *remote.Answer) { a.Results = nil },
	"one result less":        func(a *remote.Answer) { a.Results = a.Results[1:] },
	"one result more":        func(a *remote.Answer) { a.Results = append(a.Results, a.Results[0]) },
	"another rank":           func(a *remote.Answer) { a.Results[0].Dims = append(slices.Clone(a.Results[0].Dims), 1) },
	"a vector, not a matrix": func(a *remote.Answer) { a.Results[0].Dims = []int{4} },
	"another type":           func(a *remote.Answer) { a.Results[0].Type = dtypes.Float64 },
	"a terabyte":             func(a *remote.Answer) { a.Results[0].Dims = []int{1 << 38} },
	"brought, not kept": func(a *remote.Answer) {
		a.Results[0] = remote.Result{Type: dtypes.Float32, Dims: []int{1}, Data: make([]byte, 4)}
	},
	"not readable":              func(a *remote.Answer) { a.Results[0] = remote.Result{Type: dtypes.Float32, Data: []byte("a lot")} },
	"misses what nobody needs":  func(a *remote.Answer) { a.Missing = []string{strings.Repeat("0", 64)} },
	"misses nothing by no name": func(a *remote.Answer) { a.Missing = []string{""} },
	"negative time, no results": func(a *remote.Answer) { a.Seconds, a.Results = -1e308, nil },
}

// pair is a program with two results for any argument.
var pair = xla.NewProgram("pair", func(a []*graph.Node) []*graph.Node {
	return []*graph.Node{graph.Add(a[0], a[0]), graph.Mul(a[0], a[0])}
})

// A worker with an invalid answer is named, and another worker's answer is used.
func TestWrongAnswers(t *testing.T) {
	t.Parallel()
	for what, change := range wrongAnswers {
		for _, onKept := range []bool{false, true} {
			t.Run(fmt.Sprint(what, ", on what is kept: ", onKept), func(t *testing.T) {
				t.Parallel()
				h := startHub(t, HubOptions{})
				answered := make(chan struct{}, 1000)
				bad, _ := startWorker(t, h.File(), WorkerOptions{}, func(w *worker) {
					right := w.perform
					w.perform = func(ctx context.Context, c *remote.Call, queued bool) *remote.Answer {
						a := *right(ctx, c, queued) // others may receive it too
						if queued != onKept && len(a.Results) > 0 {
							a.Results = slices.Clone(a.Results)
							change(&a)
							answered <- struct{}{}
						}
						return &a
					}
				})
				f := join(t, h.File())
				workers(t, f, 1)
				d := device1(t, f)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					got, err := pairOfPair(t.Context(), d)
					if err != nil || !slices.Equal(got, []float32{4, 16, 36, 64}) {
						t.Errorf("%v (%v), want the squares of 2, 4, 6, 8", got, err)
					}
				}()
				select {
				case <-answered:
				case <-ended:
				}
				startWorker(t, h.File(), WorkerOptions{}, nil)
				<-ended
				if s := f.String(); !strings.Contains(s, bad.beat.Worker) || !strings.Contains(s, `gave a wrong answer: program "pair"`) {
					t.Error("the worker is not named:", s)
				}
			})
		}
	}
}

// pairOfPair runs pair on [1 2; 3 4] and again on the sum, at the worker that keeps it, and returns the squares.
func pairOfPair(ctx context.Context, d engine.Device) ([]float32, error) {
	out, err := d.Run(ctx, pair, []any{[][]float32{{1, 2}, {3, 4}}})
	if err != nil {
		return nil, err
	}
	if out, err = out[0].Then(pair); err != nil {
		return nil, err
	}
	y, err := out[1].Tensor()
	if err != nil {
		return nil, err
	}
	return xla.Host(y)
}

// A worker is banned after three answers that are invalid, or that cannot be decoded; if it was alone, the error says why.
func TestThreeWrongAnswers(t *testing.T) {
	t.Parallel()
	terabyte := remote.Answer{Results: []remote.Result{{Type: dtypes.Float32, Dims: []int{1 << 38}, Kept: true}}}
	for data, words := range map[string][]string{
		string(terabyte.Encode()): {"Float32[274877906944]", "returns [Float32[]"}, "": nil, "not an answer": nil, "\x02\x00\x00\x00{}": nil,
	} {
		f := join(t, startHub(t, HubOptions{}).File())
		f.Timeout = time.Second
		k, err := readTicket(f.File())
		if err != nil {
			t.Fatal(err)
		}
		nc, name, err := k.connectWorker()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if _, err := nc.Subscribe(asks+name+askRun, func(m *nats.Msg) { _ = m.Respond([]byte(data)) }); err != nil {
			t.Fatal(err)
		}
		pretend(t, nc, name)
		workers(t, f, 1)
		_, err = device1(t, f).Run(t.Context(), double, []any{float32(1)})
		says(t, err, append(words, "no worker", name, "3 wrong answers", `program "double"`)...)
	}
}

// A result kept by a lost worker is an error while there is no other worker, and is computed again once there is one.
func TestKeptByNobody(t *testing.T) {
	t.Parallel()
	h, f := hubAndFleet(t)
	f.Timeout = time.Second
	_, kill := startWorker(t, h.File(), WorkerOptions{}, nil)
	out, err := device1(t, f).Run(t.Context(), double, []any{float32(3)})
	if err != nil {
		t.Fatal(err)
	}
	if !out[0].Remote() {
		t.Fatal("it is not kept")
	}
	kill()
	for range 2 {
		if _, err := out[0].Tensor(); !errors.Is(err, ErrNoWorker) {
			t.Fatal(err)
		}
	}
	startWorker(t, h.File(), WorkerOptions{}, nil)
	workers(t, f, 1)
	y, err := out[0].Tensor()
	if err != nil || y.Value() != float32(6) {
		t.Errorf("%v (%v), want 6", y, err)
	}
}
