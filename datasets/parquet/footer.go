package parquet

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"fedkit.example/internal/room"
)

// The library allocates what lengths in a file claim, and its stack is as deep as what is nested. So they are checked first.

// deepest limits what is nested.
const deepest = 100

var protocol thrift.CompactProtocol

// walker reads the structure of a footer, or of a page's header.
type walker struct {
	thrift.Reader
	from     *bufio.Reader   // of the same bytes
	size     int64           // of the rest of the file
	elements int64           // of all lists
	numbers  map[int16]int64 // fields of a page's header; of the headers in it, only the first, the number of values
}

// walk reads a value.
func (w *walker) walk(kind thrift.Type, depth int) (err error) {
	if depth > deepest {
		return fmt.Errorf("more than %d levels are nested", deepest)
	}
	switch kind {
	case thrift.STRUCT:
		for id := int16(0); err == nil; {
			f, failed := w.ReadField()
			if failed != nil || f.Type == thrift.STOP {
				return failed
			}
			if id = f.ID + id; !f.Delta {
				id = f.ID
			}
			switch {
			case f.Type == thrift.TRUE || f.Type == thrift.FALSE: // it has no further byte
			case f.Type == thrift.I32 && (depth == 0 || depth == 1 && id == 1):
				var n int32
				n, err = w.ReadInt32()
				w.numbers[id] = max(w.numbers[id], int64(n))
			default:
				err = w.walk(f.Type, depth+1)
			}
		}
	case thrift.LIST, thrift.SET:
		l, failed := w.ReadList()
		if w.elements += int64(l.Size); failed != nil || int64(l.Size) > w.size {
			return cmp.Or(failed, errors.New("a list is longer than the file"))
		}
		for i := int32(0); i < l.Size && err == nil; i++ {
			err = w.walk(l.Type, depth+1)
		}
	case thrift.BINARY:
		n, failed := w.ReadLength()
		if failed != nil || int64(n) > w.size {
			return cmp.Or(failed, errors.New("a word is longer than the file"))
		}
		_, err = w.from.Discard(n)
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	default:
		err = fmt.Errorf("a value of type %d", kind)
	}
	return err
}

// checkFooter refuses files that are not in Parquet, and those that claim to have more than they have, or than fits into memory.
func checkFooter(from io.ReaderAt, size int64) error {
	const magic = "PAR1"
	var end [8]byte // the footer's length, and the magic number again
	if size >= 12 {
		if _, err := from.ReadAt(end[:], size-8); err != nil {
			return err
		}
	}
	n := int64(binary.LittleEndian.Uint32(end[:4]))
	switch {
	case string(end[4:]) != magic:
		return errors.New("is not a Parquet file, or is incomplete")
	case n > size-12:
		return errors.New("is damaged: its footer is longer than the file")
	}
	if err := room.For(3 * float64(n)); err != nil {
		return fmt.Errorf("the footer %w", err)
	}
	footer := make([]byte, n)
	if _, err := from.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	b := bufio.NewReader(bytes.NewReader(footer))
	w := walker{Reader: protocol.NewReader(b), from: b, size: n, numbers: map[int16]int64{}}
	if err := w.walk(thrift.STRUCT, 0); err != nil {
		return fmt.Errorf("is damaged: its footer: %w", err)
	}
	if err := room.For(2000 * float64(w.elements)); err != nil { // a chunk of a column takes most
		return fmt.Errorf("the footer %w", err)
	}
	var meta format.FileMetaData
	if err := thrift.NewDecoder(protocol.NewReaderFromBytes(footer)).Decode(&meta); err != nil {
		return fmt.Errorf("is damaged: %.200v", err)
	}
	if err := checkSchema(meta.Schema); err != nil {
		return err
	}
	return checkChunks(from, size-8-n, meta.RowGroups)
}

// checkSchema refuses a tree that is too deep. It is in the order of its nodes, each with the number of its children.
func checkSchema(nodes []format.SchemaElement) error {
	var open []int32 // of each parent, the children that follow
	for _, e := range nodes {
		if e.NumChildren.Valid && e.NumChildren.V > 0 {
			if open = append(open, e.NumChildren.V); len(open) > deepest {
				return fmt.Errorf("has columns in more than %d levels: must be at most as many", deepest)
			}
			continue
		}
		for last := len(open) - 1; last >= 0; last-- {
			if open[last]--; open[last] > 0 {
				break
			}
			open = open[:last]
		}
	}
	return nil
}

// checkChunks refuses chunks of columns that overlap or are not in the file, and those whose pages do not fit into memory: one of each
// column of a group is there at a time.
func checkChunks(from io.ReaderAt, end int64, groups []format.RowGroup) error {
	type chunk struct{ begin, end int64 }
	var all []chunk
	for _, g := range groups {
		need := 0.0
		for _, c := range g.Columns {
			m := c.MetaData
			at := chunk{cmp.Or(m.DictionaryPageOffset, m.DataPageOffset), 0}
			if at.end = at.begin + m.TotalCompressedSize; at.begin < 0 || m.TotalCompressedSize < 0 || at.end > end {
				return errors.New("is damaged: a column is not in the file")
			}
			most, err := pages(from, at.begin, at.end)
			if err != nil {
				return fmt.Errorf("is damaged: a page: %w", err)
			}
			all, need = append(all, at), need+most
		}
		if err := room.For(need); err != nil {
			return fmt.Errorf("a page of each of %d columns %w", len(g.Columns), err)
		}
	}
	slices.SortFunc(all, func(a, b chunk) int { return cmp.Compare(a.begin, b.begin) })
	for i := 1; i < len(all); i++ {
		if all[i].begin < all[i-1].end && all[i].end > all[i].begin {
			return errors.New("is damaged: two columns, or two groups of rows, have the same bytes")
		}
	}
	return nil
}

// pages returns the most memory that two pages of a chunk take: the dictionary, and the one that is read.
func pages(from io.ReaderAt, at, end int64) (most float64, err error) {
	largest, second := 0.0, 0.0
	b := bufio.NewReaderSize(nil, 1<<10)
	for at < end {
		section := io.NewSectionReader(from, at, end-at)
		b.Reset(section)
		w := walker{Reader: protocol.NewReader(b), from: b, size: end - at, numbers: map[int16]int64{}}
		if err := w.walk(thrift.STRUCT, 0); err != nil {
			return 0, err
		}
		read, _ := section.Seek(0, io.SeekCurrent)
		uncompressed, compressed, values := w.numbers[2], w.numbers[3], w.numbers[1]
		if at += read - int64(b.Buffered()) + compressed; at > end || len(w.numbers) < 3 {
			return 0, errors.New("it has no size, or is longer than its column")
		}
		if need := float64(uncompressed + compressed + 12*values); need > largest {
			largest, second = need, largest
		} else {
			second = max(second, need)
		}
	}
	return largest + second, nil
}
