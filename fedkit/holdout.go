package fedkit

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"

	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit/internal/clientdata"
)

// UnseenServer is a strategy that serves unseen clients in its own way. By default, an unseen client gets the global model or, if
// there are several models, the one with the lowest loss on its own training examples. Of an Ensemble it gets the mixture that
// ten steps of cluster.Responsibilities fit to its training examples, from equal weights.
type UnseenServer interface {
	Strategy
	// ServeUnseen is Serve for unseen clients. r is a round of their own federation: they may train in it, and nothing of it is
	// recorded. State must not change.
	ServeUnseen(r *Round) Serving
}

// HoldOut returns the federation without n hold-out clients. They are in its field Unseen, and every evaluation scores each under
// the model it is served: see UnseenServer and Record.Unseen. The seed draws them, stratified by true group. The remaining
// clients are renumbered in order.
//
// Errors: n < 1, or so large that some true group would lose all its clients; a federation that already has unseen clients or
// interceptors.
func (f *Federation) HoldOut(n int, seed uint64) (_ *Federation, err error) {
	defer within("hold out: ", &err)
	if err := f.made(); err != nil {
		return nil, err
	}
	if f.Unseen != nil || f.interceptors != nil {
		return nil, Invalid("federation", f.Rule, "one without clients held out, attacks and other interceptors: they come after HoldOut")
	}
	out, err := clientdata.HoldOut(f.Clients, n, func(group int) *rand.Rand { return Random(seed, "hold out", group) })
	if err != nil {
		return nil, err
	}
	seen, unseen := *f, *f
	seen.Clients, unseen.Clients, seen.number, seen.Devices, unseen.Devices = nil, nil, nil, nil, nil
	for i, c := range f.Clients {
		in := &seen
		if out[i] {
			in = &unseen
		}
		in.Clients, in.number = append(in.Clients, c), append(in.number, i)
		if f.Devices != nil {
			in.Devices = append(in.Devices, f.Devices[i])
		}
	}
	clients := "clients"
	if n == 1 {
		clients = "client"
	}
	seen.Rule = fmt.Sprintf("%s; %d %s held out, seed %d", f.Rule, n, clients, seed)
	unseen.Rule = fmt.Sprintf("%s; the %d %s held out, seed %d", f.Rule, n, clients, seed)
	seen.Unseen = unseen.sealed()
	return seen.sealed(), nil
}

// sealed sets what is kept of the federation as it was made.
func (f *Federation) sealed() *Federation {
	f.manifest, f.origin = f.manifestOf(), clientdata.OriginOf(f.Data, f.Clients, f.Task)
	return f
}

// manifestOf returns the memoized manifest of the federation's data. The clients' hash covers the unseen ones and the server's rows too.
func (f *Federation) manifestOf() func() partition.Manifest {
	data, clients, rule, more := f.Data, f.Clients, f.rule, map[string]*Federation{" unseen ": f.Unseen, " server ": f.Server}
	return sync.OnceValue(func() partition.Manifest {
		m := (&partition.Partitioned{Data: data, Clients: clients}).Manifest(rule)
		for _, what := range []string{" unseen ", " server "} {
			if fed := more[what]; fed != nil {
				also := (&partition.Partitioned{Data: data, Clients: fed.Clients}).Manifest(rule)
				m.Clients = fmt.Sprintf("%x", sha256.Sum256([]byte(m.Clients+what+also.Clients)))
			}
		}
		return m
	})
}

// numbers maps clients to their numbers in the engine.
func (f *Federation) numbers(clients []int) []int {
	if f.number == nil {
		return clients
	}
	n := make([]int, len(clients))
	for i, c := range clients {
		n[i] = f.number[c]
	}
	return n
}
