package datasets_test

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"github.com/janpfeifer/must"
	"github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"
)

func ExampleDigits() {
	d := datasets.Digits()
	fmt.Println(d.Name, d.Shape, d.Classes, "classes")
	fmt.Println(d.Train.Len(), "rows to train on,", d.Test.Len(), "to test")

	fmt.Println("a", d.Train.Labels[0])
	image := d.Train.Row(0, nil)
	for y := range 8 {
		for x := range 8 {
			fmt.Print([]string{".", "+", "#"}[int(2*image[8*y+x])])
		}
		fmt.Println()
	}
	// Output:
	// digits [8 8 1] 10 classes
	// 1438 rows to train on, 359 to test
	// a 0
	// ...++...
	// ..++++..
	// ..+..++.
	// ..+..++.
	// ..+..++.
	// ..+..+..
	// ..+.++..
	// ...++...
}

func ExampleSynthetic() {
	d, err := datasets.Synthetic{Alpha: 1, Beta: 1}.Make()
	if err != nil {
		panic(err)
	}
	owners := map[int32]bool{}
	for _, o := range d.Train.Owner {
		owners[o] = true
	}
	fmt.Println(d.Name, d.Shape, d.Classes, "classes,", len(owners), "clients")
	// Output: synthetic(1, 1) [60] 10 classes, 30 clients
}

func ExampleGaussianMixture() {
	d, err := datasets.GaussianMixture{Groups: 2, Clients: 6, Permute: true}.Make()
	if err != nil {
		panic(err)
	}
	fmt.Println(d.Name, d.Train.Len(), d.Test.Len())
	fmt.Println("client 3 is of group", d.Groups[3])
	// Output:
	// mixture of 2 groups 600 150
	// client 3 is of group 1
}

func ExampleLogistic() {
	d := must.M1(datasets.Logistic{Features: 3, Classes: 3}.Make())
	fmt.Println(d.Name, d.Shape, d.Classes, "classes")
	// Output: logistic [3] 3 classes
}

// A loader that looks in one folder and never downloads.
func ExampleLoader() {
	l := datasets.Loader{Cache: "/nowhere", Data: "/nowhere", Offline: true}
	_, err := l.Make(context.Background(), "cifar-10")
	fmt.Println(err)
	// Output:
	// datasets: cifar-10: no cifar-10-binary.tar.gz (nor data_batch_1.bin):
	// 	/nowhere/cifar-10: not found
	// 	/nowhere/cifar-10: not found
	// 	download: not allowed (Offline)
	// put the files into one of these folders, or set FEDKIT_DATA to a folder with them in its subfolder cifar-10
}

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
	deal := must.M1(partition.Natural{}.Partition(data))
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

// A folder of each class, with images of its examples; all are scaled to one size.
func ExampleImageFolder() {
	dir, remove := inTemp("weather")
	defer remove()
	for name, shade := range map[string]uint8{"sun/1": 250, "sun/2": 230, "rain/1": 60, "rain/2": 90} {
		m := image.NewGray(image.Rect(0, 0, 40, 30))
		draw.Draw(m, m.Rect, image.NewUniform(color.Gray{Y: shade}), image.Point{}, draw.Src)
		path := filepath.Join(dir, name+".png")
		must.M(os.MkdirAll(filepath.Dir(path), 0o755))
		file := must.M1(os.Create(path))
		must.M(png.Encode(file, m))
		must.M(file.Close())
	}

	data := must.M1(datasets.ImageFolder{Dir: dir, Size: []int{3, 4}, Share: 0.5}.Make())
	fmt.Println(data.Name, data.Shape, data.Classes, "classes,", data.Train.Len(), "images to train on,", data.Test.Len(), "to test")
	// Output: weather [3 4 1] 2 classes, 2 images to train on, 2 to test
}

// Rows that a program has got from elsewhere, such as a database.
func ExampleTable() {
	data := must.M1(datasets.Table{Name: "patients", Standardize: true, Share: 0.5, Train: datasets.Rows{
		Features: []float32{54, 130, 61, 150, 47, 120, 70, 160},
		Labels:   []string{"no", "yes", "no", "yes"},
		Owners:   []string{"Ulm", "Ulm", "Bonn", "Bonn"},
	}}.Make())
	fmt.Println(data.Name, data.Shape, data.Classes, "classes,", data.Train.Len(), "rows to train on,", data.Test.Len(), "to test")

	_, err := datasets.Table{Train: datasets.Rows{Features: []float32{1, 2, 3}, Labels: []string{"a", "b"}}}.Make()
	fmt.Println(err)
	// Output:
	// patients [2] 2 classes, 2 rows to train on, 2 to test
	// datasets: Table: 3 features of 2 rows: must be equally many of each, and at least one row
}

func save(path string, array any) {
	file := must.M1(os.Create(path))
	must.M(npy.Write(file, array))
	must.M(file.Close())
}
