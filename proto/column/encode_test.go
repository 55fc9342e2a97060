package column

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"cordwood/proto/schema"
)

// TestEncodings checks which encoding each kind of column gets.
func TestEncodings(t *testing.T) {
	const rows = 1000
	type form struct {
		encoding Encoding
		width    uint8
		base     int64
		entries  int
	}
	ints := func(value func(row int) int64) func(*Col, int) {
		return func(c *Col, row int) { c.SetInt(row, value(row)) }
	}
	texts := func(value func(row int) string) func(*Col, int) {
		return func(c *Col, row int) { c.SetString(row, value(row)) }
	}
	for _, c := range []struct {
		name string
		typ  schema.Type
		set  func(c *Col, row int)
		want form
	}{
		{"constant", schema.Int64, ints(func(int) int64 { return -3 }), form{Fixed, 0, -3, 0}},
		{"status codes", schema.Int64, ints(func(r int) int64 { return 200 + int64(r%304) }), form{Fixed, 2, 200, 0}},
		{"one byte", schema.Int64, ints(func(r int) int64 { return -100 + int64(r%256) }), form{Fixed, 1, -100, 0}},
		{"four bytes", schema.Int64, ints(func(r int) int64 { return int64(r) << 20 }), form{Fixed, 4, 0, 0}},
		{"all of int64", schema.Int64, ints(func(r int) int64 {
			return []int64{math.MinInt64, math.MaxInt64}[r%2]
		}), form{Fixed, 8, math.MinInt64, 0}},
		{"uint64 about 2^63", schema.Uint64, ints(func(r int) int64 {
			return math.MinInt64 + int64(r%2)
		}), form{Fixed, 1, math.MinInt64, 0}},
		{"uint64 around 2^64", schema.Uint64, ints(func(r int) int64 { return -int64(r % 2) }), form{Fixed, 1, -1, 0}},
		{"milliseconds", schema.TimestampMillisecond, ints(func(r int) int64 {
			return 1_700_000_000_000 + int64(r)
		}), form{Fixed, 2, 1_700_000_000_000, 0}},
		{"booleans", schema.Boolean, ints(func(r int) int64 { return int64(r & 1) }), form{Fixed, 1, 0, 0}},
		{"only true", schema.Boolean, ints(func(int) int64 { return 1 }), form{Fixed, 0, 1, 0}},
		{"only false", schema.Boolean, ints(func(int) int64 { return 0 }), form{Fixed, 0, 0, 0}},
		{"nulls do not widen", schema.Int64, func(c *Col, row int) {
			if row%2 == 0 {
				c.SetInt(row, 1<<40+int64(row%7))
			}
		}, form{Fixed, 1, 1 << 40, 0}},
		{"+0", schema.Float64, func(c *Col, row int) { c.SetFloat(row, 0) }, form{Fixed, 0, 0, 0}},
		{"-0", schema.Float64, func(c *Col, row int) { c.SetFloat(row, math.Copysign(0, -1)) }, form{Fixed, 8, 0, 0}},
		{"float64", schema.Float64, func(c *Col, row int) { c.SetFloat(row, 1) }, form{Fixed, 8, 0, 0}},
		{"float32", schema.Float32, func(c *Col, row int) { c.SetFloat(row, 1) }, form{Fixed, 4, 0, 0}},
		{"constant text", schema.String, texts(func(int) string { return "HTTP/1.1" }), form{Dict, 0, 0, 1}},
		{"constant empty text", schema.String, texts(func(int) string { return "" }), form{Dict, 0, 0, 1}},
		{"same length, other text", schema.String, texts(func(r int) string {
			return []string{"aa", "ab"}[r%2]
		}), form{Dict, 1, 0, 2}},
		{"methods", schema.String, texts(func(r int) string {
			return []string{"GET", "POST", ""}[r%3]
		}), form{Dict, 1, 0, 3}},
		{"256 texts", schema.String, texts(func(r int) string {
			return fmt.Sprintf("text %d", r/3%256)
		}), form{Dict, 1, 0, 256}},
		{"257 texts", schema.String, texts(func(r int) string {
			return fmt.Sprintf("text %d", r/3%257)
		}), form{Dict, 2, 0, 257}},
		{"300 texts", schema.JSON, texts(func(r int) string {
			return fmt.Sprintf(`"a longer text %d"`, max(0, r-699))
		}), form{Dict, 2, 0, 301}},
		{"ids", schema.String, texts(func(r int) string { return fmt.Sprintf("%08x", r*2654435761) }), form{Plain, 0, 0, 0}},
		{"ids after a while", schema.String, texts(func(r int) string {
			return fmt.Sprint(max(50, r))
		}), form{Plain, 0, 0, 0}},
		{"one in a thousand", schema.Binary, func(c *Col, row int) {
			if row == 500 {
				c.SetString(row, "here")
			}
		}, form{Dict, 0, 0, 1}},
		{"only nulls", schema.Int8, func(c *Col, row int) { c.SetNull(row) }, form{Fixed, 0, 0, 0}},
		{"only nulls of text", schema.JSON, func(c *Col, row int) { c.SetNull(row) }, form{Dict, 0, 0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b Builder
			column := b.Add(col(1, c.typ))
			for row := range rows {
				c.set(column, row)
				b.EndRow()
			}
			got, err := Decode(b.Encode(nil, Header{}), nil)
			if err != nil {
				t.Fatal(err)
			}
			mustMatch(t, &b, 0, rows, got)
			v := got.Cols[0]
			if have := (form{v.Encoding, v.Width, v.Base, v.DictLen}); have != c.want {
				t.Errorf("got %+v, want %+v", have, c.want)
			}
		})
	}
}

