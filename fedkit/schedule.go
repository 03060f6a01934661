package fedkit

import "math"

// Schedule is the clients' learning-rate schedule over rounds.
type Schedule interface {
	// Factor returns the factor of η in round t, from 1; it must be > 0.
	Factor(t int) float64
}

// ScheduleFunc adapts a function to Schedule.
type ScheduleFunc func(t int) float64

// Factor calls f.
func (f ScheduleFunc) Factor(t int) float64 { return f(t) }

// Decay lowers η exponentially: the factor of round t is γ^⌊(t−1)/Every⌋.
type Decay struct {
	Gamma float64 `range:"(0,1]" default:"0.99"` // γ
	Every int     `range:"[1,inf)" default:"1"`  // rounds per step
}

// Factor implements Schedule.
func (d Decay) Factor(t int) float64 {
	d = Defaults(d)
	return math.Pow(d.Gamma, float64((t-1)/d.Every))
}

// Cosine anneals η along half a cosine, by a factor of 1 in round 1 to Floor from round Rounds on (arXiv 1608.03983, without
// restarts).
type Cosine struct {
	Rounds int     `range:"[2,inf)"`              // round in which Floor is reached; required
	Floor  float64 `range:"(0,1]" default:"0.01"` // final factor of η
}

// Factor implements Schedule.
func (c Cosine) Factor(t int) float64 {
	c = Defaults(c)
	done := min(1, float64(t-1)/float64(c.Rounds-1))
	return c.Floor + (1-c.Floor)*(1+math.Cos(math.Pi*done))/2
}
