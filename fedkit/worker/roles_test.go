package worker_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/worker"
	"github.com/janpfeifer/must"
	"golang.org/x/sys/unix"
)

// roleVariable says what a process of this test does, unless it tests: a faulty worker, or a notebook that is killed.
const roleVariable = "FEDKIT_TEST_ROLE"

// The plugin's destructors abort under the race detector when the process ends in the usual way.
func TestMain(m *testing.M) {
	worker.Main()
	switch role := strings.Fields(os.Getenv(roleVariable)); {
	case len(role) == 0:
	case role[0] == "notebook":
		notebook(role[1])
	default:
		faulty(role)
	}
	if os.Getenv("GOMLX_BACKEND")+os.Getenv("PJRT_PLUGIN_LIBRARY_PATH")+os.Getenv("XLA_FLAGS")+os.Getenv("FEDKIT_SSH") == "" { // the time would be XLA's
		must.M(os.Setenv("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"))
	}
	worker.KeepAll()
	syscall.Exit(m.Run())
}

// listen lets says know what this process writes to standard error from now on: go test -json sets os.Stderr after TestMain.
var listen = sync.OnceFunc(func() {
	from, to := must.M2(os.Pipe())
	go func(shown io.Writer) { _, _ = io.Copy(io.MultiWriter(&heard, shown), from) }(os.Stderr)
	os.Stderr = to
})

// as is the command of a worker with a role; without one, it is an honest one.
func as(role ...any) string {
	if role == nil {
		return fmt.Sprintf("FEDKIT_WORKER=1 exec '%s'", must.M1(os.Executable()))
	}
	return fmt.Sprintf("%s='%s' exec '%s'", roleVariable, strings.TrimSpace(fmt.Sprintln(role...)), must.M1(os.Executable()))
}

// start starts commands, which end with the test.
func start(t *testing.T, commands ...string) *worker.Workers {
	t.Helper()
	listen()
	w := expect.Value(worker.Start(t.Context(), commands...))(t)
	t.Cleanup(w.Close)
	return w
}

// heard is what this process has written to standard error.
var heard ear

type ear struct {
	mu   sync.Mutex
	said string
}

func (e *ear) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.said += string(b)
	return len(b), nil
}

// says waits until a line with the words was written to standard error.
func says(t *testing.T, words ...string) {
	t.Helper()
	wait(t, strings.Join(words, " … "), func() bool {
		heard.mu.Lock()
		defer heard.mu.Unlock()
		return slices.ContainsFunc(strings.SplitAfter(heard.said, "\n"), func(line string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
		})
	})
}

// wait waits until a condition holds.
func wait(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		expect.Must(t, !time.Now().After(end), "in vain waited for: %v", what)
	}
}

// gone reports whether a process has ended, whether or not anybody has asked for its status.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return syscall.Kill(pid, 0) == syscall.ESRCH || err == nil && strings.Contains(string(stat), ") Z ")
}

// message is what a worker is sent or sends.
type message struct {
	head map[string]any
	data []byte
}

// raw is a message whose lengths may be wrong.
func raw(head, size int, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(head)), uint64(size)), rest...)
}

// pass is a message as it is; more come.
func pass(m message) (b []byte, more bool) {
	head := must.M1(json.Marshal(m.head))
	return raw(len(head), len(m.data), string(head)+string(m.data)), true
}

// relay passes messages on, each as the bytes that change returns for it, until that says that it was the last.
func relay(from io.Reader, to io.Writer, change func(m message) (b []byte, more bool)) {
	defer syscall.Exit(1)
	var lengths [16]byte
	for more := true; more; {
		if _, err := io.ReadFull(from, lengths[:]); err != nil {
			return
		}
		head, size := binary.LittleEndian.Uint64(lengths[:]), binary.LittleEndian.Uint64(lengths[8:])
		both := make([]byte, head+size)
		if _, err := io.ReadFull(from, both); err != nil {
			return
		}
		m, b := message{data: both[head:]}, []byte(nil)
		must.M(json.Unmarshal(both[:head], &m.head))
		b, more = change(m)
		if _, err := to.Write(b); err != nil {
			return
		}
	}
}

// faulty is a worker between whose server and the outside is what its role says.
func faulty(role []string) {
	number, _ := strconv.Atoi(role[len(role)-1])
	in, toServer := must.M2(os.Pipe())
	fromServer, out := must.M2(os.Pipe())
	outside, input := os.NewFile(uintptr(must.M1(unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3))), "output"), os.Stdin
	must.M(unix.Dup2(int(out.Fd()), 1))
	os.Stdin = in
	asked, answered := pass, pass
	switch role[0] {
	case "cut": // after so many bytes
		answered = nil
		go func() {
			_, _ = io.CopyN(outside, fromServer, int64(number))
			syscall.Exit(1)
		}()
	case "slow": // so many bytes in a millisecond
		answered = nil
		go func() {
			for ; ; time.Sleep(time.Millisecond) {
				_, _ = io.CopyN(outside, fromServer, int64(number))
			}
		}()
	case "die": // with so many calls
		asked = func(m message) ([]byte, bool) {
			if m.head["Program"] != nil {
				number--
			}
			return nil, number > 0
		}
	case "deadly": // so that a program which has this number kills the worker
		asked = func(m message) ([]byte, bool) { return nil, !strings.Contains(string(m.data), role[1]) }
	default:
		answered = lies[strings.Join(role, " ")].tell
	}
	go relay(input, toServer, func(m message) (b []byte, more bool) {
		_, more = asked(m)
		b, _ = pass(m)
		return b, more
	})
	if answered != nil {
		go func() {
			_, _ = io.CopyN(outside, fromServer, int64(len("fedkit-worker 7\n")))
			relay(fromServer, outside, answered)
		}()
	}
	os.Exit(worker.Command(nil))
}
