package partition

import (
	"math"
	"reflect"
	"testing"

	"fedkit.example/datasets"
	"fedkit.example/fedkit/fedtest/expect"
)

// cifar100 has n train and n/5 test rows in the shape of CIFAR-100: 20 superclasses of 5 classes of equal size.
func cifar100(n int) *datasets.Dataset {
	part := func(n int) datasets.Split {
		s := datasets.Split{Bytes: make([]uint8, n), Scale: 1, Labels: make([]int32, n)}
		for i := range s.Labels {
			s.Labels[i] = int32(i % 100)
		}
		return s
	}
	d := &datasets.Dataset{Name: "like CIFAR-100", Shape: []int{1}, Classes: 100, Train: part(n), Test: part(n / 5)}
	for c := range d.Classes {
		d.Coarse = append(d.Coarse, c%20)
	}
	return d
}

// The preset of the paper: 500 clients of 100 rows each, which are all 50,000.
func TestPachinkoDealsCIFAR100(t *testing.T) {
	d := cifar100(50000)
	deal := expect.Value(Pachinko{Clients: 500, Seed: 3}.Partition(d))(t)
	checkWhole(t, deal)
	again := expect.Value(Pachinko{Clients: 500, Seed: 3, PerClient: 100, Alpha: 0.1, Beta: 10}.Partition(d))(t)
	expect.That(t, reflect.DeepEqual(deal, again), "the defaults are not N = 100, α = 0.1, β = 10")
	other := expect.Value(Pachinko{Clients: 500, Seed: 4}.Partition(d))(t)
	expect.That(t, !reflect.DeepEqual(deal.Clients, other.Clients), "two seeds give the same deal")
	for i, c := range deal.Clients {
		expect.Must(t, len(c.Train) == 100 && len(c.Test) >= 1, "client %d has %d train and %d test rows", i, len(c.Train), len(c.Test))
	}
}

// While every class has rows, the number of rows of superclass s is beta-binomial: with p = 1/S it has the mean N·p and the
// variance N·p·(1 − p)·(1 + (N − 1)/(S·α + 1)); so is, of the n of them, the number of rows of a class with C_s and β. Means
// of squared deviations from the mean over 2,000 clients must agree with the variance within 4 standard errors.
func TestPachinkoIsBetaBinomial(t *testing.T) {
	const M, N = 2000, 20
	d := cifar100(1_600_000) // far more rows than are drawn
	for _, dirichlet := range []struct{ alpha, beta float64 }{{0.1, 10}, {5, 0.2}} {
		rule := Pachinko{Clients: M, PerClient: N, Alpha: dirichlet.alpha, Beta: dirichlet.beta, Seed: 7}
		var top, below deviations
		for _, rows := range rule.draw(d) {
			s, c := 0, 0
			for _, row := range rows {
				label := int(d.Train.Labels[row])
				if d.Coarse[label] == 3 {
					s++
					if label == 23 {
						c++
					}
				}
			}
			top.add(float64(s), N, 1.0/20, 20*dirichlet.alpha)
			below.add(float64(c), float64(s), 1.0/5, 5*dirichlet.beta)
		}
		for name, s := range map[string]deviations{"superclasses": top, "classes": below} {
			if z := s.z(); math.Abs(z) > 4 {
				t.Errorf("%s, α = %v, β = %v: the variance is %.1f standard errors off", name, dirichlet.alpha, dirichlet.beta, z)
			}
		}
	}
}

// deviations sums the differences of squared deviations and the variance of the beta-binomial distribution.
type deviations struct{ n, sum, squares float64 }

// add counts k of n draws of probability p, with the sum a of the Dirichlet distribution's parameters.
func (s *deviations) add(k, n, p, a float64) {
	if n == 0 {
		return
	}
	v := (k-n*p)*(k-n*p) - n*p*(1-p)*(1+(n-1)/(a+1))
	s.n, s.sum, s.squares = s.n+1, s.sum+v, s.squares+v*v
}

func (s *deviations) z() float64 { return s.sum / math.Sqrt(s.squares) }

// The last client takes what is left, whatever its shares are.
func TestPachinkoDropsEmptyClasses(t *testing.T) {
	d := cifar100(1000)
	for _, rule := range []Pachinko{{Clients: 2, Alpha: 1e-3, Beta: 1e-3}, {Clients: 1, Alpha: 1e-320, Beta: 1e-320}, {Clients: 200}, {Clients: 7, PerClient: 9}} {
		for rule.Seed = range 10 {
			deal := expect.Value(rule.Partition(d))(t)
			expect.OK(t, deal.Check())
			for i, c := range deal.Clients {
				want := max(rule.PerClient, 1000/rule.Clients*(1-min(1, rule.PerClient)))
				expect.Must(t, len(c.Train) == want, "%v: client %d has %d train rows, want %d", rule, i, len(c.Train), want)
			}
		}
	}
	sparse := cifar100(1000) // superclass 19 has no rows
	for i, l := range sparse.Train.Labels {
		if sparse.Coarse[l] == 19 {
			sparse.Train.Labels[i] = 0
		}
	}
	deal := expect.Value(Pachinko{Clients: 10}.Partition(sparse))(t)
	checkWhole(t, deal)
}

func TestPachinkoRefuses(t *testing.T) {
	d := cifar100(1000)
	for want, rule := range map[string]Pachinko{
		"partition.Pachinko: Clients = 0: must be at least 1":               {},
		"partition.Pachinko: Clients = 201: must be at most 200":            {Clients: 201},
		"PerClient = 101: must be in [1, 100], since 10 clients share 1000": {Clients: 10, PerClient: 101},
		"PerClient = -1: must be in [1, 100]":                               {Clients: 10, PerClient: -1},
		"Alpha = -1: must be a number > 0":                                  {Clients: 10, Alpha: -1},
		"Alpha = NaN: must be a number > 0":                                 {Clients: 10, Alpha: math.NaN()},
		"partition.Pachinko: Beta = +Inf: must be a number > 0":             {Clients: 10, Beta: math.Inf(1)},
	} {
		expect.Error(t, want)(rule.Partition(d))
	}
	d.Coarse = nil
	expect.Error(t, "like CIFAR-100 has no superclasses (Dataset.Coarse): use Dirichlet")(Pachinko{Clients: 10}.Partition(d))
	expect.Error(t, "line has no labels")(Pachinko{Clients: 1}.Partition(regression(9)))
	for rule, want := range map[Rule]string{
		Pachinko{Clients: 500}: "500 clients, Pachinko α = 0.1, β = 10",
		Pachinko{Clients: 2, PerClient: 1, Alpha: 1, Beta: 2, Seed: 3}: "2 clients, Pachinko α = 1, β = 2, 1 row each, seed 3",
	} {
		got := rule.String()
		expect.That(t, got == want, "%q, want %q", got, want)
	}
}

// Labels that a rule has changed have no superclasses any more, and neither have the bins of ByTarget.
func TestSuperclassesEndWithTheirLabels(t *testing.T) {
	d := cifar100(1000)
	deal := expect.Value(Relabel{Of: Pachinko{Clients: 10}, Groups: 2}.Partition(d))(t)
	expect.That(t, deal.Data.Coarse == nil && d.Coarse != nil, "superclasses of other labels")
	d.Train.Labels, d.Test.Labels = d.Train.Labels[:500], d.Test.Labels[:100]
	for _, s := range []*datasets.Split{&d.Train, &d.Test} {
		s.Width, s.Bytes = 2, s.Bytes[:len(s.Labels)/2]
	}
	expect.Value(ByTarget{Of: Shards{Clients: 10}}.Partition(d))(t)
}
