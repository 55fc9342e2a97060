package column

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
)

// rowsOf returns the builder's content as text, a line per row.
func rowsOf(b *Builder) string {
	var s strings.Builder
	for row := range b.Rows() {
		for i, c := range b.Cols() {
			if i > 0 {
				s.WriteByte(' ')
			}
			s.WriteString(c.Name + "=" + c.cell(row))
		}
		s.WriteByte('\n')
	}
	return s.String()
}

func mustRows(t *testing.T, b *Builder, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), rowsOf(b)); diff != "" {
		t.Fatal(diff)
	}
	for _, c := range b.Cols() {
		nulls := 0
		for row := range c.Len() {
			if c.IsNull(row) {
				nulls++
			}
		}
		if c.Nulls() != nulls {
			t.Errorf("column %s counts %d nulls, has %d", c.Name, c.Nulls(), nulls)
		}
	}
}

func TestBuilderPads(t *testing.T) {
	var b Builder
	n := b.Add(col(1, schema.Int64))
	n.SetInt(0, -5)
	b.EndRow()
	s := b.Add(col(2, schema.String))
	s.SetString(1, "x")
	b.EndRow()
	b.EndRow()
	n.SetInt(3, 7)
	s.SetNull(3)
	f := b.Add(col(3, schema.Float64))
	f.SetFloat(3, 0.5)
	b.EndRow()
	s.EndBytes(4, append(s.BeginBytes(4), "yz"...))
	b.EndRow()
	b.Finish()
	mustRows(t, &b, `
c1=-5 c2=null c3=null
c1=null c2="x" c3=null
c1=null c2=null c3=null
c1=7 c2=null c3=0x3fe0000000000000
c1=null c2="yz" c3=null
`)
}

func TestBuilderBeginWithoutEnd(t *testing.T) {
	var b Builder
	s := b.Add(col(1, schema.String))
	s.SetString(0, "kept")
	b.EndRow()
	_ = append(s.BeginBytes(1), "given up"...)
	s.SetString(1, "!")
	b.EndRow()
	mustRows(t, &b, "c1=\"kept\"\nc1=\"!\"\n")
}

func TestBuilderDropRow(t *testing.T) {
	var b Builder
	n, s := b.Add(col(1, schema.Int64)), b.Add(col(2, schema.String))
	n.SetInt(0, 1)
	s.SetString(0, "a")
	b.EndRow()

	// The row sets a value and a null, and adds two columns, one of which stays.
	n.SetInt(1, 2)
	s.SetNull(1)
	b.Add(col(3, schema.Boolean)).SetInt(1, 1)
	pinned := b.Add(col(4, schema.Float32))
	pinned.Pin()
	pinned.SetFloat(1, 1.5)
	if b.Cols()[2].FirstRow() != 1 || pinned.FirstRow() != -1 {
		t.Error("FirstRow does not return the row that added the column")
	}
	if !n.Has(1) || !s.Has(1) || n.Has(0) {
		t.Error("Has is wrong for the current row")
	}
	b.DropRow()
	if b.Rows() != 1 || len(b.Cols()) != 3 {
		t.Fatalf("%d rows, %d columns", b.Rows(), len(b.Cols()))
	}
	if n.Has(1) || s.Has(1) {
		t.Error("the dropped row still has values")
	}

	// The next row starts without values.
	s.SetString(1, "b")
	b.Add(col(5, schema.Int8)).SetInt(1, 9)
	b.EndRow()
	b.Finish()
	mustRows(t, &b, `
c1=1 c2="a" c4=null c5=null
c1=null c2="b" c4=null c5=9
`)
}

func TestBuilderDropFirstRow(t *testing.T) {
	var b Builder
	s := b.Add(col(1, schema.String))
	s.Pin()
	s.SetString(0, "gone")
	b.DropRow()
	s.SetString(0, "here")
	b.EndRow()
	mustRows(t, &b, "c1=\"here\"\n")
}

// TestBuilderDropAtWordBorders drops every kind of row before and after each place where a word of
// the validity bitmap starts or ends.
func TestBuilderDropAtWordBorders(t *testing.T) {
	for _, at := range []int{0, 1, 62, 63, 64, 65, 127, 128, 129} {
		for _, write := range []string{"value", "null", "nothing"} {
			t.Run(fmt.Sprintf("%d %s", at, write), func(t *testing.T) {
				var b Builder
				n, s := b.Add(col(1, schema.Int64)), b.Add(col(2, schema.Binary))
				n.Pin()
				s.Pin()
				for row := range at {
					if row%3 != 1 {
						n.SetInt(row, int64(row))
						s.SetString(row, fmt.Sprint(row))
					}
					b.EndRow()
				}
				want := rowsOf(&b)
				for range 3 {
					switch write {
					case "value":
						n.SetInt(at, 1)
						s.SetString(at, "x")
					case "null":
						n.SetNull(at)
						s.SetNull(at)
					}
					b.DropRow()
				}
				b.Finish()
				mustRows(t, &b, want)
				// Bits of dropped rows must not come back.
				b.EndRow()
				b.Finish()
				if got := strings.TrimPrefix(rowsOf(&b), want); got != "c1=null c2=null\n" {
					t.Errorf("an empty row after the dropped ones is %q", got)
				}
				got, err := Decode(b.Encode(nil, Header{}), nil)
				if err != nil {
					t.Fatal(err)
				}
				mustMatch(t, &b, 0, b.Rows(), got)
			})
		}
	}
}