func TestColumnsOfNullsShareMemory(t *testing.T) {
	var b Builder
	for i := range 2000 {
		b.Add(col(uint32(i+1), schema.Types()[i%18])).Pin()
	}
	for range 10_000 {
		b.EndRow()
	}
	src := b.Encode(nil, Header{})
	size, err := InflatedSize(src)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2000*entrySize + validitySize(10_000) + tailSize; size != want {
		t.Errorf("inflated size %d, want %d", size, want)
	}
	if len(src) > 30_000 {
		t.Errorf("%d bytes for nothing but nulls", len(src))
	}
	if _, err := Decode(src, nil); err != nil {
		t.Error(err)
	}
}

func TestTimeRange(t *testing.T) {
	var b Builder
	b.Add(col(1, schema.TimestampSecond)).SetInt(0, 5)
	ts := b.Add(schema.Column{ID: 2, Type: schema.TimestampNanosecond, Semantic: schema.Timestamp})
	for row, v := range []int64{30, -10, 20, 70, 60} {
		ts.SetInt(row, v)
		b.EndRow()
	}
	for _, c := range []struct {
		from, to int
		lo, hi   int64
	}{{0, 5, -10, 70}, {2, 5, 20, 70}, {4, 5, 60, 60}, {3, 3, 0, 0}} {
		h, err := DecodeHeader(b.EncodeRange(nil, Header{MinTime: 1, MaxTime: 2, Rows: 99}, c.from, c.to))
		if err != nil || h.MinTime != c.lo || h.MaxTime != c.hi || h.Rows != c.to-c.from {
			t.Errorf("rows %d to %d: %+v, %v", c.from, c.to, h, err)
		}
	}
}

