// Package attack makes clients malicious, to test robustness: a share of a federation's clients sends forged updates
// or trains on wrong labels. The result is a federation like any other. Every strategy runs on it, and attacks can be
// combined.
package attack

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// Attack is the behavior of attackers: SignFlip, Scaled, Gaussian, LabelFlip, OneLabel, or your own Forge.
type Attack interface {
	// Apply returns the federation in which the given clients attack and the others behave as before.
	Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error)
	// String describes the attack in a few words, for histories.
	String() string
}

// Apply returns the federation in which a share of the clients attacks: those that Attackers draws with the seed. To add
// a second attack, call Apply again. With the same seed the same clients do both; with another seed, others may.
//
// Test data are unchanged, so accuracy is that on clean data. As always, updates that reach the
// server are checked for NaN and Inf. Errors: a share outside [0, 1], an invalid option of the attack.
func Apply(fed *fedkit.Federation, share float64, a Attack, seed uint64) (*fedkit.Federation, error) {
	if fed == nil {
		return nil, fedkit.Invalid("federation", "nil", "made by fedkit.New")
	}
	if a == nil {
		return nil, fedkit.Invalid("attack", "nil", "an attack, such as attack.SignFlip{}")
	}
	attackers, err := Attackers(fed.Size(), share, seed)
	if err != nil {
		return nil, err
	}
	if err := fedkit.Check(a, fed, 0); err != nil {
		return nil, err
	}
	return a.Apply(fed, attackers)
}

// Attackers returns which of m clients attack in Apply, in ascending order: ⌊share·m⌋ of them, uniformly at random
// without replacement. With the same seed, a larger share includes all attackers of a smaller one.
func Attackers(m int, share float64, seed uint64) ([]int, error) {
	if m < 1 {
		return nil, fedkit.Invalid("m", m, "at least 1 client")
	}
	if !(share >= 0 && share <= 1) {
		return nil, fedkit.Invalid("share", share, "in [0, 1]")
	}
	n := int(share*float64(m) + 1e-9) // 0.29 · 100 is a little less than 29
	attackers := fedkit.Random(seed, "attackers").Perm(m)[:n]
	slices.Sort(attackers)
	return attackers, nil
}

// Forge is an attack on updates: the server receives what Send makes of the attackers' honest updates. SignFlip, Scaled
// and Gaussian are built on it.
type Forge struct {
	Name string // in a few words, for histories
	// Send returns what each client in u would send as an attacker, [n, d]. u.Models are honest, and all randomness
	// comes from rng. Rows of clients that are not attackers are ignored.
	Send func(u *fedkit.Updates, rng *rand.Rand) *fedkit.Matrix
}

// String returns Name.
func (f Forge) String() string { return f.Name }

// Apply implements Attack.
func (f Forge) Apply(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	if f.Send == nil {
		return nil, fedkit.Invalid("Forge.Send", "nil", "a function")
	}
	return intercept(fed, f, f.Send, attackers)
}

// marked returns for each client whether it is an attacker.
func marked(fed *fedkit.Federation, attackers []int) ([]bool, error) {
	if fed == nil || fed.Data == nil {
		return nil, fedkit.Invalid("federation", fed, "made by fedkit.New")
	}
	bad := make([]bool, fed.Size())
	for _, c := range attackers {
		if c < 0 || c >= len(bad) || bad[c] {
			return nil, fedkit.Invalid("attackers", attackers, fmt.Sprintf("different clients in [0, %d)", len(bad)))
		}
		bad[c] = true
	}
	return bad, nil
}

// by returns "sign flip by clients [1 5 7] of 10".
func by(a Attack, bad []bool) string {
	var who []int
	for c, is := range bad {
		if is {
			who = append(who, c)
		}
	}
	return fmt.Sprintf("%s by clients %v of %d", a, who, len(bad))
}
