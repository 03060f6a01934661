package fedkit

import (
	"cmp"
	"math"
)

// Schedule changes the learning rate of the clients from round to round.
type Schedule interface {
	// Factor returns what η is multiplied by in round t, from 1; more than 0.
	Factor(t int) float64
}

// ScheduleFunc lets a function be a Schedule.
type ScheduleFunc func(t int) float64

// Factor calls f.
func (f ScheduleFunc) Factor(t int) float64 { return f(t) }

// Decay lowers η exponentially: the factor of round t is γ^⌊(t−1)/Every⌋.
type Decay struct {
	Gamma float64 `range:"(0,1]" default:"0.99"` // γ
	Every int     `range:"[1,inf)" default:"1"`  // rounds from one step to the next
}

// Factor implements Schedule.
func (d Decay) Factor(t int) float64 {
	return math.Pow(cmp.Or(d.Gamma, 0.99), float64((t-1)/cmp.Or(d.Every, 1)))
}

// Cosine lowers η along half a cosine, from 1 in round 1 to Floor in round Rounds, where it stays (arXiv 1608.03983, without
// restarts).
type Cosine struct {
	Rounds int     `range:"[2,inf)"`              // until Floor is reached; required
	Floor  float64 `range:"(0,1]" default:"0.01"` // share of η that is left at the end
}

// Factor implements Schedule.
func (c Cosine) Factor(t int) float64 {
	floor := cmp.Or(c.Floor, 0.01)
	done := min(1, float64(t-1)/float64(c.Rounds-1))
	return floor + (1-floor)*(1+math.Cos(math.Pi*done))/2
}
