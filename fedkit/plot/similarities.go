package plot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"fedkit.example/fedkit/chart"
	"fedkit.example/fedkit/cluster"
	"fedkit.example/fedkit/table"
)

// maxRows is how many clients a figure of pairs shows.
const maxRows = 200

// Similarities returns the figure of the cosine similarity of each pair of clients, blue if it is positive and red if it is negative,
// the paler the nearer to 0; Show draws it. The scale begins at −1, or at 0.9, 0.99, … if all cosines
// are larger. The cosine with a point of length 0 is 0. The diagonal has the shade of the largest cosine beside it.
// Points whose squared lengths are 1 have their inner products as cosines, so a matrix of similarities is drawn as
// cluster.FromGram(s).
//
// Clients are in the order of their clusters, labels [n], and inside a cluster in that of a tree of average linkage. Lines
// are borders of clusters. Without labels the order is the tree's alone. True groups [n], if given, are a strip at the
// right. At most 200 clients are drawn, evenly spread over that order.
//
// Errors: no points, points that are not finite, numbers of labels or true groups that do not go with them.
func Similarities(p *cluster.Points, labels []int, truth ...int) *chart.Figure {
	return chart.Make("plot: similarities", func(f *chart.Figure) error {
		cos, err := cosines(p)
		if err != nil {
			return err
		}
		if err := checkGroups(p.Len(), labels, truth); err != nil {
			return err
		}
		order, err := alikeOrder(cos, labels)
		if err != nil {
			return err
		}
		drawSimilarities(f, cos, order, labels, truth)
		return nil
	})
}

// SimilaritiesOver returns Similarities of several rounds, in rising order, with a slider from one to the next; Show draws it. The last
// round is seen first, and gives clients their order in all of them, and the names of the clusters between the lines.
//
// Errors: those of Similarities, rounds that do not rise, numbers of points that differ.
func SimilaritiesOver(moments []Moment, truth ...int) *chart.Figure {
	return chart.Make("plot: similarities over rounds", func(f *chart.Figure) error {
		labels, at, err := follow(moments, truth)
		if err != nil {
			return err
		}
		var order []int
		row, last := make(chart.Row, len(moments)), labels[len(labels)-1]
		for i, m := range slices.Backward(moments) {
			cos, err := cosines(m.Points)
			if err != nil {
				return fmt.Errorf("round %d: %w", m.Round, err)
			}
			if order == nil {
				if order, err = alikeOrder(cos, last); err != nil {
					return err
				}
			}
			row[i] = new(chart.Figure)
			drawSimilarities(row[i], cos, order, last, truth)
			row[i].Title = fmt.Sprintf("Cosine of each pair of clients, round %d", m.Round)
		}
		*f = *row.Slider("round", at...)
		return nil
	})
}

// drawSimilarities draws them with the clients in this order.
func drawSimilarities(f *chart.Figure, cos *mat.SymDense, order, labels, truth []int) {
	shown := chart.Thin(order, maxRows)
	f.Name, f.Title, f.Point, f.Legend = "similarities", "Cosine of each pair of clients", "clients", true
	s, values := cells(cos, shown)
	s.Of, s.Values, s.Covers = "cosine", values, []float64{least(values), 1}
	f.Series = []chart.Series{s}
	nameAxes(f, shown, labels)
	drawBorders(f, shown, labels)
	f.Alt = within(cos, truth)
	if len(truth) == 0 {
		f.Alt = within(cos, labels)
	}
	if len(truth) > 0 {
		drawStrip(f, shown, truth)
		note(f, "strip: true group")
	}
	side := max(2, 420/len(shown)) // whole pixels, so that no seams show
	f.Width, f.Height = side*len(f.X.Names), side*len(shown)
	if len(shown) < len(order) {
		note(f, "%d of %d clients", len(shown), len(order))
	}
}

// within says in words how alike clients of one group and of different ones are, or any two without groups.
func within(cos *mat.SymDense, groups []int) string {
	var sum, n [2]float64 // of pairs within groups, and of all others
	for i := range cos.SymmetricDim() {
		for j := range i {
			k := 1
			if len(groups) == 0 || of(groups, i) >= 0 && of(groups, i) == of(groups, j) {
				k = 0
			}
			sum[k], n[k] = sum[k]+cos.At(i, j), n[k]+1
		}
	}
	says := plural(cos.SymmetricDim(), "client")
	for k, where := range []string{"within groups", "between them"} {
		if len(groups) == 0 {
			where = "of two"
		}
		if n[k] > 0 {
			says += fmt.Sprintf(", mean cosine %s ", where) + table.Minus(fmt.Sprintf("%.3g", sum[k]/n[k]))
		}
	}
	return says
}

