package fedkit

import (
	"math/rand/v2"

	"fedkit.example/fedkit/internal/random"
	"fedkit.example/fedkit/internal/rows"
)

// Random returns the generator for one purpose. It depends only on the arguments, not on earlier draws or the worker, so the same
// seed gives the same bytes. Round and client are typical ids.
func Random(seed uint64, purpose string, ids ...int) *rand.Rand {
	return random.Of(seed, purpose, ids...)
}

// Normal returns independent values of N(0, 1), [n, d], which are drawn on the device: row i depends only on the seed, the round, the
// purpose and clients[i], not on who else takes part. Without clients it is a single row, for the server.
//
//	noise := r.Normal("noise", s.X.Cols()).Scale(s.Sigma)
//
// The generator is Threefry-2x32, with the transform of Box and Muller in float32: for simulation, as it is neither secret nor free of
// rounding.
func (r *Round) Normal(purpose string, d int, clients ...int) *Matrix {
	return r.drawn(rows.Normal, purpose, d, clients)
}

// Uniform is Normal with values of [0, 1), multiples of 2⁻²⁴.
func (r *Round) Uniform(purpose string, d int, clients ...int) *Matrix {
	return r.drawn(rows.Uniform, purpose, d, clients)
}

func (r *Round) drawn(of func(keys []uint64, d, capacity int) *Matrix, purpose string, d int, clients []int) *Matrix {
	if r.err != nil {
		return Failed(r.err)
	}
	if d < 1 {
		r.Fail(Invalid("d", d, "at least 1"))
		return Failed(r.err)
	}
	if clients == nil {
		return of([]uint64{r.Rand(purpose).Uint64()}, d, 0)
	}
	keys := make([]uint64, len(clients))
	for i, c := range clients {
		keys[i] = Random(r.opts.Seed, purpose, r.T, c).Uint64()
	}
	return of(keys, d, r.most)
}
