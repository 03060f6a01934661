package datasets

import (
	"context"
	"fmt"
	"sync"
)

// MNIST returns the MNIST handwritten digits: 60,000 training and 10,000 test images of 10 classes, Shape
// [28 28 1], Bytes with Scale 1/255, so that a model sees [0, 1]. The rows are the official ones in the official order.
//
// The four official files (train-images-idx3-ubyte and so on, gzipped or not) are found as Loader describes: in
// $FEDKIT_CACHE/mnist, in $FEDKIT_DATA/mnist, or on a mirror, 11 MB once. If none has them, the error lists what was
// tried. A file that is not the official one, byte for byte, is an error too. Every call reads the files again, and the
// caller may change what it returns.
//
// Source: Y. LeCun, C. Cortes, C. J. C. Burges, The MNIST database of handwritten digits; Y. LeCun, L. Bottou,
// Y. Bengio, P. Haffner, Gradient-based learning applied to document recognition, Proceedings of the IEEE 86(11), 1998.
func MNIST() (*Dataset, error) {
	return new(Loader).MNIST(context.Background())
}

// MNISTOrDigits returns MNIST or, if its files are neither here nor can be downloaded, the smaller Digits, and says on standard
// output what was missing: for what should run anywhere. Name tells which it is. The files are read once per process: each call
// returns a new Dataset that shares the rows, which must not be written to.
func MNISTOrDigits() *Dataset {
	d := *mnistOrDigits()
	return &d
}

var mnistOrDigits = sync.OnceValue(func() *Dataset {
	d, err := MNIST()
	if err != nil {
		fmt.Println("MNIST is not here, and could not be downloaded: this run is on the small digits. Put its four files into a folder mnist, and set FEDKIT_DATA to the folder above it.")
		return Digits()
	}
	return d
})

// MNIST is the function MNIST with the loader's settings; ctx can stop a download.
func (l *Loader) MNIST(ctx context.Context) (*Dataset, error) {
	return l.load(ctx, mnist())
}

func mnist() *images {
	return &images{
		name:    "mnist",
		shape:   []int{28, 28, 1},
		classes: 10,
		mirrors: []string{
			"https://ossci-datasets.s3.amazonaws.com/mnist/",
			"https://storage.googleapis.com/cvdf-datasets/mnist/",
		},
		files: []idxFile{
			{name: "train-images-idx3-ubyte", dims: []int{60000, 28, 28},
				sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
			{name: "train-labels-idx1-ubyte", dims: []int{60000},
				sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
			{name: "t10k-images-idx3-ubyte", dims: []int{10000, 28, 28},
				sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
			{name: "t10k-labels-idx1-ubyte", dims: []int{10000},
				sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
		},
	}
}

// FashionMNIST returns Fashion-MNIST: 60,000 training and 10,000 test images of 10 kinds of clothes (T-shirt, trouser,
// pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot), Shape [28 28 1], Bytes with Scale 1/255, so that a
// model sees [0, 1]. The rows are the official ones in the official order.
//
// The four official files have the same names as MNIST's and are found as Loader describes, in the folder fashion-mnist.
// A download takes 31 MB. Checksums are published for the .gz files only, so the files must be exactly those.
//
// Source: H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
// algorithms, arXiv 1708.07747, 2017; MIT license.
func FashionMNIST() (*Dataset, error) {
	return new(Loader).FashionMNIST(context.Background())
}

// FashionMNIST is the function FashionMNIST with the loader's settings; ctx can stop a download.
func (l *Loader) FashionMNIST(ctx context.Context) (*Dataset, error) {
	return l.load(ctx, fashionMNIST())
}

// The SHA-256 are those that TensorFlow Datasets lists (url_checksums/fashion_mnist.txt); they belong to the files whose MD5
// the authors and torchvision list (8d4fb7e6c68d591d4c3dfef9ec88bf0d for the training images).
func fashionMNIST() *images {
	return &images{
		name:    "fashion-mnist",
		shape:   []int{28, 28, 1},
		classes: 10,
		mirrors: []string{
			"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
			"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
		},
		files: []idxFile{
			{name: "train-images-idx3-ubyte", dims: []int{60000, 28, 28},
				gz: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
			{name: "train-labels-idx1-ubyte", dims: []int{60000},
				gz: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
			{name: "t10k-images-idx3-ubyte", dims: []int{10000, 28, 28},
				gz: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
			{name: "t10k-labels-idx1-ubyte", dims: []int{10000},
				gz: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
		},
	}
}
