package datasets

import (
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
)

// tweets are LEAF's rows of a user.
func tweets(user string, labels []int, texts ...string) map[string]any {
	var x [][]string
	for _, t := range texts {
		x = append(x, []string{"2087", "Sat May 16 23:58:44 UTC 2009", "NO_QUERY", user, t, "training"})
	}
	return map[string]any{"x": x, "y": labels}
}

func TestSentiment140(t *testing.T) {
	train := leafFile(map[string]map[string]any{
		"ann": tweets("ann", []int{1, 0}, "So good! So GOOD...", "@bob it's   cold, so"),
		"bob": tweets("bob", []int{0}, strings.Repeat("so ", 30)+"never"),
	})
	test := leafFile(map[string]map[string]any{"bob": tweets("bob", []int{1, 1}, "good, new & so", "")})
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_DATA", putLEAF(t, "sentiment140", map[string][]byte{"a.json": train}, map[string][]byte{"a.json": test}))
	d := expect.Value(Sentiment140())(t)
	if d.Name != "sentiment140" || d.Classes != 2 || !slices.Equal(d.Train.Owner, []int32{0, 0, 1}) || !slices.Equal(d.Train.Labels, []int32{1, 0, 0}) || !slices.Equal(d.Test.Owner, []int32{1, 1}) {
		t.Errorf("%q, %d classes, owners %v, labels %v, test owners %v", d.Name, d.Classes, d.Train.Owner, d.Train.Labels, d.Test.Owner)
	}
	// so is the commonest word, then . (3 times), good (2), and in alphabetical order ! , bob cold it's; never is past the 25th.
	padded := func(numbers ...float32) []float32 {
		return append(numbers, make([]float32, tweetWords-len(numbers))...)
	}
	for i, want := range [][]float32{padded(2, 4, 5, 2, 4, 3, 3, 3), padded(7, 9, 8, 6, 2), slices.Repeat([]float32{2}, tweetWords)} {
		if got := d.Train.Row(i, nil); !slices.Equal(got, want) {
			t.Errorf("tweet %d: %v, want %v", i, got, want)
		}
	}
	if got, want := d.Test.Floats, append(padded(4, 6, 1, 2), padded()...); !slices.Equal(got, want) {
		t.Errorf("test tweets %v, want %v", got, want)
	}
}

func TestVocabularyIsOfThatSize(t *testing.T) {
	numbers := vocabulary([]string{"a b c d", "b c d", "c d", "d"}, 4)
	if len(numbers) != 2 || numbers["d"] != 2 || numbers["c"] != 3 {
		t.Errorf("%v, want 2 for d and 3 for c", numbers)
	}
	if got := wordNumbers([]string{"a d"}, numbers)[:3]; !slices.Equal(got, []float32{1, 2, 0}) {
		t.Errorf("%v, want 1 for an unknown word, and 0 for none", got)
	}
}

func TestSentiment140Refuses(t *testing.T) {
	for want, user := range map[string]map[string]any{
		`user "a": tweet 0 has 4 fields: must have at least 5, of which the fifth is its text`: {"x": [][]string{{"1", "2", "3", "4"}}, "y": []int{0}},
		`user "a": label 2: must be a whole number in [0, 2)`:                                  tweets("a", []int{2}, "so"),
		`user "a": 1 tweets but 2 labels: must be equal`:                                       tweets("a", []int{0, 1}, "so"),
		`user "a": 5: must be a string`:                                                        {"x": [][]any{{"", "", "", "", 5}}, "y": []int{0}},
	} {
		_, err := readLEAF(strings.NewReader(string(leafFile(map[string]map[string]any{"a": user}))), leafTweets(2))
		expect.Error(t, want)(err)
	}
	t.Setenv("FEDKIT_CACHE", t.TempDir())
	t.Setenv("FEDKIT_DATA", "")
	expect.Error(t, "datasets: sentiment140: no train/*.json", "see the documentation of Sentiment140")(Sentiment140())
}
