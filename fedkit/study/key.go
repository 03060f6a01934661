package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
)

// identity is what a run's results depend on.
type identity struct {
	Strategy     *config.Config `json:"strategy"`
	Interceptors *config.Config `json:"interceptors,omitempty"`
	Task         string         `json:"task"`
	Data         string         `json:"data"`
	Clients      string         `json:"clients"`
	Devices      string         `json:"devices,omitempty"` // that clients work on
	Settings     *config.Config `json:"settings"`
	Seed         uint64         `json:"seed"`
	Device       string         `json:"device"`
	Types        string         `json:"types,omitempty"` // of parts that are not fedkit's
	Own          string         `json:"own,omitempty"`   // their code
}

func identityOf(h *fedkit.History) identity {
	return identity{h.Config, h.Interceptors, h.Task, h.Manifest.Data, h.Manifest.Clients, h.DevicesHash, h.Settings, h.Seed, h.Device, h.Types, ownCode(h.Code)}
}

// ownCode is the part of a history's Code that is not fedkit's. Stored runs stay valid when fedkit's own code changes, of which
// Run warns, but not when a strategy in a cell does.
func ownCode(code string) string {
	_, own, _ := strings.Cut(code, "; ")
	return own
}

// keyOf returns the key of the run that a history describes, in hexadecimal.
func keyOf(h *fedkit.History) (string, error) {
	if err := h.Complete(); err != nil {
		return "", err
	}
	b, err := json.Marshal(identityOf(h))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}

// idOf names the entry of a run: "FedAvg-1a2b3c4d5e6f".
func idOf(strategy, key string) string { return strategy + "-" + key[:12] }

// Diff returns the fields in which two runs are different runs, with the values of both as text: "Local.LR", "Options.Rounds",
// "data", "partition", "Options.Seed", "device". Both texts are the same if only the content differs that a name stands for.
func Diff(a, b *Run) []config.Difference {
	if a == nil || b == nil || a.About == nil || b.About == nil || a.About.Manifest == nil || b.About.Manifest == nil {
		return nil
	}
	return vary(a.About, b.About)
}

func vary(was, is *fedkit.History) (all []config.Difference) {
	a, b := identityOf(was), identityOf(is)
	all = config.Vary(a.Strategy, b.Strategy)
	for _, d := range config.Vary(a.Settings, b.Settings) {
		all = append(all, config.Difference{Path: "Options." + d.Path, Values: d.Values})
	}
	for _, d := range config.Vary(a.Interceptors, b.Interceptors) {
		all = append(all, config.Difference{Path: "interceptors" + d.Path, Values: d.Values})
	}
	for _, f := range []struct {
		name    string
		same    bool
		was, is any
	}{
		{"data", a.Data == b.Data, was.Data, is.Data},
		{"partition", a.Clients == b.Clients, was.Partition, is.Partition},
		{"devices", a.Devices == b.Devices, cmp.Or(was.Devices.String(), "none"), cmp.Or(is.Devices.String(), "none")},
		{"model", a.Task == b.Task, was.Model, is.Model},
		{"Options.Seed", a.Seed == b.Seed, a.Seed, b.Seed},
		{"device", a.Device == b.Device, a.Device, b.Device},
		{"types of your own", a.Types == b.Types, cmp.Or(a.Types, "none"), cmp.Or(b.Types, "none")},
		{"code of your own", a.Own == b.Own, cmp.Or(a.Own, "none"), cmp.Or(b.Own, "none")},
	} {
		if !f.same {
			all = append(all, config.Difference{Path: f.name, Values: []string{fmt.Sprint(f.was), fmt.Sprint(f.is)}})
		}
	}
	return all
}

// differences lists, field by field, how a run differs from a stored one.
func differences(was, is *fedkit.History) (fields []string) {
	for _, d := range vary(was, is) {
		if d.Values[0] == d.Values[1] {
			fields = append(fields, fmt.Sprintf("%s: other content, though it is called %s as before", d.Path, d.Values[1]))
		} else {
			fields = append(fields, strings.TrimPrefix(fmt.Sprintf("%s: %s, was %s", d.Path, d.Values[1], d.Values[0]), ": "))
		}
	}
	return fields
}
