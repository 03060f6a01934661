// Package examples has algorithms that fedkit does not ship, written against its exported API alone, as you would write your
// own. Each file is one algorithm: a struct whose fields are its options and its State, and what it does in a round. Copy the
// one that is closest to your idea.
//
// What each of them shows:
//
//	FedNova  epochs by client, and an aggregation by steps taken
//	FedDyn   a Shift that the client keeps, so that it costs no traffic
//	Ditto    a personal model: a Private job; Welcome for clients that never took part
//	PFedMe   several Private jobs per round, each with a Pull elsewhere
//	APFL     two models of a client that train side by side, in a model of your own: Twin
//	QFedAvg  losses before training
//	Partial  layers that stay with the client: FedPer, LG-FedAvg
//	MOON     an Objective that looks at other models
//	FedLC    an Objective that knows something about each client
//	Distill  an Objective with a teacher
package examples
