package datasets

import "context"

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
func FEMNIST() (*Dataset, error) {
	return new(Loader).FEMNIST(context.Background())
}

// FEMNIST is the function FEMNIST with the loader's settings; ctx can stop the reading between two files.
func (l *Loader) FEMNIST(ctx context.Context) (*Dataset, error) {
	d := &Dataset{Name: "femnist", Shape: []int{28, 28, 1}, Classes: 62, Train: Split{Scale: 1.0 / 255}, Test: Split{Scale: 1.0 / 255}}
	return loadLEAF(ctx, l, d, "FEMNIST", leafImages(d.Features(), d.Classes))
}
