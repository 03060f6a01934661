package lru

import "testing"

func TestCacheDropsWhatWasNotUsedForLongest(t *testing.T) {
	c, made := New[string, int](2), 0
	for _, step := range []struct {
		key  string
		want int
	}{{"a", 1}, {"b", 2}, {"a", 1}, {"c", 3}, {"a", 1}, {"b", 4}, {"b", 4}, {"c", 5}, {"b", 4}} {
		got := c.Get(step.key, func() int { made++; return made })
		if got != step.want || len(c.values) > 2 {
			t.Errorf("%+v: %d, of %d values", step, got, len(c.values))
		}
	}
}
