package table_test

import (
	"fmt"

	"fedkit.example/fedkit/table"
)

func ExampleTable() {
	t := table.Table{
		Lines: [][]string{{"rule", "rounds", "accuracy"}, {"FedAvg", "100", "91.2 %"}, {"FedProx", "80", "92.0 %"}},
		Note:  "on test rows",
	}
	t.Show()
	// Output:
	// rule     rounds  accuracy
	// FedAvg      100    91.2 %
	// FedProx      80    92.0 %
	// on test rows
}

// A paper includes the table as it is, with the package booktabs.
func ExampleTable_LaTeX() {
	t := table.Table{Lines: [][]string{{"rule", "accuracy"}, {"FedProx, μ = 0.1", "91.2 ± 0.4 %"}}}
	fmt.Print(t.LaTeX())
	// Output:
	// \begin{tabular}{lr}
	// \toprule
	// rule & accuracy \\
	// \midrule
	// FedProx, $\mu$ = 0.1 & 91.2 $\pm$ 0.4~\% \\
	// \bottomrule
	// \end{tabular}
}
