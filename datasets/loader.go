package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"
)

// Loader finds the files of a data set. It looks for them, gzipped or not, in the data set's folder ("mnist") under
// Cache and then under Data. If neither has them, it downloads them into Cache. Wherever a file comes from, its content
// is compared with the published checksum, and a file that differs is an error. (Name says for which sets only the structure can be
// checked.) The zero Loader is ready to use. Several goroutines may share a Loader if they may share
// its Progress.
//
// Interrupted downloads resume: what has arrived is kept next to the file's place, under its name with .part. Processes
// that want the same file at the same time wait for the first of them.
type Loader struct {
	Cache    string    // downloads are kept here; default $FEDKIT_CACHE, else "fedkit" in os.UserCacheDir
	Data     string    // files you already have; default $FEDKIT_DATA, else none
	Offline  bool      // never download; also if $FEDKIT_OFFLINE is not empty
	Progress io.Writer // told about downloads, line by line; default os.Stderr, io.Discard for silence
}

// source is one file (or folder) of a data set: where it may be, and where to get it.
type source struct {
	what   string                   // its name in errors
	folder string                   // where it belongs, and where in the cache it is downloaded to
	find   func(root string) string // its path under Cache or Data, or ""

	name    string                  // of the file to download
	mirrors []string                // addresses of folders with that file, tried in order
	limit   int64                   // its size is at most this, in bytes
	check   func(r io.Reader) error // returns an error if the content is wrong
	hint    string                  // how to get it if it cannot be downloaded
}

// locate returns the path of a source, after downloading it if need be.
func (l *Loader) locate(ctx context.Context, s *source) (string, error) {
	var tried []error // every place, and why the file did not come from there
	try := func(place string, err error) { tried = append(tried, fmt.Errorf("\t%s: %w", place, err)) }

	cache, noCache := l.cache()
	if noCache != nil {
		try("cache", noCache)
	} else {
		if path := s.find(cache); path != "" {
			return path, nil
		}
		cache = filepath.Join(cache, s.folder)
		try(cache, errNoFile)
	}
	if data := cmp.Or(l.Data, os.Getenv("FEDKIT_DATA")); data == "" {
		try("FEDKIT_DATA", errors.New("not set"))
	} else {
		if path := s.find(data); path != "" {
			return path, nil
		}
		try(filepath.Join(data, s.folder), errNoFile)
	}
	switch {
	case s.hint != "":
		try("download", errors.New(s.hint))
	case l.Offline:
		try("download", errors.New("not allowed (Offline)"))
	case os.Getenv("FEDKIT_OFFLINE") != "":
		try("download", errors.New("not allowed (FEDKIT_OFFLINE is set)"))
	case noCache == nil:
		for _, mirror := range s.mirrors {
			path, err := l.download(ctx, mirror+s.name, cache, s)
			if err == nil {
				return path, nil
			}
			try(mirror+s.name, err)
		}
	}
	return "", fmt.Errorf("no %s:\n%w\nput the files into one of these folders, or set FEDKIT_DATA to a folder with them in its subfolder %s",
		s.what, errors.Join(tried...), s.folder)
}

var errNoFile = errors.New("not found")

func (l *Loader) cache() (string, error) {
	if dir := cmp.Or(l.Cache, os.Getenv("FEDKIT_CACHE")); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: set FEDKIT_CACHE", err)
	}
	return filepath.Join(dir, "fedkit"), nil
}

func (l *Loader) progress() io.Writer { return cmp.Or[io.Writer](l.Progress, os.Stderr) }

func asInt32(labels []uint8) []int32 {
	wide := make([]int32, len(labels))
	for i, l := range labels {
		wide[i] = int32(l)
	}
	return wide
}

// parallel calls work for 0..n−1, at most one per processor at a time. All of them run; the error returned is the one
// with the lowest index, the same every time.
func parallel(n int, work func(i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		group.Go(func() error { errs[i] = work(i); return nil })
	}
	group.Wait()
	return cmp.Or(errs...)
}
