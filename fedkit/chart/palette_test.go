package chart

import (
	"fmt"
	"image/color"
	"math"
	"testing"

	"fedkit.example/fedkit/fedtest/expect"
	"github.com/lucasb-eyer/go-colorful"
)

// The matrices are those of G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, "A Physiologically-based Model for
// Simulation of Color Vision Deficiency" (2009), for a severity of 1. They multiply linear RGB.
var sights = map[string][3][3]float64{
	"normal":       {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// seen is how a color looks to somebody.
func seen(c color.NRGBA, sight [3][3]float64) colorful.Color {
	all, _ := colorful.MakeColor(c)
	r, g, b := all.LinearRgb()
	var v [3]float64
	for i, row := range sight {
		v[i] = max(0, min(1, row[0]*r+row[1]*g+row[2]*b))
	}
	return colorful.LinearRgb(v[0], v[1], v[2])
}

func difference(a, b color.NRGBA, sight [3][3]float64) float64 {
	return 100 * seen(a, sight).DistanceCIEDE2000(seen(b, sight))
}

// dark is the background of cells in JupyterLab's dark theme.
var dark = color.NRGBA{0x11, 0x11, 0x11, 0xff}

func contrast(a, b color.NRGBA) float64 {
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return max(x/y, y/x)
}

// Everybody can tell series apart, on white and in the dark theme.
func TestPalette(t *testing.T) {
	expect.That(t, len(base) >= 16, "%d colors, want 16", len(base))
	for i, c := range base {
		for _, c := range []color.NRGBA{c, style{color: c}.companion("").color} {
			for _, background := range []color.NRGBA{white, dark} {
				if r := contrast(c, background); r < 3 {
					t.Errorf("color %d, %s: a contrast of %.2f to %s, want at least 3", i, hex(c), r, hex(background))
				}
			}
		}
		for sight, m := range sights {
			for j := range i {
				want := 4. // their dashes differ
				switch {
				case j == i-1:
					want = 15
				case j/8 == i/8:
					want = 6
				}
				if d := difference(c, base[j], m); d < want {
					t.Errorf("colors %d and %d, %s and %s: a difference of %.1f under %s, want at least %g", j, i, hex(base[j]), hex(c), d, sight, want)
				}
			}
		}
	}
}

// Names that share a color have other dashes: 32 series all look different.
func TestStylesDiffer(t *testing.T) {
	used := map[string]int{}
	for i := range 32 {
		s := (&Series{}).style(i)
		look := fmt.Sprint(s.color, s.dash)
		if j, ok := used[look]; ok {
			t.Errorf("series %d looks like series %d", i, j)
		}
		used[look] = i
	}
	for c, i := range map[string]int{hex(base[8]): 8, hex(base[0]): 16} {
		if s := (&Series{}).style(i); hex(s.color) != c || s.dash == nil {
			t.Errorf("series %d is %s with dashes %v", i, hex(s.color), s.dash)
		}
	}
}

// Both ends of the shades can be seen on either background.
func TestShadesAreVisible(t *testing.T) {
	for _, value := range []float64{0.01, 0.5, 1} {
		c := (&Series{Shade: value}).style(0).color
		if r := math.Min(contrast(c, white), contrast(c, dark)); r < 1.3 {
			t.Errorf("shade %g, %s: a contrast of %.2f to a background", value, hex(c), r)
		}
	}
}
