package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"slices"
	"strings"

	"golang.org/x/image/font"
	gonumfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The PNG is drawn with gonum's canvas alone: its plots leave no room for a legend, and bring four more file
// formats into every program. One unit of the canvas is one CSS pixel.

const (
	pngBytes = 45_000 // a larger file is drawn again, with fewer colors and in the end less sharply
	edge     = 14     // white space around everything
	gap      = 36     // between figures of a row
	lineStep = 18     // from one line of the legend to the next

	barLength, barHeight = 200, 10
	barStep              = 36 // the height of a color bar with its labels
)

var fonts = digits{text.Plain{Fonts: gonumfont.NewCache(liberation.Collection())}}

// digits keeps two ones apart: the font's kerning is for ones without feet, and lets "11" overlap. Superscripts, of which the font
// has few, are small digits.
type digits struct{ text.Plain }

func (d digits) Draw(c vg.Canvas, words string, style text.Style, at vg.Point) {
	d.Plain.Draw(raising{c, d, vg.Length(style.XAlign)}, apart(words), style, at)
}

func (d digits) Box(words string, f gonumfont.Font) (width, height, depth vg.Length) {
	_, height, depth = d.Plain.Box("", f)
	return d.parts(apart(words), d.Fonts.Lookup(f, f.Size), func(gonumfont.Face, vg.Point, string) {}), height, depth
}

// parts hands the parts of a line, superscripts and others, to draw, and returns how wide all are.
func (d digits) parts(words string, f gonumfont.Face, draw func(f gonumfont.Face, at vg.Point, words string)) (width vg.Length) {
	raised := func(r rune) bool { return strings.ContainsRune(superscript, r) }
	for words != "" {
		n := strings.IndexFunc(words, raised)
		face, at := f, vg.Point{X: width}
		if n == 0 {
			n = strings.IndexFunc(words, func(r rune) bool { return !raised(r) })
			face, at.Y = d.Fonts.Lookup(f.Font, 0.72*f.Font.Size), 0.36*f.Font.Size
		}
		if n < 0 {
			n = len(words)
		}
		part := lowered.Replace(words[:n])
		draw(face, at, part)
		width, words = width+face.Width(part), words[n:]
	}
	return width
}

// raising draws lines of text part by part.
type raising struct {
	vg.Canvas
	digits
	align vg.Length
}

func (r raising) FillString(f gonumfont.Face, at vg.Point, line string) {
	wide := r.parts(line, f, func(gonumfont.Face, vg.Point, string) {})
	at.X += r.align * (wide - f.Width(line))
	r.parts(line, f, func(f gonumfont.Face, by vg.Point, part string) { r.Canvas.FillString(f, at.Add(by), part) })
}

const superscript = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"

var (
	superscripts = strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹")
	lowered      = strings.NewReplacer("⁻", "−", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
)

// apart puts a space without width between ones.
func apart(words string) string {
	const space = "1\u200b1"
	return strings.ReplaceAll(strings.ReplaceAll(words, "11", space), "11", space)
}

// Text styles, as in the Vega-Lite form.
var (
	titleText = write(14, ink, font.WeightBold)
	noteText  = write(11, faint, font.WeightNormal)
	axisText  = write(12, ink, font.WeightNormal)
	tickText  = write(11, ink, font.WeightNormal)
)

func write(size vg.Length, c color.Color, w font.Weight) text.Style {
	return text.Style{Color: c, Handler: fonts, Font: gonumfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: w, Size: size}}
}

// margins is the room a figure needs around the area inside its axes.
type margins struct{ left, right, top, bottom vg.Length }

func (p *panel) margins() margins {
	m := margins{left: 8, right: 12, top: 10, bottom: 22}
	for _, t := range p.y.ticks {
		m.left = max(m.left, 8+tickText.Width(p.y.label(t)))
	}
	m.left = vg.Length(math.Ceil(float64(m.left))) // whole pixels keep the edges of cells sharp
	if last := len(p.x.ticks) - 1; last >= 0 {
		m.right = max(m.right, tickText.Width(p.x.label(p.x.ticks[last]))/2+2)
	}
	m.right = max(m.right, p.endRoom())
	if p.Y.Title != "" && !p.untitled() {
		m.left += 22
	}
	if p.X.Title != "" {
		m.bottom += 20
	}
	return m
}

// untitled reports whether the title of the y axis is left to the first figure of the line.
func (p *panel) untitled() bool { return p.y.beside > 0 && p.column > 0 }

// heading returns the title and the note, in lines that are about as wide as the figure.
func (p *panel) heading() (title, note string) {
	width := vg.Length(p.Width) + p.margins().right
	return broken([]string{p.Title}, titleText, width)[0], broken([]string{p.Note}, noteText, width)[0]
}

// head is the height of the title and its note: the same for all figures of a row.
func (s *sheet) head() (h vg.Length) {
	for _, p := range s.panels {
		title, note := p.heading()
		high := 8 + titleText.Height(title)
		if p.Note != "" {
			high += 7 + noteText.Height(note)
		}
		if p.Title != "" || p.Note != "" {
			h = max(h, vg.Length(math.Ceil(float64(high)))) // whole pixels, as in margins
		}
	}
	return h
}

// legendHeight is the height of the legend, which stands over a single figure, and under a row of several.
func (s *sheet) legendHeight() vg.Length {
	names, c := len(s.entries()), s.columns()
	if names+len(s.bars) == 0 {
		return 0
	}
	return vg.Length(len(s.bars)*barStep+(names+c-1)/c*lineStep) + 4
}

// width is what the figure takes with its margins and its title.
func (p *panel) width() vg.Length {
	m := p.margins()
	title, note := p.heading()
	return m.left + max(vg.Length(p.Width)+m.right, titleText.Width(title), noteText.Width(note))
}

