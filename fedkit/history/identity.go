package history

import (
	"cmp"
	"fmt"
	"strings"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/fault"
	"fedkit.example/fedkit/internal/source"
)

// Differs returns the identifying fields in which h differs from past, one line per field.
func (past *History) Differs(h *History) (fields []string) {
	past, h = cmp.Or(past, &History{}), cmp.Or(h, &History{})
	for _, f := range []struct {
		name    string
		was, is any
	}{
		{"Data", past.Data, h.Data}, {"Partition", past.Partition, h.Partition}, {"Model", past.Model, h.Model},
		{"Clients", past.Clients, h.Clients}, {"Params", past.Params, h.Params}, {"Seed", past.Seed, h.Seed}, {"Device", past.Device, h.Device}, {"Task", past.Task, h.Task},
		{"Types", past.Types, h.Types},
	} {
		if f.was != f.is {
			fields = append(fields, fmt.Sprintf("%s: %v, was %v", f.name, f.is, f.was))
		}
	}
	if was, is := past.Manifest, h.Manifest; was != nil && is != nil && !was.Equal(*is) {
		fields = append(fields, fmt.Sprintf("Manifest: data %.12s, clients %.12s, was data %.12s, clients %.12s", is.Data, is.Clients, was.Data, was.Clients))
		fields = append(fields, config.Diff(was.Config, is.Config)...)
	}
	for _, d := range config.Diff(past.Settings, h.Settings) {
		if !strings.HasPrefix(d, "Rounds: ") { // a resumed run may have more
			fields = append(fields, "Options."+d)
		}
	}
	if past.DevicesHash != h.DevicesHash {
		fields = append(fields, fmt.Sprintf("Devices: %.12s, was %.12s", cmp.Or(h.DevicesHash, "none"), cmp.Or(past.DevicesHash, "none")))
	}
	for _, d := range config.Diff(past.Interceptors, h.Interceptors) {
		fields = append(fields, "interceptors"+d)
	}
	fields = append(fields, config.Diff(past.Config, h.Config)...)
	if was, is := own(past.Code), own(h.Code); was != is {
		fields = append(fields, fmt.Sprintf("code of your own: %s, was %s", is, was))
	}
	return fields
}

// own is the part of History.Code that is not fedkit's.
func own(code string) string {
	_, own, _ := strings.Cut(code, "; ")
	return cmp.Or(own, "none")
}

// Complete returns an error that names the first option of the run, of its strategy or of an interceptor that a configuration
// cannot represent, or whose code cannot be seen; nil if there is none. Since such a run cannot be told from others, it has no
// checkpoint, and no study stores it.
func (h *History) Complete() error {
	for _, part := range []struct {
		in string
		c  *config.Config
	}{{"", h.Config}, {"interceptors", h.Interceptors}, {"Options.", h.Settings}} {
		paths := part.c.Unnamed()
		if len(paths) == 0 {
			continue
		}
		is, _ := part.c.At(paths[0])
		allowed := "what a configuration can tell from others"
		if strings.HasSuffix(strings.TrimSuffix(is, ")"), "func") {
			is, allowed = "a function without a name", "one that is declared with func at the top level, a method of a type, or in a struct with a field Name"
		}
		return fault.Invalid(part.in+paths[0], is, allowed+", or in a field that is tagged `config:\"-\"`, since it only holds what is computed from the others")
	}
	if unseen := source.Unseen(h.Code); unseen != "" {
		return fmt.Errorf("%w: %s", fault.ErrInvalid, unseen)
	}
	return nil
}
