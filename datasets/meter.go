package datasets

import (
	"fmt"
	"io"
)

// meter writes a line when a download starts and one per quarter. Unlike a moving bar, lines look the same in a
// terminal, a notebook and a log.
type meter struct {
	w           io.Writer
	name        string
	done, total int64 // bytes; a total below 1 is unknown
	quarters    int64 // reported so far
}

// start announces a download of rest bytes (below 1: unknown) after the first have bytes, which are there.
func (m *meter) start(url string, have, rest int64) {
	switch m.done = have; {
	case rest < 1:
		fmt.Fprintf(m.w, "downloading %s\n", url)
		return
	case have > 0:
		fmt.Fprintf(m.w, "downloading %s (the last %.1f of %.1f MB)\n", url, float64(rest)/1e6, float64(have+rest)/1e6)
	default:
		fmt.Fprintf(m.w, "downloading %s (%.1f MB)\n", url, float64(rest)/1e6)
	}
	m.total = have + rest
	m.quarters = 4 * have / m.total
}

func (m *meter) add(n int) {
	m.done += int64(n)
	if m.total < 1 {
		return
	}
	if q := 4 * m.done / m.total; q > m.quarters {
		m.quarters = q
		fmt.Fprintf(m.w, "  %s: %d %%\n", m.name, 25*q)
	}
}
