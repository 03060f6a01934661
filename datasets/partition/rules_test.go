package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
	"github.com/janpfeifer/must"
)

// gray returns a data set of random square images, its labels in turn, written by this many owners in two groups.
func gray(train, test, side, classes, owners int) *datasets.Dataset {
	rng := rand.New(rand.NewPCG(uint64(side), 2))
	part := func(n int) datasets.Split {
		s := datasets.Split{Bytes: make([]uint8, n*side*side), Scale: 1.0 / 255}
		for i := range s.Bytes {
			s.Bytes[i] = uint8(rng.IntN(256))
		}
		for i := range n {
			s.Labels = append(s.Labels, int32(i%classes))
			s.Owner = append(s.Owner, int32(i%owners))
		}
		return s
	}
	d := &datasets.Dataset{Name: "gray", Shape: []int{side, side, 1}, Classes: classes, Train: part(train), Test: part(test)}
	for o := range owners {
		d.Groups = append(d.Groups, o%2)
	}
	return d
}

// rules has one of each kind, and compositions.
func rules(seed uint64) []Rule {
	dirichlet := Dirichlet{Clients: 24, Alpha: 0.5, Seed: seed}
	return []Rule{
		IID{Clients: 24, Seed: seed},
		dirichlet,
		Shards{Clients: 24, Seed: seed},
		Classes{Clients: 24, Seed: seed},
		Classes{Clients: 24, Sets: [][]int{{0, 1}, {2, 3}, {4, 5}, {1, 2}}, Seed: seed},
		Majority{Clients: 24, Share: 0.5, Seed: seed},
		Quantity{Clients: 24, Alpha: 0.5, Seed: seed},
		Quantity{Clients: 24, Power: 1.2, Seed: seed},
		Natural{Clients: 9, Seed: seed},
		Quantity{Of: dirichlet, Alpha: 1, Seed: seed},
		Rotations{Of: Quantity{Of: dirichlet, Power: 1, Seed: seed}},
		Quantity{Of: Rotations{Of: dirichlet}, Power: 1, Seed: seed},
		Rotations{Of: Shards{Clients: 6, Seed: seed}, FullCopies: true},
		Relabel{Of: Rotations{Of: dirichlet, Degrees: []int{0, 180}}, Groups: 3, Seed: seed},
		Rotations{Of: Relabel{Of: dirichlet, Groups: 3, Seed: seed}, Degrees: []int{0, 180}},
		Noise{Of: Intensity{Of: Natural{}, Gain: []float64{1, 0.5, 2}}, Max: 0.3, Seed: seed},
		Noise{Of: dirichlet, Std: []float64{0, 0.5}, Seed: seed},
		Take{Of: Rotations{Of: dirichlet}, Train: 3, Seed: seed},
		Same{Clients: 5, Train: 30, Seen: true, Seed: seed},
		Take{Of: Same{Clients: 5, Train: 30, Seed: seed}, Train: 3, Seed: seed},
		Validation{Of: dirichlet, Share: 0.3, Seed: seed},
		Noise{Of: Take{Of: Validation{Of: dirichlet, Seed: seed}, Train: 3, Seed: seed}, Max: 0.3, Seed: seed},
	}
}

func TestEveryRule(t *testing.T) {
	d := gray(960, 240, 4, 6, 12)
	before := (&Partitioned{Data: d}).Manifest(IID{}).Data
	for k, rule := range rules(1) {
		t.Run(rule.String(), func(t *testing.T) {
			deal := must.M1(rule.Partition(d))
			expect.OK(t, deal.Check())
			for i, c := range deal.Clients {
				expect.Must(t, slices.IsSorted(c.Train) && slices.IsSorted(c.Test), "client %d: rows are not in ascending order", i)
			}
			again, err := rule.Partition(d)
			expect.That(t, err == nil && reflect.DeepEqual(deal, again), "the second deal differs, or %v", err)
			other, err := rules(2)[k].Partition(d)
			expect.That(t, err == nil && !reflect.DeepEqual(deal, other), "another seed gives the same deal, or %v", err)
		})
	}
	after := (&Partitioned{Data: d}).Manifest(IID{}).Data
	expect.That(t, after == before, "a rule has changed the data set it was given")
}

// Clients and groups of the compositions: every pair of groups is there, with equal numbers of clients.
func TestGroups(t *testing.T) {
	d := gray(960, 240, 4, 6, 12)
	for _, test := range []struct {
		rule    Rule
		clients int
		groups  int
	}{
		{Shards{Clients: 24}, 24, 1},
		{Majority{Clients: 24, Share: 0.5}, 24, 6},
		{Rotations{Of: IID{Clients: 24}}, 24, 4},
		{Rotations{Of: IID{Clients: 6}, FullCopies: true}, 24, 4},
		{Relabel{Of: IID{Clients: 24}}, 24, 2},
		{Relabel{Of: Rotations{Of: IID{Clients: 24}}, Groups: 3}, 24, 12},
		{Rotations{Of: Relabel{Of: IID{Clients: 24}, Groups: 3}}, 24, 12},
		{Classes{Clients: 24, Sets: [][]int{{0, 1, 2}, {3, 4, 5}, {0, 2, 4}}}, 24, 3},
		{Natural{}, 12, 2},
		{Rotations{Of: Natural{}, Degrees: []int{0, 90, 180}}, 12, 6},
		{Intensity{Of: Noise{Of: IID{Clients: 24}, Std: []float64{0, 1}}, Gain: []float64{1, 2}}, 24, 4},
		{Quantity{Of: Rotations{Of: IID{Clients: 24}}, Power: 1}, 24, 4},
	} {
		deal := must.M1(test.rule.Partition(d))
		size := map[int]int{}
		for _, g := range Groups(deal.Clients) {
			size[g]++
		}
		expect.That(t, len(deal.Clients) == test.clients && len(size) == test.groups,
			"%s: %d clients in groups %v, want %d in %d", test.rule, len(deal.Clients), size, test.clients, test.groups)
		for g, n := range size {
			expect.That(t, g >= 0 && g < test.groups && n == test.clients/test.groups, "%s: group %d has %d clients", test.rule, g, n)
		}
	}
}

