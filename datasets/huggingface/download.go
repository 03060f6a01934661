package huggingface

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/go-huggingface/hub"
	"github.com/google/renameio/v2"
)

// download brings the files of both parts into the cache.
func (d Dataset) download(cache, folder string) (s splits, err error) {
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
	repo := hub.New(d.Name).WithType(hub.RepoTypeDataset).WithRevision(l.Commit).WithCacheDir(cache).WithProgressBar(false).WithAuth(os.Getenv("HF_TOKEN"))
	repo.Verbosity = 0
	for _, f := range l.Files {
		path := filepath.Join(snapshot, filepath.FromSlash(f.Name))
		if !slices.Contains(s.train, f.Name) && !slices.Contains(s.test, f.Name) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Size() == f.Size {
			continue
		}
		remove(path)
		fmt.Fprintf(os.Stderr, "downloading %s of %s (%.1f MB)\n", f.Name, d.Name, float64(f.Size)/1e6)
		if _, err := repo.DownloadFile(f.Name); err != nil { // one after the other: the library's counters are not safe for several
			return s, err
		}
		if err := f.check(path); err != nil {
			remove(path)
			return s, fmt.Errorf("%s: the download %w", f.Name, err)
		}
	}
	if l.Commit != d.Revision { // the library does not note which commit a branch is
		ref := filepath.Join(folder, "refs", filepath.FromSlash(d.Revision))
		if err = os.MkdirAll(filepath.Dir(ref), 0o755); err == nil {
			err = renameio.WriteFile(ref, []byte(l.Commit), 0o644)
		}
	}
	return s.in(snapshot), err
}

// remove removes a file of a snapshot that is not as published, and the blob to which it links.
func remove(path string) {
	if blob, err := filepath.EvalSymlinks(path); err == nil {
		os.Remove(blob)
	}
	os.Remove(path)
}

// listing is what the hub has of a data set.
type listing struct {
	Commit string       `json:"sha"`
	Files  []remoteFile `json:"siblings"`
}

type remoteFile struct {
	Name  string `json:"rfilename"`
	Size  int64  `json:"size"`
	Large struct {
		SHA256 string `json:"sha256"`
	} `json:"lfs"` // empty of small files, which git has
}

// list asks the hub. What it answers is not trusted.
func (d Dataset) list() (l listing, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	endpoint := strings.TrimSuffix(cmp.Or(os.Getenv("HF_ENDPOINT"), "https://huggingface.co"), "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/datasets/%s/revision/%s?blobs=true", endpoint, d.Name, url.PathEscape(d.Revision)), nil)
	if err != nil {
		return l, err
	}
	if token := os.Getenv("HF_TOKEN"); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return l, err
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return l, fmt.Errorf("%s answered %s: there must be a data set of this name with the revision %s, and HF_TOKEN if it is not public", endpoint, response.Status, d.Revision)
	default:
		return l, fmt.Errorf("%s answered %s", endpoint, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<28)).Decode(&l); err != nil {
		return l, fmt.Errorf("%s answered with a damaged list of files: %w", endpoint, err)
	}
	if !isCommit.MatchString(l.Commit) {
		return l, fmt.Errorf("%s answered with the commit %.60q: must be 40 hexadecimal digits", endpoint, l.Commit)
	}
	for _, f := range l.Files {
		if !fs.ValidPath(f.Name) || strings.Contains(f.Name, `\`) {
			return l, fmt.Errorf("%s names the file %.100q: must be a relative path without \"..\"", endpoint, f.Name)
		}
	}
	return l, nil
}

// check compares a file with what the hub says of it. The library takes a download that broke off for complete.
func (f remoteFile) check(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	h := sha256.New()
	switch n, err := io.Copy(h, file); {
	case err != nil:
		return err
	case n != f.Size:
		return fmt.Errorf("has %d bytes: must have %d", n, f.Size)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); f.Large.SHA256 != "" && sum != f.Large.SHA256 {
		return fmt.Errorf("has the SHA-256 %s: must have %s", sum, f.Large.SHA256)
	}
	return nil
}
