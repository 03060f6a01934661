// Package attack has clients that do harm, to test what withstands them: a share of a federation's clients sends
// other updates than it should, or learns from other labels. The result is a federation like any other, so that every
// strategy can be run on it, and attacks can be added to each other.
package attack

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"fedkit.example/fedkit"
)

// Attack is what attackers do: SignFlip, Scaled, Gaussian, LabelFlip, OneLabel, or your own Forge.
type Attack interface {
	// On returns the federation in which the given clients attack and the others do as before.
	On(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error)
	// String describes the attack in a few words, for histories.
	String() string
}

// On returns the federation in which a share of the clients, chosen by the seed, attacks: those that Attackers
// returns. To add a second attack, call On again: with the same seed the same clients do both, with another others
// may.
//
// Test data are never touched, so that accuracy is what honest clients would see. What reaches the server is checked
// for NaN and Inf as ever. Errors: a share outside [0, 1], an option of the attack that is not allowed.
func On(fed *fedkit.Federation, share float64, a Attack, seed uint64) (*fedkit.Federation, error) {
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
	return a.On(fed, attackers)
}

// Attackers returns which of m clients attack in On, ascending: ⌊share·m⌋ of them, uniformly at random without
// replacement. With the same seed a larger share holds all attackers of a smaller one.
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

// Forge is an attack on updates: what the server receives from the attackers is what Send makes of what they should
// have sent. SignFlip, Scaled and Gaussian are made of it.
type Forge struct {
	Name string // in a few words, for histories
	// Send returns, for every client in u, what it would send if it were an attacker, [n, d]; u.Models are honest,
	// and all randomness comes from rng. What it returns for the others is not used.
	Send func(u *fedkit.Updates, rng *rand.Rand) *fedkit.Matrix
}

// String returns Name.
func (f Forge) String() string { return f.Name }

// On implements Attack.
func (f Forge) On(fed *fedkit.Federation, attackers []int) (*fedkit.Federation, error) {
	if f.Send == nil {
		return nil, fedkit.Invalid("Forge.Send", "nil", "a function")
	}
	bad, err := marked(fed, attackers)
	if err != nil {
		return nil, err
	}
	return fed.Intercept(forgery{f, bad}), nil
}

// marked says of every client whether it is an attacker.
func marked(fed *fedkit.Federation, attackers []int) ([]bool, error) {
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