// kinds returns how many classes a client has, by its counts.
func kinds(counts []int) int {
	return len(slices.DeleteFunc(slices.Clone(counts), func(n int) bool { return n == 0 }))
}

// McMahan's partition: 100 clients, 200 shards, which have at most two labels each.
func TestShards(t *testing.T) {
	d := labeled(6000, 1000, 10, 3)
	deal := must.M1(Shards{Clients: 100, Seed: 4}.Partition(d))
	checkWhole(t, deal)
	for i, counts := range Labels(d, deal.Clients) {
		k, n := kinds(counts), len(deal.Clients[i].Train)
		expect.That(t, k >= 1 && k <= 4 && n == 60, "client %d has %d rows of %d classes", i, n, k)
		for _, row := range deal.Clients[i].Test {
			expect.That(t, counts[d.Test.Labels[row]] != 0,
				"client %d is tested on class %d, which it does not train on", i, d.Test.Labels[row])
		}
	}
}

// The bounds in the comment of Shards hold for few clients as for many: at most C − 1 clients know more than PerClient classes, all
// together at most M·PerClient + C − 1, and sizes differ by at most PerClient.
func TestShardsOfAnyLength(t *testing.T) {
	d := datasets.Digits()
	for _, clients := range []int{2, 3, 5, 10, 50, 100} {
		for _, each := range []int{1, 2, 3} {
			for seed := range uint64(5) {
				deal := must.M1(Shards{Clients: clients, PerClient: each, Seed: seed}.Partition(d))
				more, all := 0, 0
				for _, counts := range Labels(d, deal.Clients) {
					k := kinds(counts)
					if all += k; k > each {
						more++
					}
				}
				sizes := Sizes(deal.Clients)
				expect.That(t, more <= 9 && all <= clients*each+9 && slices.Max(sizes)-slices.Min(sizes) <= each,
					"%d clients, %d shards each: %d know more classes, %d in all; sizes %v", clients, each, more, all, sizes)
			}
		}
	}
}

// With classes of one size and equally many clients of each, the shares are exact: ρ of the client's own class, the rest in equal parts.
func TestMajority(t *testing.T) {
	d := gray(6000, 1000, 1, 10, 1)
	for _, share := range []float64{0.1, 0.4, 0.55, 1} {
		deal := must.M1(Majority{Clients: 20, Share: share, Seed: 6}.Partition(d))
		checkWhole(t, deal)
		for i, counts := range Labels(d, deal.Clients) {
			own := i % 10
			expect.That(t, deal.Clients[i].Group == own, "client %d is in group %d", i, deal.Clients[i].Group)
			for c, n := range counts {
				want := 300 * (1 - share) / 9
				if c == i%10 {
					want = 300 * share
				}
				expect.That(t, math.Abs(float64(n)-want) < 1, "ρ = %v: client %d has %d rows of class %d, want %.1f", share, i, n, c, want)
			}
		}
	}
}

func TestClasses(t *testing.T) {
	d := labeled(6000, 1000, 10, 5)
	for _, each := range []int{1, 2, 3, 10} {
		deal := must.M1(Classes{Clients: 25, PerClient: each, Seed: 6}.Partition(d))
		checkWhole(t, deal)
		holders := make([]int, 10)
		for i, counts := range Labels(d, deal.Clients) {
			for c, n := range counts {
				holders[c] += min(n, 1)
			}
			expect.That(t, kinds(counts) == each, "client %d has %d classes, want %d", i, kinds(counts), each)
			tested := map[int32]bool{}
			for _, row := range deal.Clients[i].Test {
				tested[d.Test.Labels[row]] = true
			}
			expect.That(t, len(tested) == each, "client %d is tested on %d classes, want %d", i, len(tested), each)
		}
		expect.That(t, slices.Max(holders)-slices.Min(holders) <= 1, "classes have %v holders", holders)
	}
	// Drawn: client i holds class i mod C, and a class has as many holders as chance gives it, with even parts.
	most := 0
	for _, each := range []int{1, 2, 3} {
		deal := must.M1(Classes{Clients: 10, PerClient: each, Drawn: true, Seed: 6}.Partition(d))
		checkWhole(t, deal)
		of := Labels(d, deal.Clients)
		for c := range 10 {
			holders, rows := 0, 0
			for i := range of {
				holders, rows = holders+min(1, of[i][c]), rows+of[i][c]
			}
			most = max(most, holders)
			for i, counts := range of {
				expect.That(t, kinds(counts) == each && of[c][c] > 0, "client %d has %v of the classes", i, counts)
				expect.That(t, counts[c] == 0 || counts[c] >= rows/holders && counts[c] <= rows/holders+1, "client %d has %d of class %d, which %d hold", i, counts[c], c, holders)
			}
		}
	}
	expect.That(t, most > 4, "no class has more than %d holders", most)
	sets := [][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}}
	deal := must.M1(Classes{Clients: 24, Sets: sets}.Partition(d))
	checkWhole(t, deal)
	for i, counts := range Labels(d, deal.Clients) {
		group := deal.Clients[i].Group
		expect.That(t, group == i/6, "client %d is in group %d, want %d", i, group, i/6)
		for c, n := range counts {
			want := slices.Contains(sets[group], c)
			expect.That(t, (n > 0) == want, "client %d of group %d has %d of class %d", i, group, n, c)
		}
	}
	// Groups of other sizes, whose classes overlap
	deal = must.M1(Classes{Clients: 6, Sets: [][]int{{0, 1, 2, 3, 4, 5}, {5, 6, 7, 8, 9}}, Sizes: []int{4, 2}, Seed: 1}.Partition(d))
	checkWhole(t, deal)
	for i, counts := range Labels(d, deal.Clients) {
		group := deal.Clients[i].Group
		expect.That(t, group == i/4 && (counts[0] > 0) == (group == 0) && counts[5] > 0, "client %d of group %d has %v", i, group, counts)
	}
	// Classes that nobody takes are left over.
	deal = must.M1(Classes{Clients: 2, PerClient: 3}.Partition(d))
	expect.OK(t, deal.Check())
	n := Sizes(deal.Clients)
	expect.That(t, n[0]+n[1] <= 4500, "sizes %v of 6 classes out of 10", n)
}

