package segment

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// TestLongTextsAreGatheredInPlace checks that gathering the texts of a second file reuses the
// memory of the first, although each file tries a dictionary first.
func TestLongTextsAreGatheredInPlace(t *testing.T) {
	const rows, size = 5000, 1000
	const shorter = 100 // the number of bytes that the last text lacks at first
	v := &column.View{Type: schema.String, Encoding: column.Plain, Rows: rows, Data: make([]byte, rows*size)}
	for i := range rows {
		v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, uint32(i*size))
		binary.LittleEndian.PutUint32(v.Data[i*size:], uint32(i))
	}
	v.Data = v.Data[:rows*size-shorter]
	v.Offsets = binary.LittleEndian.AppendUint32(v.Offsets, rows*size-shorter)
	runs := []run{{row: 0, n: rows / 2}, {row: rows / 2, n: rows / 2}}
	var g gathered
	file := func() {
		for group := range 2 {
			g.reset(group > 0, rows)
			g.add(schema.String, []*column.View{v}, runs)
			g.finish()
			if !bytes.Equal(g.Data, v.Data) || len(g.Ends) != rows {
				t.Fatalf("%d bytes, %d texts", len(g.Data), len(g.Ends))
			}
		}
	}
	file()
	before := g.footprint()
	for range 3 {
		file()
	}
	data := unsafe.SliceData(g.Data)
	v.Data = v.Data[:rows*size]
	binary.LittleEndian.PutUint32(v.Offsets[4*rows:], rows*size)
	file()
	if unsafe.SliceData(g.Data) != data {
		t.Error("slightly longer texts are gathered in new memory")
	}
	if got := g.footprint(); got > before+before/8 || got > 2*rows*size {
		t.Errorf("%d bytes of memory, %d after the first file, for %d bytes of texts", got, before, rows*size)
	}
}
