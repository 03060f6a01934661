package xla

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Hardware says what programs run on: "Intel(R) Xeon(R) Platinum 8481C, 4 processors", "NVIDIA H100 80GB HBM3". It opens the
// plugin.
var Hardware = sync.OnceValue(func() string {
	if OnCPU() {
		model, _ := Processor()
		return Processors(model, Threads())
	}
	return GPU()
})

// Threads returns the number of threads that XLA computes with on the CPU: the environment's PJRT_NPROC or NPROC (at least 1), which XLA
// reads when the plugin is opened, or else the processors that this process may use. XLA itself knows their affinity but not a container's
// quota, which Go knows, so NPROC is set if that is less. The number decides how large matrix products and gradients of convolutions are
// split, and so how they round: one thread gives other last digits than two, however many processors there are.
var Threads = sync.OnceValue(func() int {
	for _, name := range []string{"PJRT_NPROC", "NPROC"} {
		if n, err := strconv.ParseInt(strings.TrimSpace(os.Getenv(name)), 10, 32); err == nil {
			return max(1, int(n))
		}
	}
	n := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	if n < runtime.NumCPU() {
		_ = os.Setenv("NPROC", strconv.Itoa(n)) // which reaches C too
	}
	return n
})

// Processors formats a processor's model and their number, as in Hardware.
func Processors(model string, n int) string {
	if n == 1 {
		return model + ", 1 processor"
	}
	return fmt.Sprintf("%s, %d processors", model, n)
}

// Processor returns the processor's model name, and further fields that identify it: the name may be just the vendor's.
func Processor() (model, more string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH, ""
	}
	defer f.Close()
	return processorIn(f)
}

// processorIn reads the first processor from Linux's cpuinfo.
func processorIn(cpuinfo io.Reader) (model, more string) {
	for lines := bufio.NewScanner(cpuinfo); lines.Scan() && (model == "" || more == ""); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(name) {
		case "model name":
			model = value
		case "cpu family", "model", "flags":
			more += name[:1] + value
		}
	}
	return cmp.Or(model, runtime.GOARCH), more
}

// GPU returns the model of the GPU from NVIDIA's driver or, without it, the plugin's name for it.
func GPU() string {
	if models := modelsIn("/proc/driver/nvidia/gpus"); len(models) > 0 {
		return strings.Join(models, " or ") // the driver does not say which of them
	}
	c, err := NewClient()
	if err != nil {
		return err.Error()
	}
	return c.Device()
}

// modelsIn reads the distinct models from a folder of the driver, which has a folder per GPU.
func modelsIn(folder string) (models []string) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*", "information"))
	for _, path := range paths {
		b, _ := os.ReadFile(path)
		for line := range strings.Lines(string(b)) {
			if model, ok := strings.CutPrefix(line, "Model:"); ok {
				models = append(models, strings.TrimSpace(model))
			}
		}
	}
	slices.Sort(models)
	return slices.Compact(models)
}
