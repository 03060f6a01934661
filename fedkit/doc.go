// Package fedkit is a toolkit for federated-learning research: a federation of clients that hold their own data, the
// algorithms that learn across them, and a history of each run, round by round.
//
// The one idea: a federated round is local solves, then mixing. Choose clients; give each a start and a local objective;
// solve; mix the returned rows into new models. Models are rows of a Matrix [k, d] on the device, and so are the clients' results,
// U [n, d]. Federated averaging is one row of weights times U; clustered algorithms multiply U by a matrix with one row per
// cluster. Personalized models are mixtures of models, one per client.
//
//	fed, err := fedkit.New(datasets.Digits(), partition.Dirichlet{Clients: 20, Alpha: 0.5}, model.MLP(64))
//	h, err := fedkit.Run(ctx, fed, &strategy.FedAvg{Local: fedkit.Local{Batch: 16, LR: 0.1}}, fedkit.Options{Rounds: 30})
//	fmt.Println(h)
//
// A Federation is data, a partition.Rule that partitions it, and a Model. A Strategy is an algorithm; package strategy
// has one per file. Run runs its rounds and returns a History; Rounds does the same in your own loop. An algorithm is
// written against Round: Select, Train, Losses, and the operations of Matrix.
//
// Local training is compiled by XLA: all local steps of many clients are one execution. Each program is compiled once per process.
// The same seed gives the same bytes, for any number of workers, and after a resume too.
package fedkit
