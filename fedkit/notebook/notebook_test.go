package notebook

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestText(t *testing.T) {
	type inner struct {
		A int
		B []string
	}
	type outer struct {
		Name   string
		In     *inner
		Map    map[string]int
		hidden int
	}
	for want, v := range map[string]any{
		"nil":                               nil,
		"plain":                             "plain",
		"3":                                 3,
		"0.25":                              0.25,
		`["a" "b"]`:                         []string{"a", "b"},
		"[0 0 0 0 0 0 0 0 0 0 … 99 in all]": make([]int, 99),
		`&notebook.outer{Name: "n", In: &notebook.inner{A: 1, B: ["x"]}, Map: map["a": 1 "b": 2]}`: &outer{"n", &inner{1, []string{"x"}}, map[string]int{"b": 2, "a": 1}, 3},
		"notebook.outer{}": outer{},
		"func(int) int: a function; parentheses after its name call it": func(x int) int { return x },
		"no": errors.New("no"),
		"[notebook.inner{A: 1} notebook.inner{} notebook.inner{} … 5 in all]": []inner{{A: 1}, {}, {}, {}, {}},
		"&strings.Reader{…}": new(strings.Reader),
		"&nil":               new(*int),
	} {
		if got := Text(v); got != want {
			t.Errorf("got %s, expected %s", got, want)
		}
	}
}

// A list that holds itself ends.
func TestTextEnds(t *testing.T) {
	loop := []any{1, nil}
	loop[1] = loop
	if got := Text(loop); len(got) > 100 {
		t.Error(got)
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ given, want []any }{
		{[]any{1}, []any{1}},
		{[]any{3, nil}, nil},          // a number of bytes and no error
		{[]any{"x", nil}, []any{"x"}}, // a result and no error
		{[]any{nil}, nil},
		{nil, nil},
		{[]any{1, true}, []any{1, true}},
	} {
		if got := Values(c.given...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, expected %v", c.given, got, c.want)
		}
	}
	defer func() {
		if p := recover(); fmt.Sprint(p) != "no" {
			t.Errorf("an error at the end: got panic %v", p)
		}
	}()
	Values(1, errors.New("no"))
}

func TestReport(t *testing.T) {
	at := []runtime.Frame{{Function: "main.f", File: "/tmp/gonb_1/main.go", Line: 7}, {Function: "main.main", File: "/tmp/gonb_1/main.go", Line: 12}}
	for _, c := range []struct {
		p    any
		at   []runtime.Frame
		want string
	}{
		{errors.New("LR = -1: must be > 0"), at[1:], "error: LR = -1: must be > 0\n\tmain.main /tmp/gonb_1/main.go:12\n"},
		{"gone", at, "panic: gone\n\tmain.f /tmp/gonb_1/main.go:7\n\tmain.main /tmp/gonb_1/main.go:12\n"},
		// An error of fedkit that has the lines already, but not the folder that GoNB looks for.
		{errors.New("round 1: panic: no\n\tmain.(*Mine).Round main.go:22"), at, "error: round 1: panic: no\n\tmain.(*Mine).Round /tmp/gonb_1/main.go:22\n"},
		{"alone", nil, "panic: alone\n"},
	} {
		if got := report(c.p, c.at); got != c.want {
			t.Errorf("got %q, expected %q", got, c.want)
		}
	}
}

// Guard ends the program, so it runs in its own process.
func TestGuard(t *testing.T) {
	if os.Getenv("FEDKIT_TEST_GUARD") != "" {
		defer Guard()
		fmt.Print([]int{}[len(os.Getenv("FEDKIT_TEST_GUARD"))])
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestGuard$")
	cmd.Env = append(os.Environ(), "FEDKIT_TEST_GUARD=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.HasSuffix(string(out), "panic: runtime error: index out of range [1] with length 0\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// A cell ends with the kernel that started it: here a process that starts another and exits once that has begun.
func TestInitialized(t *testing.T) {
	t.Setenv("GONB_TMP_DIR", t.TempDir())
	Initialized("a") // without the folder, nothing is noted
	of := filepath.Join(os.Getenv("GONB_TMP_DIR"), ".fedkit")
	if err := os.Mkdir(of, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{"a", "bc"} {
		Initialized(hash)
		if b, err := os.ReadFile(filepath.Join(of, "initialized")); err != nil || string(b) != hash {
			t.Errorf("%q, %v, want %s", b, err, hash)
		}
	}
}

func TestBegin(t *testing.T) {
	again := func(as string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBegin$")
		cmd.Env = append(os.Environ(), "FEDKIT_TEST_BEGIN="+as)
		return cmd
	}
	switch os.Getenv("FEDKIT_TEST_BEGIN") {
	case "kernel":
		cell := again("cell")
		cell.Stderr = os.Stderr
		out, err := cell.StdoutPipe()
		if err == nil {
			err = cell.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line, err)
		os.Exit(0)
	case "cell":
		Begin()
		fmt.Println("begun")
		time.Sleep(time.Minute)
		fmt.Fprintln(os.Stderr, "still here")
		os.Exit(0)
	}
	out, err := again("kernel").CombinedOutput() // returns when the cell has closed its end, too
	if err != nil || string(out) != "begun\n<nil>" {
		t.Errorf("%v: %s", err, out)
	}
}
