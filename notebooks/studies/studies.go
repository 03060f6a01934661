// Package studies has the studies of the notebooks' full parts. There is a file for each notebook.
package studies

import "fedkit.example/fedkit/study"

// All are the studies, by the names of their notebooks.
var All = []study.Named{
	{Name: "19_machines", Plan: Machines},
	{Name: "clusters", Plan: Clusters},
}
