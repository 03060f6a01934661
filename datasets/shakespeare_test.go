package datasets

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// leafFile is a LEAF file of some users' examples and labels.
func leafFile(users map[string]map[string]any) []byte {
	return must.M1(json.Marshal(map[string]any{"users": []string{}, "hierarchies": []string{"HAMLET"}, "user_data": users}))
}

// The windows of "Ay." after 80 spaces, as LEAF makes them.
func TestShakespeare(t *testing.T) {
	line := strings.Repeat(" ", window) + "Ay.}"
	windows := func(n int) map[string]any {
		var x, y []string
		for i := range n {
			x, y = append(x, line[i:i+window]), append(y, line[i+window:i+window+1])
		}
		return map[string]any{"x": x, "y": y, "raw": "Ay.\n"}
	}
	train := leafFile(map[string]map[string]any{"HAMLET_QUEEN": windows(3), "MACBETH_QUEEN": windows(1)})
	test := leafFile(map[string]map[string]any{"MACBETH_QUEEN": windows(4)})
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_DATA", putIn(t, "shakespeare", map[string][]byte{"train/all.json": train, "test/all.json": test}))
	d := expect.Value(Name("shakespeare").Make())(t)
	if d.Name != "shakespeare" || d.Classes != 80 || !slices.Equal(d.Train.Owner, []int32{0, 0, 0, 1}) || !slices.Equal(d.Test.Owner, []int32{1, 1, 1, 1}) {
		t.Errorf("%q, %d classes, owners %v, test %v", d.Name, d.Classes, d.Train.Owner, d.Test.Owner)
	}
	said := ""
	for _, l := range d.Test.Labels {
		said += Characters[l : l+1]
	}
	// A space is 1, A 25, and y 77; } is the last, 79.
	if x := d.Test.Row(2, nil); said != "Ay.}" || x[0] != 1 || x[78] != 25 || x[79] != 77 || d.Test.Labels[3] != 79 {
		t.Errorf("labels %q, inputs %v", said, x)
	}
}

func TestShakespeareRefuses(t *testing.T) {
	full := strings.Repeat("a", window)
	for want, user := range map[string]map[string]any{
		`user "a": text 0 has 79 bytes: must be 80 characters`:       {"x": []string{full[1:]}, "y": []string{"a"}},
		`text 0 has the character 'é': must be one of Characters`:    {"x": []string{full[2:] + "é"}, "y": []string{"a"}},
		`text 0 has the character '\x00'`:                            {"x": []string{full[1:] + "\x00"}, "y": []string{"a"}},
		`label "ab" has 2 bytes: must be 1 characters`:               {"x": []string{full}, "y": []string{"ab"}},
		`label "~" has the character '~': must be one of Characters`: {"x": []string{full}, "y": []string{"~"}},
		`user "a": 1 texts but 2 labels: must be equal`:              {"x": []string{full}, "y": []string{"a", "b"}},
		`user "a": 7: must be a string`:                              {"x": []any{7}, "y": []string{"a"}},
		`user "a": null: must be a string`:                           {"x": []any{nil}, "y": []string{"a"}},
	} {
		_, err := readLEAF(strings.NewReader(string(leafFile(map[string]map[string]any{"a": user}))), leafCharacters())
		expect.Error(t, "is damaged at byte ", want)(err)
	}
}
