package fedkit

import (
	"context"
	"testing"
)

// ownModels serves a global model, and each client the model it trained itself.
type ownModels struct {
	mean
	models *Matrix
}

func (s *ownModels) Round(r *Round) error {
	s.Before = func(_ *Round, job *Job) {
		s.models = r.Train(*job).Models
	}
	return s.mean.Round(r)
}

func (s *ownModels) Serve(r *Round) Serving {
	sv := s.mean.Serve(r)
	sv.Models, sv.Assign = s.models, r.Everyone()
	return sv
}

// A record tells scores of personal models from those of the one global model.
func TestRecordsTellPersonalModels(t *testing.T) {
	fed, _ := toy(t, 4, 9, 2)
	for want, s := range map[bool]Strategy{false: &mean{}, true: &ownModels{}} {
		h, err := Run(context.Background(), fed, s, Options{Rounds: 2, EvalEvery: 2})
		if err != nil {
			t.Fatal(err)
		}
		if r := h.Rounds[0]; r.Personal {
			t.Errorf("%s: personal scores in a round that was not evaluated", h.Name)
		}
		if r := h.Rounds[1]; r.Personal != want || r.Global == nil || r.Scores == nil {
			t.Errorf("%s: %+v, want Personal = %v", h.Name, r, want)
		}
	}
}
