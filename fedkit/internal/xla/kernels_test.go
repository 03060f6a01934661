package xla

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/internal/plugins"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// needKernels skips a test where there is no oneDNN, and returns the name by which programs call it.
func needKernels(t *testing.T) string {
	t.Helper()
	name := Kernels()
	if name == "" {
		t.Skip("needs oneDNN beside the plugin, a processor with AVX2, and no other form of convolutions")
	}
	return name
}

// conv is a convolution and its gradients; with 39 examples, each is cut into pieces of two sizes.
var conv = NewProgram("conv", func(in []*Node) []*Node {
	y := Convolve(in[0], in[1]).PadSame().Done()
	return append([]*Node{y}, Gradient(ReduceAllSum(Mul(y, Sin(y))), in...)...)
})

func convInputs() []any {
	rng := rand.New(rand.NewPCG(1, 2))
	return []any{different(rng, 39, 14, 14, 32), different(rng, 5, 5, 32, 40)}
}

func hashed(t *testing.T, out []*tensors.Tensor) string {
	t.Helper()
	h := sha256.New()
	for _, o := range out {
		fmt.Fprintln(h, expect.Value(Host(o))(t))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// A convolution and its gradients are computed by oneDNN, in pieces. Their bytes are the same on any number of threads, whatever runs at the same
// time.
func TestKernelsHaveTheSameBytes(t *testing.T) {
	name := needKernels(t)
	in := convInputs()
	text := string(expect.Value(conv.Text(in[0].(*tensors.Tensor).Shape(), in[1].(*tensors.Tensor).Shape()))(t))
	if n := len(regexp.MustCompile(regexp.QuoteMeta(name)+`",\s+operand_layouts|api_version = 4 : i32`).FindAllString(text, -1)); n < 3 || strings.Contains(text, "stablehlo.convolution") {
		t.Errorf("%d calls of oneDNN, want 3 and no convolution of XLA:\n%s", n, text)
	}
	want := hashed(t, expect.Value(conv.Call(in...))(t))
	if os.Getenv("FEDKIT_TEST_CHILD") != "" {
		fmt.Println("bytes", want)
		return
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if out, err := conv.Call(in...); err != nil || hashed(t, out) != want {
					t.Errorf("beside others: other bytes; %v", err)
				}
			}
		})
	}
	all.Wait()
	for _, threads := range []string{"1", "2", "7"} {
		c := exec.Command(expect.Value(os.Executable())(t), "-test.run", "^TestKernelsHaveTheSameBytes$", "-test.v")
		c.Env = append(os.Environ(), "FEDKIT_TEST_CHILD=1", "NPROC="+threads)
		_, got, _ := strings.Cut(string(expect.Value(c.Output())(t)), "bytes ")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s threads: other bytes", threads)
		}
	}
}

// A file that is no oneDNN is said, and nothing is opened in its place; a damaged one is not loaded.
func TestOpenKernels(t *testing.T) {
	needKernels(t)
	of := func(b []byte) []string {
		dir := t.TempDir()
		expect.OK(t, os.WriteFile(filepath.Join(dir, kernelLibrary), b, 0o700))
		return []string{t.TempDir(), dir}
	}
	program := expect.Value(os.ReadFile(expect.Value(os.Executable())(t)))(t)
	plugin := expect.Value(os.ReadFile(plugins.Installed()[0]))(t)
	for name, c := range map[string]struct {
		folders []string
		want    string
	}{
		"none":           {[]string{t.TempDir()}, "file does not exist"},
		"text":           {of([]byte("oneDNN")), "it is no shared library, or was cut off: .*; ./scripts/lab setup installs it again$"},
		"cut off":        {of(program[:len(program)/2]), "it is no shared library, or was cut off: "},
		"another":        {of(plugin), "undefined symbol: dnnl_version$"},
		"oneDNN, as now": {plugins.Folders(), ""},
	} {
		if _, err := openKernels(c.folders); (err == nil) != (c.want == "") || err != nil && !regexp.MustCompile(c.want).MatchString(err.Error()) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A program with the numbers of another convolution ends with an error.
func TestKernelsCheckTheirNumbers(t *testing.T) {
	name := needKernels(t)
	in := convInputs()
	source := expect.Value(conv.Source([]shapes.Shape{in[0].(*tensors.Tensor).Shape(), in[1].(*tensors.Tensor).Shape()}))(t)
	client := expect.Value(NewClient())(t)
	var buffers []*Buffer
	for _, v := range in {
		tensor := v.(*tensors.Tensor)
		b := make([]byte, tensor.Shape().ByteSize())
		buffers = append(buffers, expect.Value(client.Put(b, tensor.DType(), tensor.Shape().Dimensions))(t))
	}
	for from, to := range map[string]string{
		"array<i64: 0, 2, 1, 39,":          "array<i64: 0, 2, 1, 40,",
		"array<i64: 0, 2, 1, 39, 3":        "array<i64: 7, 2, 1, 39, 3",
		"array<i64: 2, 2, 1, 39,":          "array<i64: 2, 9, 1, 39,",
		"array<i64: 0, 2, 1, 39, 32, ":     "array<i64: 0, 2, 1, 9223372036854775807, 9223372036854775807, ",
		"array<i64: 0, 2, 1, 39, 32, 14, ": "array<i64: 0, 2, 1, 39, 32, -14, ",
		"of = array<i64: 0, ":              "of = array<i64: ",
		" 6272, 1, 448, ":                  " 6272, 1, 4480000, ",
	} {
		text := strings.ReplaceAll(string(source.Text), from, to)
		if text == string(source.Text) {
			t.Fatalf("no %s in the program: %s", from, name)
		}
		run, err := client.Compile([]byte(text))
		if err == nil {
			_, err = run.Run(buffers...)
		}
		if err == nil || !strings.Contains(err.Error(), "convolution") {
			t.Errorf("%s: error %v", to, err)
		}
	}
}
