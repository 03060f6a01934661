package datasets

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
)

// writer is what one LEAF file holds of one user.
type writer struct {
	name   string
	pixels []uint8 // [n, f]
	labels []int32 // [n]
}

// readLEAF reads a file of images in LEAF's layout,
//
//	{"users": […], "num_samples": […], "user_data": {"f3795_00": {"x": [[f numbers], …], "y": [label, …]}, …}}
//
// and skips everything but user_data. Numbers in x are bytes divided by 255. It reads the file as a stream: memory is at
// most a fixed multiple of what it has read.
func readLEAF(r io.Reader, features, classes int) ([]writer, error) {
	s := &jsonStream{r: r, buffer: make([]byte, 1<<16)}
	var writers []writer
	found := false
	s.object(func(key string) {
		if key != "user_data" || found {
			s.skip(0)
			return
		}
		found = true
		s.object(func(user string) {
			w := writer{name: user}
			s.object(func(key string) {
				switch key {
				case "x":
					s.array(func() { w.pixels = s.image(w.pixels, features) })
				case "y":
					s.array(func() { w.labels = append(w.labels, s.label(classes)) })
				default:
					s.skip(0)
				}
			})
			if n := len(w.pixels) / features; s.err == nil && n != len(w.labels) {
				s.fail("%d images but %d labels of %q: must be equal", n, len(w.labels), user)
			}
			writers = append(writers, w)
		})
	})
	if c := s.next(); s.err == nil {
		s.fail("%q after the end", c)
	}
	switch {
	case s.err != io.EOF:
		return nil, s.err
	case !found:
		return nil, fmt.Errorf(`has no "user_data": is not a LEAF file`)
	}
	return writers, nil
}

// image appends one image of this many pixels.
func (s *jsonStream) image(to []uint8, features int) []uint8 {
	from := len(to)
	s.array(func() {
		x := 255 * s.number()
		b := math.Floor(x + 0.5)
		switch {
		case !(b >= 0 && b <= 255 && math.Abs(x-b) < 1e-6):
			s.fail("pixel %v: must be one of 0, 1/255, …, 1", x/255)
		case len(to)-from == features:
			s.fail("an image of more than %d pixels", features)
		case s.err == nil:
			to = append(to, uint8(b))
		}
	})
	if n := len(to) - from; s.err == nil && n != features {
		s.fail("an image of %d pixels: must be %d", n, features)
	}
	return to
}

func (s *jsonStream) label(classes int) int32 {
	y := s.number()
	if !(y >= 0 && y < float64(classes) && y == math.Trunc(y)) {
		s.fail("label %v: must be a whole number in [0, %d)", y, classes)
		return 0
	}
	return int32(y)
}

// jsonStream reads JSON value by value and holds no more of it than a buffer. The first error stays in err and ends all
// loops. (The standard library's decoder allocates a token for every number.)
type jsonStream struct {
	r      io.Reader
	buffer []byte
	at, n  int   // of the buffer
	before int64 // bytes read before the buffer
	err    error
}

const (
	jsonDepth = 32  // of what is skipped
	jsonName  = 256 // bytes of a name
)

func (s *jsonStream) fail(format string, a ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("is damaged at byte %d: %s", s.before+int64(s.at), fmt.Sprintf(format, a...))
	}
}

// peek returns the next byte, 0 at the end and after an error.
func (s *jsonStream) peek() byte {
	if s.at == s.n {
		s.fill()
	}
	if s.err != nil {
		return 0
	}
	return s.buffer[s.at]
}

func (s *jsonStream) fill() {
	if s.err != nil {
		return
	}
	s.before += int64(s.n)
	s.at = 0
	var err error
	for s.n, err = s.r.Read(s.buffer); s.n == 0 && err == nil; {
		s.n, err = s.r.Read(s.buffer)
	}
	if s.n == 0 {
		s.err = err
		if err != io.EOF {
			s.err = fmt.Errorf("unreadable after %d bytes: %w", s.before, err)
		}
	}
}

