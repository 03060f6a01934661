package fedkit

import (
	"fmt"
	"slices"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/clientdata"
	"fedkit.example/fedkit/sim"
)

// Server is what the server has besides models: examples, and a machine to train on. See Federation.WithServer.
type Server struct {
	Rows   []int      // training rows that it holds, such as those that partition.Take leaves over; clients that hold them lose them; rows without labels too
	Draw   int        // instead of Rows, how many of the clients' training rows it takes, drawn from all of them uniformly
	Seed   uint64     // of Draw
	Device sim.Device // what it trains on, on a simulated clock; default: it takes no time
}

// WithServer returns the same federation with a server that holds examples, for Round.TrainServer and Round.Predict: they are those
// of the only client of its field Server. The federation keeps its number of clients. HoldOut and interceptors come after it.
//
// Errors: Rows and Draw, or neither; rows that do not exist, or twice; a client without a row left.
//
//	fed, err = fed.WithServer(fedkit.Server{Draw: 1000})
func (f *Federation) WithServer(s Server) (_ *Federation, err error) {
	defer within("with server: ", &err)
	if err := f.made(); err != nil {
		return nil, err
	}
	if f.Unseen != nil || f.interceptors != nil || f.Server != nil {
		return nil, Invalid("federation", f.Rule, "one without a server's rows, clients held out, attacks and other interceptors: they come after WithServer")
	}
	rows, err := s.rows(f)
	if err != nil {
		return nil, err
	}
	clients, changed, err := clientdata.Without(f.Clients, rows, f.Data.Train.Len())
	if err != nil {
		return nil, err
	}
	g := *f
	if g.Clients = clients; changed { // other clients, other programs
		g.lazy = &lazyEngine{rows: clientdata.Train(clients)}
	}
	note := fmt.Sprintf("; %d rows at the server", len(rows))
	if s.Draw > 0 {
		note += fmt.Sprintf(", seed %d", s.Seed)
	}
	g.Rule = f.Rule + note
	g.Server = g.serverOf([]partition.Client{{Train: rows}}, []sim.Device{s.Device})
	return g.sealed(), nil
}

// rows returns the server's rows, in ascending order if they are drawn.
func (s *Server) rows(f *Federation) ([]int, error) {
	if err := s.Device.Check(); err != nil {
		return nil, fmt.Errorf("%w: Device: %w", ErrInvalid, err)
	}
	if (s.Rows == nil) == (s.Draw == 0) {
		return nil, Invalid("Server", fmt.Sprintf("%d rows, Draw = %d", len(s.Rows), s.Draw), "with one of Rows and Draw")
	}
	if s.Rows == nil {
		return clientdata.Drawn(f.Clients, s.Draw, Random(s.Seed, "server"))
	}
	n, sorted := f.Data.Train.Len(), slices.Sorted(slices.Values(s.Rows))
	if len(sorted) == 0 || sorted[0] < 0 || sorted[len(sorted)-1] >= n || len(slices.Compact(sorted)) < len(s.Rows) {
		return nil, Invalid("Server.Rows", s.Rows, fmt.Sprintf("different rows in [0, %d), at least one", n))
	}
	return slices.Clone(s.Rows), nil
}

// serverOf returns the server's rows as a federation of one client, on the same data on the device.
func (f *Federation) serverOf(clients []partition.Client, devices []sim.Device) *Federation {
	g := &Federation{Data: f.Data, Rule: f.Rule, Clients: clients, Task: f.Task, Devices: devices, rule: f.rule, lazy: &lazyEngine{of: f.lazy, rows: clientdata.Train(clients)}}
	return g.sealed()
}

// TrainServer runs the job at the server, on the rows that it holds: with the same local solver, batches and optimizers as a client,
// whose number is 0, and whose Clients need not be set. It needs a federation made by WithServer.
//
// Nothing travels, and nobody is late. The steps are in Record.Server, and take their time on a simulated clock, for which clients
// wait. A model that is not finite is an error.
//
//	x = r.TrainServer(fedkit.Job{Start: x, Local: s.Server, Objective: …}).Models
func (r *Round) TrainServer(job Job) (u *Updates) {
	job.Clients = []int{0}
	if !r.in("train at the server", func() (err error) {
		r.calls++
		u, err = r.solveAtServer(&job)
		return err
	}) {
		return r.noUpdates(job)
	}
	return u
}

func (r *Round) solveAtServer(job *Job) (*Updates, error) {
	fed := r.Fed.Server
	switch {
	case fed == nil:
		return nil, Invalid("Federation.Server", "nil", "set by Federation.WithServer")
	case job.StayLocal || job.Communicated != nil || job.Down != 0 || job.Up != 0:
		return nil, Invalid("Job.StayLocal, Communicated, Down or Up", "set", "left out at the server, where nothing travels")
	case job.Objective == nil && len(clientdata.Labeled(&fed.Data.Train, fed.Clients[0].Train)) < len(fed.Clients[0].Train):
		return nil, Invalid("Job.Objective", "nil", "set at a server with rows without a label, which the task's loss cannot count")
	}
	if err := job.Local.refusedIn(atServer, "Job.Local"); err != nil {
		return nil, err
	}
	u, err := job.solve(r.ctx, fed, r.on, r.opts.Seed, r.T, r.calls, nil)
	if err != nil {
		return nil, err
	}
	s := u.Results[0]
	if drift := float64(s.Drift); drift-drift != 0 {
		return nil, fmt.Errorf("the server's model is %w; lower Local.LR", ErrNotFinite)
	}
	if r.quiet { // training in Serve is part of an evaluation
		return u, nil
	}
	done := ServerResult{Steps: s.Steps, Loss: s.Loss}
	if c := r.time(); c != nil {
		done.Seconds = Float(c.Train(fed.Devices[0], job.examples(fed, 0, s.Steps)))
	}
	if r.record.Server == nil {
		r.record.Server = &ServerResult{}
	}
	r.record.Server.Add(done)
	return u, nil
}
