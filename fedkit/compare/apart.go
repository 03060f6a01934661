package compare

import (
	"fmt"
	"slices"
	"strings"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/history"
)

// tellApart adds to the names of groups, which are all the same, the options in which they differ: "FedAvg, Local.LR 0.1".
// Options that are not set add nothing. Groups that this leaves alike get other differences, and in the end a number.
func tellApart(gs []*Group) {
	hs := each(gs, func(g *Group) *history.History { return g.Runs[0].History })
	names := labels(gs[0].Name, len(gs), differences(hs))
	if len(count(names)) < len(gs) {
		names = labels(gs[0].Name, len(gs), append(differences(hs), finer(hs)...))
	}
	of, seen := count(names), map[string]int{}
	for i, g := range gs {
		if g.Name = names[i]; of[g.Name] > 1 {
			seen[g.Name]++
			g.Name, g.numbered = fmt.Sprintf("%s (%d)", g.Name, seen[g.Name]), true
		}
	}
}

// differences lists what distinguishes histories: options of the strategy, pace, data, partition, model.
func differences(hs []*history.History) []config.Difference {
	return slices.Concat(known(hs), paces(hs),
		words(hs, func(h *history.History) string { return h.Data }),
		words(hs, wordsOf),
		words(hs, func(h *history.History) string { return h.Model }))
}

// known lists the options in which histories differ. Old files, whose configuration is only text, have no values of them.
func known(hs []*history.History) []config.Difference {
	var configs []*config.Config
	var of []int
	for i, h := range hs {
		if h.Config.Name() != "" {
			configs, of = append(configs, h.Config), append(of, i)
		}
	}
	all := options(configs...)
	for i, d := range all {
		all[i].Values = make([]string, len(hs))
		for k, v := range d.Values {
			all[i].Values[of[k]] = v
		}
	}
	return all
}

// paces lists the options in which the servers' pace differed.
func paces(hs []*history.History) []config.Difference {
	all := options(each(hs, func(h *history.History) *config.Config { return h.Settings })...)
	return slices.DeleteFunc(all, func(d config.Difference) bool { return !strings.HasPrefix(d.Path, "Pace") })
}

// finer lists further differences.
func finer(hs []*history.History) []config.Difference {
	return slices.Concat(options(each(hs, rule)...),
		words(hs, func(h *history.History) string { return fmt.Sprintf("%d clients", h.Clients) }),
		words(hs, func(h *history.History) string { return fmt.Sprintf("%d parameters", h.Params) }))
}

// words returns what histories say of one thing, if they do not all agree.
func words(hs []*history.History, say func(*history.History) string) []config.Difference {
	values := each(hs, say)
	if len(count(values)) == 1 {
		return nil
	}
	return []config.Difference{{Values: values}}
}

// labels returns, for each of n, the name with its values.
func labels(name string, n int, all []config.Difference) []string {
	names := slices.Repeat([]string{name}, n)
	for _, d := range all {
		path := strings.TrimPrefix(d.Path, "type") // a type says what it is
		for i, v := range d.Values {
			if v != "" && v != "not set" {
				names[i] += ", " + strings.TrimSpace(path+" "+strings.TrimSuffix(v, "{}"))
			}
		}
	}
	return names
}

func count(names []string) map[string]int {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	return n
}

// options returns where configurations differ, but for seeds.
func options(configs ...*config.Config) []config.Difference {
	return slices.DeleteFunc(config.Vary(configs...), func(d config.Difference) bool { return strings.HasSuffix("."+d.Path, ".Seed") })
}

// rule is the configuration of the partition, nil in old files.
func rule(h *history.History) *config.Config {
	if h.Manifest == nil {
		return nil
	}
	return h.Manifest.Config
}
