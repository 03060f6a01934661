package datasets_test

import (
	"fmt"
	"os"
	"path/filepath"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"github.com/janpfeifer/must"
	"github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"
)

// inTemp returns the path of a file in a folder that is removed in the end.
func inTemp(name string) (path string, remove func()) {
	dir := must.M1(os.MkdirTemp("", ""))
	return filepath.Join(dir, name), func() { os.RemoveAll(dir) }
}

// A table, whose clinics become clients.
func ExampleCSV() {
	file, remove := inTemp("patients.csv")
	defer remove()
	must.M(os.WriteFile(file, []byte(`age,pressure,ill,clinic
54,130,no,Ulm
61,150,yes,Ulm
47,120,no,Bonn
70,160,yes,Bonn
`), 0o644))

	data := must.M1(datasets.CSV{File: file, Label: "ill", Owner: "clinic", Standardize: true, Share: 0.5}.Make())
	fmt.Println(data.Name, data.Shape, data.Classes, "classes")
	deal := must.M1(partition.Natural{}.Deal(data))
	for i, c := range deal.Clients {
		fmt.Println("client", i, "has", len(c.Train), "row to train on and", len(c.Test), "to test")
	}

	_, err := datasets.CSV{File: "/nowhere.csv"}.Make()
	fmt.Println(err)
	// Output:
	// patients [2] 2 classes
	// client 0 has 1 row to train on and 1 to test
	// client 1 has 1 row to train on and 1 to test
	// datasets: open /nowhere.csv: no such file or directory
}

// Arrays that numpy.save has written, or, as here, Go.
func ExampleNPY() {
	x, remove := inTemp("x.npy")
	defer remove()
	y := filepath.Join(filepath.Dir(x), "y.npy")
	save(x, mat.NewDense(10, 3, make([]float64, 30)))
	save(y, []int32{0, 1, 2, 0, 1, 2, 0, 1, 2, 0})

	data := must.M1(datasets.NPY{X: x, Y: y}.Make())
	fmt.Println(data.Name, data.Shape, data.Classes, "classes,", data.Train.Len(), "rows to train on,", data.Test.Len(), "to test")
	// Output: x [3] 3 classes, 8 rows to train on, 2 to test
}

func save(path string, array any) {
	file := must.M1(os.Create(path))
	must.M(npy.Write(file, array))
	must.M(file.Close())
}
