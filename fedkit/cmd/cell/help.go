package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// help stands in for gopls: GoNB connects to it at a socket in the cell's folder. GoNB opens each file of fedkit, and for each of
// them gopls asks go for its package: the first completion took 40 s. gopls finds files on disk by itself, in a second.
func help(program, socket string) error {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket})
	if err != nil {
		return err
	}
	for {
		_ = listener.SetDeadline(time.Now().Add(time.Minute)) // GoNB may be gone
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		gopls := exec.Command(program)
		gopls.Dir, gopls.Stdout, gopls.Stderr = filepath.Dir(socket), conn, os.Stderr
		in, err := gopls.StdinPipe()
		if err != nil {
			return err
		}
		if err := gopls.Start(); err != nil {
			return err
		}
		_ = forward(in, conn, filepath.Dir(socket)) // until either side closes
		in.Close()
		_ = gopls.Wait()
		conn.Close()
	}
}

// message is the part of a language server message that names the file it is about.
type message struct {
	Method string
	Params struct{ TextDocument struct{ URI string } }
}

// Changes of a file, in the protocol's numbers for files on disk.
const (
	opened  = 0 // none: the file is as it is on disk
	changed = 2
	deleted = 3
)

var onDisk = map[string]int{"textDocument/didOpen": opened, "textDocument/didChange": changed, "textDocument/didClose": deleted}

const (
	// Before the whole of a changed text, GoNB writes that it is inserted at the beginning.
	atBeginning = `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},`
	// The text of a cell that is not whole yet begins so: GoNB leaves out what other cells import.
	incomplete = `"package main\n\n`
)

var escaped = regexp.MustCompile(`\\u....|\\.`) // in a message, such as \n

// mended returns a message on a cell: its text replaces what was there, and imports what GoNB has put into a file next to it and what it
// wants, so that gopls knows its types.
func mended(body []byte, dir string) []byte {
	body = bytes.Replace(body, []byte(atBeginning), nil, 1)
	before, after, found := bytes.Cut(body, []byte(incomplete))
	beside, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "other.go"), nil, parser.ImportsOnly)
	if !found || bytes.HasPrefix(after, []byte("import")) || err != nil {
		return body
	}
	clause := "package main"
	for _, i := range beside.Imports {
		clause += "; import " + cmp.Or(i.Name, &ast.Ident{}).Name + " " + i.Path.Value
	}
	clause += openWorkspace(dir).wanted(clause + "\n" + escaped.ReplaceAllString(string(after), " "))
	text, _ := json.Marshal(clause + "\n\n")
	return slices.Concat(before, bytes.TrimSuffix(text, []byte(`"`)), after)
}

// forward passes on GoNB's messages. A file outside the cell's folder is not opened, but may have changed on disk.
func forward(to io.Writer, from io.Reader, dir string) error {
	in := bufio.NewReader(from)
	for {
		head, err := textproto.NewReader(in).ReadMIMEHeader()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(head.Get("Content-Length"), 10, 30)
		if err != nil {
			return err
		}
		body := make([]byte, size)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		var m message
		_ = json.Unmarshal(body, &m) // else it is forwarded as it is
		at, err := url.Parse(m.Params.TextDocument.URI)
		switch kind, known := onDisk[m.Method]; {
		case !known || err != nil:
		case filepath.Dir(at.Path) == dir:
			body = mended(body, dir)
		case kind == opened:
			continue
		default:
			body = fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"workspace/didChangeWatchedFiles","params":{"changes":[{"uri":%q,"type":%d}]}}`, at, kind)
		}
		if _, err := fmt.Fprintf(to, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			return err
		}
	}
}
