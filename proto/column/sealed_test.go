package column

import (
	"bytes"
	"fmt"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// sealing returns a builder with some rows in two sealed parts, and the same rows in one builder.
func sealing(t *testing.T, ids bool) (b *Builder, parts []*Sealed, whole []*Builder) {
	t.Helper()
	b = &Builder{}
	id := func(n uint32) uint32 {
		if ids {
			return n
		}
		return 0
	}
	at := b.Add(schema.Column{ID: id(1), Name: "at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp})
	at.Pin()
	n := b.Add(schema.Column{ID: id(7), Name: "n", Type: schema.Int64})
	b.Add(schema.Column{ID: id(3), Name: "never", Type: schema.Int64}).Pin()
	var s *Col
	for part := range 2 {
		w := &Builder{}
		wat := w.Add(schema.Column{ID: 1, Name: "at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp})
		wn := w.Add(schema.Column{ID: 7, Name: "n", Type: schema.Int64})
		var ws *Col
		if part == 1 {
			s = b.Add(schema.Column{ID: id(5), Name: "s", Type: schema.String})
			ws = w.Add(schema.Column{ID: 5, Name: "s", Type: schema.String})
		}
		for row := range 300 {
			at.SetInt(row, int64(1000*part+row))
			wat.SetInt(row, int64(1000*part+row))
			if row%3 == 0 {
				n.SetInt(row, int64(row))
				wn.SetInt(row, int64(row))
			}
			if part == 1 && row < 200 {
				s.SetString(row, fmt.Sprint("text ", row))
				ws.SetString(row, fmt.Sprint("text ", row))
			}
			b.EndRow()
			w.EndRow()
		}
		parts, whole = append(parts, b.Seal()), append(whole, w)
		if b.Rows() != 0 || b.PastRows() != 300*(part+1) {
			t.Fatalf("%d rows are left, %d are past", b.Rows(), b.PastRows())
		}
	}
	if got := [...]int{at.PastNulls(), n.PastNulls(), b.Cols()[2].PastNulls(), s.PastNulls()}; got != [...]int{
		0, 400,
		600, 400,
	} {
		t.Errorf("nulls of sealed rows: %v", got)
	}
	if !n.Used() || b.Cols()[2].Used() {
		t.Error("Used does not count sealed rows")
	}
	return b, parts, whole
}

// TestSealed checks that sealed rows give the same batch as rows that were not sealed, whether
// their columns had ids when they were sealed or got ids, or other ids, later.
func TestSealed(t *testing.T) {
	for _, ids := range []bool{true, false} {
		b, parts, whole := sealing(t, ids)
		if !ids {
			for i, id := range []uint32{1, 7, 3, 5} {
				b.Cols()[i].ID = id
			}
		}
		for _, renamed := range []uint32{7, 70} {
			b.Cols()[1].ID = renamed
			for _, protocol := range []uint32{0, metapb.ProtocolPacking, metapb.ProtocolPacking - 1} {
				h := Header{TableID: 9, Epoch: 8, SchemaVersion: 7, Session: 6, Seq: 5, Protocol: protocol}
				for i, p := range parts {
					whole[i].Cols()[1].ID = renamed
					got, err := p.Append([]byte("before"), h)
					if err != nil {
						t.Fatal(err)
					}
					if want := whole[i].Encode([]byte("before"), h); !bytes.Equal(got, want) {
						t.Errorf("ids %v, column %d, protocol %d, part %d: the batch differs", ids, renamed, protocol, i)
					}
					if _, err := Decode(got[6:], nil); err != nil {
						t.Error(err)
					}
					back, err := p.Builder()
					if err != nil {
						t.Fatal(err)
					}
					mustRows(t, back, rowsOf(whole[i]))
				}
			}
		}
	}
}

// TestSealThenDrop checks that a row after sealed ones is dropped like any other, together with its
// columns.
func TestSealThenDrop(t *testing.T) {
	b, _, _ := sealing(t, true)
	cols := len(b.Cols())
	b.Cols()[0].SetInt(0, 1)
	b.Add(col(11, schema.Boolean)).SetInt(0, 1)
	b.DropRow()
	if b.Rows() != 0 || len(b.Cols()) != cols || b.Cols()[0].Len() != 0 {
		t.Errorf("%d rows, %d columns", b.Rows(), len(b.Cols()))
	}
	b.Reset()
	if b.PastRows() != 0 || b.Add(col(1, schema.Int64)).PastNulls() != 0 {
		t.Error("Reset does not forget sealed rows")
	}
}

// TestSealedIsSmall checks that similar rows need only a small part of the memory after they are
// sealed.
func TestSealedIsSmall(t *testing.T) {
	b := &Builder{}
	at := b.Add(schema.Column{ID: 1, Name: "at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp})
	s := b.Add(col(2, schema.String))
	for row := range 1 << 16 {
		at.SetInt(row, int64(row))
		s.SetString(row, "x")
		b.EndRow()
	}
	if raw, sealed := b.ByteSize(), b.Seal().Size(); sealed > raw/5 {
		t.Errorf("%d bytes are sealed in %d", raw, sealed)
	}
}
