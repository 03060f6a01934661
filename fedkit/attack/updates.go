package attack

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
	. "github.com/gomlx/gomlx/core/graph"
)

// SignFlip reverses the update, start − aΔ instead of start + Δ.
type SignFlip struct {
	Scale float64 `range:"(0,inf)" default:"1"` // a
}

// String has the scale: "sign flip × 1".
func (s SignFlip) String() string { return fmt.Sprintf("sign flip × %v", fedkit.Defaults(s).Scale) }

// Apply implements Attack.
func (s SignFlip) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	return times(s, -fedkit.Defaults(s).Scale, fed, attackers)
}

// Scaled boosts the update, start + bΔ instead of start + Δ, so that one client outweighs the others (model
// replacement; Bagdasaryan et al., arXiv 1807.00459, §3.2).
type Scaled struct {
	Factor float64 `range:"(0,inf)" default:"10"` // b
}

// String has the factor: "update × 10".
func (s Scaled) String() string { return fmt.Sprintf("update × %v", fedkit.Defaults(s).Factor) }

// Apply implements Attack.
func (s Scaled) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	return times(s, fedkit.Defaults(s).Factor, fed, attackers)
}

func times(a Attack, factor float64, fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	if err := fedkit.Check(a, fed, 0); err != nil {
		return nil, err
	}
	return intercept(fed, a, func(u *fedkit.Updates, _ *rand.Rand) *fedkit.Matrix {
		return u.Start.Add(u.Delta().Scale(factor))
	}, attackers)
}

// Gaussian adds noise to the client's model, w + σ N(0, I), drawn again in every round.
type Gaussian struct {
	Sigma float64 `range:"(0,inf)" default:"1"` // σ, in units of the parameters
}

// String has the deviation: "noise σ = 1".
func (g Gaussian) String() string { return fmt.Sprintf("noise σ = %v", fedkit.Defaults(g).Sigma) }

// Apply implements Attack.
func (g Gaussian) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	if err := fedkit.Check(g, fed, 0); err != nil {
		return nil, err
	}
	return intercept(fed, g, func(u *fedkit.Updates, rng *rand.Rand) *fedkit.Matrix {
		state := []uint64{rng.Uint64(), rng.Uint64(), rng.Uint64()}
		return u.Models.Apply(noisy, fedkit.Defaults(g).Sigma, state)
	}, attackers)
}

var noisy = fedkit.NewProgram("noise", func(a []*Node) *Node {
	u, sigma, state := a[0], a[1], a[2]
	_, noise := RandomNormal(state, u.Shape())
	return Add(u, Mul(sigma, noise))
})

// forgery is an attack on updates by the given clients. Its exported fields are its configuration.
type forgery struct {
	Attack  Attack
	Clients []int

	send func(*fedkit.Updates, *rand.Rand) *fedkit.Matrix `config:"-"`
	bad  []bool                                           `config:"-"` // by client
}

// intercept puts an attack between the attackers and the server.
func intercept(fed *fedkit.Federation, a Attack, send func(*fedkit.Updates, *rand.Rand) *fedkit.Matrix, attackers []int) (*fedkit.Federation, error) {
	bad, err := marked(fed, attackers)
	if err != nil {
		return nil, err
	}
	return fed.Intercept(forgery{a, slices.Clone(attackers), send, bad}), nil
}

// Intercept implements fedkit.Interceptor. It runs the same programs whether or not an attacker takes part, so
// nothing compiles when the first one does.
func (f forgery) Intercept(u *fedkit.Updates, rng *rand.Rand) *fedkit.Matrix {
	bad := make([]float64, len(u.Results))
	for i, s := range u.Results {
		if f.bad[s.Client] {
			bad[i] = 1
		}
	}
	return u.Models.Apply(choose, f.send(u, rng), bad)
}

func (f forgery) String() string { return by(f.Attack, f.bad) }

// choose selects the rows of a[1] where a[2] is 1, those of a[0] elsewhere.
var choose = fedkit.NewProgram("choose rows", func(a []*Node) *Node {
	u, forged, bad := a[0], a[1], InsertAxes(a[2], -1)
	return Where(BroadcastToDims(GreaterThan(bad, ZerosLike(bad)), u.Shape().Dimensions...), forged, u)
})