// next returns the next byte that is not white space, without taking it.
func (s *jsonStream) next() byte {
	for {
		switch c := s.peek(); c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
}

// take takes the byte c, and fails if the next byte is another.
func (s *jsonStream) take(c byte) {
	if found := s.next(); found != c || s.err != nil {
		s.unexpected("%q", c)
		return
	}
	s.at++
}

// unexpected fails because the next byte is not what is wanted, or there is none.
func (s *jsonStream) unexpected(want string, a ...any) {
	want = fmt.Sprintf(want, a...)
	if s.err == io.EOF {
		s.err = fmt.Errorf("ends after %d bytes, where %s must be: %w", s.before, want, io.ErrUnexpectedEOF)
		return
	}
	if s.err == nil {
		s.fail("%q: must be %s", s.buffer[s.at], want)
	}
}

// list reads what lies between two brackets, separated by commas.
func (s *jsonStream) list(open, end byte, item func()) {
	s.take(open)
	if s.err == nil && s.next() == end {
		s.at++
		return
	}
	for s.err == nil {
		item()
		if c := s.next(); c == end && s.err == nil {
			s.at++
			return
		}
		s.take(',')
	}
}

func (s *jsonStream) array(item func()) { s.list('[', ']', item) }

// object calls value for every key, to read the value that follows.
func (s *jsonStream) object(value func(key string)) {
	s.list('{', '}', func() {
		key := s.name()
		s.take(':')
		if s.err == nil {
			value(key)
		}
	})
}

// name reads a string of limited length.
func (s *jsonStream) name() (name string) {
	quoted := []byte{'"'}
	s.text(func(c byte) {
		if quoted = append(quoted, c); len(quoted) > jsonName {
			s.fail("a name of more than %d bytes", jsonName)
		}
	})
	if s.err == nil {
		if err := json.Unmarshal(append(quoted, '"'), &name); err != nil {
			s.fail("a name: %v", err)
		}
	}
	return name
}

// text reads a string and calls each for every byte between the quotes.
func (s *jsonStream) text(each func(c byte)) {
	s.take('"')
	for s.err == nil {
		c := s.peek()
		if s.err != nil {
			s.unexpected("the end of a string")
			return
		}
		s.at++
		if c == '"' {
			return
		}
		each(c)
		if c == '\\' {
			escaped := s.peek()
			s.at++
			if s.err == nil {
				each(escaped)
			}
		}
	}
}

// number reads a number. It is exact to about 15 digits, which is ample for bytes and labels.
func (s *jsonStream) number() float64 {
	if s.next(); s.n-s.at >= 32 {
		if x, n := plain(s.buffer[s.at:s.n]); n > 0 {
			s.at += n
			return x
		}
	}
	var text []byte
	for c := s.peek(); c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'; c = s.peek() {
		if text = append(text, c); len(text) > jsonName {
			s.fail("a number of more than %d digits", jsonName)
			return 0
		}
		s.at++
	}
	if len(text) == 0 {
		s.unexpected("a number")
		return 0
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		s.fail("%q: must be a number", text)
	}
	return x
}

// plain reads a number at the beginning of b, of at most 19 digits without sign or exponent. Nearly all numbers are like
// that. It returns the number's length, 0 if there is no such number.
func plain(b []byte) (x float64, n int) {
	var mantissa uint64
	point := -1
	for ; n < len(b); n++ {
		if c := b[n] - '0'; c <= 9 {
			mantissa = 10*mantissa + uint64(c)
		} else if b[n] == '.' && point < 0 && n > 0 {
			point = n
		} else {
			break
		}
		if n == 20 {
			return 0, 0
		}
	}
	switch {
	case n == len(b) || n == 0 || b[n] == 'e' || b[n] == 'E' || b[n] == '.' || point == n-1:
		return 0, 0
	case point < 0:
		return float64(mantissa), n
	}
	return float64(mantissa) / tens[n-1-point], n
}

// tens are the powers of ten that a float64 holds exactly.
var tens = func() (p [23]float64) {
	for i := range p {
		p[i] = math.Pow10(i)
	}
	return p
}()

// skip skips a value.
func (s *jsonStream) skip(depth int) {
	if depth == jsonDepth {
		s.fail("nested more than %d deep", jsonDepth)
		return
	}
	switch c := s.next(); {
	case c == '{':
		s.list('{', '}', func() {
			s.text(func(byte) {})
			s.take(':')
			s.skip(depth + 1)
		})
	case c == '[':
		s.array(func() { s.skip(depth + 1) })
	case c == '"':
		s.text(func(byte) {})
	case c == 't':
		s.word("true")
	case c == 'f':
		s.word("false")
	case c == 'n':
		s.word("null")
	default:
		s.number()
	}
}

func (s *jsonStream) word(w string) {
	for _, c := range []byte(w) {
		if s.err == nil && s.peek() == c && s.err == nil {
			s.at++
		} else {
			s.unexpected("%s", w)
		}
	}
}
