// Package examples has algorithms that fedkit does not ship, written against its exported API only, as you would write your
// own. Each file is one algorithm: a struct with its options and its State, and its Round. Copy the one closest to your idea.
//
// What each of them shows:
//
//	FedNova   epochs per client, and normalized averaging
//	Straggling epochs per client that change from round to round
//	FedDyn    a Shift that the client keeps, without traffic
//	Ditto     a personal model (strategy.Personal): a job whose models stay local; ServeUnseen for unseen clients
//	PFedHN    a network at the server that makes each client's model, differentiated in a program
//	PFedMe    several jobs per round whose models stay local, each with its own Pull
//	FedFomo   losses on validation rows, by which each client chooses
//	APFL      two models per client, trained jointly in a custom model: Twin
//	Coins     a model that starts otherwise
//	Prepared  data that are changed before they are dealt
//	InTurn    clients that train one model, one after another
//	LoRA      a custom model: a frozen one, and matrices of low rank that are trained in its place
//	FFALoRA   the same with parts frozen
//	FlexLoRA  models that the server takes apart, in float64
//	FLoRA     models that travel by Send, and a frozen part that the server moves
//	QFedAvg   losses before training
//	Partial   layers that stay with the client: FedPer, LG-FedAvg, FedBN
//	MOON      an Objective that evaluates other models
//	FedLC     an Objective with data per client
//	FedEM     several models, losses and weights per example, and a mixture of predictions per client
//	FedProto  features of a layer, and an Objective that uses them
//	FedDF     training at the server, on numbers per example
//	Distill   an Objective with a teacher
//	Fed3R     features of frozen layers, and sums that each client sends once
//	FedCOF    means by class that each client sends once
//	PACFL     clusters of clients by their data, before training
//	FedGroup  clusters of clients by their first updates (strategy.Clustered), which newcomers join
//	CGPFL     clusters (strategy.Grouped) that clients join by their models, in every round
//	LCFed     the same in few dimensions, and layers that a Pull is for
//	HCFL      clusters by a part of the model, which share that part less and less
//	FedLAMA   norms and columns by layer, and layers that travel less often
//	HierFAVG  links between clients, edge servers and the cloud
//	DPSGD     links between clients, without a server
//	DPFedAvg  cohorts that vary in size, and noise
//	Sparse    a program with a parameter and two results
//	QSGD      random numbers for each client, in a program
package examples
