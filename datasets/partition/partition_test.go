package partition

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// labeled returns a data set of one feature with random labels.
func labeled(train, test, classes int, seed uint64) *datasets.Dataset {
	rng := rand.New(rand.NewPCG(seed, 1))
	part := func(n int) datasets.Split {
		s := datasets.Split{Bytes: make([]uint8, n), Scale: 1, Labels: make([]int32, n)}
		for i := range s.Labels {
			s.Labels[i] = rng.Int32N(int32(classes))
		}
		return s
	}
	return &datasets.Dataset{Name: "made", Shape: []int{1}, Classes: classes, Train: part(train), Test: part(test)}
}

// regression returns a data set without labels.
func regression(n int) *datasets.Dataset {
	part := datasets.Split{Floats: make([]float32, n), Targets: make([]float32, n)}
	return &datasets.Dataset{Name: "line", Shape: []int{1}, Train: part, Test: part}
}

// checkWhole fails unless the deal passes Check and assigns every row, ascending.
func checkWhole(t *testing.T, deal *Partitioned) {
	t.Helper()
	expect.OK(t, deal.Check())
	train, test := 0, 0
	for i, c := range deal.Clients {
		train, test = train+len(c.Train), test+len(c.Test)
		expect.Must(t, slices.IsSorted(c.Train) && slices.IsSorted(c.Test), "client %d: rows are not in ascending order", i)
	}
	expect.Must(t, train == deal.Data.Train.Len() && test == deal.Data.Test.Len(),
		"dealt %d train and %d test rows of %d and %d", train, test, deal.Data.Train.Len(), deal.Data.Test.Len())
}

// With Redraw every row is dealt, every client has its least number, and one that had an equal share got none of the later classes. Test
// rows have the proportions of training rows.
func TestRedraw(t *testing.T) {
	d := labeled(6000, 3000, 6, 1)
	full := 0
	for seed := range uint64(20) {
		rule := Dirichlet{Clients: 30, Alpha: 0.2, MinTrain: 10, Redraw: true, Seed: seed}
		deal := must.M1(rule.Partition(d))
		checkWhole(t, deal)
		expect.Must(t, reflect.DeepEqual(deal, must.M1(rule.Partition(d))), "another deal with the same seed")
		train, test := Labels(d, deal.Clients), make([][]int, 30)
		var classes [6]float64
		for _, l := range d.Train.Labels {
			classes[l]++
		}
		var of [6]float64
		for _, l := range d.Test.Labels {
			of[l]++
		}
		for i, c := range deal.Clients {
			expect.Must(t, len(c.Train) >= 10 && len(c.Test) >= 1, "client %d has %d train and %d test rows", i, len(c.Train), len(c.Test))
			test[i] = make([]int, 6)
			for _, row := range c.Test {
				test[i][d.Test.Labels[row]]++
			}
			held := 0
			for l := range 6 {
				n := float64(train[i][l])
				if held >= 200 {
					full++
					expect.Must(t, n == 0, "seed %d: client %d has %v rows of class %d, and had %d before", seed, i, n, l, held)
				}
				held += train[i][l]
				got, want := float64(test[i][l]), n/classes[l]*of[l]
				expect.Must(t, math.Abs(got-want) <= 3, "seed %d: client %d has %v test rows of class %d, want %v", seed, i, got, l, want)
			}
		}
	}
	expect.That(t, full > 100, "only %d times a class was kept from a full client", full)
	_, err := Dirichlet{Clients: 30, Alpha: 0.01, MinTrain: 150, Redraw: true}.Partition(d)
	expect.That(t, err != nil && strings.Contains(err.Error(), "partition.Dirichlet: MinTrain = 150: must be less, as none of 1000 draws gave every client that many rows"), "%v", err)
}

func TestDealsAreWhole(t *testing.T) {
	d := labeled(1000, 250, 7, 1)
	for _, rule := range []Dirichlet{{Clients: 30, Alpha: 0.01}, {Clients: 30, Alpha: 0.5, MinTrain: 5, MinTest: 3}, {Clients: 30, Alpha: 100}, {Clients: 250, Alpha: 0.1, MinTrain: 4}, {Clients: 30, Alpha: 0.5, MinTrain: 5, MinTest: 3, Redraw: true}} {
		for rule.Seed = range 50 {
			deal := must.M1(rule.Partition(d))
			checkWhole(t, deal)
			for i, c := range deal.Clients {
				expect.Must(t, len(c.Train) >= max(rule.MinTrain, 1) && len(c.Test) >= max(rule.MinTest, 1),
					"%v: client %d has %d train and %d test rows", rule, i, len(c.Train), len(c.Test))
			}
		}
	}
}

