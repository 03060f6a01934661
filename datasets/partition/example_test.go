package partition_test

import (
	"fmt"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
)

func ExampleDirichlet() {
	rule := partition.Dirichlet{Clients: 5, Alpha: 0.3, Seed: 1}
	deal, err := rule.Partition(datasets.Digits())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	for i, labels := range partition.Labels(deal.Data, deal.Clients) {
		fmt.Printf("client %d: %4d rows to train on, %3d to test; labels %3d\n",
			i, len(deal.Clients[i].Train), len(deal.Clients[i].Test), labels)
	}
	// Output:
	// 5 clients, Dirichlet α = 0.3, seed 1
	// client 0:  201 rows to train on,  50 to test; labels [ 18   5   2  19  13   1   3 139   1   0]
	// client 1:  609 rows to train on, 153 to test; labels [ 39  94  37  25 128 138 142   3   1   2]
	// client 2:  264 rows to train on,  66 to test; labels [  0  42   2  88   0   3   0   0 100  29]
	// client 3:  285 rows to train on,  71 to test; labels [ 70   0  98   4   1   4   0   1  36  71]
	// client 4:   79 rows to train on,  19 to test; labels [ 16   4   3  10   3   0   0   0   1  42]
}

// The digits have no superclasses of their own: here the even and the odd ones.
func ExamplePachinko() {
	d := datasets.Digits()
	d.Coarse = []int{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}
	rule := partition.Pachinko{Clients: 4, PerClient: 100, Seed: 1}
	deal, err := rule.Partition(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rule)
	for i, labels := range partition.Labels(deal.Data, deal.Clients) {
		fmt.Printf("client %d: %d rows to test; labels %2d\n", i, len(deal.Clients[i].Test), labels)
	}
	// Output:
	// 4 clients, Pachinko α = 0.1, β = 10, 100 rows each, seed 1
	// client 0: 61 rows to test; labels [14  0 17  0 20  0 15  0 34  0]
	// client 1: 164 rows to test; labels [ 0 25  0 21  0 17  0 18  0 19]
	// client 2: 61 rows to test; labels [11  0 14  0 27  0 34  0 14  0]
	// client 3: 73 rows to test; labels [21  2 18  6 10  1 14  3 25  0]
}

func ExampleGiven() {
	rule := partition.Given{
		{Train: []int{0, 1, 2}, Test: []int{0}},
		{Train: []int{2, 5}, Test: []int{3, 4}},
	}
	_, err := rule.Partition(datasets.Digits())
	fmt.Println(err)
	// Output: partition: train row 2 is held by clients 0 and 1
}
