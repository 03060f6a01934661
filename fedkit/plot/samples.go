package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"fedkit.example/datasets"
	"fedkit.example/datasets/partition"
	"fedkit.example/fedkit"
	"fedkit.example/fedkit/chart"
)

// What Samples shows at most.
const (
	maxSamples = 30 // images in a row
	maxGroups  = 10 // rows
)

// Samples returns the figure of training images as the clients have them; Show draws it. It has a row for each true
// group of clients, n images in it, 1 to 30. A column is a label, 0 first, and again from 0 if n is larger than the
// number of labels, so that what differs from row to row is how the groups see it. A place stays empty if a group has no
// (other) image of that label. From left to right the images come from the group's first client to its last, as far as
// these hold the label.
//
// Black is 0, or the split's Shift if that is negative, and white is 1; if Scale is 1 or more they are the bytes 0 and
// 255, and for images that are not bytes the least and the greatest value shown. At most the first 10 groups are drawn,
// and fewer images, in fewer shades, if more would make a notebook heavy; the note says so.
//
// Errors: no federation, no data, no clients, data that are not images (Shape [h w], [h w 1] or [h w 3]), n out of range,
// a row that the data set does not have.
func Samples(fed *fedkit.Federation, n int) *chart.Figure {
	return chart.Make("plot: samples", func(f *chart.Figure) error {
		if err := images(fed, n); err != nil {
			return err
		}
		groups := slices.Compact(slices.Sorted(slices.Values(partition.Groups(fed.Clients))))
		rows := groups[:min(len(groups), maxGroups)]
		shown := album(f, fed, rows, n)
		f.Alt = fmt.Sprintf("%s of %s", plural(len(f.Series[0].X), "image"), plural(len(rows), "group"))
		noteFirst(f, shown, n, "")
		noteFirst(f, len(rows), len(groups), " groups")
		return nil
	})
}

// album makes f the figure of the samples, with as many images and shades as fit into a notebook, and returns how many
// images are in a row.
func album(f *chart.Figure, fed *fedkit.Federation, groups []int, n int) (shown int) {
	for shown = n; ; shown = (shown + 1) / 2 {
		var all []example
		for place, g := range groups {
			all = append(all, samplesOf(fed, g, shown, len(groups)-1-place)...) // the first row on top
		}
		for _, levels := range []int{256, 16, 8, 4} {
			if *f = page(fed, all, groups, shown, levels); f.Fits() || shown == 1 {
				return shown
			}
		}
	}
}

// images reports why no images of the federation can be drawn.
func images(fed *fedkit.Federation, n int) error {
	if err := holds(fed); err != nil {
		return err
	}
	if n < 1 || n > maxSamples {
		return fmt.Errorf("n = %d: must be in [1, %d]", n, maxSamples)
	}
	if s := fed.Data.Shape; len(s) < 2 || len(s) > 3 || len(s) == 3 && s[2] != 1 && s[2] != 3 {
		return fmt.Errorf("data set %q has examples of shape %v: images are [h w], [h w 1] or [h w 3]", fed.Data.Name, s)
	}
	return fed.Data.Check()
}

// example is a training row and its place in the figure.
type example struct{ client, row, x, y int }

// samplesOf chooses up to n images of a group's clients: the labels in turn, from the first client to the last.
func samplesOf(fed *fedkit.Federation, group, n, y int) (chosen []example) {
	var members []int
	for i, c := range fed.Clients {
		if c.Group == group {
			members = append(members, i)
		}
	}
	labels, used := fed.Data.Train.Labels, map[int]bool{}
	find := func(x int) (client, row int) {
		for step := range members {
			c := members[(x*len(members)/n+step)%len(members)]
			for _, row := range fed.Clients[c].Train {
				if !used[row] && (!fed.Data.Labeled() || int(labels[row]) == x%fed.Data.Classes) {
					return c, row
				}
			}
		}
		return 0, -1
	}
	for x := range n {
		if client, row := find(x); row >= 0 {
			used[row] = true
			chosen = append(chosen, example{client, row, x, y})
		}
	}
	return chosen
}

// page is the figure of the samples, in this many shades of each color.
func page(fed *fedkit.Federation, all []example, groups []int, n, levels int) (f chart.Figure) {
	side := max(24, min(48, 900/n))
	f.Name, f.Title, f.Point = "samples", "Samples of the clients' training images", "image"
	f.Note = dealt(fed, "a row is a group")
	f.X.Names = make([]string, n)
	f.Width, f.Height = side*n, side*len(groups)
	if fed.Data.Labeled() {
		f.X.Title = "label"
		for x := range n {
			f.X.Names[x] = fmt.Sprint(x % fed.Data.Classes)
		}
	}
	f.Y.Names = each(backward(groups), groupName)
	s := chart.Series{Name: "samples", Mark: chart.Images}
	lo, hi := brightness(&fed.Data.Train, all)
	for _, p := range all {
		s.X, s.Y = append(s.X, float64(p.x)), append(s.Y, float64(p.y))
		s.Images = append(s.Images, pixels(fed.Data, p.row, lo, hi, levels))
		tip := fmt.Sprintf("row %d, client %d", p.row, p.client)
		if fed.Data.Labeled() {
			tip += fmt.Sprintf(", label %d", fed.Data.Train.Labels[p.row])
		}
		s.Tip = append(s.Tip, tip)
	}
	f.Series = []chart.Series{s}
	return f
}

// brightness returns the values that are black and white.
func brightness(s *datasets.Split, shown []example) (lo, hi float32) {
	if s.Bytes != nil {
		if s.Scale >= 1 {
			return s.Shift, 255*s.Scale + s.Shift
		}
		return min(0, s.Shift), 1
	}
	lo, hi = float32(math.Inf(1)), float32(math.Inf(-1))
	for _, p := range shown {
		row := s.Row(p.row, nil)
		lo, hi = min(lo, slices.Min(row)), max(hi, slices.Max(row))
	}
	return lo, hi
}

// pixels returns a training row as an image with this many shades of each color.
func pixels(d *datasets.Dataset, row int, lo, hi float32, levels int) image.Image {
	h, w, channels := d.Shape[0], d.Shape[1], d.Features()/(d.Shape[0]*d.Shape[1])
	values := d.Train.Row(row, nil)
	shade := func(i int) uint8 {
		share := float64(values[i]-lo) / max(float64(hi-lo), math.SmallestNonzeroFloat64)
		step := math.Round(max(0, min(1, share)) * float64(levels-1))
		return uint8(math.Round(255 * step / float64(levels-1)))
	}
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i := range h * w {
		at := i * channels
		img.SetRGBA(i%w, i/w, color.RGBA{shade(at), shade(at + channels/2), shade(at + channels - 1), 0xff})
	}
	return img
}
