package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// Files outside the cell's folder are not opened, but gopls is notified when they change on disk; all else is forwarded
// unchanged.
func TestForward(t *testing.T) {
	say := func(method, uri string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/%s","params":{"textDocument":{"uri":"file://%s","text":"π"}}}`, method, uri)
	}
	disk := func(kind int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"workspace/didChangeWatchedFiles","params":{"changes":[{"uri":"file:///fed%%20kit/a.go","type":%d}]}}`, kind)
	}
	framed := func(bodies ...string) string {
		var s strings.Builder
		for _, body := range bodies {
			fmt.Fprintf(&s, "Content-Length: %d\r\n\r\n%s", len(body), body)
		}
		return s.String()
	}
	init, own := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "/cell/main.go"
	const outside = "/fed%20kit/a.go"
	in := framed(init, say("didOpen", own), say("didOpen", outside), say("didChange", own), say("didChange", outside), say("didClose", outside), "[1, 2]")
	want := framed(init, say("didOpen", own), say("didChange", own), disk(2), disk(3), "[1, 2]")
	var got strings.Builder
	if err := forward(&got, strings.NewReader(in), "/cell"); err != io.EOF || got.String() != want {
		t.Errorf("%v, and\n%s\nwant\n%s", err, got.String(), want)
	}
	// A cell that cannot be parsed yet has the imports of those before, in its first line.
	dir := t.TempDir()
	change := func(place, text string) string {
		return fmt.Sprintf(`{"method":"textDocument/didChange","params":{"textDocument":{"uri":"file://%s/main.go"},"contentChanges":[{%s"text":"%s"}]}}`, dir, place, text)
	}
	const beginning, cell = `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},`, `package main\n\nfunc main() {\nfedkit.Options{`
	both := framed(change(beginning, cell), change("", `package main\n\nimport \"fmt\"\n`))
	for beside, want := range map[string]string{
		"": cell,
		"package main; import (\"fmt\"; f \"fedkit.example/fedkit\")": strings.Replace(cell, "main", `main; import  \"fmt\"; import f \"fedkit.example/fedkit\"`, 1),
	} {
		expect.OK(t, os.WriteFile(dir+"/other.go", []byte(beside), 0o600))
		got.Reset()
		err := forward(&got, strings.NewReader(both), dir)
		expect.That(t, err == io.EOF && got.String() == framed(change("", want), change("", `package main\n\nimport \"fmt\"\n`)), "%v, and\n%s", err, got.String())
	}
	// So have packages that it names.
	dir = folder(t, "")
	expect.OK(t, os.WriteFile(dir+"/other.go", []byte("package main; import \"fmt\""), 0o600))
	got.Reset()
	err := forward(&got, strings.NewReader(framed(change("", `package main\n\nfunc main() {\n\u0026strategy.FedAvg{\tplot.`))), dir)
	want = `package main; import  \"fmt\"; import \"fedkit.example/fedkit/plot\"; import \"fedkit.example/fedkit/strategy\"\n\nfunc main() {\n\u0026strategy.FedAvg{\tplot.`
	expect.That(t, err == io.EOF && got.String() == framed(change("", want)), "%v, and\n%s", err, got.String())
	for _, bad := range []string{"Content-Length: x\r\n\r\n", "Content-Length: 9999999999999\r\n\r\n", "Content-Length: 5\r\n\r\nabc", "\r\n\r\n"} {
		expect.Error(t)(forward(io.Discard, strings.NewReader(bad), "/cell"))
	}
}
