package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Label describes a run in the user's words: α is 0.1.
type Label struct {
	Key, Value string // "α" and "0.1"
}

// String returns "α 0.1".
func (l Label) String() string { return l.Key + " " + l.Value }

// MarshalJSON writes a label as a pair.
func (l Label) MarshalJSON() ([]byte, error) { return json.Marshal([2]string{l.Key, l.Value}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Label) UnmarshalJSON(b []byte) error {
	var pair [2]string
	err := json.Unmarshal(b, &pair)
	l.Key, l.Value = pair[0], pair[1]
	return err
}

// Value returns the value of a label or an option. Keys are looked up among the labels, then the words "name", "strategy", "data",
// "partition", "model", "seed" and "device", then the options of the run ("Rounds") and those of the strategy, by their path
// ("Local.LR", "Aggregator.type").
func (h *History) Value(key string) (value string, ok bool) {
	for _, l := range slices.Backward(h.Labels) {
		if l.Key == key {
			return l.Value, true
		}
	}
	words := map[string]string{"name": h.Name, "strategy": h.Strategy, "data": h.Data, "partition": h.Partition, "model": h.Model,
		"seed": fmt.Sprint(h.Seed), "device": h.Device}
	if value, ok = words[strings.ToLower(key)]; ok {
		return value, true
	}
	if value, ok = h.Settings.At(key); ok {
		return value, true
	}
	return h.Config.At(key)
}

// Distinguish sets the names of a study's runs: that of a run, with the labels whose values differ between these: "FedAvg, α 0.1".
// Histories without labels keep their names, and nil ones are skipped.
func Distinguish(hs []*History) {
	hs = slices.DeleteFunc(slices.Clone(hs), func(h *History) bool { return h == nil })
	telling := map[string]bool{}
	for _, h := range hs {
		for _, l := range h.Labels {
			if _, known := telling[l.Key]; !known { // one answer for all runs with the key
				telling[l.Key] = slices.ContainsFunc(hs, func(o *History) bool {
					v, ok := o.Value(l.Key)
					return !ok || v != l.Value
				})
			}
		}
	}
	for _, h := range hs {
		for i, l := range h.Labels {
			if i == 0 {
				h.Name = l.Value
			} else if telling[l.Key] {
				h.Name += ", " + l.String()
			}
		}
	}
}
