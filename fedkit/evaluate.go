package fedkit

import (
	"fmt"
	"slices"
)

// evaluate marks what the strategy serves now: the global model on the whole test part, and every client's own test
// examples under the model that client would use.
func (r *Round) evaluate(s Strategy) {
	r.quiet = true
	sv := s.Serve(r)
	if !r.in("evaluate") {
		return
	}
	if err := sv.check(r.Clients()); err != nil {
		r.Fail(err)
		return
	}
	r.record.Clusters = slices.Clone(sv.Clusters)
	all := sequence(r.Fed.Data.Test.Len())
	var global *Marks
	if sv.Global != nil {
		var err error
		if global, err = r.engine.Mark(r.ctx, Exam{Models: sv.Global, Part: TestPart, Rows: all}); err != nil {
			r.Fail(err)
			return
		}
		g := global.score(0, 0, len(all))
		r.record.Global = &g
	}
	if sv.Models == nil { // one model for all: every client's examples are marked already
		r.record.Scores = make([]Score, r.Clients())
		for c := range r.record.Scores {
			mine := &Marks{Loss: [][]float32{nil}, Score: [][]float32{nil}}
			for _, row := range r.Fed.Clients[c].Test {
				mine.Loss[0] = append(mine.Loss[0], global.Loss[0][row])
				mine.Score[0] = append(mine.Score[0], global.Score[0][row])
			}
			r.record.Scores[c] = mine.score(0, 0, len(mine.Loss[0]))
		}
		return
	}
	if sv.Assign != nil {
		r.record.Scores = r.marksOf(sequence(r.Clients()), sv.Models, sv.Assign)
		return
	}
	// Personal mixtures, a few hundred megabytes of models at a time.
	chunk := max(1, (256<<20)/(4*r.Fed.Task.Dim()))
	for clients := range slices.Chunk(sequence(r.Clients()), chunk) {
		personal := sv.Models.Mix(sv.Mix[clients[0] : clients[0]+len(clients)])
		r.record.Scores = append(r.record.Scores, r.marksOf(clients, personal, sequence(len(clients)))...)
	}
}

// marksOf returns each client's score on its own test examples under the model assigned to it.
func (r *Round) marksOf(clients []int, models *Matrix, assign []int) []Score {
	exam := Exam{Models: models, Part: TestPart}
	for i, c := range clients {
		for _, row := range r.Fed.Clients[c].Test {
			exam.Rows = append(exam.Rows, row)
			exam.Which = append(exam.Which, assign[i])
		}
	}
	marks, err := r.engine.Mark(r.ctx, exam)
	if err != nil {
		r.Fail(err)
		return nil
	}
	scores := make([]Score, len(clients))
	from := 0
	for i, c := range clients {
		n := len(r.Fed.Clients[c].Test)
		scores[i] = marks.score(0, from, n)
		from += n
	}
	return scores
}

func (s *Serving) check(m int) error {
	if s.Models == nil {
		if s.Global == nil {
			return Invalid("Serving", "empty", "a global model or models")
		}
		return s.Global.Err()
	}
	if err := s.Models.Err(); err != nil {
		return err
	}
	k := s.Models.Rows()
	if (s.Assign == nil) == (s.Mix == nil) {
		return Invalid("Serving", "Assign and Mix", "given one of them")
	}
	if s.Assign != nil && len(s.Assign) != m {
		return Invalid("len(Serving.Assign)", len(s.Assign), fmt.Sprintf("%d, one a client", m))
	}
	if s.Mix != nil && len(s.Mix) != m {
		return Invalid("len(Serving.Mix)", len(s.Mix), fmt.Sprintf("%d, one a client", m))
	}
	if s.Clusters != nil && len(s.Clusters) != m {
		return Invalid("len(Serving.Clusters)", len(s.Clusters), fmt.Sprintf("%d, one a client", m))
	}
	for c, a := range s.Assign {
		if a < 0 || a >= k {
			return Invalid("Serving.Assign", a, fmt.Sprintf("in [0, %d) (client %d)", k, c))
		}
	}
	return nil
}
