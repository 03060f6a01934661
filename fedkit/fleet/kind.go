package fleet

import (
	"bufio"
	"cmp"
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
	"github.com/gomlx/compute"
)

// Kind is what decides how a machine rounds. Machines of one kind give the same bytes.
type Kind struct {
	Device    string // "cpu", "cuda"
	Plugin    string // the PJRT plugin: name, and the beginning of its SHA-256
	Processor string // model of the processor, or of the GPU
	Threads   int    // processors that the process may run on
	Flags     string // XLA_FLAGS and the options of GOMLX_BACKEND
}

// Key returns a short name of the kind.
func (k Kind) Key() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", k)))
	return hex.EncodeToString(sum[:6])
}

func (k Kind) String() string {
	s := fmt.Sprintf("%s, %d threads, %s", k.Processor, k.Threads, k.Plugin)
	if k.Flags != "" {
		s += ", " + k.Flags
	}
	return s
}

// thisKind is that of this process. It opens the plugin.
var thisKind = sync.OnceValues(func() (Kind, error) {
	client, err := xla.NewClient()
	if err != nil {
		return Kind{}, err
	}
	k := Kind{Device: xla.Kind(), Processor: client.Device(), Threads: runtime.NumCPU()}
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
	_, options, _ := strings.Cut(os.Getenv(compute.ConfigEnvVar), ",")
	k.Flags = strings.Join(strings.Fields(os.Getenv("XLA_FLAGS")+" "+options), " ")
	return k, nil
})

// processor returns the model of the processor.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	var model, stepping string
	for lines := bufio.NewScanner(f); lines.Scan() && (model == "" || stepping == ""); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "model name":
			model = value
		case "cpu family", "model", "flags": // a model's name may be no more than its maker's
			stepping += name[:1] + value
		}
	}
	sum := sha256.Sum256([]byte(stepping))
	return fmt.Sprintf("%s %x", cmp.Or(model, runtime.GOARCH), sum[:2])
}
