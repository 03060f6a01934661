package study

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

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
}

func identityOf(h *fedkit.History) identity {
	return identity{h.Config, h.Interceptors, h.Task, h.Manifest.Data, h.Manifest.Clients, h.DevicesHash, h.Settings, h.Seed, h.Device}
}

// keyOf returns the key of the run that a history describes, in hexadecimal.
func keyOf(h *fedkit.History) (string, error) {
	id := identityOf(h)
	for _, part := range []struct {
		in string
		c  *config.Config
	}{{"", id.Strategy}, {"interceptors", id.Interceptors}, {"Options.", id.Settings}} {
		if unnamed := part.c.Unnamed(); len(unnamed) > 0 {
			return "", fedkit.Invalid(part.in+unnamed[0], "a function without a name",
				"one that is declared with func at the top level, a method of a type, or in a struct with a field Name, since the run is stored under its configuration")
		}
	}
	b, err := json.Marshal(id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), nil
}

// idOf names the entry of a run: "FedAvg-1a2b3c4d5e6f".
func idOf(strategy, key string) string { return strategy + "-" + key[:12] }

// differences says in what one run is another than a stored one, field by field.
func differences(was, is *fedkit.History) (fields []string) {
	a, b := identityOf(was), identityOf(is)
	fields = config.Diff(a.Strategy, b.Strategy)
	for _, d := range config.Diff(a.Settings, b.Settings) {
		fields = append(fields, "Options."+d)
	}
	for _, d := range config.Diff(a.Interceptors, b.Interceptors) {
		fields = append(fields, "interceptors"+d)
	}
	for _, f := range []struct {
		name    string
		same    bool
		was, is any
	}{
		{"data", a.Data == b.Data, was.Data, is.Data},
		{"partition", a.Clients == b.Clients, was.Partition, is.Partition},
		{"devices", a.Devices == b.Devices, wordsOf(was.Devices), wordsOf(is.Devices)},
		{"model", a.Task == b.Task, was.Model, is.Model},
		{"Options.Seed", a.Seed == b.Seed, a.Seed, b.Seed},
		{"device", a.Device == b.Device, a.Device, b.Device},
	} {
		switch {
		case f.same:
		case f.was == f.is:
			fields = append(fields, fmt.Sprintf("%s: other content, though it is called %v as before", f.name, f.is))
		default:
			fields = append(fields, fmt.Sprintf("%s: %v, was %v", f.name, f.is, f.was))
		}
	}
	return fields
}

// wordsOf is a configuration as text, "none" for nil.
func wordsOf(c *config.Config) string {
	if c == nil {
		return "none"
	}
	return c.String()
}
