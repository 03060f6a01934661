package compare

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedkit.example/fedkit/history"
)

// regressed returns a run of a regression whose evaluated rounds have these R², of the global model and of each of two clients.
func regressed(name string, r2 ...float64) *history.History {
	h := ran(name, r2...)
	for i := range h.Rounds {
		if g := h.Rounds[i].Global; g != nil {
			rmse := history.Float(1000 * (1 - g.Accuracy))
			g.Metrics = map[string]history.Float{"R²": g.Accuracy, "RMSE": rmse, "MAE": rmse / 2}
			g.Accuracy = history.Float(math.NaN())
			h.Rounds[i].Scores, h.Rounds[i].Unseen = []history.Score{*g, *g}, []history.Score{*g}
		}
	}
	return h
}

// Whatever is of accuracy by default is of R² for regressions, with its name and as a plain number.
func TestRegression(t *testing.T) {
	a, b := regressed("A", -2.5, 0.8, 0.6), seeded(1, regressed("A", -1, 0.5, 0.8))
	base := regressed("B", 0.1, 0.2, 0.3)
	for name, c := range map[string]struct {
		q    Quantity
		want []float64
	}{
		"R²": {Accuracy, []float64{0.6, 0.8, 0.3}}, "best": {Best, []float64{0.8, 0.8, 0.3}}, "clients": {Clients, []float64{0.6, 0.8, 0.3}},
		"worst 10 %": {Worst, []float64{0.6, 0.8, 0.3}}, "unseen": {Unseen, []float64{0.6, 0.8, 0.3}}, "R², last 2 rounds": {LastRounds(2, Quantity{}), []float64{0.7, 0.65, 0.25}},
		"rounds to 80 %": {RoundsTo(0.8), []float64{2, 3, nan}}, "rounds to R² 80.0 %": {Until(Accuracy, 0.8, Rounds), []float64{2, 3, nan}},
		"R², clients' own": {Accuracy.On(OwnModels), []float64{0.6, 0.8, 0.3}}, "RMSE": {Metric("RMSE"), []float64{400, 200, 700}},
	} {
		runs, _ := Runs(a, b, base)
		q := c.q.For(runs...)
		if got := c.q.Of(a, b, base); q.Name != name || !slices.EqualFunc(got, c.want, close) || q.Unit == "%" {
			t.Errorf("%q in %q is %v, want %q, %v", q.Name, q.Unit, got, name, c.want)
		}
	}
	table := Comparison{Target: 0.8, Baseline: "B"}.Table(a, b, base)
	if err := table.Err(); err != nil {
		t.Fatal(err)
	}
	head := []string{"", "n", "rounds", "R²", "best", "clients", "worst 10 %", "unseen", "RMSE", "MAE", "loss"}
	if line := table.Lines[1]; !slices.Equal(table.Lines[0][:len(head)], head) || !strings.HasPrefix(line[3], "0.700 ± ") || !strings.HasPrefix(line[8], "300 ± ") {
		t.Errorf("%q\n%q", table.Lines[0], line)
	}
	if text := table.String(); strings.Contains(text, "accuracy") || strings.Contains(strings.NewReplacer("10 %", "", "95 %", "", "80 %", "").Replace(text), "%") ||
		!strings.Contains(text, "rounds to 80 %") || !strings.Contains(text, "difference: R² minus that of B") {
		t.Errorf("%s", text)
	}
	if err := (Comparison{Target: 90}).Table(a).Err(); err == nil || !strings.Contains(err.Error(), "must be an R² in (0, 1]") {
		t.Errorf("error %v", err)
	}
	if got := Differences(Quantity{}, []*history.History{a}, []*history.History{base}); !near(got, []float64{0.3}) {
		t.Errorf("difference %v", got)
	}
	if got := Lead(Quantity{}, "A", "B", Panel{"x", []*history.History{a, base}})[0].Here; !near(got, []float64{0.3}) {
		t.Errorf("lead %v", got)
	}
	p := Pivot{}.Table(Panel{"x", []*history.History{a, base}})
	if p.Err() != nil || p.Lines[0][0] != "R²" || p.Lines[1][1] != "0.600" {
		t.Errorf("%q, error %v", p.Lines, p.Err())
	}
	if line := Tidy([]Quantity{{}}, a).Data[1]; line[3] != "R²" || line[4] != -2.5 {
		t.Errorf("%v", line)
	}
	labels := ran("C", 0.7)
	if err := Table(a, labels).Err(); err == nil || !strings.Contains(err.Error(), `history "A" is a regression, which has R², and "C" has an accuracy: they cannot be compared`) {
		t.Errorf("beside labels: %v", err)
	}
}

// Clients without an R², such as those with one example, are left out of its spread.
func TestSpreadOfR2(t *testing.T) {
	r := history.Record{}
	for _, r2 := range []float64{0.5, nan, -1, 0.8} {
		r.Scores = append(r.Scores, history.Score{Accuracy: history.Float(nan), Examples: 1, Metrics: map[string]history.Float{"R²": history.Float(r2)}})
	}
	if s := r.Spread(); s == nil || !close(float64(s.Mean), 0.1) || s.Min != -1 || s.Median != 0.5 || s.Max != 0.8 {
		t.Errorf("%+v", s)
	}
	if r.Scores = r.Scores[1:2]; r.Spread() != nil {
		t.Errorf("of none: %+v", r.Spread())
	}
}
