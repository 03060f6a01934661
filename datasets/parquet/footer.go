package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"fedkit.example/datasets/room"
)

// The library allocates what lengths in a file claim, and its stack is as deep as what is nested. So these are checked first.

// deepest limits what is nested.
const deepest = 100

var protocol thrift.CompactProtocol

// checked reads a footer, or the header of a page.
type checked struct {
	thrift.BytesReader
	elements, open int // of lists; structs that have not ended
}

// decode decodes bytes, and returns how many.
func decode(b []byte, to any) (int, error) {
	r := &checked{BytesReader: protocol.NewReaderFromBytes(b)}
	err := thrift.NewDecoder(r).Decode(to)
	return r.BytesRead(), err
}

// ReadList refuses lists that do not fit into memory.
func (c *checked) ReadList() (thrift.List, error) {
	l, err := c.BytesReader.ReadList()
	if c.elements += int(l.Size); l.Type == thrift.STRUCT {
		c.open += int(l.Size)
	}
	return l, cmp.Or(err, room.For(2000*float64(c.elements))) // a column of a group of rows takes most
}

// ReadField refuses what is nested too deeply.
func (c *checked) ReadField() (thrift.Field, error) {
	f, err := c.BytesReader.ReadField()
	switch f.Type {
	case thrift.STRUCT:
		c.open++
	case thrift.STOP:
		c.open--
	}
	if err == nil && c.open > deepest+c.elements {
		err = fmt.Errorf("more than %d levels are nested", deepest)
	}
	return f, err
}

// Discard is found by the library beside the interface.
func (c *checked) Discard(n int) (int, error) {
	return c.BytesReader.(interface{ Discard(int) (int, error) }).Discard(n)
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
	if err := room.For(3 * float64(n)); err != nil { // with its copies
		return fmt.Errorf("the footer %w", err)
	}
	var meta format.FileMetaData
	footer := make([]byte, n)
	if _, err := from.ReadAt(footer, size-8-n); err != nil {
		return err
	}
	if _, err := decode(footer, &meta); err != nil {
		return fmt.Errorf("is damaged: its footer: %.200v", err)
	}
	return cmp.Or(checkSchema(meta.Schema), checkColumns(from, size-8-n, meta.RowGroups))
}

// checkSchema refuses a tree that is too deep. Its nodes are in order, each with the number of its children.
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

// checkColumns refuses columns that overlap or are not in the file, and those whose pages do not fit into memory, where two of each
// column of a group are at a time: its dictionary and the one that is read.
func checkColumns(from io.ReaderAt, size int64, groups []format.RowGroup) error {
	var all [][2]int64 // where they begin and end
	for _, g := range groups {
		need := 0.0
		for _, c := range g.Columns {
			begin := cmp.Or(c.MetaData.DictionaryPageOffset, c.MetaData.DataPageOffset)
			end := begin + c.MetaData.TotalCompressedSize
			if begin < 0 || end < begin || end > size {
				return errors.New("is damaged: a column is not in the file")
			}
			page, err := largestPage(from, begin, end)
			if err != nil {
				return fmt.Errorf("is damaged: a page: %w", err)
			}
			if need += 2 * page; end > begin {
				all = append(all, [2]int64{begin, end})
			}
		}
		if err := room.For(need); err != nil {
			return fmt.Errorf("reading %d columns at a time %w", len(g.Columns), err)
		}
	}
	slices.SortFunc(all, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	for i := 1; i < len(all); i++ {
		if all[i][0] < all[i-1][1] {
			return errors.New("is damaged: two columns, or two groups of rows, have the same bytes")
		}
	}
	return nil
}

// largestPage returns the memory that a page of a column takes at most.
func largestPage(from io.ReaderAt, at, end int64) (most float64, err error) {
	buffer := make([]byte, 1<<12)
	for at < end {
		b, h := buffer[:min(int64(len(buffer)), end-at)], format.PageHeader{}
		if _, err := from.ReadAt(b, at); err != nil {
			return 0, err
		}
		n, err := decode(b, &h)
		if errors.Is(err, io.ErrUnexpectedEOF) && len(b) == len(buffer) && len(b) < 1<<24 { // statistics have long words
			buffer = make([]byte, 16*len(b))
			continue
		}
		if err != nil {
			return 0, err
		}
		if at += int64(n) + int64(h.CompressedPageSize); at > end || h.CompressedPageSize < 0 {
			return 0, errors.New("it is longer than its column")
		}
		values := max(h.DataPageHeader.V.NumValues, h.DictionaryPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues)
		most = max(most, float64(h.UncompressedPageSize)+float64(h.CompressedPageSize)+12*float64(values))
	}
	return most, nil
}
