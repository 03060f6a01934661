package examples

import (
	"cmp"
	"fmt"

	"fedkit.example/fedkit"
	"gonum.org/v1/gonum/mat"
)

// LoRADistance returns how far the means of A and B are from the mean of A B, for models [n, d] of a task of LoRA's and weights p: by
// matrix, such as "dense1/weights",
//
//	‖(Σ_i p_i A_i)(Σ_i p_i B_i) − Σ_i p_i A_i B_i‖ / ‖Σ_i p_i A_i B_i‖,
//
// NaN if all A_i B_i are 0.
func LoRADistance(task *fedkit.Task, models *fedkit.Matrix, weights []float64) (map[string]float64, error) {
	if err := adapted(&fedkit.Federation{Task: cmp.Or(task, &fedkit.Task{})}, nil); err != nil {
		return nil, err
	}
	if err := models.Mean(weights).Err(); err != nil || weights == nil {
		return nil, cmp.Or(err, fedkit.Invalid("weights", "nil", "one per model"))
	}
	if models.Cols() != task.Dim() {
		return nil, fedkit.Invalid("models", fmt.Sprintf("[%d, %d]", models.Rows(), models.Cols()), fmt.Sprintf("[n, %d]", task.Dim()))
	}
	rows, err := models.Host()
	if err != nil {
		return nil, err
	}
	far := map[string]float64{}
	for _, m := range adapters(task) {
		AB, A, B := m.means(rows, weights)
		var off mat.Dense
		off.Mul(A, B)
		off.Sub(&off, AB)
		far[m.name] = mat.Norm(&off, 2) / mat.Norm(AB, 2)
	}
	return far, nil
}

// gathered returns the clients' rows, and the row that follows x: what is frozen as in x, and the mean of the rest.
func gathered(r *fedkit.Round, x *fedkit.Matrix, u *fedkit.Updates) (rows, next []float32) {
	rows, err := u.Models.Host()
	r.Fail(err)
	next, err = u.Models.Mean(u.Examples()).Blend(x, r.Trained()).Host()
	r.Fail(err)
	return rows, next
}