// All clients hold the same rows of the same data; with Seen, the last is tested on the training rows, which are in the test part too.
func TestSame(t *testing.T) {
	d := gray(12, 5, 2, 3, 4)
	deal := must.M1(Same{Clients: 3}.Partition(d))
	expect.Must(t, deal.Data == d && len(deal.Clients) == 3 && deal.Shared, "%d clients, shared %v", len(deal.Clients), deal.Shared)
	for i, c := range deal.Clients {
		expect.That(t, len(c.Train) == 12 && len(c.Test) == 5 && &c.Train[0] == &deal.Clients[0].Train[0], "client %d: %v", i, c)
	}
	deal = must.M1(Same{Clients: 2, Train: 4, Seen: true, Seed: 1}.Partition(d))
	test := &deal.Data.Test
	expect.Must(t, d.Test.Len() == 5 && test.Len() == 17 && len(deal.Clients[0].Test) == 5 && len(deal.Clients[1].Test) == 4,
		"%d test rows, of clients %v", test.Len(), deal.Clients)
	for k, row := range deal.Clients[1].Train {
		if seen := deal.Clients[1].Test[k]; !slices.Equal(test.Row(seen, nil), d.Train.Row(row, nil)) || test.Labels[seen] != d.Train.Labels[row] || test.Owner[seen] != d.Train.Owner[row] {
			t.Errorf("test row %d is not train row %d", seen, row)
		}
	}
	mixed := *d
	mixed.Test.Scale = 1
	for want, of := range map[string]struct {
		rule Rule
		data *datasets.Dataset
	}{
		"partition.Same: Clients = 0: must be in [1, 1048576]":                              {Same{}, d},
		"partition.Same: Clients = 1: must be in [2, 1048576]":                              {Same{Clients: 1, Seen: true}, d},
		"partition.Same: Train = 13: must be at most 12":                                    {Same{Clients: 2, Train: 13}, d},
		"partition.Same: Seen = true: the parts of gray must be of one kind":                {Same{Clients: 2, Seen: true}, &mixed},
		"partition.Noise: Of = 2 clients, each with all rows: must be a rule whose clients": {Noise{Of: Same{Clients: 2}, Max: 1}, d},
		"partition.Rotations: Of = 2 clients, each with all":                                {Rotations{Of: Same{Clients: 2}, FullCopies: true}, d},
	} {
		expect.Error(t, want)(of.rule.Partition(of.data))
	}
}

func TestPowerLaw(t *testing.T) {
	const M, N = 20, 10000
	deal := must.M1(Quantity{Clients: M, Power: 1.5, MinTrain: 1, Seed: 1}.Partition(labeled(N, 2000, 3, 7)))
	checkWhole(t, deal)
	n, sum := Sizes(deal.Clients), 0.0
	expect.That(t, !slices.IsSortedFunc(n, func(a, b int) int { return b - a }), "the ranks are not shuffled")
	for r := range M {
		sum += math.Pow(float64(r+1), -1.5)
	}
	slices.Sort(n)
	slices.Reverse(n)
	for r, n := range n {
		want := N * math.Pow(float64(r+1), -1.5) / sum
		expect.That(t, math.Abs(float64(n)-want) <= 1, "rank %d has %d rows, want %.1f", r+1, n, want)
	}
}

// The sizes' shares are those of Dir(α·1), Var q = (1/M)(1 − 1/M)/(αM + 1). The statistic is Σ_i (q_i − 1/M)² = M·Var q
// in expectation, over 400 seeds; 4 standard errors, taken from the sample, fail by chance in 0.006 % of the cases.
func TestDirichletSizes(t *testing.T) {
	const M, N, alpha = 10, 5000, 0.7
	d := labeled(N, 100, 2, 8)
	var v []float64
	for seed := range uint64(400) {
		deal := must.M1(Quantity{Clients: M, Alpha: alpha, MinTrain: 1, Seed: seed}.Partition(d))
		sum := 0.0
		for _, n := range Sizes(deal.Clients) {
			q := float64(n)/N - 1.0/M
			sum += q * q
		}
		v = append(v, sum)
	}
	mean, sd := stat.MeanStdDev(v, nil)
	want := (1 - 1.0/M) / (alpha*M + 1)
	expect.That(t, math.Abs(mean-want) <= 4*sd/20, "mean %v, want %v ± %v", mean, want, 4*sd/20)
}

// Over another rule, sizes are multiplied: client i keeps q_i / max q of its rows.
func TestQuantityOf(t *testing.T) {
	d := labeled(4000, 800, 5, 9)
	of := Dirichlet{Clients: 8, Alpha: 1, MinTrain: 100, Seed: 2}
	was := must.M1(of.Partition(d))
	rule := Quantity{Of: of, Power: 1, MinTrain: 1, Seed: 3}
	deal := must.M1(rule.Partition(d))
	q := rule.shares(8)
	whole := 0
	for i, c := range deal.Clients {
		share := q[i] / slices.Max(q)
		if want := share * float64(len(was.Clients[i].Train)); math.Abs(float64(len(c.Train))-want) > 0.5 {
			t.Errorf("client %d keeps %d train rows, want %.1f", i, len(c.Train), want)
		}
		if want := max(1, share*float64(len(was.Clients[i].Test))); math.Abs(float64(len(c.Test))-want) > 0.5 {
			t.Errorf("client %d keeps %d test rows, want %.1f", i, len(c.Test), want)
		}
		for _, row := range c.Train {
			_, held := slices.BinarySearch(was.Clients[i].Train, row)
			expect.That(t, held, "client %d has row %d, which was not its own", i, row)
		}
		if share == 1 {
			whole++
		}
	}
	expect.That(t, whole == 1, "%d clients keep everything, want 1", whole)
}

