package parquet_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/janpfeifer/must"
	pq "github.com/parquet-go/parquet-go"

	"fedkit.example/datasets/parquet"
)

// A table with a list of numbers in each row, whose clinics can become clients.
func ExampleTable() {
	type patient struct {
		Pulse  []float32 `parquet:"pulse,list"`
		Age    int32     `parquet:"age"`
		Clinic string    `parquet:"clinic"`
		Ill    bool      `parquet:"ill"`
	}
	dir := must.M1(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "patients.parquet")
	must.M(pq.WriteFile(file, []patient{
		{[]float32{60, 63, 61}, 54, "Ulm", false}, {[]float32{80, 95, 90}, 61, "Ulm", true},
		{[]float32{71, 70, 70}, 47, "Bonn", false}, {[]float32{90, 99, 84}, 70, "Bonn", true},
	}))

	data := must.M1(parquet.Table{File: file, Label: "ill", Owner: "clinic", Standardize: true, Share: 0.5}.Make())
	fmt.Println(data.Name, data.Shape, data.Classes, "classes,", data.Train.Len(), "rows to train on,", data.Test.Len(), "to test")

	_, err := parquet.Table{File: "/nowhere.parquet"}.Make()
	fmt.Println(err)
	// Output:
	// patients [4] 2 classes, 2 rows to train on, 2 to test
	// datasets: open /nowhere.parquet: no such file or directory
}
