package room

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Memory that a container uses is not free; what Linux would reclaim is.
func TestMemoryOfAContainer(t *testing.T) {
	const none = "9223372036854771712\n" // version 1 without a limit
	for name, c := range map[string]struct {
		files map[string]string
		want  float64
	}{
		"no files":   {nil, math.Inf(1)},
		"no limit":   {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n", "sys/fs/cgroup/a/memory.current": "500\n"}, math.Inf(1)},
		"limit only": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.stat": "anon 400\nactive_file 100\ninactive_file 200\n"}, 500},
		"a group above": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1000\n", "sys/fs/cgroup/a/b/memory.current": "700\n",
			"sys/fs/cgroup/a/memory.max": "2000\n", "sys/fs/cgroup/a/memory.current": "1900\n"}, 100},
		"more than allowed": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n", "sys/fs/cgroup/memory.current": "1100\n"}, 0},
		"version 1": {map[string]string{"proc/self/cgroup": "5:cpu,memory:/a\n1:name=systemd:/\n0::/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": none,
			"sys/fs/cgroup/memory/memory.usage_in_bytes": "900\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
			"sys/fs/cgroup/memory/a/memory.usage_in_bytes": "800\n", "sys/fs/cgroup/memory/a/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n"}, 500},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			expect.OK(t, os.MkdirAll(filepath.Dir(path), 0o700))
			expect.OK(t, os.WriteFile(path, []byte(text), 0o600))
		}
		got := cgroupsLeave(root)
		expect.That(t, got == c.want, "%s: %v bytes are left, want %v", name, got, c.want)
	}
}

// What does not fit is refused before it is allocated, in a sentence with both sizes; a sparse file has a size but no content.
func TestRefusesWhatDoesNotFit(t *testing.T) {
	real := Free
	Free = func() float64 { return 1.5e9 }
	t.Cleanup(func() { Free = real })
	expect.OK(t, For(1.4e9))
	if err := For(1e11); err == nil || err.Error() != "takes 100.0 GB of memory: must be at most the 1.5 GB that are free" {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "sparse")
	expect.OK(t, os.WriteFile(path, []byte("ab"), 0o600))
	b := expect.Value(ReadFile(path, 3))(t)
	expect.That(t, string(b) == "ab", "%q", b)
	expect.OK(t, os.Truncate(path, 1e9))
	expect.Error(t, path+" has 1000000000 bytes and takes 3.0 GB of memory: must be at most the 1.5 GB that are free")(ReadFile(path, 3))
	expect.Error(t, "is not a regular file")(ReadFile(os.DevNull, 1))
	var g Growing
	read := 0
	for ; g.Add(1e6) == nil; read += 1e6 {
	}
	expect.That(t, read >= 5e8 && read <= 1.2e9, "%d bytes were read", read)
	for range 100 {
		expect.OK(t, new(Growing).Add(1000))
	}
	expect.That(t, strings.Contains(For(math.Inf(1)).Error(), "+Inf"), "more than any memory")
}
