// Package partition deals a data set out to clients. Heterogeneity is the subject of federated learning, so a rule
// says in one literal which kind is meant, and gives the same clients to everyone who uses the same seed.
//
//	labels     Dirichlet, Shards, Classes
//	sizes      Quantity; Dirichlet too
//	features   Rotations, Noise, Intensity
//	concept    Relabel: the same picture, another label
//	as found   Natural; Given, by hand; IID has none
//
// Rules compose: Quantity, Rotations, Noise, Intensity and Relabel change what the rule in their field Of deals out,
// in any order.
//
//	partition.Rotations{Of: partition.Quantity{Of: partition.Dirichlet{Clients: 40, Alpha: 0.5}, Power: 1}}
package partition

import "fedkit.example/datasets"

// A Rule deals a data set out to clients. Official training and test rows are never mixed: a client's test rows come
// from the test part, by the same rule as its training rows.
type Rule interface {
	// Deal returns the clients. The same rule (with the same Seed) gives the same clients every time.
	Deal(d *datasets.Dataset) (*Deal, error)
	// String describes the rule in a few words: "20 clients, Dirichlet α = 0.5".
	String() string
}

// Deal is what a rule hands out: the data set whose rows are meant (most rules return the one they were given; one
// that rotates pictures returns a new one), and who holds which rows.
type Deal struct {
	Data    *datasets.Dataset
	Clients []Client
}

// Client lists what one client holds: row indices into the training and into the test part, each row held once by one
// client. Group is the true group where the rule knows one (the rotation, say), 0 otherwise; where rules inside one
// another each make groups, it is the product of them.
type Client struct {
	Train, Test []int
	Group       int
}
