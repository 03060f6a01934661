package parquet_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"fedkit.example/datasets/parquet"
	"fedkit.example/datasets/room"
	"fedkit.example/fedkit/fedtest/bounds"
	"fedkit.example/fedkit/fedtest/expect"
)

// memory makes readers believe that so many bytes are free.
func memory(t testing.TB, bytes float64) {
	real := room.Free
	room.Free = func() float64 { return bytes }
	t.Cleanup(func() { room.Free = real })
}

var protocol thrift.CompactProtocol

// refooted is a Parquet file with another footer, which begins as the file's own one.
func refooted(t testing.TB, file []byte, alter func(*format.FileMetaData)) []byte {
	t.Helper()
	n := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	var meta format.FileMetaData
	expect.OK(t, thrift.Unmarshal(&protocol, file[n:len(file)-8], &meta))
	alter(&meta)
	return footed(file[:n], expect.Value(thrift.Marshal(&protocol, &meta))(t))
}

func footed(data, footer []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(slices.Concat(data, footer), uint32(len(footer))), "PAR1"...)
}

type xy struct {
	X float32 `parquet:"x"`
	Y int32   `parquet:"y"`
}

// plain is a file of two columns and two rows.
func plain(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.OK(t, pq.Write(&b, []xy{{1, 0}, {2, 1}}))
	return b.Bytes()
}

// hostile are small files that claim to be large or deep, and what is said of them.
func hostile(t testing.TB) map[string][]byte {
	file := plain(t)
	return map[string][]byte{
		"is damaged: two columns, or two groups of rows, have the same bytes": refooted(t, file, func(m *format.FileMetaData) {
			m.RowGroups = slices.Repeat(m.RowGroups, 5000)
		}),
		"two columns, or two groups of rows, have the same": refooted(t, file, func(m *format.FileMetaData) {
			m.Schema[0].NumChildren.V = 5001
			m.Schema = append(slices.Repeat(m.Schema[1:2], 5000), m.Schema[2])
			m.Schema = append(thrift.Slice[format.SchemaElement]{{Name: "root", NumChildren: thrift.New(int32(5001))}}, m.Schema...)
			c := m.RowGroups[0].Columns
			m.RowGroups[0].Columns = append(slices.Repeat(c[:1], 5000), c[1])
		}),
		"has columns in more than 100 levels": refooted(t, file, func(m *format.FileMetaData) {
			one := format.SchemaElement{Name: "a", NumChildren: thrift.New(int32(1))}
			m.Schema = append(slices.Repeat(thrift.Slice[format.SchemaElement]{one}, 1000), m.Schema[1])
		}),
		"is damaged: a column is not in the file": refooted(t, file, func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[1].MetaData.TotalCompressedSize = 1 << 40
		}),
		"2:FIELD<LIST>: takes 4295.0 GB of memory: must be at most the 2.0 GB that are free": footed([]byte("PAR1"), []byte{0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7}),
		"is damaged: its footer: decoding thrift payload: 1:FIELD<BINARY>: unexpected EOF":   footed([]byte("PAR1"), []byte{0x18, 0xff, 0xff, 0xff, 0xff, 7}),
		"is damaged: its footer: decoding thrift payload: 1:FIELD<STRUCT> → 1:FIELD":         footed([]byte("PAR1"), bytes.Repeat([]byte{0x1c}, 100_000)),
	}
}

// A small file cannot make the process allocate what it claims to have.
func TestHostileFiles(t *testing.T) {
	memory(t, 2e9)
	path := filepath.Join(t.TempDir(), "t.parquet")
	for want, content := range hostile(t) {
		expect.OK(t, os.WriteFile(path, content, 0o600))
		bounds.Check(t, len(content), func() { expect.Error(t, "datasets: ", path, want)(parquet.Table{File: path}.Make()) })
	}
	header := format.PageHeader{Type: format.DataPage, UncompressedPageSize: math.MaxInt32, CompressedPageSize: 1, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 1})}
	page := append(expect.Value(thrift.Marshal(&protocol, &header))(t), 0)
	file := plain(t)
	n := len(file) - 8 - int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	content := refooted(t, slices.Concat(file[:n], page, page, file[n:]), func(m *format.FileMetaData) {
		for i := range m.RowGroups[0].Columns {
			c := &m.RowGroups[0].Columns[i].MetaData
			c.DataPageOffset, c.DictionaryPageOffset, c.TotalCompressedSize = int64(n+i*len(page)), 0, int64(len(page))
		}
	})
	expect.OK(t, os.WriteFile(path, content, 0o600))
	bounds.Check(t, len(content), func() {
		expect.Error(t, path+": reading 2 columns at a time takes 8.6 GB of memory: must be at most the 2.0 GB that are free")(parquet.Table{File: path}.Make())
	})
	f := expect.Value(os.OpenFile(path, os.O_RDWR, 0))(t) // a sparse file with the same footer
	defer f.Close()
	foot := content[n+2*len(page):]
	expect.OK(t, f.Truncate(1e11))
	expect.Value(f.WriteAt(make([]byte, 2*len(page)), int64(n)))(t)
	expect.Value(f.WriteAt(foot, 1e11-int64(len(foot))))(t)
	bounds.Check(t, len(content), func() {
		expect.Error(t, "is damaged: a page: missing required field")(parquet.Table{File: path}.Make())
	})
}

// What unpacks to more than is free is refused before it is there.
func TestMoreThanFits(t *testing.T) {
	type line struct {
		Text string `parquet:"text,dict"`
		Y    string `parquet:"y,dict"`
		X    int32  `parquet:"x"`
	}
	long := strings.Repeat("To be, or not to be ", 5000)
	var rows []line
	for i := range 1600 {
		rows = append(rows, line{long, long + []string{"a", "b"}[i%2], 1})
	}
	path := file(t, rows...) // 160 MB of text, twice
	numbers := file(t, slices.Repeat([]xy{{1, 0}, {2, 1}}, 5<<19)...)
	memory(t, 2e7)
	for _, c := range []struct {
		table parquet.Table
		want  string
	}{
		{parquet.Table{File: path, Text: "text"}, "row 16: reading on takes 25 MB of memory: must be at most the 20 MB that are free"},
		{parquet.Table{File: path, Label: "y", Features: []string{"x"}}, "reading on takes"},
		{parquet.Table{File: numbers}, "t.parquet: takes 47 MB of memory: must be at most the 20 MB that are free"},
	} {
		bounds.Check(t, 1<<18, func() { expect.Error(t, "t.parquet: ", c.want)(c.table.Make()) })
	}
}