// The deal of a seed never changes, because results on disk name only rule and seed. The numbers are this program's.
func TestDealsStayTheSame(t *testing.T) {
	d := labeled(12, 4, 3, 1)
	for _, test := range []struct {
		rule Rule
		want []Client
	}{
		{IID{Clients: 2, Seed: 1}, []Client{
			{Train: []int{2, 3, 5, 9, 10, 11}, Test: []int{1, 3}},
			{Train: []int{0, 1, 4, 6, 7, 8}, Test: []int{0, 2}},
		}},
		{Dirichlet{Clients: 2, Alpha: 0.5, Seed: 1}, []Client{
			{Train: []int{0, 2, 3, 4, 6, 11}, Test: []int{3}},
			{Train: []int{1, 5, 7, 8, 9, 10}, Test: []int{0, 1, 2}},
		}},
	} {
		deal := must.M1(test.rule.Partition(d))
		expect.That(t, reflect.DeepEqual(deal.Clients, test.want), "%s: %#v, want %#v", test.rule, deal.Clients, test.want)
	}
}

// A regression is dealt too.
func TestSizesDifferByOneAtMost(t *testing.T) {
	for _, d := range []*datasets.Dataset{labeled(100, 20, 3, 1), regression(10)} {
		deal := must.M1(IID{Clients: 7}.Partition(d))
		checkWhole(t, deal)
		n, counts := Sizes(deal.Clients), Labels(d, deal.Clients)
		expect.That(t, slices.Max(n)-slices.Min(n) <= 1 && len(counts) == 7 && len(counts[0]) == d.Classes, "sizes %v, labels %v", n, counts)
	}
}

// A client's number of rows of a class is hypergeometric. With 20·10 counts, all within 4.9 standard deviations is what
// a correct deal gives with probability above 1 − 200·10⁻⁶ (normal approximation).
func TestIIDLabelShares(t *testing.T) {
	const M, C, N = 20, 10, 20000
	d := labeled(N, M, C, 2)
	deal := must.M1(IID{Clients: M, Seed: 3}.Partition(d))
	var class [C]float64
	for _, l := range d.Train.Labels {
		class[l]++
	}
	for i, counts := range Labels(d, deal.Clients) {
		n := float64(len(deal.Clients[i].Train))
		for c, k := range counts {
			share := class[c] / N
			sd := math.Sqrt(n * share * (1 - share) * (N - n) / (N - 1))
			z := (float64(k) - n*share) / sd
			expect.That(t, math.Abs(z) <= 4.9, "client %d has %d rows of class %d: z = %.1f", i, k, c, z)
		}
	}
}

// Training and test rows of a class are cut by the same shares, so without a top-up they differ only by rounding.
func TestTrainAndTestHaveTheSameShares(t *testing.T) {
	d := labeled(5000, 5000, 4, 4)
	d.Test = d.Train
	deal := must.M1(Dirichlet{Clients: 5, Alpha: 1, MinTrain: 1, MinTest: 1, Seed: 5}.Partition(d))
	swapped := make([]Client, len(deal.Clients))
	for i, c := range deal.Clients {
		swapped[i] = Client{Train: c.Test, Test: c.Train}
	}
	train, test := Labels(d, deal.Clients), Labels(d, swapped)
	expect.That(t, reflect.DeepEqual(train, test), "train %v, test %v", train, test)
	expect.That(t, !reflect.DeepEqual(deal.Clients[0].Train, deal.Clients[0].Test), "training and test rows are shuffled alike")
}

// Topped-up clients keep to their own labels: at this α a client has one or two of the 50 classes. There are rows
// to spare in every class, so no client is tested on a label outside its training labels.
func TestTopUpKeepsLabels(t *testing.T) {
	d := labeled(20000, 20000, 50, 6)
	deal := must.M1(Dirichlet{Clients: 40, Alpha: 0.02, MinTrain: 30, MinTest: 30, Seed: 7}.Partition(d))
	checkWhole(t, deal)
	counts := Labels(d, deal.Clients)
	topped := 0
	for i, c := range deal.Clients {
		if len(c.Test) == 30 {
			topped++
		}
		for _, row := range c.Test {
			l := d.Test.Labels[row]
			expect.That(t, counts[i][l] != 0 || len(c.Test) != 30, "client %d is tested on class %d, which it does not train on", i, l)
		}
	}
	expect.That(t, topped != 0, "no client was topped up: the test shows nothing")
}

func TestTinyAlphaGivesEachClassToOneClient(t *testing.T) {
	for _, alpha := range []float64{1e-3, 1e-12, 5e-324} {
		src := stream(8, "test")
		for range 200 {
			p := logShares(10, alpha, src)
			top := slices.Max(p)
			expect.Must(t, top > -1 && top <= 1e-12, "α = %v: the largest log p is %v of %v", alpha, top, p)
		}
	}
}

func TestManyClients(t *testing.T) {
	d := labeled(60000, 10000, 10, 9)
	deal := expect.Value(Dirichlet{Clients: 10000, Alpha: 0.1}.Partition(d))(t)
	checkWhole(t, deal)
}

