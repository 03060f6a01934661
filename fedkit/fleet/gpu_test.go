package fleet_test

import (
	"testing"

	"fedkit.example/fedkit/fleet"
)

// A worker's GPU is one of those that the process may use, as Slurm says which.
func TestGPU(t *testing.T) {
	t.Setenv("GOMLX_BACKEND", "xla:cuda")
	for may, want := range map[string]string{"": "1", "4,5": "5", "GPU-a,GPU-b": "GPU-b", "3": "-1"} {
		t.Setenv("CUDA_VISIBLE_DEVICES", may)
		if got := fleet.GPU(1); len(got) != 1 || got[0] != "CUDA_VISIBLE_DEVICES="+want {
			t.Errorf("of %q: %v, want %s", may, got, want)
		}
	}
}
