// Package huggingface reads data sets of the Hugging Face hub by their names, from the cache that it shares with Python's libraries.
//
// It is a package of its own because programs that link a reader of Parquet are larger and take longer to link.
package huggingface

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fedkit.example/datasets"
	"fedkit.example/datasets/parquet"
	"fedkit.example/fedkit/config"
)

// Dataset is a data set of the hub whose files are in Parquet: one example per row, with a column of labels, one of owners, and one of
// images, of texts, or several of numbers, as parquet.Table reads them.
//
//	data := must.M1(huggingface.Dataset{Name: "flwrlabs/femnist", Label: "character", Owner: "writer_id"}.Make())
//
// Files come from the cache of Python's huggingface_hub if it has the revision and the splits, without a look at the network: what it
// once had of a branch stays the same, and a split test that only the hub has is not missed, unless it is named. Otherwise they are
// downloaded into the cache, if FEDKIT_OFFLINE is not set, and compared with the hub's sizes and checksums, which name them there as in
// Python. A hub that sends more than it says, or nothing for 30 seconds, is left. The cache is $HF_HUB_CACHE,
// $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub; the hub is $HF_ENDPOINT or https://huggingface.co, and
// $HF_TOKEN is sent to it.
//
// A split test whose labels are hidden, all −1, is refused: Test names another, such as validation, and Share holds rows back instead.
//
// Revision "refs/convert/parquet" is the hub's own conversion of data sets that have files of other types.
type Dataset struct {
	Name        string   // required: owner/name
	Revision    string   // a branch, a tag, or a commit, which alone never changes; default: main
	Config      string   // the subset, which is the name of a folder; default: the only one with the split Train
	Train       string   // name of the split with the training rows; default: train
	Test        string   // name of that with the test rows; default: test if there is one and Share is 0, else a Share of Train is held back
	Label       string   // name of the column of labels; default: the last one, or none with Text
	Owner       string   // name of the column of owners; default: unknown
	Features    []string // names of the columns with features; default: that of images, else all others
	Text        string   // name of a column of texts in place of Features, whose next characters are predicted; see parquet.Table
	Regression  bool     // labels are numbers to be predicted
	Shape       []int    // of one example; default [f], the number of features, or [height width channels] of images
	Standardize bool     // (x − mean) / standard deviation of each feature, both of the training rows
	Share       float64  `range:"(0,1)" default:"0.2"` // of the rows to hold back, stratified by owner and label, ± 1 row
	Seed        uint64   // chooses these rows

	UnseenLabels bool // test rows may have labels that no training row has
}

// Make returns the data set, with the rows of each split in their order in the hub. It fails if there is no such data set, revision,
// subset or split, if a file is missing, is not as published or is not in Parquet, and as parquet.Table does.
func (d Dataset) Make() (*datasets.Dataset, error) {
	d.Revision, d.Train = cmp.Or(d.Revision, "main"), cmp.Or(d.Train, "train")
	if err := d.check(); err != nil {
		return nil, err
	}
	s, err := d.find()
	if err != nil {
		return nil, fmt.Errorf("datasets: huggingface.Dataset: %w", err)
	}
	return parquet.Table{Files: s.train, TestFiles: s.test, Name: d.Name, Label: d.Label, Owner: d.Owner, Features: d.Features, Text: d.Text, Regression: d.Regression,
		Shape: d.Shape, Standardize: d.Standardize, Share: d.Share, Seed: d.Seed, UnseenLabels: d.UnseenLabels}.Make()
}

var (
	isName     = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	isRevision = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)
	isCommit   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	isSHA256   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check refuses options that no data set allows.
func (d Dataset) check() error {
	switch {
	case !isName.MatchString(d.Name) || strings.Contains(d.Name, ".."):
		return fmt.Errorf("datasets: huggingface.Dataset: Name = %.100q: must be owner/name, of letters, digits, '-', '_' and '.'", d.Name)
	case !isRevision.MatchString(d.Revision) || strings.Contains(d.Revision, ".."):
		return fmt.Errorf("datasets: huggingface.Dataset: Revision = %.100q: must be a branch, a tag or a commit, of letters, digits, '-', '_', '.' and '/'", d.Revision)
	case d.Test != "" && d.Share != 0:
		return fmt.Errorf("datasets: huggingface.Dataset: Share = %v: must be 0 if a split has the test rows, here Test = %s", d.Share, d.Test)
	case !(d.Share >= 0 && d.Share < 1):
		return fmt.Errorf("datasets: huggingface.Dataset: Share = %v: must be in (0, 1), or 0 for the default of %v", d.Share, config.Defaults(Dataset{}).Share)
	}
	return nil
}

// find returns the paths of the files.
func (d Dataset) find() (splits, error) {
	cache, err := cacheFolder()
	if err != nil {
		return splits{}, err
	}
	folder := filepath.Join(cache, "datasets--"+strings.ReplaceAll(d.Name, "/", "--"))
	s, err := d.cached(folder)
	if err == nil {
		return s, nil
	}
	if os.Getenv("FEDKIT_OFFLINE") != "" {
		revision := ""
		if d.Revision != "main" {
			revision = " --revision " + d.Revision
		}
		return s, fmt.Errorf("%s is not in %s (%w), and downloads are not allowed (FEDKIT_OFFLINE is set): get it by `hf download --repo-type dataset %s%s`, which was huggingface-cli download",
			d.Name, folder, err, d.Name, revision)
	}
	s, failed := d.download(folder)
	if failed != nil {
		return s, fmt.Errorf("%s is not in %s (%w), and could not be downloaded: %w", d.Name, folder, err, failed)
	}
	return s, nil
}

