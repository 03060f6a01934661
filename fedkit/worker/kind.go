package worker

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/xla"
)

// Kind is what decides how a worker rounds. Those of one Kind compute the same bytes.
type Kind struct {
	Device    string // "cpu", "cuda"
	Plugin    string // the PJRT plugin: name, and the beginning of its SHA-256
	Hardware  string // as in History.Hardware
	Processor string // a hash of the processor's features, which its name may not tell
	Threads   int    // of XLA on processors
	Flags     string // options of XLA_FLAGS and GOMLX_BACKEND that may change what programs compute
	Calls     string // whose convolutions programs call, "" if XLA's own
}

// String names hardware, threads, plugin and flags.
func (k Kind) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s (%s), %d threads, %s %s", k.Hardware, k.Processor, k.Threads, k.Plugin, strings.TrimSpace(k.Flags+" "+k.Calls)))
}

// thisKind returns the Kind of this process. It opens the plugin.
var thisKind = sync.OnceValues(func() (k Kind, err error) {
	client, err := xla.NewClient()
	if err != nil {
		return k, err
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
	model, more := xla.Processor()
	features := sha256.Sum256([]byte(model + more))
	return Kind{Device: xla.Kind(), Plugin: fmt.Sprintf("%s %.4x", filepath.Base(client.Plugin()), hash.Sum(nil)), Hardware: xla.Hardware(),
		Processor: fmt.Sprintf("%.2x", features), Threads: xla.Threads(), Flags: xla.Flags(), Calls: xla.Kernels()}, nil
})

// useGPU lets this process use one GPU, by its number among those that it may use.
func useGPU(number int) error {
	device := strconv.Itoa(number)
	if visible, limited := os.LookupEnv("CUDA_VISIBLE_DEVICES"); limited {
		may := strings.FieldsFunc(visible, func(r rune) bool { return r == ',' })
		if number >= len(may) {
			return fmt.Errorf("--gpu %d: must be a GPU of CUDA_VISIBLE_DEVICES = %s, from 0", number, strings.Join(may, ","))
		}
		device = may[number]
	}
	err := os.Setenv("CUDA_VISIBLE_DEVICES", device)
	if err == nil && os.Getenv("GOMLX_BACKEND") == "" {
		err = os.Setenv("GOMLX_BACKEND", "xla:cuda")
	}
	return err
}