func TestBuilderReset(t *testing.T) {
	var b Builder
	for _, typ := range schema.Types() {
		c := b.Add(col(uint32(typ), typ))
		if typ.IsBytes() {
			c.SetString(0, "old")
		} else {
			c.SetInt(0, 1)
		}
	}
	b.EndRow()
	b.Reset()
	if b.Rows() != 0 || len(b.Cols()) != 0 || b.ByteSize() != 0 {
		t.Fatal("the builder is not empty")
	}
	// Reused columns must have nothing of the old type or values.
	for _, typ := range []schema.Type{schema.String, schema.Int64, schema.JSON} {
		b.Add(col(uint32(typ), typ)).SetNull(0)
	}
	b.EndRow()
	mustRows(t, &b, "c12=null c5=null c14=null\n")
}

// TestLargeTextsAreShared checks that the memory of a column of long texts goes to the next builder
// that needs as much, and only after its rows are no longer used.
func TestLargeTextsAreShared(t *testing.T) {
	const size = 2 << 20
	text := func(b *Builder) *Col {
		c := b.Add(col(1, schema.String))
		c.Grow(size)
		return c
	}
	for name, end := range map[string]func(*Builder){"reset": (*Builder).Reset, "restart": (*Builder).Restart} {
		shared := false
		for range 100 { // a pool may drop its content
			var a, b Builder
			first := text(&a)
			first.SetString(0, "first")
			at := &first.bytes[0]
			other := text(&b)
			if other.SetString(0, "other"); string(first.Bytes(0)) != "first" || &other.bytes[0] == at {
				t.Fatalf("%s: memory in use went to another builder", name)
			}
			a.EndRow()
			end(&a)
			var next Builder
			c := text(&next)
			c.SetString(0, "next")
			shared = shared || &c.bytes[0] == at
		}
		if !shared {
			t.Errorf("%s: no memory was reused", name)
		}
	}
	var b Builder
	if c := text(&b); cap(c.bytes) < size || cap(c.bytes) > size+size/8+8192 {
		t.Errorf("%d bytes for %d", cap(c.bytes), size)
	}
}

func TestBuilderResetBoundsMemory(t *testing.T) {
	var b Builder
	for i := range 3 * maxFreeColumns {
		b.Add(col(uint32(i+1), schema.Int64)).SetInt(0, 1)
	}
	b.cols[0].bytes = make([]byte, maxFreeBytes+1)
	b.EndRow()
	b.Reset()
	if len(b.free) > maxFreeColumns {
		t.Errorf("%d columns are kept", len(b.free))
	}
	for _, c := range b.free {
		if cap(c.bytes) > maxFreeBytes || c.Name != "" {
			t.Fatalf("kept column %q with %d bytes", c.Name, cap(c.bytes))
		}
	}
}

func TestBuilderByteSize(t *testing.T) {
	b := accessLog(10)
	if b.ByteSize() < int(rawSize(b)) {
		t.Errorf("%d bytes for values of %d", b.ByteSize(), rawSize(b))
	}
	cols := b.Cols()
	cols[0], cols[1] = cols[1], cols[0]
	b.SetCols(cols)
	if b.Cols()[0].ID != 2 {
		t.Error("SetCols did not change the order")
	}
}

func TestBuilderRewind(t *testing.T) {
	for _, to := range []int{0, 1, 63, 64, 65, 100} {
		var b, want Builder
		fill := func(b *Builder, rows int) {
			n, s := b.Add(col(1, schema.Int64)), b.Add(col(2, schema.String))
			n.Pin()
			s.Pin()
			for row := range rows {
				if row%3 != 1 {
					n.SetInt(row, int64(row))
					s.SetString(row, fmt.Sprint(row))
				}
				if row == 70 {
					b.Add(col(3, schema.Float64)).SetFloat(row, 1)
				}
				b.EndRow()
			}
		}
		fill(&b, 100)
		b.Cols()[0].SetInt(100, 1) // the current row is removed too
		b.Rewind(to)
		fill(&want, to)
		b.Finish()
		want.Finish()
		mustRows(t, &b, rowsOf(&want))
		if got := len(b.Cols()); got != len(want.Cols()) {
			t.Errorf("%d columns after a return to row %d", got, to)
		}
	}
}

// TestSetStringOfEachLength sets strings of all short lengths, with and without room after the values before.
func TestSetStringOfEachLength(t *testing.T) {
	const text = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, room := range []int{0, 5, 31, 32, 33, 4096} {
		b := &Builder{}
		c := b.Add(schema.Column{ID: 1, Name: "s", Type: schema.String})
		c.Grow(room)
		for n := range len(text) {
			c.SetString(n, text[len(text)-n:])
			b.EndRow()
		}
		for n := range len(text) {
			if got := string(c.Bytes(n)); got != text[len(text)-n:] {
				t.Errorf("room of %d: string of %d bytes: %q", room, n, got)
			}
		}
		if want := len(text) * (len(text) - 1) / 2; c.TextSize() != want {
			t.Errorf("room of %d: %d bytes in all, want %d", room, c.TextSize(), want)
		}
	}
}
