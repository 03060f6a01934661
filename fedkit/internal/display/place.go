package display

import (
	"crypto/rand"
	"sync"
)

// Place is where several outputs are drawn again and again. The zero value is ready to use.
type Place struct {
	ids  []string
	next int
}

var (
	mu      sync.Mutex
	drawing *Place
)

// Draw calls f. The outputs that begin in f replace, in their order, those of the call before; what is left of these is cleared if f
// returns true.
func (p *Place) Draw(f func() (whole bool)) {
	p.next, drawing = 0, p
	defer func() { drawing = nil }()
	if f() && InNotebook() {
		for _, id := range p.ids[p.next:] {
			_ = (&Output{id}).Text("", false) // whatever is sent next will say what is wrong
		}
	}
}

// newID is the id of an output that begins.
func newID() string {
	mu.Lock() // of runs side by side
	defer mu.Unlock()
	id, p := "chart_"+rand.Text(), drawing
	if p == nil {
		return id
	}
	if p.next++; p.next > len(p.ids) {
		p.ids = append(p.ids, id)
	}
	return p.ids[p.next-1]
}

// Listen calls hear with each text that the page that shows the cell sends to the address. It returns false if no page can.
func Listen(address string, hear func(text string)) bool {
	l, can := cell.(interface {
		Listen(address string, hear func(text string)) bool
	})
	return can && l.Listen(address, hear)
}
