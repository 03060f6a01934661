package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"fedkit.example/fedkit/internal/xla"
)

// Platform is what decides how a machine rounds. Machines of one Platform compute the same bytes.
type Platform struct {
	Device    string // "cpu", "cuda"
	Plugin    string // the PJRT plugin: name, and the beginning of its SHA-256
	Processor string // model of the processor, or of the GPU
	Threads   int    // processors that the process may run on
	Flags     string // options of XLA_FLAGS and GOMLX_BACKEND that may change what programs compute
}

// Key returns a fingerprint of the Platform.
func (k Platform) Key() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", k)))
	return hex.EncodeToString(sum[:6])
}

// String names the processor, its threads, the plugin and, if there are any, the flags.
func (k Platform) String() string {
	s := fmt.Sprintf("%s, %d threads, %s", k.Processor, k.Threads, k.Plugin)
	if k.Flags != "" {
		s += ", " + k.Flags
	}
	return s
}

// thisKind returns the Platform of this process. It opens the plugin.
var thisKind = sync.OnceValues(func() (Platform, error) {
	client, err := xla.NewClient()
	if err != nil {
		return Platform{}, err
	}
	k := Platform{Device: xla.Kind(), Processor: xla.Hardware(), Threads: runtime.NumCPU(), Flags: xla.Flags()}
	if xla.OnCPU() {
		k.Processor = processor()
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
	k.Plugin = fmt.Sprintf("%s %x", filepath.Base(client.Plugin()), hash.Sum(nil)[:4])
	return k, nil
})

// processor returns the model of the processor, with a hash of its other features.
func processor() string {
	model, more := xla.Processor()
	sum := sha256.Sum256([]byte(more))
	return fmt.Sprintf("%s %x", model, sum[:2])
}

// hardware returns the Platform as fedkit.History names it.
func (k Platform) hardware() string {
	if k.Device != "cpu" {
		return k.Processor
	}
	return xla.Processors(k.Processor[:max(0, strings.LastIndexByte(k.Processor, ' '))], k.Threads)
}
