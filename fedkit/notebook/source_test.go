package notebook

import (
	"strings"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"fedkit.example/fedkit/strategy"
)

// What a strategy's round runs is shown as its file has it, with what it calls there, and nothing else.
func TestSource(t *testing.T) {
	for _, c := range []struct {
		of       any
		names    []string
		has, not []string
	}{
		{&strategy.IFCA{}, nil, []string{"// strategy/ifca.go\n\nfunc (s *IFCA) Round(r *fedkit.Round) error {\n    s.restart(r)\n", "\n// restart begins", "func (s *IFCA) start("}, []string{"Serve", "\t"}},
		{&strategy.FedAdam{}, nil, []string{"func (s *FedAdam) Round("}, []string{"FedYogi", "FedAdagrad"}},
		{&promoted{}, nil, []string{"func (s *FedAvg) Round("}, nil},
		{strategy.Weights, nil, []string{"// strategy/weighting.go\n", "\nfunc Weights("}, nil},
		{&strategy.IFCA{}, []string{"meanByCluster", "Serve"}, []string{"func meanByCluster(", "func (s *IFCA) Serve("}, []string{"Round("}},
		{&strategy.FedClust{}, []string{"onceFedClust.Round"}, []string{"func (s onceFedClust) Round("}, []string{"func (s *FedClust)"}},
	} {
		got, err := sourceOf(c.of, c.names)
		expect.OK(t, err)
		for _, want := range c.has {
			expect.That(t, strings.Contains(got, want), "%T %v lacks %q:\n%s", c.of, c.names, want, got)
		}
		for _, not := range c.not {
			expect.That(t, !strings.Contains(got, not), "%T %v has %q:\n%s", c.of, c.names, not, got)
		}
	}
	for want, c := range map[string]struct {
		of    any
		names []string
	}{
		"v = nil: must be a strategy or a function":       {nil, nil},
		"v = int: must be a strategy or a function":       {3, nil},
		"v = func(): must be a strategy or a function":    {(func())(nil), nil},
		`name = "x": must be a function or method of the`: {&strategy.IFCA{}, []string{"Round", "x"}},
	} {
		err := Source(c.of, c.names...)
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	}
}

type promoted struct{ strategy.FedAvg }
