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

func ExampleGiven() {
	rule := partition.Given{
		{Train: []int{0, 1, 2}, Test: []int{0}},
		{Train: []int{2, 5}, Test: []int{3, 4}},
	}
	_, err := rule.Partition(datasets.Digits())
	fmt.Println(err)
	// Output: partition: train row 2 is held by clients 0 and 1
}
