package worker

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/xla"
)

// Kind is what decides how a worker rounds. Those of one Kind compute the same bytes.
type Kind struct {
	Device    string // "cpu", "cuda"
	Plugin    string // the PJRT plugin: name, and the beginning of its SHA-256
	Processor string // model of the processor, with a hash of its features, or of the GPU
	Hardware  string // as History.Hardware has it
	Threads   int    // of XLA on processors
	Flags     string // options of XLA_FLAGS and GOMLX_BACKEND that may change what programs compute
}

// String names the processor, its threads, the plugin and, if there are any, the flags.
func (k Kind) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%s, %d threads, %s, %s", k.Processor, k.Threads, k.Plugin, k.Flags), ", ")
}

// thisKind returns the Kind of this process. It opens the plugin.
var thisKind = sync.OnceValues(func() (k Kind, err error) {
	client, err := xla.NewClient()
	if err != nil {
		return k, err
	}
	k = Kind{Device: xla.Kind(), Hardware: xla.Hardware(), Processor: xla.Hardware(), Threads: runtime.NumCPU(), Flags: xla.Flags()}
	if xla.OnCPU() {
		model, more := xla.Processor()
		k.Processor = fmt.Sprintf("%s %.2x", model, sha256.Sum256([]byte(more)))
	}
	f, err := os.Open(client.Plugin())
	if err != nil {
		return k, err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return k, err
	}
	k.Plugin = fmt.Sprintf("%s %.4x", filepath.Base(client.Plugin()), hash.Sum(nil))
	return k, nil
})

// gpuOnly is the environment of a process that uses one GPU, by its number among those that this process may use.
func gpuOnly(number int) map[string]string {
	device := strconv.Itoa(number)
	if may := strings.Split(os.Getenv("CUDA_VISIBLE_DEVICES"), ","); may[0] != "" {
		device = "-1" // none, rather than another process's
		if number < len(may) {
			device = may[number]
		}
	}
	env := map[string]string{"CUDA_VISIBLE_DEVICES": device}
	if os.Getenv("GOMLX_BACKEND") == "" {
		env["GOMLX_BACKEND"] = "xla:cuda"
	}
	return env
}