func TestNatural(t *testing.T) {
	d := labeled(8, 5, 2, 10)
	d.Train.Owner = []int32{5, 2, 5, 2, 9, 5, 9, 7}
	d.Test.Owner = []int32{9, 2, 5, 2, 9}
	expect.Error(t, "owner 7 of made has 0 test rows: must have at least 1; Drop")((Natural{}).Partition(d))
	deal := must.M1(Natural{Drop: true}.Partition(d))
	want := []Client{{Train: []int{1, 3}, Test: []int{1, 3}}, {Train: []int{0, 2, 5}, Test: []int{2}}, {Train: []int{4, 6}, Test: []int{0, 4}}}
	expect.That(t, reflect.DeepEqual(deal.Clients, want), "%v", deal)
	deal = must.M1(Natural{Drop: true, MinTrain: 3}.Partition(d))
	expect.That(t, reflect.DeepEqual(deal.Clients, want[1:2]), "%v", deal)
	seen := map[int]bool{}
	for seed := range uint64(30) {
		deal = must.M1(Natural{Drop: true, Clients: 1, Seed: seed}.Partition(d))
		expect.Must(t, len(deal.Clients) == 1, "%v", deal)
		seen[deal.Clients[0].Train[0]] = true
	}
	expect.That(t, len(seen) == 3, "of three owners, 30 seeds choose %d", len(seen))
}

