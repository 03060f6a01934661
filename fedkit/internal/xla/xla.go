// Package xla is the one place where fedkit meets the compiler: it opens the PJRT plugin once per process, and compiles graph
// functions into programs. Equal programs are compiled once, wherever they are built. It counts compilations, so that a test can
// check that nothing recompiles.
//
// Matrix products and convolutions are computed in float32 on every device. NVIDIA GPUs can be several times faster with TF32, which
// keeps 10 of the 23 mantissa bits of a factor, about three decimal digits. GOMLX_BACKEND=xla:cuda,tf32=true turns it on.
package xla

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	gxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
)

// ErrNoPlugin says that no PJRT plugin, the library that compiles and runs programs, could be opened.
var ErrNoPlugin = errors.New("no XLA device")

// Backend returns the device of this process: the one GOMLX_BACKEND names ("xla:cuda", "xla:/path/to/plugin.so"), or
// the CPU. It is opened at the first call; nothing is ever downloaded here.
var Backend = sync.OnceValues(func() (b compute.Backend, err error) {
	config := cmp.Or(os.Getenv(compute.ConfigEnvVar), gxla.BackendName+":cpu")
	if err := checkConfig(config); err != nil {
		return nil, fmt.Errorf("%w: %s = %q: %w", ErrNoPlugin, compute.ConfigEnvVar, config, err)
	}
	if _, err := form(os.Getenv(formEnv), false); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPlugin, err)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
		if err == nil {
			return
		}
		if what := advice(config); what != "" {
			err = fmt.Errorf("%s, or set %s to xla:/path/to/plugin.so (%v)", what, compute.ConfigEnvVar, err)
		}
		b, err = nil, fmt.Errorf("%w: %s = %q: %w", ErrNoPlugin, compute.ConfigEnvVar, config, err)
	}()
	gxla.EnableAutoInstall(false) // setup is the scripts' job: a run must not touch the network
	Threads()                     // may set what the plugin reads
	full := inFloat32(config)
	name, options, _ := strings.Cut(full, ":")
	if !onCPU(options) {
		if err := prepareGPU(full); err != nil {
			return nil, err
		}
	}
	if name == gxla.BackendName && onCPU(options) {
		_, plugin, _ := split(full)
		intercept(plugin)
		return gxla.NewWithOptions(options, pjrt.NamedValuesMap{deviceCount: int64(min(Threads(), mostDevices))})
	}
	return compute.NewWithConfig(full)
})

// inFloat32 adds tf32=false to a configuration of go-xla, which turns TF32 on for NVIDIA GPUs unless the configuration
// names it.
func inFloat32(config string) string {
	name, options, _ := strings.Cut(config, ":")
	named := func(option string) bool {
		key, _, _ := strings.Cut(option, "=")
		return key == "tf32" || key == "notf32"
	}
	if !slices.Contains(aliases, name) || slices.ContainsFunc(strings.Split(options, ","), named) {
		return config
	}
	return name + ":" + options + noTF32
}

const noTF32 = ",tf32=false"

// prepareGPU sets the environment variables that a plugin for GPUs reads when it is opened.
func prepareGPU(config string) error {
	set := map[string]string{flagsEnv: deterministic(os.Getenv(flagsEnv))}
	if strings.HasSuffix(config, noTF32) {
		set["NVIDIA_TF32_OVERRIDE"] = "0" // go-xla leaves the precision of convolutions to NVIDIA's library, which takes TF32
	}
	if _, plugin, _ := split(config); filepath.IsAbs(plugin) {
		set["GOPJRT_CUDA_CHECKS"] = "0" // a long warning unless NVIDIA's libraries are beside the plugin; it says itself if it finds none
	}
	for name, value := range set {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	return nil
}

// flagsEnv is the environment variable of XLA's flags, which are read when the plugin is opened.
const flagsEnv = "XLA_FLAGS"

// sameBytes is the flag without which a GPU's sums may differ from run to run, as the fastest programs of the moment do. With it, XLA also
// compiles sooner, since it need not time them.
const sameBytes = "--xla_gpu_deterministic_ops"

// deterministic adds sameBytes to XLA's flags, unless they name it or are in a file.
func deterministic(flags string) string {
	if strings.Contains(flags, sameBytes) || flags != "" && strings.TrimSpace(flags)[:1] != "-" {
		return flags
	}
	return strings.TrimSpace(flags + " " + sameBytes + "=true")
}

// onCPU reports whether options, which start with a plugin's name or path, are those of the CPU.
func onCPU(options string) bool {
	plugin, _, _ := strings.Cut(options, ",")
	return strings.Contains(filepath.Base(plugin), "cpu")
}

// OnCPU reports whether programs run on the CPU, rather than on a GPU or the like.
func OnCPU() bool {
	b, err := Backend()
	x, ok := b.(*gxla.Backend)
	return err != nil || !ok || x.IsCPU()
}

// Device returns the Kind and, after a space, the Flags.
func Device() string { return strings.TrimSpace(Kind() + " " + Flags()) }

// Flags returns the options that may change what programs compute, "" if there are none: those of XLA_FLAGS, or of the file
// that it names, those of GOMLX_BACKEND but for the default tf32=false, the hash of a plugin that it names by its path, and the form of
// convolutions that FEDKIT_CONVOLUTIONS asks for.
var Flags = sync.OnceValue(func() string {
	flags := strings.Fields(os.Getenv(flagsEnv))
	if len(flags) > 0 && flags[0][0] != '-' {
		if b, err := os.ReadFile(flags[0]); err == nil {
			flags = strings.Fields(string(b))
		}
	}
	_, plugin, options := split(os.Getenv(compute.ConfigEnvVar))
	flags = append(flags, strings.FieldsFunc(options, func(r rune) bool { return r == ',' })...)
	flags = slices.DeleteFunc(flags, func(f string) bool {
		return f == "tf32=false" || f == sameBytes+"=true" || strings.HasPrefix(f, "--xla_dump_")
	})
	if b, err := os.ReadFile(plugin); err == nil && filepath.IsAbs(plugin) {
		flags = append(flags, fmt.Sprintf("plugin=%.8x", sha256.Sum256(b)))
	}
	if form := os.Getenv(formEnv); form != "" {
		flags = append(flags, "convolutions="+form)
	}
	return strings.Join(flags, " ")
})

// Kind returns what kind of device programs run on: "cpu" or the plugin's name, such as "cuda".
func Kind() string {
	if OnCPU() {
		return "cpu"
	}
	_, plugin, _ := split(os.Getenv(compute.ConfigEnvVar))
	if strings.Contains(filepath.Base(plugin), "cuda") {
		return "cuda"
	}
	return cmp.Or(plugin, "gpu")
}