// size returns the image's width and height in CSS pixels. They are even, so that every sharpness gives whole numbers.
func (s *sheet) size() (width, height float64) {
	w, h := vg.Length(0), 2*edge+s.legendHeight()-gap
	for line := range slices.Chunk(s.panels, s.across()) {
		lineWidth := vg.Length(2*edge + gap*(len(line)-1))
		for _, p := range line {
			lineWidth += p.width()
		}
		w, h = max(w, lineWidth), h+s.lineHeight(line)+gap
	}
	return 2 * math.Ceil(float64(w)/2), 2 * math.Ceil(float64(h)/2)
}

// lineHeight is that of a line of figures, with their titles.
func (s *sheet) lineHeight(line []*panel) (h vg.Length) {
	for _, p := range line {
		m := p.margins()
		h = max(h, m.top+vg.Length(p.Height)+m.bottom)
	}
	return s.head() + h
}

// png draws the image, as sharply as pngBytes allow.
func (s *sheet) png() (file []byte, err error) {
	own := []color.NRGBA{ink, faint, frame, grid} // the figures' own colors
	for _, l := range s.order {
		own = append(own, l.color)
	}
	var bars []color.NRGBA
	for _, b := range s.bars {
		for k := range shades + 1 {
			bars = append(bars, b.onWhite(float64(k)))
		}
	}
	var img *image.RGBA
	for _, form := range []struct {
		sharpness float64 // pixels for each unit of the canvas; 0 for those before
		shades    int
	}{{2, 96}, {0, 32}, {1.5, 32}, {1, 32}} {
		if (len(file) > 3*pngBytes || len(s.order) > mostNames) && form.sharpness != 1 {
			continue // a little less would not do, or it would be too large, after a second of drawing
		}
		if form.sharpness > 0 {
			img = s.paint(int(72 * form.sharpness))
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, palettize(img, bars, own, form.shades)); err != nil {
			return nil, err
		}
		if file = b.Bytes(); len(file) <= pngBytes {
			break
		}
	}
	return file, nil
}

func (s *sheet) paint(dpi int) *image.RGBA {
	w, h := s.size()
	img := vgimg.NewWith(vgimg.UseWH(vg.Length(w), vg.Length(h)), vgimg.UseDPI(dpi))
	c := draw.New(img)
	x, top := vg.Length(edge), vg.Length(h)-edge
	for i, p := range s.panels {
		if i > 0 && i%s.across() == 0 { // the next line
			x, top = edge, top-s.lineHeight(s.panels[i-s.across():i])-gap
		}
		m := p.margins()
		y := top
		if p.Title != "" || p.Note != "" {
			title, note := p.heading()
			below := y + 1 - titleText.Height(title)
			c.FillText(titleText, vg.Point{X: x + m.left, Y: below}, title)
			if !p.noted {
				c.FillText(noteText, vg.Point{X: x + m.left, Y: below - 6 - noteText.Height(note)}, note)
			}
		}
		y -= s.head()
		if len(s.panels) == 1 {
			s.drawLegend(c, x+m.left, y)
			y -= s.legendHeight()
		} else if i == 0 {
			s.drawLegend(c, x+m.left, edge+s.legendHeight()-4)
		}
		area := vg.Rectangle{
			Min: vg.Point{X: x + m.left, Y: y - m.top - vg.Length(p.Height)},
			Max: vg.Point{X: x + m.left + vg.Length(p.Width), Y: y - m.top},
		}
		brush{c, p, area, img.DPI()}.draw(s)
		x += p.width() + gap
	}
	return img.Image().(*image.RGBA)
}

func (s *sheet) drawLegend(c draw.Canvas, x, top vg.Length) {
	for _, b := range s.bars {
		b.draw(c, x, top)
		top -= barStep
	}
	columns := s.columns()
	widths := make([]vg.Length, columns)
	for i, l := range s.entries() {
		widths[i%columns] = max(widths[i%columns], tickText.Width(l.name)+44)
	}
	left := x
	for i, l := range s.entries() {
		if i%columns == 0 {
			left = x
		}
		y := top - 9 - vg.Length(i/columns*lineStep)
		switch l.mark {
		case Line, Segments:
			c.StrokeLine2(pen(l.color, 2.5, l.dash), left, y, left+18, y)
		case Cells:
			fillRect(c, l.color, vg.Rectangle{Min: vg.Point{X: left + 4, Y: y - 5}, Max: vg.Point{X: left + 14, Y: y + 5}})
		default:
			fillDisc(c, l.color, vg.Point{X: left + 9, Y: y}, 5)
		}
		c.FillText(tickText, vg.Point{X: left + 24, Y: y - 4}, l.name)
		left += widths[i%columns]
	}
}

// draw draws the color bar and its labels, below top and right of its title.
func (b *bar) draw(c draw.Canvas, left, top vg.Length) {
	top -= 4
	if b.of != "" {
		c.FillText(tickText, vg.Point{X: left, Y: top - 9}, b.of)
		left += vg.Length(math.Ceil(float64(tickText.Width(b.of)))) + 8
	}
	const step = barLength / shades
	for k := range shades {
		x := left + vg.Length(k*step)
		fillRect(c, b.onWhite(float64(k)), vg.Rectangle{Min: vg.Point{X: x, Y: top - barHeight}, Max: vg.Point{X: x + step, Y: top}})
	}
	label := tickText
	label.XAlign = draw.XCenter
	for _, t := range b.ticks {
		c.FillText(label, vg.Point{X: left + vg.Length(barLength*b.norm(t)), Y: top - barHeight - 13}, b.label(t))
	}
}
