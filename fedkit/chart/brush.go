package chart

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// brush draws one figure inside an area of the canvas.
type brush struct {
	draw.Canvas
	*panel
	area vg.Rectangle
	dpi  float64
}

func (b brush) draw(s *sheet) {
	b.axes()
	for _, t := range b.Targets {
		b.StrokeLine2(pen(faint, 1, targetDash), b.area.Min.X, b.at(b.x.lo, t).Y, b.area.Max.X, b.at(b.x.lo, t).Y)
	}
	for _, t := range b.series { // bands lie under all lines
		if t.Mark == Line && len(t.cols) == 4 {
			b.band(t, s.style(t.Name).color)
		}
	}
	for _, t := range b.series {
		if t.bar != nil {
			b.cells(t, func(i int) (fill, text color.NRGBA) { return t.bar.onWhite(t.place[i]), s.over(t, i) })
			continue
		}
		st := *s.style(t.Name)
		st.color = faded(st.color, t.Opacity)
		switch t.Mark {
		case Line:
			b.line(t, st)
		case Dots:
			b.dots(t, st.color)
		case Cells:
			b.cells(t, func(i int) (fill, text color.NRGBA) { return st.color, s.over(t, i) })
		case Images:
			b.images(t)
		case Segments:
			b.segments(t, st.color)
		}
	}
	b.ends()
}

// at returns the place of a point.
func (b brush) at(x, y float64) vg.Point {
	size := b.area.Size()
	return vg.Point{
		X: b.area.Min.X + vg.Length(b.x.norm(x))*size.X,
		Y: b.area.Min.Y + vg.Length(b.y.norm(y))*size.Y,
	}
}

// axes draws the grid, the ticks' labels and the titles.
func (b brush) axes() {
	lo, hi := b.area.Min, b.area.Max
	label := tickText
	label.XAlign = draw.XCenter
	if b.x.Names == nil {
		for _, t := range b.x.ticks {
			x := b.at(t, b.y.lo).X
			b.StrokeLine2(pen(grid, 1, nil), x, lo.Y, x, hi.Y)
		}
	}
	for _, t := range b.labeled() {
		b.FillText(label, vg.Point{X: b.at(t, b.y.lo).X, Y: lo.Y - 17}, b.x.label(t))
	}
	for y := 0; b.Guides && y < len(b.y.Names); y++ {
		at := b.at(b.x.lo, float64(y)).Y
		b.StrokeLine2(pen(grid, 1, nil), lo.X, at, hi.X, at)
	}
	label.XAlign = draw.XRight
	for _, t := range b.y.ticks {
		y := b.at(b.x.lo, t).Y
		if b.y.Names == nil {
			b.StrokeLine2(pen(grid, 1, nil), lo.X, y, hi.X, y)
		}
		name := b.y.label(t)
		b.FillText(label, vg.Point{X: lo.X - 6, Y: y - 4 - nameStep/2*vg.Length(strings.Count(name, "\n"))}, name)
	}
	if !b.x.Hidden {
		b.StrokeLine2(pen(frame, 1, nil), lo.X, lo.Y, hi.X, lo.Y)
	}
	if !b.y.Hidden {
		b.StrokeLine2(pen(frame, 1, nil), lo.X, lo.Y, lo.X, hi.Y)
	}

	title := axisText
	title.XAlign = draw.XCenter
	b.FillText(title, vg.Point{X: (lo.X + hi.X) / 2, Y: lo.Y - 38}, b.x.Title)
	if title.Rotation = math.Pi / 2; !b.untitled() {
		b.FillText(title, vg.Point{X: lo.X - b.margins().left + 10, Y: (lo.Y + hi.Y) / 2}, b.y.Title)
	}
}

// labeled returns the ticks of the x axis without those whose label would overlap the one before.
func (p *panel) labeled() (ticks []float64) {
	free := vg.Length(math.Inf(-1)) // where the label before ends
	for _, t := range p.x.ticks {
		x, half := vg.Length(p.x.norm(t)*float64(p.Width)), tickText.Width(p.x.label(t))/2
		if x-half >= free {
			ticks, free = append(ticks, t), x+half+3
		}
	}
	return ticks
}

