package huggingface

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/renameio/v2"
)

// download brings the files of both parts into the cache.
func (d Dataset) download(folder string) (s splits, err error) {
	l, err := d.list()
	if err != nil {
		return s, err
	}
	var names []string
	for _, f := range l.Files {
		names = append(names, f.Name)
	}
	if s, err = d.splits(names); err != nil {
		return s, err
	}
	snapshot := filepath.Join(folder, "snapshots", l.Commit)
	for _, f := range l.Files {
		path := filepath.Join(snapshot, filepath.FromSlash(f.Name))
		if !slices.Contains(s.train, f.Name) && !slices.Contains(s.test, f.Name) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Size() == f.Size {
			continue
		}
		if err := d.get(f, l.Commit, filepath.Join(folder, "blobs"), path); err != nil {
			return s, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if l.Commit != d.Revision {
		ref := filepath.Join(folder, "refs", filepath.FromSlash(d.Revision))
		if err = os.MkdirAll(filepath.Dir(ref), 0o755); err == nil {
			err = renameio.WriteFile(ref, []byte(l.Commit), 0o644)
		}
	}
	return s.in(snapshot), err
}

// get brings a file of a commit into the folder of blobs, unless it is there, and links to it from a path in the snapshot.
func (d Dataset) get(f remoteFile, commit, blobs, path string) error {
	name, sum, known := f.content(commit)
	blob := filepath.Join(blobs, name)
	if err := errors.Join(os.MkdirAll(blobs, 0o755), os.MkdirAll(filepath.Dir(path), 0o755)); err != nil {
		return err
	}
	if info, err := os.Lstat(blob); err != nil || info.Size() != f.Size || !known {
		if err := d.fetch(f, commit, blob, sum, known); err != nil {
			return err
		}
	}
	to, err := filepath.Rel(filepath.Dir(path), blob) // so that the cache can be moved
	if err != nil {
		return err
	}
	return renameio.Symlink(to, path)
}

// fetch downloads a file, which appears complete and checked, or not at all.
func (d Dataset) fetch(f remoteFile, commit, blob string, sum hash.Hash, known bool) error {
	fmt.Fprintf(os.Stderr, "downloading %s of %s (%.1f MB)\n", f.Name, d.Name, float64(f.Size)/1e6)
	from, err := d.ask(fmt.Sprintf("datasets/%s/resolve/%s/%s", d.Name, commit, (&url.URL{Path: f.Name}).EscapedPath()))
	if err != nil {
		return err
	}
	defer from.Close()
	part, err := renameio.NewPendingFile(blob, renameio.WithTempDir(filepath.Dir(blob)), renameio.WithPermissions(0o644))
	if err != nil {
		return err
	}
	defer func() { _ = part.Cleanup() }() // after an error
	n, err := io.Copy(io.MultiWriter(part, sum), io.LimitReader(from, f.Size+1))
	switch found := hex.EncodeToString(sum.Sum(nil)); {
	case n > f.Size:
		return fmt.Errorf("the download has more than the %d bytes that the hub says", f.Size)
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the download broke off after %d of %d bytes: %w", n, f.Size, err)
	case n != f.Size:
		return fmt.Errorf("the download has %d bytes: must have %d", n, f.Size)
	case known && found != filepath.Base(blob):
		return fmt.Errorf("the download has the hash %s: must have %s", found, filepath.Base(blob))
	}
	return part.CloseAtomicallyReplace()
}

// listing is what the hub has of a data set.
type listing struct {
	Commit string       `json:"sha"`
	Files  []remoteFile `json:"siblings"`
}

type remoteFile struct {
	Name  string `json:"rfilename"`
	Size  int64  `json:"size"`
	Git   string `json:"blobId"` // git's hash
	Large struct {
		SHA256 string `json:"sha256"`
	} `json:"lfs"` // empty of small files, which git has
}

// content returns a file's name in the cache, where Python names it by the hash that the hub has of it, and what computes that hash. No
// other text of the hub becomes a name: a file without such a hash gets that of its place.
func (f remoteFile) content(commit string) (name string, sum hash.Hash, known bool) {
	switch {
	case isSHA256.MatchString(f.Large.SHA256):
		return f.Large.SHA256, sha256.New(), true
	case isCommit.MatchString(f.Git):
		sum = sha1.New()
		fmt.Fprintf(sum, "blob %d\x00", f.Size)
		return f.Git, sum, true
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(commit+"/"+f.Name))), sha256.New(), false
}

// stalled is how long a hub may send nothing.
var stalled = 30 * time.Second // a variable for the tests

// answer is what a hub sends.
type answer struct {
	io.ReadCloser
	ctx   context.Context
	watch *time.Timer // ends ctx
	wait  time.Duration
}

// Read fails if nothing comes for too long.
func (a answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if a.watch.Reset(a.wait); err != nil {
		err = cmp.Or(context.Cause(a.ctx), err)
	}
	return n, err
}

func endpoint() string {
	return strings.TrimSuffix(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
}

// ask returns what the hub answers.
func (d Dataset) ask(path string) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	wait := stalled
	watch := time.AfterFunc(wait, func() { cancel(fmt.Errorf("no data for %v", wait)) })
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint()+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	if token := os.Getenv("HF_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	switch response.StatusCode {
	case http.StatusOK:
		return answer{response.Body, ctx, watch, wait}, nil
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		err = fmt.Errorf("%s answered %s: there must be a data set of this name with the revision %s, and HF_TOKEN if it is not public", endpoint(), response.Status, d.Revision)
	default:
		err = fmt.Errorf("%s answered %s", endpoint(), response.Status)
	}
	response.Body.Close()
	return nil, err
}

// list asks the hub for its files. What it answers is not trusted.
func (d Dataset) list() (l listing, err error) {
	from, err := d.ask(fmt.Sprintf("api/datasets/%s/revision/%s?blobs=true", d.Name, url.PathEscape(d.Revision)))
	if err != nil {
		return l, err
	}
	defer from.Close()
	if err := json.NewDecoder(io.LimitReader(from, 1<<26)).Decode(&l); err != nil {
		return l, fmt.Errorf("%s answered with a damaged list of files: %w", endpoint(), err)
	}
	if !isCommit.MatchString(l.Commit) {
		return l, fmt.Errorf("%s answered with the commit %.60q: must be 40 hexadecimal digits", endpoint(), l.Commit)
	}
	seen := map[string]bool{}
	for _, f := range l.Files {
		switch {
		case !fs.ValidPath(f.Name) || strings.ContainsFunc(f.Name, func(c rune) bool { return c == '\\' || !unicode.IsPrint(c) }):
			return l, fmt.Errorf("%s names the file %.100q: must be a relative path without \"..\"", endpoint(), f.Name)
		case seen[f.Name] || f.Size < 0:
			return l, fmt.Errorf("%s names the file %.100q of %d bytes: must name each once, with its size", endpoint(), f.Name, f.Size)
		}
		seen[f.Name] = true
	}
	return l, nil
}
