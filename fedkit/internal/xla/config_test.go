package xla

import (
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	gxla "github.com/gomlx/go-xla/compute/xla"
)

// go-xla turns TF32 on for NVIDIA GPUs unless its configuration says otherwise.
func TestTF32IsOffUnlessAskedFor(t *testing.T) {
	for config, want := range map[string]string{
		"xla:cpu":                             "xla:cpu,tf32=false",
		"xla":                                 "xla:,tf32=false",
		"xla:cuda":                            "xla:cuda,tf32=false",
		"hlo:cuda,preallocate":                "hlo:cuda,preallocate,tf32=false",
		"xla:/opt/tf32/cuda.so":               "xla:/opt/tf32/cuda.so,tf32=false",
		"xla:cuda,tf32=true":                  "xla:cuda,tf32=true",
		"xla:cuda,tf32,visible_devices=0;1":   "xla:cuda,tf32,visible_devices=0;1",
		"xla:cuda,preallocate=false,notf32":   "xla:cuda,preallocate=false,notf32",
		"abacus:7":                            "abacus:7",
		"xla:cuda,allocator=bfc,tf32=nonsens": "xla:cuda,allocator=bfc,tf32=nonsens",
	} {
		if got := inFloat32(config); got != want {
			t.Errorf("%q became %q, want %q", config, got, want)
		}
	}
	b := expect.Value(Backend())(t)
	if b.(*gxla.Backend).DotGeneralUseTF32 {
		t.Error("TF32 is on")
	}
}

func TestSameBytesOnGPUs(t *testing.T) {
	for flags, want := range map[string]string{
		"":                                  "--xla_gpu_deterministic_ops=true",
		"--xla_gpu_autotune_level=0":        "--xla_gpu_autotune_level=0 --xla_gpu_deterministic_ops=true",
		"--xla_gpu_deterministic_ops=false": "--xla_gpu_deterministic_ops=false",
		"/etc/flags.txt":                    "/etc/flags.txt",
	} {
		if got := deterministic(flags); got != want {
			t.Errorf("%q became %q, want %q", flags, got, want)
		}
	}
}

func TestOnCPU(t *testing.T) {
	for options, want := range map[string]bool{
		"cpu,tf32=false": true, "/lib/pjrt_c_api_cpu_plugin.so,tf32=false": true, "cuda,tf32=false": false, "cuda,allocator=cpu": false, "": false,
	} {
		if onCPU(options) != want {
			t.Errorf("%q: %v, want %v", options, !want, want)
		}
	}
}

func TestForm(t *testing.T) {
	for asked, want := range map[string][2]string{"": {Patches, OneDNN}, Native: {Native, Native}, Rewritten: {Rewritten, Rewritten}} { // on a GPU, on a CPU
		for i, cpu := range []bool{false, true} {
			if got, err := form(asked, cpu); got != want[i] || err != nil {
				t.Errorf("%q on a CPU %v: %v, want %v; %v", asked, cpu, got, want[i], err)
			}
		}
	}
	if _, err := form("fast", true); err == nil || err.Error() != `FEDKIT_CONVOLUTIONS = "fast": must be native, onednn, rewritten or patches` {
		t.Error(err)
	}
}
