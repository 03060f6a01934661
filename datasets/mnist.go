package datasets

import "context"

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
