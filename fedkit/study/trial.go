package study

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/internal/nearest"
)

// Plan is a study before it runs: its runs, in order.
type Plan []*Trial

// Trial is one run of a plan.
type Trial struct {
	World                    // its federation
	Strategy fedkit.Strategy // the algorithm, with its options
	Options  fedkit.Options  // of the run; Name is the run's
	Labels   []any           // pairs of a key and a value, as Study.Add takes them; those under "part" are selected by --part
}

// Named is a plan under the name by which ./scripts/study runs it.
type Named struct {
	Name string      // "08_fedprism"
	Plan func() Plan // makes it
}

// Name is the name of the trial's run.
func (t *Trial) Name() string { return cmp.Or(t.Options.Name, config.Of(t.Strategy).Name()) }

// String is the name with the labels: "FedProx, α 0.1".
func (t *Trial) String() string { return called(t.Name(), t.labels()) }

// labels returns the labels of the trial's run. Study.Run reports those that are wrong.
func (t *Trial) labels() []Label {
	all, _ := labels(t.Labels)
	return all
}

// value is the trial's name, its seed, or the value of a label; "" if there is none.
func (t *Trial) value(key string) string {
	for _, l := range append(t.labels(), Label{Key: "name", Value: t.Name()}, Label{Key: "seed", Value: fmt.Sprint(t.Options.Seed)}) {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

// given leaves out what is nil.
func (p Plan) given() Plan {
	return slices.DeleteFunc(slices.Clone(p), func(t *Trial) bool { return t == nil })
}

// Where returns the trials with a name, a seed or a label: Where("name", "FedAvg"), Where("α", "0.1").
func (p Plan) Where(key, value string) Plan {
	return slices.DeleteFunc(p.given(), func(t *Trial) bool { return t.value(key) != value })
}

// Part returns the trials of a part, which is their label "part". Case does not matter. The error for an unknown one has those there are.
func (p Plan) Part(name string) (Plan, error) {
	parts := different(p.given(), func(t *Trial) string { return t.value("part") })
	if i := slices.IndexFunc(parts, func(part string) bool { return strings.EqualFold(part, name) }); i >= 0 {
		return p.Where("part", parts[i]), nil
	}
	if parts == nil {
		return nil, fedkit.Invalid("part", strconv.Quote(name), "left out: this study has no parts")
	}
	return nil, fedkit.Invalid("part", strconv.Quote(name), "one of "+strings.Join(nearest.Sort(name, parts), ", "))
}

// Seeds returns the trials with these seeds: "2-5", "1,3", "1-3,7".
//
// Errors: what is no seed or range of seeds; none of which there is a trial.
func (p Plan) Seeds(spec string) (some Plan, err error) {
	var ranges [][2]uint64
	for word := range strings.SplitSeq(spec, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(word), "-")
		if !isRange {
			last = first
		}
		from, wrong := strconv.ParseUint(first, 10, 64)
		to, bad := strconv.ParseUint(last, 10, 64)
		if wrong != nil || bad != nil || from > to {
			return nil, fedkit.Invalid("seeds", strconv.Quote(spec), "seeds and ranges of seeds, such as 2-5 or 1,3")
		}
		ranges = append(ranges, [2]uint64{from, to})
	}
	some = slices.DeleteFunc(p.given(), func(t *Trial) bool {
		return !slices.ContainsFunc(ranges, func(r [2]uint64) bool { return r[0] <= t.Options.Seed && t.Options.Seed <= r[1] })
	})
	if len(some) == 0 {
		there := different(p.given(), func(t *Trial) string { return fmt.Sprint(t.Options.Seed) })
		return nil, fedkit.Invalid("seeds", strconv.Quote(spec), "some of those of the study: "+first3(there, ", "))
	}
	return some, nil
}

// Study returns the study of the plan, whose runs are stored in a folder. Each federation is made once, and shared by its runs.
//
// Errors: missing or unsuitable data; the error names the run.
func (p Plan) Study(dir string) (*Study, error) {
	st, feds, sums := New(dir), map[string]*fedkit.Federation{}, digests{}
	for i, t := range p {
		if t == nil {
			return nil, fedkit.Invalid(fmt.Sprintf("plan[%d]", i), "nil", "a trial")
		}
		t = t.reading(sums)
		key := made{From: config.Of(t.World)}.String()
		if feds[key] == nil {
			fed, err := t.Federation()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t, err)
			}
			feds[key] = fed
		}
		st.add(t.World, feds[key], t.Strategy, t.Options, t.Labels)
	}
	return st, nil
}
