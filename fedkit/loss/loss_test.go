package loss_test

import (
	"encoding/json"
	"math"
	"os"
	"syscall"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/xla"
	"fedkit.example/fedkit/loss"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) { syscall.Exit(m.Run()) }

// Losses, accuracies and gradients of every form of targets against JAX 0.10.2 in float64 (testdata/reference.py): for two clients with
// the same examples, which are given once for each and once for both.
func TestAgainstJAX(t *testing.T) {
	var cases []struct {
		Name                     string
		Shape, Width             []int
		Out, Y                   []float32
		Loss, Accuracy, Gradient []float64
	}
	expect.OK(t, json.Unmarshal(expect.Value(os.ReadFile("testdata/reference.json"))(t), &cases))
	for _, c := range cases {
		of, accuracy := loss.SquaredError, func(out, y *graph.Node) *graph.Node {
			return graph.OneMinus(graph.MulScalar(loss.SquaredError(out, y), 2))
		}
		var y any = c.Y
		switch c.Name {
		case "positions":
			of, accuracy = loss.CrossEntropy, loss.Correct
			whole := make([]int32, len(c.Y))
			for i, v := range c.Y {
				whole[i] = int32(v)
			}
			y = whole
		case "tags", "one tag":
			of, accuracy = loss.BinaryCrossEntropy, loss.CorrectTags
		}
		width := c.Width
		if c.Name == "one tag" {
			width = width[:1]
		}
		for _, sets := range []int{1, 2} {
			p := xla.NewProgram(c.Name, func(in []*graph.Node) []*graph.Node {
				l := of(in[0], in[1])
				return []*graph.Node{l, accuracy(in[0], in[1]), graph.Gradient(graph.ReduceAllSum(l), in[0])[0]}
			})
			got, err := p.Call(tensor(twice(c.Out), append([]int{2}, c.Shape...)), truth(y, sets, width))
			expect.OK(t, err)
			for k, want := range [][]float64{c.Loss, c.Accuracy, c.Gradient} {
				values := expect.Value(xla.Host(got[k]))(t)
				expect.Must(t, len(values) == 2*len(want), "%s: result %d has %d values, want 2 × %d", c.Name, k, len(values), len(want))
				for i, v := range values {
					w := want[i%len(want)]
					expect.That(t, math.Abs(float64(v)-w) <= 1e-6*(1+math.Abs(w)), "%s, %d sets: result %d is %v at %d, want %v", c.Name, sets, k, v, i, w)
				}
			}
		}
	}
}

func twice[T any](v []T) []T { return append(append([]T{}, v...), v...) }

func tensor[T float32 | int32](v []T, dims []int) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(v, dims...)
}

// truth returns targets for one set of examples, or for two.
func truth(y any, sets int, width []int) *tensors.Tensor {
	dims := append([]int{sets}, width...)
	switch v := y.(type) {
	case []int32:
		if sets == 2 {
			v = twice(v)
		}
		return tensor(v, dims)
	case []float32:
		if sets == 2 {
			v = twice(v)
		}
		return tensor(v, dims)
	}
	return nil
}
