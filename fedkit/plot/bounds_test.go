package plot

import (
	"encoding/json"
	"slices"
	"testing"

	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// parts calls see with every object in a specification.
func parts(t *testing.T, row chart.Row, see func(map[string]any)) {
	t.Helper()
	if err := row.Err(); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(row.VegaLite())
	if err != nil {
		t.Fatal(err)
	}
	var spec any
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			see(v)
			for _, part := range v {
				walk(part)
			}
		case []any:
			for _, part := range v {
				walk(part)
			}
		}
	}
	walk(spec)
}

// numbers are those of a JSON list.
func numbers(list any) []float64 {
	return each(list.([]any), func(v any) float64 { return v.(float64) })
}

// band returns the band of a figure's first line as it is drawn.
func band(t *testing.T, f *chart.Figure) (lo, hi []float64) {
	t.Helper()
	parts(t, chart.Row{f}, func(part map[string]any) {
		if part["k"] == 0. && part["lo"] != nil {
			lo, hi = numbers(part["lo"]), numbers(part["hi"])
		}
	})
	return lo, hi
}

// axes returns the ends of all axes of a title.
func axes(t *testing.T, title string, row chart.Row) (all [][]float64) {
	t.Helper()
	parts(t, row, func(part map[string]any) {
		if to, is := part["scale"].(map[string]any); is && part["title"] == title {
			all = append(all, numbers(to["domain"]))
		}
	})
	return all
}

// Nothing is drawn where an accuracy or a loss cannot be.
func TestBandsEndWhereScoresDo(t *testing.T) {
	runs := []*fedkit.History{seeded(1, historyOf("FedAvg", 0.02, 0.8)), seeded(2, historyOf("FedAvg", 0.3, 1))}
	if lo, hi := band(t, Accuracy(runs...)); lo[0] != 0 || hi[1] != 1 { // 0.16 ± 0.2, 0.9 ± 0.14
		t.Errorf("accuracy from %v to %v", lo, hi)
	}
	if lo, hi := band(t, Loss(runs...)); lo[1] != 0 || hi[0] < 1 { // 0.1 ± 0.14, 0.84 ± 0.2
		t.Errorf("loss from %v to %v", lo, hi)
	}
}

// An axis of accuracy ends at 100 %, though a median is there, and in small figures side by side too.
func TestAxesOfAccuracyEndAt100(t *testing.T) {
	run := scored(historyOf("LocalOnly", 0.9), 0, []float64{0, 1, 1, 1}, []int{1, 1, 1, 1})
	row := Facets(ClientAccuracy, Panel{Name: "a", Runs: []*fedkit.History{run}}, Panel{Name: "b", Runs: []*fedkit.History{run}})
	all := axes(t, "test accuracy of the client", row)
	if len(all) == 0 || slices.ContainsFunc(all, func(ends []float64) bool { return ends[0] != 0 || ends[1] != 1 }) {
		t.Errorf("the axes are %v", all)
	}
	for _, s := range row[0].Series {
		if s.Mark == chart.Cells && (slices.Max(s.X2) > 1 || s.X2[0]-s.X[0] < 0.004) {
			t.Errorf("a bar from %v to %v", s.X, s.X2)
		}
	}
}

// Panels of one index have one axis, though only one of them has values below 0.
func TestPanelsShareBounds(t *testing.T) {
	row := Facets(ARI, Panel{Name: "a", Runs: []*fedkit.History{grouped("IFCA", 0, []float64{-0.3, 1})}}, Panel{Name: "b", Runs: []*fedkit.History{grouped("IFCA", 0, []float64{0.5, 1})}})
	for _, ends := range axes(t, "adjusted Rand index", row) {
		if ends[0] != -0.3 || ends[1] != 1 {
			t.Errorf("an axis over %v", ends)
		}
	}
}

// A method has one color beside another figure, which shows only one of its models.
func TestPersonalCurvesKeepTheirColor(t *testing.T) {
	of := func(f *chart.Figure) (names []string) {
		return each(f.Series, func(s chart.Series) string { return s.Of })
	}
	if got := of(Accuracy(personal("FedPRISM"), ordinary("FedAvg"))); !slices.Equal(got, []string{"FedPRISM", "FedPRISM", ""}) {
		t.Errorf("the lines are of %q", got)
	}
}

// Maps that are drawn beside each other have one scale.
func TestHeatBeside(t *testing.T) {
	low, high := sample(), sample()
	for i := range high.Rounds {
		for k := range high.Rounds[i].Results {
			high.Rounds[i].Results[k].Drift += 0.2
		}
	}
	shades := map[string]float64{}
	for _, h := range []*fedkit.History{low, high} {
		f := Heat(h, Drift, low, high)
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		for _, s := range f.Series {
			if shade, known := shades[s.Name]; known && shade != s.Shade {
				t.Errorf("%q has the shades %g and %g", s.Name, shade, s.Shade)
			}
			for name, shade := range shades {
				if shade == s.Shade && name != s.Name {
					t.Errorf("%q and %q have one shade", name, s.Name)
				}
			}
			shades[s.Name] = s.Shade
		}
	}
	if Heat(low, Drift, low, nil).Err() == nil {
		t.Error("a nil history beside")
	}
}
