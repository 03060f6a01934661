package datasets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// A compressed file may unpack to 128 MiB, and a larger one to 200 times its size. Numbers rarely compress to a
// fiftieth: a smaller file is a decompression bomb, or can be unpacked before it is read.
const unpackedTimes = 200

var unpackedAlways int64 = 1 << 27 // tests lower it

// gunzip decompresses r if it is gzipped. An idx file begins with 00 00, a gzip file with 1f 8b.
func gunzip(r io.Reader) (io.Reader, error) {
	packed := &counter{Reader: r}
	b := bufio.NewReaderSize(packed, 1<<16)
	magic, err := b.Peek(2)
	if err != nil || magic[0] != 0x1f || magic[1] != 0x8b {
		return b, nil // a read error returns at the next read
	}
	z, err := gzip.NewReader(b)
	if err != nil {
		return nil, fmt.Errorf("is not a gzip file: %w", err)
	}
	return &unpacked{counter{Reader: z}, func() int64 { return packed.n }}, nil
}

// counter counts the bytes that are read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// unpacked fails once the compression ratio is too high.
type unpacked struct {
	counter
	packed func() int64 // bytes read so far
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.counter.Read(p)
	if u.n > unpackedAlways && u.n/unpackedTimes > u.packed() {
		return 0, fmt.Errorf("unpacks to more than %d MiB and %d times its size: must be at most that; unpack it first", unpackedAlways>>20, unpackedTimes)
	}
	return n, err
}

// Magic numbers of files that are often taken for others, and what reads them.
var beginnings = []struct{ bytes, kind, reader string }{
	{"PAR1", "a Parquet file", "parquet.Table reads it"},
	{"ARROW1", "an Arrow file", ""},
	{"PK\x03\x04", "a zip archive, such as .npz and .xlsx are", "NPY reads .npz"},
	{npyMagic, "an NPY file", "NPY reads it"},
	{"\x89PNG\r\n", "a PNG image", "ImageFolder reads folders of them"},
	{"\xff\xd8\xff", "a JPEG image", "ImageFolder reads folders of them"},
	{"\x1f\x8b", "gzipped twice", ""},
	{"\x28\xb5\x2f\xfd", "compressed by zstd", ""},
	{"\xfd7zXZ\x00", "compressed by xz", ""},
	{"\x89HDF\r\n", "an HDF5 file", ""},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"\x80\x04\x95", "a pickle of Python", ""},
	{"\x80\x05\x95", "a pickle of Python", ""},
	{"\xff\xfe", "text in UTF-16", ""},
	{"\xfe\xff", "text in UTF-16", ""},
}

// isOther returns an error for a file of another known kind. Text, which has no control characters, is none of them.
func isOther(b *bufio.Reader, mustBe string) error {
	head, _ := b.Peek(64)
	if !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == '\ufffd' }) {
		return nil
	}
	for _, o := range beginnings {
		if bytes.HasPrefix(head, []byte(o.bytes)) {
			return errors.New(strings.TrimSuffix(fmt.Sprintf("is %s: must be %s; %s", o.kind, mustBe, o.reader), "; "))
		}
	}
	return nil
}

// isText refuses binary files: those of known kinds, and others with a zero byte near their beginning.
func isText(b *bufio.Reader, mustBe string) error {
	if err := isOther(b, mustBe); err != nil {
		return err
	}
	if head, _ := b.Peek(b.Size()); bytes.IndexByte(head, 0) >= 0 {
		return fmt.Errorf("is binary: must be %s", mustBe)
	}
	return nil
}