// cosines returns the cosines of all pairs of points.
func cosines(p *cluster.Points) (*mat.SymDense, error) {
	gram, err := inner(p, (*cluster.Points).Gram)
	if err != nil {
		return nil, err
	}
	n := p.Len()
	cos := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			if lengths := math.Sqrt(max(0, gram.At(i, i))) * math.Sqrt(max(0, gram.At(j, j))); lengths > 0 {
				cos.SetSym(i, j, max(-1, min(1, gram.At(i, j)/lengths)))
			}
		}
	}
	return cos, nil
}

// inner returns the inner products of points, about an origin, if there are points and these are finite.
func inner(p *cluster.Points, about func(*cluster.Points) *mat.SymDense) (*mat.SymDense, error) {
	if p == nil || p.Len() < 1 {
		return nil, errors.New("no points given")
	}
	gram := about(p)
	for i := range p.Len() {
		for j := range i + 1 {
			if !finite(gram.At(i, j)) {
				return nil, fmt.Errorf("the inner product of points %d and %d is %g: must be finite", j, i, gram.At(i, j))
			}
		}
	}
	return gram, nil
}

// alikeOrder returns the clients in an order that puts similar ones next to each other, cluster by cluster.
func alikeOrder(cos *mat.SymDense, labels []int) ([]int, error) {
	n := cos.SymmetricDim()
	apart := cluster.NewCondensed(n)
	for i := range n {
		for j := range i {
			apart.Set(i, j, 1-cos.At(i, j))
		}
	}
	tree, err := cluster.Link(cluster.FromDistances(apart), cluster.Average)
	if err != nil {
		return nil, err
	}
	order := leaves(tree, 0)
	slices.SortStableFunc(order, func(i, j int) int { // clients without a cluster come last
		return int(uint32(of(labels, i))) - int(uint32(of(labels, j)))
	})
	return order, nil
}

// cells returns a cell for each pair of clients, the first client on top, and its shade's value. The diagonal has the
// largest value beside it, so that the 1 there does not stretch the scale.
func cells(cos *mat.SymDense, order []int) (s chart.Series, values []float64) {
	s.Mark = chart.Cells
	most := math.Inf(-1)
	for a, i := range order {
		for _, j := range order[:a] {
			most = max(most, cos.At(i, j))
		}
	}
	for a, i := range order {
		for b, j := range order {
			x, y := float64(b)-0.5, float64(len(order)-a)-1.5
			s.Cell(x, x+1, y, y+1, fmt.Sprintf("%d and %d: %s", i, j, table.Minus(fmt.Sprintf("%.3g", cos.At(i, j)))))
			v := cos.At(i, j)
			if i == j && len(order) > 1 {
				v = most
			}
			values = append(values, v)
		}
	}
	return s, values
}

// least returns where the scale of cosines begins: at −1, or at 0.9, 0.99, … if all of them are larger.
func least(cosines []float64) float64 {
	lo := slices.Min(cosines)
	if lo < 0.9 {
		return -1 // figures side by side mostly have this scale
	}
	return 1 - math.Pow(10, -min(6, math.Floor(-math.Log10(max(1e-9, 1-lo)))))
}

// nameAxes names the rows by client, and the columns by cluster, in the middle of each, or by client too.
func nameAxes(f *chart.Figure, order, labels []int) {
	f.X.Title, f.Y.Title = "client", "client"
	f.X.Names, f.Y.Names = each(order, strconv.Itoa), each(backward(order), strconv.Itoa)
	if len(labels) == 0 {
		return
	}
	f.X.Title = "cluster"
	clear(f.X.Names)
	from := 0
	for to := range order {
		if l := of(labels, order[to]); to+1 == len(order) || of(labels, order[to+1]) != l {
			if l >= 0 {
				f.X.Names[(from+to)/2] = fmt.Sprint(l)
			}
			from = to + 1
		}
	}
}

// drawBorders adds lines between clusters.
func drawBorders(f *chart.Figure, order, labels []int) {
	s, n := chart.Series{Name: "border", Mark: chart.Segments, Ink: true}, float64(len(order))
	for i := 1; i < len(order); i++ {
		if at := float64(i); of(labels, order[i]) != of(labels, order[i-1]) {
			s.Cell(at-0.5, at-0.5, -0.5, n-0.5)
			s.Cell(-0.5, n-0.5, n-at-0.5, n-at-0.5)
		}
	}
	f.Series = append(f.Series, s)
}

// drawStrip adds a strip of the clients' true groups at the right.
func drawStrip(f *chart.Figure, order, truth []int) {
	n := len(order)
	wide := max(1, n/20)
	f.X.Names = append(f.X.Names, make([]string, 1+wide)...)
	for _, g := range distinct(truth) {
		s := trueGroup(f, g, chart.Cells)
		for a, i := range order {
			if y := float64(n - 1 - a); of(truth, i) == g {
				s.Cell(float64(n), float64(n+wide), y-0.5, y+0.5, fmt.Sprint(i))
			}
		}
	}
}