// numpy.rot90(a, k) of NumPy 2.4.6.
func TestTurn(t *testing.T) {
	for _, test := range []struct {
		shape   []int
		degrees int
		want    []int
	}{
		{[]int{3, 3}, 90, []int{2, 5, 8, 1, 4, 7, 0, 3, 6}},
		{[]int{3, 3, 1}, 180, []int{8, 7, 6, 5, 4, 3, 2, 1, 0}},
		{[]int{3, 3}, 270, []int{6, 3, 0, 7, 4, 1, 8, 5, 2}},
		{[]int{2, 3, 2}, 180, []int{10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1}},
		{[]int{2, 2, 2}, 90, []int{2, 3, 6, 7, 0, 1, 4, 5}},
		{[]int{3, 3}, 0, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
	} {
		got, err := turn(&datasets.Dataset{Shape: test.shape}, test.degrees)
		expect.That(t, err == nil && reflect.DeepEqual(got, test.want),
			"%v by %d: %v, %v, want %v", test.shape, test.degrees, got, err, test.want)
	}
}

// Rotated once more, and then twice, every image is back where it was.
func TestRotationsUndo(t *testing.T) {
	d := gray(40, 20, 5, 2, 2)
	quarter := func(of Rule, degrees int) Rule { return Rotations{Of: of, Degrees: []int{degrees}} }
	deal, err := quarter(quarter(quarter(IID{Clients: 2}, 90), 450), -180).Partition(d)
	expect.That(t, err == nil && reflect.DeepEqual(deal.Data, d), "not the same: %v", err)
	if deal, err = quarter(IID{Clients: 2}, 90).Partition(d); err != nil || reflect.DeepEqual(deal.Data, d) {
		t.Errorf("nothing was turned: %v", err)
	}
	floats := &datasets.Dataset{Name: "f", Shape: []int{1, 2},
		Train: datasets.Split{Floats: []float32{1, 2, 3, 4}, Targets: []float32{0, 1}}, Test: datasets.Split{Floats: []float32{5, 6, 7, 8}, Targets: []float32{0, 1}}}
	if deal, err = (Rotations{Of: Given{{Train: []int{1}, Test: []int{0}}}, Degrees: []int{180}}).Partition(floats); err != nil ||
		!slices.Equal(deal.Data.Train.Floats, []float32{1, 2, 4, 3}) || !slices.Equal(deal.Data.Test.Floats, []float32{6, 5, 7, 8}) {
		t.Errorf("%v, %v", deal, err)
	}
}

// With FullCopies, each angle has all rows, and the same clients.
func TestEveryRotation(t *testing.T) {
	d := gray(40, 20, 5, 2, 2)
	of := IID{Clients: 4, Seed: 1}
	was, _ := of.Partition(d)
	deal := must.M1(Rotations{Of: of, Degrees: []int{0, 90, 180}, FullCopies: true}.Partition(d))
	checkWhole(t, deal)
	n := deal.Data.Train.Len()
	expect.Must(t, n == 120 && len(deal.Clients) == 12, "%d rows, %d clients", n, len(deal.Clients))
	for j, degrees := range []int{0, 90, 180} {
		from, _ := turn(d, degrees)
		for row := range 40 {
			want := slices.Clone(d.Train.Bytes[25*row : 25*row+25])
			gather(want, from)
			if at := 25 * (40*j + row); !slices.Equal(deal.Data.Train.Bytes[at:at+25], want) {
				t.Fatalf("row %d by %d degrees is not what it should be", row, degrees)
			}
		}
		for i, c := range was.Clients {
			if got := deal.Clients[4*j+i]; got.Group != j || got.Train[0] != c.Train[0]+40*j || got.Test[0] != c.Test[0]+20*j {
				t.Errorf("client %d is %v", 4*j+i, got)
			}
		}
	}
}

func TestRelabel(t *testing.T) {
	d := gray(60, 30, 2, 3, 2)
	maps := [][]int{{0, 1, 2}, {2, 0, 1}}
	deal := must.M1(Relabel{Of: IID{Clients: 4}, Maps: maps}.Partition(d))
	for _, c := range deal.Clients {
		for _, row := range c.Train {
			got, want := int(deal.Data.Train.Labels[row]), maps[c.Group][d.Train.Labels[row]]
			expect.That(t, got == want, "group %d, row %d: label %d, want %d", c.Group, row, got, want)
		}
		for _, row := range c.Test {
			got, want := int(deal.Data.Test.Labels[row]), maps[c.Group][d.Test.Labels[row]]
			expect.That(t, got == want, "group %d, test row %d: label %d, want %d", c.Group, row, got, want)
		}
	}
	// All 3! permutations, the first of them the identity, and none twice.
	deal, _ = IID{Clients: 6}.Partition(d)
	drawn, err := Relabel{Groups: 6}.maps(deal)
	if err != nil || len(drawn) != 6 || !slices.Equal(drawn[0], []int{0, 1, 2}) {
		t.Fatal(drawn, err)
	}
	slices.SortFunc(drawn, slices.Compare)
	expect.That(t, len(slices.CompactFunc(drawn, slices.Equal)) == 6, "a permutation is there twice")
}

// Every client keeps some of its own rows, as many as asked for or all it has, and its group.
func TestTake(t *testing.T) {
	d := gray(960, 240, 4, 6, 12)
	of := Rotations{Of: Quantity{Clients: 24, Power: 1, Seed: 1}}
	all := must.M1(of.Partition(d))
	for _, test := range []int{0, 4} {
		deal := must.M1(Take{Of: of, Train: 20, Test: test, Seed: 2}.Partition(d))
		for i, c := range deal.Clients {
			whole := all.Clients[i]
			want := len(whole.Test)
			if test > 0 {
				want = min(test, want)
			}
			expect.That(t, len(c.Train) == min(20, len(whole.Train)) && len(c.Test) == want && c.Group == whole.Group,
				"client %d has %d and %d rows in group %d, of %d and %d in group %d", i, len(c.Train), len(c.Test), c.Group, len(whole.Train), len(whole.Test), whole.Group)
			expect.That(t, !slices.ContainsFunc(c.Train, func(r int) bool { return !slices.Contains(whole.Train, r) }) &&
				!slices.ContainsFunc(c.Test, func(r int) bool { return !slices.Contains(whole.Test, r) }),
				"client %d has rows that were not its own", i)
		}
	}
}

// Noise of 200,000 values: mean 0 within 4 standard errors σ/√n, standard deviation σ within 4·σ/√(2n).
func TestNoise(t *testing.T) {
	const n, sigma = 100000, 0.25
	d := &datasets.Dataset{Name: "zeros", Shape: []int{n}, Train: datasets.Split{Floats: make([]float32, 4*n), Targets: make([]float32, 4)},
		Test: datasets.Split{Floats: make([]float32, 4*n), Targets: make([]float32, 4)}}
	deal := expect.Value(Noise{Of: IID{Clients: 4}, Std: []float64{0, sigma}, Seed: 1}.Partition(d))(t)
	var noise []float64
	for _, c := range deal.Clients {
		for _, v := range deal.Data.Train.Row(c.Train[0], nil) {
			if c.Group == 1 {
				noise = append(noise, float64(v))
			} else if v != 0 {
				t.Fatal("noise where none was asked for")
			}
		}
	}
	mean, sd := stat.MeanStdDev(noise, nil)
	expect.That(t, math.Abs(mean) <= 4*sigma/math.Sqrt(2*n) && math.Abs(sd-sigma) <= 4*sigma/math.Sqrt(4*n),
		"mean %v, standard deviation %v", mean, sd)
	deal = expect.Value((Noise{Of: IID{Clients: 4}, Max: 2}).Partition(d))(t)
	for i, c := range deal.Clients {
		row := deal.Data.Test.Row(c.Test[0], nil)
		sum := 0.0
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		got, want := math.Sqrt(sum/n), 0.5*float64(i+1)
		expect.That(t, math.Abs(got-want) <= 4*want/math.Sqrt(2*n), "client %d has noise of σ = %v, want %v", i, got, want)
	}
}

// Bytes are rounded and limited to [0, 255]. Black stays black under a gain, whatever the split's Shift.
func TestEditBytes(t *testing.T) {
	s := &datasets.Split{Bytes: []uint8{0, 10, 100, 200}, Scale: 0.5, Shift: -1, Labels: []int32{0}}
	edit(s, 0, func(v float64) float64 { return v + 0.8 })
	if want := []uint8{2, 12, 102, 202}; !slices.Equal(s.Bytes, want) {
		t.Errorf("%v, want %v", s.Bytes, want)
	}
	d := &datasets.Dataset{Name: "bytes", Shape: []int{4}, Classes: 2, Train: *s, Test: *s}
	d.Test.Labels = []int32{1}
	deal, err := Intensity{Of: Given{{Train: []int{0}, Test: []int{0}}}, Gain: []float64{1.5}}.Partition(d)
	if want := []uint8{3, 18, 153, 255}; err != nil || !slices.Equal(deal.Data.Test.Bytes, want) || s.Bytes[3] != 202 {
		t.Errorf("%v, %v, want %v", deal, err, want)
	}
}

func TestErrorsOfRules(t *testing.T) {
	d := labeled(100, 20, 3, 1)
	few := labeled(100, 20, 3, 1)
	for i := range few.Test.Labels {
		few.Test.Labels[i] = min(few.Test.Labels[i], 1)
	}
	wrong := labeled(100, 20, 3, 1)
	wrong.Test.Labels[7] = 3
	owned := gray(100, 20, 2, 3, 4)
	iid := IID{Clients: 4}
	for _, test := range []struct {
		rule Rule
		data *datasets.Dataset
		want string
	}{
		{IID{}, d, "partition.IID: Clients = 0: must be at least 1"},
		{IID{Clients: -3}, d, "partition.IID: Clients = -3: must be at least 1"},
		{IID{Clients: 21}, d, "partition.IID: Clients = 21: must be at most 20, the number of test rows of made"},
		{IID{Clients: 2}, nil, "partition.IID: datasets: the data set is nil"},
		{Dirichlet{Alpha: 1}, d, "partition.Dirichlet: Clients = 0: must be at least 1"},
		{Dirichlet{Clients: 101, Alpha: 1}, d, "partition.Dirichlet: Clients = 101: must be at most 20, the number of test rows of made"},
		{Dirichlet{Clients: math.MaxInt, Alpha: 1}, d, "must be at most 20"},
		{Dirichlet{Clients: 2}, d, "partition.Dirichlet: Alpha = 0: must be a number > 0"},
		{Dirichlet{Clients: 2, Alpha: -1}, d, "partition.Dirichlet: Alpha = -1: must be a number > 0"},
		{Dirichlet{Clients: 2, Alpha: math.NaN()}, d, "partition.Dirichlet: Alpha = NaN: must be a number > 0"},
		{Dirichlet{Clients: 2, Alpha: math.Inf(1)}, d, "partition.Dirichlet: Alpha = +Inf: must be a number > 0"},
		{Dirichlet{Clients: 2, Alpha: 1, MinTrain: -1}, d, "partition.Dirichlet: MinTrain = -1: must be at least 1, or 0 for the default of 10 rows, or half an equal share"},
		{Dirichlet{Clients: 2, Alpha: 1, MinTest: -1}, d, "partition.Dirichlet: MinTest = -1: must be at least 1, or 0 for the default of 1"},
		{Dirichlet{Clients: 3, Alpha: 1, MinTrain: 34}, d, "partition.Dirichlet: MinTrain = 34: must be at most 33, since 3 clients share 100 train rows"},
		{Dirichlet{Clients: 20, Alpha: 1, MinTest: math.MaxInt}, d, "must be at most 1, since 20 clients share 20 test rows"},
		{Dirichlet{Clients: 2, Alpha: 1}, regression(10), "partition.Dirichlet: line has no labels: use IID for a regression"},
		{Dirichlet{Clients: 2, Alpha: 1}, wrong, "partition.Dirichlet: datasets: made: Test: Labels: example 7 is 3: must be in [0, 3)"},
		{Validation{Of: iid, Share: 1}, d, "partition.Validation: Share = 1: must be in (0, 1), or 0 for the default of 0.2"},
		{Validation{Of: iid, Share: math.NaN()}, d, "partition.Validation: Share = NaN: must be in (0, 1)"},
		{Validation{}, d, "partition.Validation: Of = nil: must be a rule"},
		{Validation{Of: Take{Of: iid, Train: 1}}, d, "partition.Validation: client 0 has 1 train row: must have at least 2, to train and to validate on"},
		{Validation{Of: Validation{Of: iid}}, d, "must be a rule whose clients have no validation rows yet"},
		{Validation{Of: Same{Clients: 2}}, d, "must be a rule whose clients do not share rows"},
		{Given{}, d, "partition: the deal has no clients: must be at least 1"},
		{Given{{Train: []int{1}, Test: []int{1}}, {Train: []int{2}}}, d, "partition: client 1 has no test row: must have at least 1"},
		{Shards{Clients: 20, PerClient: 6}, d, "partition.Shards: PerClient = 6: must be in [1, 5], since 20 clients share 100 train rows"},
		{Shards{Clients: 20, PerClient: -1}, d, "partition.Shards: PerClient = -1: must be in [1, 5]"},
		{Shards{Clients: 21}, d, "partition.Shards: Clients = 21: must be at most 20, the number of test rows of made"},
		{Shards{Clients: 2}, regression(10), "partition.Shards: line has no labels: use IID for a regression"},
		{Classes{Clients: 2, PerClient: 4}, d, "partition.Classes: PerClient = 4: must be in [1, 3], the number of classes of made"},
		{Classes{Clients: 6, PerClient: 2}, few, "partition.Classes: class 2 has 0 test rows, and 4 of 6 clients hold it: must be at least one each"},
		{Classes{Clients: 2, PerClient: 2, Sets: [][]int{{0}}}, d, "partition.Classes: PerClient = 2: must be 0, as there are Sets"},
		{Classes{Clients: 2, Drawn: true, Sets: [][]int{{0}}}, d, "partition.Classes: Drawn = true: must be false, as there are Sets"},
		{Classes{Clients: 4, Sets: [][]int{{0}, {1}}, Sizes: []int{3, 2}}, d, "partition.Classes: Sizes = [3 2]: must be a number ≥ 1 for each of the Sets, 2, which make 4 clients"},
		{Classes{Clients: 4, Sizes: []int{3, 1}}, d, "partition.Classes: Sizes = [3 1]: must be a number ≥ 1 for each of the Sets, 0, which make 4 clients"},
		{Classes{Clients: 4, Sets: [][]int{{0}, {1}}, Sizes: []int{4, 0}}, d, "partition.Classes: Sizes = [4 0]: must be a number ≥ 1 for each of the Sets, 2, which make 4 clients"},
		{Classes{Clients: 2, Sets: [][]int{{0}, {1}, {2}}}, d, "partition.Classes: 3 sets: must be at most 2, one for each client"},
		{Classes{Clients: 2, Sets: [][]int{{0}, {1, 3}}}, d, "partition.Classes: Sets[1] = [1 3]: must be different classes in [0, 3)"},
		{Classes{Clients: 2, Sets: [][]int{{1, 1}}}, d, "partition.Classes: Sets[0] = [1 1]: must be different classes in [0, 3)"},
		{Majority{Clients: 2, Share: 1}, d, "partition.Majority: Clients = 2: must be at least 3, the number of classes of made"},
		{Majority{Clients: 3}, d, "partition.Majority: Share = 0: must be in (0, 1]"},
		{Majority{Clients: 3, Share: math.NaN()}, d, "partition.Majority: Share = NaN: must be in (0, 1]"},
		{Majority{Clients: 3, Share: 1}, regression(10), "partition.Majority: line has no labels: use IID for a regression"},
		{Quantity{Clients: 2}, d, "partition.Quantity: Alpha = 0, Power = 0: exactly one must be set"},
		{Quantity{Clients: 2, Alpha: 1, Power: 1}, d, "exactly one must be set"},
		{Quantity{Clients: 2, Alpha: math.NaN()}, d, "partition.Quantity: Alpha = NaN: must be a number ≥ 0"},
		{Quantity{Clients: 2, Power: math.Inf(1)}, d, "partition.Quantity: Power = +Inf: must be a number ≥ 0"},
		{Quantity{Clients: 3, Power: 1, MinTrain: 34}, d, "partition.Quantity: MinTrain = 34: must be at most 33, since 3 clients share 100 train rows"},
		{Quantity{Clients: 3, Power: 1, MinTest: -1}, d, "partition.Quantity: MinTest = -1: must be at least 1, or 0"},
		{Quantity{Of: iid, Clients: 4, Power: 1}, d, "partition.Quantity: Clients = 4: must be 0 if Of is set"},
		{Quantity{Of: iid, Power: 1, MinTest: 6}, d, "partition.Quantity: MinTest = 6: client 0 has 5 test rows of 4 clients, IID: must be at most that"},
		{Quantity{Of: IID{}, Power: 1}, d, "partition.Quantity: partition.IID: Clients = 0"},
		{Natural{}, d, "partition.Natural: made does not say whose its examples are"},
		{Natural{Clients: 5}, owned, "partition.Natural: Clients = 5: must be at most 4, the number of owners of gray with 1 train and 1 test rows"},
		{Natural{MinTrain: 26}, owned, "partition.Natural: owner 0 of gray has 25 train rows: must have at least 26"},
		{Natural{MinTrain: 26, Drop: true}, owned, "partition.Natural: no owner of gray has 26 train and 1 test rows"},
		{Natural{MinTest: -1}, owned, "partition.Natural: MinTest = -1"},
		{Rotations{}, owned, "partition.Rotations: Of = nil: must be a rule that deals the rows out"},
		{Rotations{Of: iid}, d, "partition.Rotations: made has examples of shape [1]: must be images"},
		{Rotations{Of: iid, Degrees: []int{0, 45}}, owned, "partition.Rotations: Degrees = [0 45]: every angle must be a multiple of 90"},
		{Rotations{Of: iid, Degrees: []int{0, 360}}, owned, "must have every angle once, 0 appears twice"},
		{Rotations{Of: IID{Clients: 3}}, owned, "partition.Rotations: Degrees asks for 4 groups: must be at most 3, the number of clients in group 0"},
		{Rotations{Of: iid}, &datasets.Dataset{Name: "wide", Shape: []int{1, 2}, Train: datasets.Split{Floats: make([]float32, 8), Targets: make([]float32, 4)},
			Test: datasets.Split{Floats: make([]float32, 8), Targets: make([]float32, 4)}}, "wide has images of shape [1 2]: must be square to turn them by 90 degrees"},
		{Rotations{Of: (*Dirichlet)(nil)}, owned, "partition.Rotations: Of = nil *partition.Dirichlet: must be a rule that deals the rows out"},
		{Quantity{Of: (*IID)(nil), Power: 1}, d, "partition.Quantity: Of = nil *partition.IID: must be a rule"},
		{Noise{Of: Intensity{Of: (*Given)(nil), Gain: []float64{1}}, Max: 1}, d, "partition.Noise: partition.Intensity: Of = nil *partition.Given: must be a rule"},
		{Relabel{Of: (*Relabel)(nil)}, d, "partition.Relabel: Of = nil *partition.Relabel: must be a rule"},
		{Relabel{Of: Relabel{Of: iid}, Groups: 3}, d, "partition.Relabel: Groups asks for 3 groups: must be at most 2, the number of clients in group 0"},
		{Relabel{Of: iid, Groups: 5}, d, "partition.Relabel: Groups = 5: must be in [1, 4], since there are 4 clients and 3 classes"},
		{Relabel{Of: IID{Clients: 10}, Groups: 7}, d, "partition.Relabel: Groups = 7: must be in [1, 6]"},
		{Relabel{Of: iid, Maps: [][]int{{0, 1, 1}}}, d, "partition.Relabel: Maps[0] = [0 1 1]: must be a permutation of 0..2"},
		{Relabel{Of: iid, Maps: [][]int{{0, 1, 2}, {}}}, d, "partition.Relabel: Maps[1] = []: must be a permutation of 0..2"},
		{Relabel{Of: iid, Maps: [][]int{}}, d, "partition.Relabel: Maps is empty"},
		{Relabel{Of: iid, Groups: 3, Maps: [][]int{{0, 1, 2}}}, d, "partition.Relabel: Groups = 3: must be 0 or 1, the number of Maps"},
		{Relabel{Of: IID{Clients: 2}}, regression(10), "partition.Relabel: line has no labels"},
		{Take{Of: iid}, d, "partition.Take: Train = 0: must be at least 1"},
		{Take{Of: iid, Train: 1, Test: -1}, d, "partition.Take: Test = -1: must be at least 1, or 0 for all"},
		{Take{Train: 1}, d, "partition.Take: Of = nil: must be a rule"},
		{Noise{Of: iid}, d, "partition.Noise: Std = [], Max = 0: exactly one must be set"},
		{Noise{Of: iid, Std: []float64{0, -1}}, d, "partition.Noise: Std = [0 -1], Max = 0: must be in [0, 1e6]"},
		{Noise{Of: iid, Max: math.NaN()}, d, "must be in [0, 1e6]"},
		{Intensity{Of: iid}, d, "partition.Intensity: Gain is empty"},
		{Intensity{Of: iid, Gain: []float64{0}}, d, "partition.Intensity: Gain = [0]: must be in (0, 1e6]"},
		{Intensity{Of: wrongRule{}, Gain: []float64{1}}, d, "partition.Intensity: Of: partition: the deal is nil"},
	} {
		deal, err := test.rule.Partition(test.data)
		expect.That(t, err != nil && deal == nil && strings.Contains(err.Error(), test.want),
			"%#v: error %v, want %q", test.rule, err, test.want)
	}
}

// wrongRule assigns nothing, without an error.
type wrongRule struct{}

func (wrongRule) Partition(*datasets.Dataset) (*Partitioned, error) { return nil, nil }
func (wrongRule) String() string                                    { return "wrong" }

func TestWords(t *testing.T) {
	iid := IID{Clients: 8, Seed: 3}
	for want, rule := range map[string]Rule{
		"20 clients, IID":                                                                   IID{Clients: 20},
		"1 client, IID, seed 4":                                                             IID{Clients: 1, Seed: 4},
		"20 clients, Dirichlet α = 0.5":                                                     Dirichlet{Clients: 20, Alpha: 0.5},
		"100 clients, Dirichlet α = 0.1, redrawn, seed 2":                                   Dirichlet{Clients: 100, Alpha: 0.1, Redraw: true, Seed: 2},
		"100 clients, Dirichlet α = 0.03, seed 123":                                         Dirichlet{Clients: 100, Alpha: 0.03, Seed: 123},
		"2 clients, given":                                                                  make(Given, 2),
		"100 clients, 2 shards each":                                                        Shards{Clients: 100},
		"5 clients, classes of 2 groups":                                                    Classes{Clients: 5, Sets: [][]int{{0, 1}, {1, 2}}},
		"5 clients, classes of 2 groups of [1 4]":                                           Classes{Clients: 5, Sets: [][]int{{0, 1}, {1, 2}}, Sizes: []int{1, 4}},
		"5 clients, 2 classes each, drawn":                                                  Classes{Clients: 5, Drawn: true},
		"5 clients, 1 class each, seed 2":                                                   Classes{Clients: 5, PerClient: 1, Seed: 2},
		"20 clients, sizes by Dirichlet α = 0.5":                                            Quantity{Clients: 20, Alpha: 0.5},
		"8 clients, IID, seed 3, sizes by power law a = 1":                                  Quantity{Of: iid, Power: 1},
		"20 clients, by owner, ≥ 10 train rows, seed 1":                                     Natural{Clients: 20, MinTrain: 10, Seed: 1},
		"one client per owner, ≥ 2 test rows":                                               Natural{MinTest: 2},
		"8 clients, IID, seed 3, rotated by 0, 90, 180, 270°":                               Rotations{Of: iid},
		"8 clients, IID, seed 3, all of it rotated by 0, 90°":                               Rotations{Of: iid, Degrees: []int{0, 90}, FullCopies: true},
		"8 clients, IID, seed 3, labels permuted in 2 groups":                               Relabel{Of: iid},
		"8 clients, IID, seed 3, labels permuted in 1 group":                                Relabel{Of: iid, Groups: 1},
		"<nil>, noise up to σ = 1":                                                          Noise{Of: (*Dirichlet)(nil), Max: 1},
		"8 clients, IID, seed 3, labels mapped by [[1 0]]":                                  Relabel{Of: iid, Maps: [][]int{{1, 0}}},
		"8 clients, IID, seed 3, noise σ = 0, 0.5, seed 4":                                  Noise{Of: iid, Std: []float64{0, 0.5}, Seed: 4},
		"8 clients, IID, seed 3, noise up to σ = 0.5":                                       Noise{Of: iid, Max: 0.5},
		"8 clients, IID, seed 3, 5 rows each for training, 2 for testing, seed 4":           Take{Of: iid, Train: 5, Test: 2, Seed: 4},
		"8 clients, IID, seed 3, 1 row each for training":                                   Take{Of: iid, Train: 1},
		"8 clients, IID, seed 3, 20 % of the training rows for validation":                  Validation{Of: iid},
		"8 clients, IID, seed 3, 12.5 % of the training rows for validation, seed 1":        Validation{Of: iid, Share: 0.125, Seed: 1},
		"8 clients, IID, seed 3, intensity × 1, 0.5":                                        Intensity{Of: iid, Gain: []float64{1, 0.5}},
		"<nil>, intensity × 1":                                                              Intensity{Gain: []float64{1}},
		"8 clients, each with all rows":                                                     Same{Clients: 8},
		"8 clients, all with the same 5 rows for training, the last tested on them, seed 2": Same{Clients: 8, Train: 5, Seen: true, Seed: 2},
		"5 clients, majority class ρ = 0.9, seed 2":                                         Majority{Clients: 5, Share: 0.9, Seed: 2},
	} {
		got := rule.String()
		expect.That(t, got == want, "%q, want %q", got, want)
	}
}

// Any rule with any options, alone or inside any other, makes clients or returns an error, and never panics.
func FuzzRules(f *testing.F) {
	for k := range uint8(15) {
		f.Add(60, 30, k, k*3, 5, 2, 0.5, uint64(k), true)
		f.Add(9, 9, k, k, -1, 0, math.NaN(), uint64(k), false)
	}
	f.Fuzz(func(t *testing.T, train, test int, kind, of uint8, n, m int, x float64, seed uint64, flag bool) {
		d := gray(1+int(uint(train)%80), 1+int(uint(test)%40), 2, 3, 4)
		rule := anyRule(kind, anyRule(of, nil, m, n, x, seed, !flag), n, m, x, seed, flag)
		deal, err := rule.Partition(d)
		expect.Must(t, (deal == nil) != (err == nil), "%v: deal %v, error %v", rule, deal, err)
		if err == nil {
			if err := deal.Check(); err != nil {
				t.Fatalf("%v: %v", rule, err)
			}
			deal.Manifest(rule)
		}
	})
}

func anyRule(kind uint8, of Rule, n, m int, x float64, seed uint64, flag bool) Rule {
	n, m = n%100, m%100 // memory grows with the number of groups
	list := make([]float64, max(0, min(n, 9)))
	for i := range list {
		list[i] = x * float64(i)
	}
	switch kind % 16 {
	case 0:
		return IID{Clients: n, Seed: seed}
	case 1:
		return Dirichlet{Clients: n, Alpha: x, MinTrain: m, Redraw: flag, Seed: seed}
	case 2:
		return Shards{Clients: n, PerClient: m, Seed: seed}
	case 3:
		return Classes{Clients: n, PerClient: m, Drawn: flag, Seed: seed}
	case 4:
		return Quantity{Clients: n, Alpha: x, MinTest: m, Seed: seed}
	case 5:
		return Quantity{Clients: n, Power: x, MinTrain: m, Seed: seed}
	case 6:
		return Natural{Clients: n, MinTrain: m, MinTest: m, Drop: flag, Seed: seed}
	case 7:
		return Quantity{Of: of, Power: x, MinTrain: m, Seed: seed}
	case 8:
		return Rotations{Of: of, FullCopies: flag}
	case 9:
		return Rotations{Of: of, Degrees: []int{90 * n, 90 * m}, FullCopies: flag}
	case 10:
		return Relabel{Of: of, Groups: n, Seed: seed}
	case 11:
		return Relabel{Of: of, Maps: [][]int{{n % 3, m % 3, 2}, {0, 1, 2}}}
	case 12:
		if flag {
			return Noise{Of: of, Max: x, Seed: seed}
		}
		return Noise{Of: of, Std: list, Seed: seed}
	case 13:
		return Same{Clients: n, Train: m, Seen: flag, Seed: seed}
	case 14:
		return Majority{Clients: n, Share: x, Seed: seed}
	default:
		return Intensity{Of: of, Gain: list}
	}
}

func ExampleRotations() {
	rule := Rotations{Of: Dirichlet{Clients: 8, Alpha: 0.5, Seed: 1}, Degrees: []int{0, 180}}
	deal, err := rule.Partition(datasets.Digits())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	fmt.Println("true groups:", Groups(deal.Clients))
	// Output:
	// 8 clients, Dirichlet α = 0.5, seed 1, rotated by 0, 180°
	// true groups: [0 0 0 0 1 1 1 1]
}