// cacheFolder returns the cache of huggingface_hub.
func cacheFolder() (string, error) {
	if dir := os.Getenv("HF_HUB_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if dir := os.Getenv("HF_HOME"); dir != "" {
		return filepath.Abs(filepath.Join(dir, "hub"))
	}
	dir := os.Getenv("XDG_CACHE_HOME")
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%w: set HF_HUB_CACHE to the folder of downloads", err)
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Abs(filepath.Join(dir, "huggingface", "hub"))
}

// cached returns the files that the cache has of the revision.
func (d Dataset) cached(folder string) (splits, error) {
	commit := d.Revision
	if !isCommit.MatchString(commit) {
		ref, err := os.ReadFile(filepath.Join(folder, "refs", filepath.FromSlash(d.Revision)))
		if commit = strings.TrimSpace(string(ref)); err != nil {
			return splits{}, fmt.Errorf("no revision %s", d.Revision)
		}
		if !isCommit.MatchString(commit) {
			return splits{}, fmt.Errorf("refs/%s has %.60q, not a commit", d.Revision, commit)
		}
	}
	snapshot := filepath.Join(folder, "snapshots", commit)
	var names []string
	err := filepath.WalkDir(snapshot, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() { // a link to a blob that was deleted
			return nil
		}
		name, err := filepath.Rel(snapshot, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return splits{}, fmt.Errorf("no snapshot %s", commit)
	}
	s, err := d.splits(names)
	return s.in(snapshot), err
}

// splits are the files of both parts, in order; test is nil if rows are to be held back.
type splits struct{ train, test []string }

// in returns the files' paths in a folder.
func (s splits) in(folder string) splits {
	for _, names := range []*[]string{&s.train, &s.test} {
		paths := make([]string, len(*names))
		for i, name := range *names {
			paths[i] = filepath.Join(folder, filepath.FromSlash(name))
		}
		*names = paths
	}
	return s
}

// Files are named <config>/<split>-<shard>-of-<shards>.parquet, some with a hash, or <config>/<split>/<shard>.parquet by the hub's
// conversion. The folder may be missing, or be data.
var (
	isShard     = regexp.MustCompile(`^(?:(.*)/)?([^/]+?)(?:-[0-9]{5}-of-([0-9]{5})(?:-[0-9a-f]+)?)?\.parquet$`)
	isConverted = regexp.MustCompile(`^(?:(.*)/)?([^/]+)/[0-9]{4}\.parquet$`)
)

// splits chooses among the names of all files.
func (d Dataset) splits(names []string) (s splits, err error) {
	configs, shards := map[string]map[string][]string{}, map[string]string{} // files by configuration and split; how many there must be
	for _, name := range slices.Sorted(slices.Values(names)) {
		m := isConverted.FindStringSubmatch(name)
		if m == nil {
			if m = isShard.FindStringSubmatch(name); m == nil {
				continue
			}
			shards[name] = m[3]
		}
		if configs[m[1]] == nil {
			configs[m[1]] = map[string][]string{}
		}
		configs[m[1]][m[2]] = append(configs[m[1]][m[2]], name)
	}
	if len(configs) == 0 {
		return s, errors.New("no Parquet file of a split, such as data/train-00000-of-00001.parquet; Revision refs/convert/parquet may have some")
	}
	if d.Config == "" {
		with := maps.Clone(configs)
		maps.DeleteFunc(with, func(_ string, splits map[string][]string) bool { return splits[d.Train] == nil })
		switch len(with) {
		case 0:
			all := map[string]bool{}
			for _, splits := range configs {
				for split := range splits {
					all[split] = true
				}
			}
			return s, fmt.Errorf("%s = %q: must be one of the splits %.60q", "Train", d.Train, slices.Sorted(maps.Keys(all)))
		case 1:
			for d.Config = range with { // the only one
			}
		default:
			return s, fmt.Errorf("no Config is set: must be one of %.60q", slices.Sorted(maps.Keys(with)))
		}
	}
	of := func(field, split string) (files []string, err error) {
		all := configs[d.Config]
		if all == nil {
			return nil, fmt.Errorf("%s = %q: must be one of %.60q", "Config", d.Config, slices.Sorted(maps.Keys(configs)))
		}
		if files = all[split]; files == nil {
			return nil, fmt.Errorf("%s = %q: must be one of the splits %.60q", field, split, slices.Sorted(maps.Keys(all)))
		}
		for _, name := range files {
			if of := shards[name]; of != "" && of != fmt.Sprintf("%05d", len(files)) {
				return nil, fmt.Errorf("%d files beside %s: must be %s", len(files), name, of)
			}
		}
		return files, nil
	}
	if s.train, err = of("Train", d.Train); err != nil {
		return s, err
	}
	if d.Test == "" && d.Share == 0 && configs[d.Config]["test"] != nil {
		d.Test = "test"
	}
	if d.Test != "" {
		s.test, err = of("Test", d.Test)
	}
	return s, err
}
