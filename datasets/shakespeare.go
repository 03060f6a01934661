package datasets

import (
	"context"
	"fmt"
)

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
func Shakespeare() (*Dataset, error) {
	return new(Loader).Shakespeare(context.Background())
}

// Shakespeare is the function Shakespeare with the loader's settings; ctx can stop the reading between two files.
func (l *Loader) Shakespeare(ctx context.Context) (*Dataset, error) {
	d := &Dataset{Name: "shakespeare", Shape: []int{window}, Classes: len(Characters), Train: Split{Scale: 1}, Test: Split{Scale: 1}}
	return loadLEAF(ctx, l, d, "Shakespeare", leafCharacters())
}

// leafCharacters are strings of 80 characters, with one character as the label.
func leafCharacters() leafForm[text, text] {
	return leafForm[text, text]{"text", func(w *writer, x text) error {
		chars, err := known(string(x), window)
		w.bytes = append(w.bytes, chars...)
		return err
	}, func(w *writer, y text) error {
		label, err := known(string(y), 1)
		if err != nil {
			return fmt.Errorf("label %s %w", quoted(string(y)), err)
		}
		w.labels = append(w.labels, int32(label[0]))
		return nil
	}}
}
