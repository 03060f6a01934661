package oracle

import "math"

// Server is a server optimizer: "SGD", "Momentum", "Adagrad", "Adam" or "Yogi". The last three have corrected averages and
// ε inside the root, or are those of arXiv 2003.00295, Algorithm 2. No option has a default.
type Server struct {
	Rule                      string  // its name, as above
	LR, Beta1, Beta2, Epsilon float64 // η, β1 (momentum's β), β2, ε
	Paper                     bool    // the form of arXiv 2003.00295; Epsilon is its τ
}

// Run returns the models x_1, …, x_T, [T][d], that the updates deltas [T][d] lead to from x_0 = x.
func (o Server) Run(x []float64, deltas [][]float64) (models [][]float64) {
	at := append([]float64(nil), x...)
	m, v, most := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	if o.Paper {
		for j := range v {
			v[j] = o.Epsilon * o.Epsilon
		}
	}
	for i, delta := range deltas {
		t := float64(i + 1)
		for j, d := range delta {
			if o.Rule == "SGD" {
				at[j] += o.LR * d
				continue
			}
			m[j] = o.Beta1*m[j] + (1-o.Beta1)*d
			if o.Rule == "Momentum" {
				at[j] += o.LR * m[j]
				continue
			}
			vHat := 0.0
			switch o.Rule {
			case "Adagrad":
				v[j] += d * d
				vHat = v[j]
			case "Adam":
				v[j] = o.Beta2*v[j] + (1-o.Beta2)*d*d
				vHat = v[j] / (1 - math.Pow(o.Beta2, t))
			case "Yogi":
				if v[j] > d*d {
					v[j] -= (1 - o.Beta2) * d * d
				} else if v[j] < d*d {
					v[j] += (1 - o.Beta2) * d * d
				}
				vHat = v[j] / (1 - math.Pow(o.Beta2, t))
			}
			if o.Rule == "AMSGrad" {
				v[j] = o.Beta2*v[j] + (1-o.Beta2)*d*d
				most[j] = max(most[j], v[j])
				at[j] += o.LR * m[j] / (math.Sqrt(most[j]) + o.Epsilon)
				continue
			}
			if o.Paper {
				at[j] += o.LR * m[j] / (math.Sqrt(v[j]) + o.Epsilon)
			} else {
				at[j] += o.LR * m[j] / (1 - math.Pow(o.Beta1, t)) / math.Sqrt(vHat+o.Epsilon)
			}
		}
		models = append(models, append([]float64(nil), at...))
	}
	return models
}
