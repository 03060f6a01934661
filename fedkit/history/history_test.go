package history

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedkit.example/fedkit/config"
	"fedkit.example/fedkit/fedtest/expect"
)

func sample() *History {
	return &History{Name: "FedAvg", Strategy: "FedAvg", Data: "digits", Partition: "2 clients", Model: "MLP", Clients: 2, Params: 10, Device: "xla",
		Rounds: []Record{
			{Round: 1, Seconds: 0.5, Results: []ClientResult{{Round: 1, Client: 1, Steps: 3, Loss: Float(math.NaN()), Skipped: true}}, BytesUp: 40, BytesDown: 4000,
				Notes: map[string]Float{"mu": Float(math.Inf(1))}},
			{Round: 2, Seconds: 0.25, Results: []ClientResult{{Round: 2, Client: 0, Steps: 3, Loss: 1, Drift: 0.1}, {Round: 2, Client: 1, Steps: 5, Loss: 2, Drift: 0.2}}, BytesUp: 80, BytesDown: 5e9,
				Global: &Score{Loss: 0.5, Accuracy: 0.9, Examples: 10}, Scores: []Score{{Loss: 0.4, Accuracy: 1, Examples: 3}, {Loss: 0.6, Accuracy: 0.5, Examples: 1}}, Clusters: []int{0, 1}},
		}}
}

func TestHistoryFigures(t *testing.T) {
	h := sample()
	if a := h.Accuracy(); a != 0.9 {
		t.Errorf("Accuracy %v, want 0.9", a)
	}
	if m := h.Last().Mean(); math.Abs(float64(m.Accuracy)-3.5/4) > 1e-12 || m.Examples != 4 {
		t.Errorf("Mean %+v, want accuracy 0.875 on 4 examples", m)
	}
	if r := h.RoundsTo(0.9); r != 2 {
		t.Errorf("RoundsTo(0.9) = %d, want 2", r)
	}
	if r := h.RoundsTo(0.91); r != 0 {
		t.Errorf("RoundsTo(0.91) = %d, want 0", r)
	}
	if a := (&History{}).Accuracy(); !math.IsNaN(a) {
		t.Errorf("Accuracy of nothing: %v", a)
	}
}

func TestHistoryTable(t *testing.T) {
	want := `FedAvg on digits: 2 clients; MLP, 10 parameters; seed 0, xla
  round  clients  steps  train loss  test loss  accuracy  own accuracy    up     down    time
      1        1      3         NaN                                     40 B     4 kB  500 ms
      2        2      8      1.5000     0.5000   90.00 %       87.50 %  80 B     5 GB  250 ms
`
	got := sample().String()
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Numbers below each other have one unit and number of decimals, a true minus and no negative zero.
func TestHistoryNumbers(t *testing.T) {
	h := &History{Devices: new(config.Config), Rounds: []Record{
		{Round: 1, BytesUp: 900_000, BytesDown: 2000, Clock: 99.123, Global: &Score{Loss: -0.00001}},
		{Round: 2, BytesUp: 1_500_000, BytesDown: 3000, Clock: 1234.5, Global: &Score{Loss: -1.5}},
	}}
	got := strings.Join(strings.Fields(h.String()), " ")
	for _, want := range []string{" 0.0000 0.00 % ", " 0.90 MB 2 kB 0 ms 99.1 s ", " −1.5000 0.00 % ", " 1.50 MB 3 kB 0 ms 1234.5 s"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q has no %q", got, want)
		}
	}
}

func FuzzHistory(f *testing.F) {
	_, b := fileOf(f, sample())
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "h")
		expect.OK(t, os.WriteFile(path, b, 0o600))
		h, err := Load(path)
		if err != nil {
			return
		}
		_ = h.String() + h.Strategy // what was accepted can be printed
		h.Accuracy()
		h.RoundsTo(0.5)
	})
}

// Which device it was is printed without what its maker adds to the name.
func TestHistorySaysWhichDevice(t *testing.T) {
	for hardware, want := range map[string]string{
		"": "cpu\n", "Intel(R) Xeon(R) Processor, 2 processors": "cpu: Intel Xeon, 2 processors\n",
		"Intel(R) Xeon(R) CPU @ 2.20GHz, 1 processor":   "cpu: Intel Xeon, 1 processor\n",
		"AMD EPYC 7B13 64-Core Processor, 4 processors": "cpu: AMD EPYC 7B13 64-Core, 4 processors\n",
	} {
		h := &History{Device: "cpu", Hardware: hardware}
		if first, _, _ := strings.Cut(h.String(), "round"); !strings.Contains(first, ", "+want) {
			t.Errorf("%q: %s, want %q", hardware, first, want)
		}
	}
}

func TestClusteringAsText(t *testing.T) {
	for want, c := range map[string]Clustering{
		"clusters: 3; ARI 0.912, NMI 1, purity 0.5; models 0.25 to 1.5 apart": {Count: 3, ARI: 0.9123, NMI: 1, Purity: 0.5, Distances: []Float{1.5, 0.25, 1}},
		"clusters: 1": {Count: 1, ARI: Float(math.NaN()), NMI: Float(math.NaN()), Purity: Float(math.NaN())},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The quartiles are those of numpy.quantile(a, [0.25, 0.5, 0.75]).
func TestSpread(t *testing.T) {
	r := Record{Scores: []Score{{Accuracy: 0.5}}}
	if s := r.Spread(); s != nil {
		t.Errorf("without an example: %+v", s)
	}
	for i := range 11 {
		r.Scores = append(r.Scores, Score{Accuracy: Float(1+(i*i*7)%11) / 16, Examples: 1 + i})
	}
	r.Scores = append(r.Scores, Score{Accuracy: Float(math.NaN()), Examples: 1})
	if got, want := *r.Spread(), (Spread{Mean: 77.0 / 192, Worst: 0.5 / 16, Min: 0, Q1: 3.0 / 16, Median: 7.5 / 16, Q3: 9.0 / 16, Max: 11.0 / 16}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
