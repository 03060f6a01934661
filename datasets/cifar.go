package datasets

import (
	"fmt"
	"slices"
)

const cifarPixels = 32 * 32

// cifar reads CIFAR-10 and CIFAR-100 in their binary form. A record has one label, or that of one of so many superclasses and the fine one,
// and then the red, green and blue plane. The last file has the test images. As in the official files, all classes must have the same
// number of images.
func cifar(superclasses int) func(p *published, files [][]byte) (*Dataset, error) {
	return func(p *published, files [][]byte) (*Dataset, error) {
		head := 1 + min(1, superclasses)
		row, last := head+3*cifarPixels, len(files)-1
		d := &Dataset{Name: p.name, Classes: p.classes}
		for s, n := range map[*Split]int{&d.Train: last * len(files[0]) / row, &d.Test: len(files[last]) / row} {
			*s = Split{Bytes: make([]uint8, n*3*cifarPixels), Scale: 1 / 127.5, Shift: -1, Labels: make([]int32, n)}
		}
		if err := parallel(len(files), func(i int) error {
			s, n := &d.Train, len(files[i])/row
			from := i * n
			if i == last {
				s, from = &d.Test, 0
			}
			if err := cifarImages(files[i], p.classes, superclasses, s.Bytes[from*3*cifarPixels:], s.Labels[from:from+n]); err != nil {
				return fmt.Errorf("%s %w", p.files[i].name, err)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if superclasses > 0 {
			d.Coarse = slices.Repeat([]int{-1}, p.classes)
			for record := range slices.Chunk(slices.Concat(files...), row) {
				of, now := &d.Coarse[record[1]], int(record[0])
				if *of >= 0 && *of != now {
					return nil, fmt.Errorf("there are images of class %d in the superclasses %d and %d: must be in one", record[1], *of, now)
				}
				*of = now
			}
		}
		return d, balanced(d)
	}
}

// cifarImages writes the pixels of records, [3, 32, 32] each, as [32, 32, 3], and their labels.
func cifarImages(records []byte, classes, superclasses int, pixels []uint8, labels []int32) error {
	head := 1 + min(1, superclasses)
	for i := range labels {
		record := records[i*(head+3*cifarPixels):]
		if int(record[head-1]) >= classes {
			return fmt.Errorf("has label %d at image %d: must be below %d", record[head-1], i, classes)
		}
		if head > 1 && int(record[0]) >= superclasses {
			return fmt.Errorf("has coarse label %d at image %d: must be below %d", record[0], i, superclasses)
		}
		labels[i] = int32(record[head-1])
		red, green, blue := record[head:head+cifarPixels], record[head+cifarPixels:head+2*cifarPixels], record[head+2*cifarPixels:head+3*cifarPixels]
		to := pixels[i*3*cifarPixels : (i+1)*3*cifarPixels]
		for p := range cifarPixels {
			q := to[3*p : 3*p+3 : 3*p+3]
			q[0], q[1], q[2] = red[p], green[p], blue[p]
		}
	}
	return nil
}

// balanced checks that all classes have the same number of images, as in the official files.
func balanced(d *Dataset) error {
	for part, s := range []*Split{&d.Train, &d.Test} {
		counts := make([]int, d.Classes)
		for _, l := range s.Labels {
			counts[l]++
		}
		for class, n := range counts {
			if want := s.Len() / d.Classes; n != want {
				return fmt.Errorf("there are %d %s images of class %d: must be %d", n, []string{"training", "test"}[part], class, want)
			}
		}
	}
	return nil
}