func TestInvalidUTF8IsRepaired(t *testing.T) {
	values := []string{
		"good", "größe", "", "bad \xff end", "\xc3", "\xb6", "cut \xe2\x82", "surrogate \xed\xa0\x80", "long \xc0\xaf",
		"€", "repeat \xff", "repeat \xff", "\ufffd",
	}
	for _, typ := range []schema.Type{schema.String, schema.JSON, schema.Binary} {
		for _, times := range []int{1, 20} { // plain values, and a dictionary
			var b Builder
			c := b.Add(col(1, typ))
			for row := range len(values) * times {
				c.SetString(row, values[row%len(values)])
				b.EndRow()
			}
			got, err := Decode(b.Encode(nil, Header{}), nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[int]Encoding{1: Plain, 20: Dict}[times]; got.Cols[0].Encoding != want {
				t.Fatalf("encoding %s, want %s", got.Cols[0].Encoding, want)
			}
			for row := range b.Rows() {
				have, given := string(got.Cols[0].Bytes(row)), values[row%len(values)]
				switch {
				case typ == schema.Binary || utf8.ValidString(given):
					if have != given {
						t.Errorf("%s row %d: %q became %q", typ, row, given, have)
					}
				case !utf8.ValidString(have) || len(have) != len(given) || !strings.Contains(have, "?"):
					t.Errorf("%s row %d: %q became %q", typ, row, given, have)
				}
			}
		}
	}
}

// TestValuesThatJoinToACharacter encodes two invalid values that are valid when concatenated.
func TestValuesThatJoinToACharacter(t *testing.T) {
	var b Builder
	c := b.Add(col(1, schema.String))
	for row, v := range []string{"a\xc3", "\xa4b", "ä"} {
		c.SetString(row, v)
		b.EndRow()
	}
	got, err := Decode(b.Encode(nil, Header{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for row, want := range []string{"a?", "?b", "ä"} {
		if have := string(got.Cols[0].Bytes(row)); have != want {
			t.Errorf("row %d: %q, want %q", row, have, want)
		}
	}
}

func TestEncodeConcurrently(t *testing.T) {
	b := accessLog(2000)
	b.Finish()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			got, err := Decode(b.EncodeRange(nil, Header{}, i*500, i*500+500), nil)
			if err != nil {
				t.Error(err)
				return
			}
			for _, c := range b.Cols() {
				for row := range 500 {
					if have, want := got.Column(c.ID).cell(row), c.cell(i*500+row); have != want {
						t.Errorf("column %d row %d: %s, want %s", c.ID, i*500+row, have, want)
						return
					}
				}
			}
		}()
	}
	wg.Wait()
}

func TestChunks(t *testing.T) {
	b := accessLog(3000)
	whole := b.SizeBound(0, 3000)
	for _, limit := range []int{1, 10_000, 100_000, whole - 1, whole, MaxInflated, math.MaxInt} {
		at, n := 0, 0
		for from, to := range b.Chunks(limit) {
			if from != at || to <= from || to-from > 1 && b.SizeBound(from, to) > limit {
				t.Fatalf("limit %d: rows %d to %d after %d, of %d bytes", limit, from, to, at, b.SizeBound(from, to))
			}
			if to < b.Rows() && limit > 1 && b.SizeBound(from, to+1) <= limit {
				t.Errorf("limit %d: rows %d to %d could be one more", limit, from, to)
			}
			at, n = to, n+1
		}
		if at != b.Rows() {
			t.Errorf("limit %d: %d rows are left", limit, b.Rows()-at)
		}
		if want := limit >= whole; want != (n == 1) {
			t.Errorf("limit %d: %d chunks", limit, n)
		}
	}
	for range (&Builder{}).Chunks(1000) {
		t.Error("a chunk of no rows")
	}
	for from := range b.Chunks(10_000) {
		if from > 0 {
			t.Error("it continues after the end")
		}
		break
	}
}

func TestChunksBoundRows(t *testing.T) {
	var b Builder
	b.Add(col(1, schema.Int8)).Pin()
	for range MaxRows + 5 {
		b.EndRow()
	}
	var ends []int
	for _, to := range b.Chunks(MaxInflated) {
		ends = append(ends, to)
	}
	if len(ends) != 2 || ends[0] != MaxRows || ends[1] != MaxRows+5 {
		t.Errorf("chunks end at %v", ends)
	}
	for name, f := range map[string]func(){
		"too many rows":    func() { b.Encode(nil, Header{}) },
		"a wrong range":    func() { b.EncodeRange(nil, Header{}, 3, 2) },
		"rows not there":   func() { b.EncodeRange(nil, Header{}, 0, b.Rows()+1) },
		"a negative range": func() { b.EncodeRange(nil, Header{}, -1, 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestRowUnderWayIsLeftOut(t *testing.T) {
	var b Builder
	n, s := b.Add(col(1, schema.Int64)), b.Add(col(2, schema.String))
	n.SetInt(0, 1)
	s.SetString(0, "a")
	b.EndRow()
	n.SetInt(1, 1<<50)
	s.SetString(1, "under way")
	got, err := Decode(b.Encode(nil, Header{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	mustMatch(t, &b, 0, 1, got)
	b.DropRow()
	n.SetNull(1)
	s.SetNull(1)
	if got, err = Decode(b.Encode(nil, Header{}), nil); err != nil {
		t.Fatal(err)
	}
	mustMatch(t, &b, 0, 1, got)
}

func TestAllocations(t *testing.T) {
	b := accessLog(1000)
	dst := b.Encode(nil, Header{})
	size, err := InflatedSize(dst)
	if err != nil {
		t.Fatal(err)
	}
	mem, src := make([]byte, size), append([]byte(nil), dst...)
	if n := testing.AllocsPerRun(20, func() {
		if _, err := Decode(src, mem); err != nil {
			t.Fatal(err)
		}
	}); n > 2 && !checkBodies { // pools forget some of what they get under the race detector
		t.Errorf("Decode allocates %v times", n)
	}
	if n := testing.AllocsPerRun(20, func() {
		if _, err := DecodeHeader(src); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("DecodeHeader allocates %v times", n)
	}
}