func (b brush) band(t series, c color.NRGBA) {
	var outline []vg.Point
	for i, x := range t.X {
		outline = append(outline, b.at(x, t.Hi[i]))
	}
	for i := len(t.X) - 1; i >= 0; i-- {
		outline = append(outline, b.at(t.X[i], t.Lo[i]))
	}
	b.FillPolygon(faded(c, bandOpacity), outline)
}

func (b brush) line(t series, st style) {
	points := make([]vg.Point, len(t.X))
	for i := range points {
		points[i] = b.at(t.X[i], t.Y[i])
	}
	if t.Thin {
		b.StrokeLines(pen(st.color, thinWidth, nil), points)
		return
	}
	b.StrokeLines(pen(st.color, lineWidth, st.dash), points)
	if t.all <= fewPoints {
		for _, p := range points {
			fillDisc(b.Canvas, st.color, p, dotSide/2)
		}
	}
}

func (b brush) dots(t series, c color.NRGBA) {
	for i := range t.X {
		radius := dotSide / 2
		if t.Thin {
			radius = thinSide / 2
		}
		if t.Size != nil {
			radius = b.side / 2 * math.Sqrt(t.Size[i]/b.most)
		}
		fillDisc(b.Canvas, c, b.at(t.X[i], t.Y[i]), vg.Length(radius))
	}
}

func (b brush) cells(t series, of func(i int) (fill, text color.NRGBA)) {
	for i := range t.X {
		fill, text := of(i)
		fillRect(b.Canvas, fill, vg.Rectangle{Min: b.at(t.X[i], t.Y[i]), Max: b.at(t.X2[i], t.Y2[i])})
		if t.Text != nil {
			words := tickText
			words.Color, words.XAlign, words.YAlign = text, draw.XCenter, draw.YCenter
			b.FillText(words, b.at((t.X[i]+t.X2[i])/2, (t.Y[i]+t.Y2[i])/2), t.Text[i])
		}
	}
}

func (b brush) segments(t series, c color.NRGBA) {
	for i := range t.X {
		from, to := b.at(t.X[i], t.Y[i]), b.at(t.X2[i], t.Y2[i])
		b.StrokeLine2(pen(c, segmentWidth, nil), from.X, from.Y, to.X, to.Y)
	}
}

func (b brush) images(t series) {
	width, height := b.frame()
	for i, img := range t.Images {
		if t.X2 != nil {
			to := vg.Rectangle{Min: b.at(t.X[i], t.Y[i]), Max: b.at(t.X2[i], t.Y2[i])}
			b.DrawImage(to, enlarged(img, to.Size().X.Dots(b.dpi)))
			continue
		}
		w, h := float64(img.Bounds().Dx()), float64(img.Bounds().Dy())
		zoom := min(width/w, height/h)
		half := vg.Point{X: vg.Length(zoom * w / 2), Y: vg.Length(zoom * h / 2)}
		at := b.at(t.X[i], t.Y[i])
		b.DrawImage(vg.Rectangle{Min: at.Sub(half), Max: at.Add(half)}, enlarged(img, 256))
	}
}

func pen(c color.Color, width vg.Length, dash []float64) draw.LineStyle {
	s := draw.LineStyle{Color: c, Width: width}
	for _, d := range dash {
		s.Dashes = append(s.Dashes, vg.Length(d))
	}
	return s
}

func fillDisc(c draw.Canvas, col color.Color, at vg.Point, radius vg.Length) {
	var p vg.Path
	p.Move(vg.Point{X: at.X + radius, Y: at.Y})
	p.Arc(at, radius, 0, 2*math.Pi)
	p.Close()
	c.SetColor(col)
	c.Fill(p)
}

func fillRect(c draw.Canvas, col color.Color, r vg.Rectangle) {
	c.SetColor(col)
	c.Fill(r.Path())
}
