package xla

import (
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"fedkit.example/fedkit/internal/plugins"
	"github.com/gomlx/compute"
	gxla "github.com/gomlx/go-xla/compute/xla"
)

// aliases are go-xla's names in a configuration.
var aliases = []string{gxla.BackendName, "stablehlo", "shlo", "hlo"}

// split returns the backend, the plugin by name or path, and what follows: "xla:cuda,tf32=true".
func split(config string) (backend, plugin, options string) {
	backend, rest, _ := strings.Cut(config, ":")
	plugin, options, _ = strings.Cut(rest, ",")
	return backend, plugin, options
}

// checkConfig refuses a configuration that cannot work. It inspects files before they are loaded: the system kills a process that
// reads a truncated library, and go-xla panics at a file that is not a library.
func checkConfig(config string) error {
	backend, plugin, _ := split(config)
	if !slices.Contains(aliases, backend) {
		if backend != "go" && slices.Contains(compute.List(), backend) { // GoMLX's interpreter cannot train
			return nil
		}
		return errors.New("must be xla:cpu, xla:cuda or xla:/path/to/plugin.so")
	}
	if filepath.Base(plugin) != plugin {
		if !filepath.IsAbs(plugin) {
			return errors.New("the plugin's path must be absolute")
		}
		return checkLibrary(plugin)
	}
	for _, path := range plugins.Installed() {
		if err := checkLibrary(path); err != nil {
			return fmt.Errorf("the plugin %s cannot be used: %w; remove it, and ./scripts/lab setup installs the CPU's again", path, err)
		}
	}
	return nil
}

// checkLibrary refuses a file that is missing, not a shared library, or truncated.
func checkLibrary(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Unwrap(err) // the configuration has the path
	case info.IsDir():
		return errors.New("it is a folder")
	case runtime.GOOS != "linux":
		return nil
	}
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("it is no shared library, or was cut off: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if end := p.Off + p.Filesz; p.Type == elf.PT_LOAD && end > uint64(info.Size()) {
			return fmt.Errorf("it was cut off: it has %d bytes of at least %d", info.Size(), end)
		}
	}
	return nil
}

// advice says what to do if the plugin of a configuration could not be opened.
func advice(config string) string {
	backend, plugin, _ := split(config)
	if !slices.Contains(aliases, backend) || filepath.IsAbs(plugin) {
		return ""
	}
	path := func(name string) string {
		for _, p := range plugins.Installed() {
			if strings.Contains(filepath.Base(p), "_"+name) {
				return p
			}
		}
		return ""
	}
	switch {
	case cmp.Or(plugin, "cpu") == "cpu":
		program, _ := os.Executable()
		return program + " finds no XLA plugin: run ./scripts/lab once to install it here, ./scripts/study --build DIR for a folder with both that other machines can use"
	case !strings.Contains(plugin, "cuda"):
		return "a plugin's name is cpu or cuda"
	case path(plugin) != "":
		return "the plugin is there, " + path(plugin) + ", but no NVIDIA GPU with its driver: see nvidia-smi"
	case runtime.GOOS != "linux" || runtime.GOARCH != "amd64":
		return "XLA's CUDA plugin is for Linux x86-64 alone"
	}
	return fmt.Sprintf("XLA's CUDA plugin is not installed: on a machine with an NVIDIA driver, %s=xla:cuda ./scripts/lab setup has go-xla's installer fetch it", compute.ConfigEnvVar)
}