func BenchmarkDirichlet10000Clients(b *testing.B) {
	d := labeled(60000, 10000, 10, 9)
	for b.Loop() {
		expect.Value((Dirichlet{Clients: 10000, Alpha: 0.1}).Partition(d))(b)
	}
}

func TestCheck(t *testing.T) {
	d := labeled(10, 5, 2, 1)
	fine := Client{Train: []int{9, 0}, Test: []int{4}}
	for _, test := range []struct {
		deal *Partitioned
		want string
	}{
		{nil, "partition: the deal is nil"},
		{&Partitioned{}, "partition: datasets: the data set is nil"},
		{&Partitioned{Data: d}, "partition: the deal has no clients: must be at least 1"},
		{&Partitioned{d, []Client{fine, {Test: []int{1}}}, false}, "partition: client 1 has no train row: must have at least 1"},
		{&Partitioned{d, []Client{fine, {Train: []int{1}}}, false}, "partition: client 1 has no test row: must have at least 1"},
		{&Partitioned{d, []Client{fine, {Train: []int{10}}}, false}, "partition: client 1: train row 10: must be in [0, 10)"},
		{&Partitioned{d, []Client{{Train: []int{1}, Test: []int{-1}}}, false}, "partition: client 0: test row -1: must be in [0, 5)"},
		{&Partitioned{d, []Client{{Train: []int{3, 3}}}, false}, "partition: client 0 holds train row 3 twice"},
		{&Partitioned{d, []Client{fine, {Train: []int{1, 9}}}, false}, "partition: train row 9 is held by clients 0 and 1"},
		{&Partitioned{d, []Client{fine, {Train: []int{1}, Test: []int{4}}}, false}, "partition: test row 4 is held by clients 0 and 1"},
		{&Partitioned{d, []Client{{Train: []int{1}, Validation: []int{1}}}, false}, "partition: client 0 holds validation row 1 twice"},
		{&Partitioned{d, []Client{fine, {Train: []int{1}, Validation: []int{9}}}, false}, "partition: client 0 has no validation row: must have at least 1"},
		{&Partitioned{d, []Client{{Train: []int{2}, Validation: []int{3}}, {Train: []int{1}, Validation: []int{2}}}, false}, "partition: validation row 2 is held by clients 0 and 1"},
		{&Partitioned{d, []Client{{Train: []int{2}, Validation: []int{10}}}, false}, "partition: client 0: validation row 10: must be in [0, 10)"},
	} {
		if err := test.deal.Check(); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
	if err := (&Partitioned{d, []Client{fine}, false}).Check(); err != nil {
		t.Error(err)
	}
}

func TestGivenIsCopied(t *testing.T) {
	rule := Given{{Train: []int{2, 1}, Test: []int{0}, Group: 3}}
	deal := must.M1(rule.Partition(labeled(5, 5, 2, 1)))
	expect.That(t, reflect.DeepEqual(deal.Clients, []Client(rule)), "%v, want %v", deal.Clients, rule)
	deal.Clients[0].Train[0] = 4
	expect.That(t, rule[0].Train[0] == 2, "the deal shares its rows with the rule")
}

func TestLabels(t *testing.T) {
	d := labeled(4, 1, 3, 1)
	d.Train.Labels = []int32{2, 0, 2, 1}
	got := Labels(d, []Client{{Train: []int{0, 2, 3}}, {Train: []int{1, 4, -1}}})
	want := [][]int{{0, 1, 2}, {1, 0, 0}}
	expect.That(t, reflect.DeepEqual(got, want), "%v, want %v", got, want)
}

func FuzzDirichlet(f *testing.F) {
	f.Add(100, 20, 3, 5, 0.5, uint64(1))
	f.Add(10, 10, 2, 10, 1e-300, uint64(2))
	f.Add(300, 7, 12, 7, 1e300, uint64(3))
	f.Add(50, 50, 2, 1, 5e-324, uint64(4))
	f.Add(1, 1, 2, 1, math.MaxFloat64, uint64(5))
	f.Add(0, 3, 0, -1, -1.0, uint64(6))
	f.Fuzz(func(t *testing.T, train, test, classes, clients int, alpha float64, seed uint64) {
		// The data set is small; the rule's fields are arbitrary.
		train, test, classes = int(uint(train)%400), int(uint(test)%400), 2+int(uint(classes)%20)
		deal, err := Dirichlet{Clients: clients, Alpha: alpha, Seed: seed}.Partition(labeled(train, test, classes, seed))
		possible := clients >= 1 && clients <= min(train, test) && alpha > 0 && !math.IsInf(alpha, 1)
		expect.Must(t, (err == nil) == possible, "error %v", err)
		if err == nil {
			checkWhole(t, deal)
		}
	})
}
