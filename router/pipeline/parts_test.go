package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
)

// sizes returns the number of rows in each part of a table, and of the rows that are not encoded, as the last
// element.
func sizes(t *TableRows) []int {
	var out []int
	for _, p := range t.Parts {
		out = append(out, p.Rows())
	}
	return append(out, t.Rows.Rows())
}

// allRows returns all rows of a table in one builder.
func allRows(t *testing.T, tr *TableRows) *column.Builder {
	t.Helper()
	var all column.Builder
	for i, c := range tr.Rows.Cols() {
		if c.ID == 0 {
			c.ID = uint32(1000 + i)
		}
	}
	for _, p := range tr.Parts {
		b, err := p.Builder()
		if err != nil {
			t.Fatal(err)
		}
		all.AppendRows(b)
	}
	all.AppendRows(tr.Rows)
	all.Finish()
	return &all
}

// Many small rows are never in memory all at once, and their memory is reserved. Before rows were divided into
// parts, these took 13 bytes each, and more while columns grew.
func TestManySmallRowsAreBounded(t *testing.T) {
	const rows = 300_000
	for name, one := range map[string]func(r Runner) error{
		"text":   func(r Runner) error { return r.TextRecord([]byte("x")) },
		"empty":  func(r Runner) error { return r.ScanLine([]byte("{}")) },
		"number": func(r Runner) error { return r.ScanLine([]byte(`{"a":1}`)) },
	} {
		for kind, open := range map[string]func(q *Request) (Runner, error){
			"text":   NewIdentity,
			"values": func(q *Request) (Runner, error) { return NewRunner(nil, q, nil) },
		} {
			t.Run(name+" by "+kind, func(t *testing.T) {
				most := int64(0)
				r, err := open(request(func(q *Request) {
					q.Reserve = func(n int64) error { most = max(most, n); return nil }
				}))
				if err != nil {
					t.Fatal(err)
				}
				defer r.Release()
				for range rows {
					if err := one(r); err != nil {
						t.Fatal(err)
					}
				}
				out, err := r.Finish()
				if err != nil {
					t.Fatal(err)
				}
				tr := out.Tables[0]
				if tr.Count() != rows || len(tr.Parts) != rows/partRows || tr.Rows.Rows() != rows%partRows {
					t.Errorf("%d rows, in parts of %v", tr.Count(), sizes(tr))
				}
				if most == 0 || most > 6<<20 {
					t.Errorf("%d bytes were reserved", most)
				}
				all := allRows(t, tr)
				for row := 0; row < rows; row += 999 {
					if got := all.Cols()[0].Int(row); got != testNow+int64(row) {
						t.Fatalf("row %d has the time %d", row, got-testNow)
					}
				}
			})
		}
	}
}

var errFull = errs.New(errs.RateLimited, "full")

// A request that cannot reserve more memory ends, even if it skips errors.
func TestReserveRefuses(t *testing.T) {
	p, err := Compile([]byte("processors:\n  - vrl: {source: '[., {\"b\": 2}]'}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func(q *Request) (Runner, error){
		"identity": NewIdentity,
		"pipeline": func(q *Request) (Runner, error) { return NewRunner(p, q, nil) },
	} {
		r, err := open(request(skipErrors, func(q *Request) {
			q.Reserve = func(n int64) error {
				if n > 2<<20 {
					return errFull
				}
				return nil
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; err == nil && i < 1_000_000; i++ {
			err = r.ScanLine(fmt.Appendf(nil, `{"m":"%d"}`, i*7919))
		}
		if err == nil {
			_, err = r.Finish()
		}
		if !errors.Is(err, errFull) {
			t.Errorf("%s: %v", name, err)
		}
		r.Release()
	}
}

// The ends of parts depend only on the records, not on what the runner learned before or on how the records are
// read.
func TestPartsEndAlike(t *testing.T) {
	line := func(i int) []byte {
		switch {
		case i%4099 == 0:
			return fmt.Appendf(nil, `{"m":"%s"}`, strings.Repeat("long ", 300_000))
		case i%5 == 0:
			return fmt.Appendf(nil, `{"m":"x","k%d":%d}`, i%300, i)
		}
		return fmt.Appendf(nil, `{"m":"message %d","n":%d}`, i, i)
	}
	feed := func(how ...func(*identity)) []int {
		r, err := NewIdentity(request())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		for _, f := range how {
			f(r.(*identity))
		}
		for i := range 40_000 {
			if err := r.ScanLine(line(i)); err != nil {
				t.Fatal(err)
			}
		}
		out, err := r.Finish()
		if err != nil {
			t.Fatal(err)
		}
		return sizes(out.Tables[0])
	}
	want := feed()
	if len(want) < 3 {
		t.Fatalf("too few parts for a test: %v", want)
	}
	for name, how := range map[string]func(*identity){"exact": onlySlow, "forgetful": smallTrie} {
		if got := feed(how); !slices.Equal(got, want) {
			t.Errorf("%s: parts of %v rows, without it %v", name, got, want)
		}
	}
}

// Records that lost a row are dropped and counted like other records, and columns that are added later have no value in
// earlier parts.
func TestPartsKeepRows(t *testing.T) {
	r, err := NewIdentity(request(skipErrors))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	const rows = 3 * partRows
	for i := range rows {
		text := fmt.Sprintf(`{"n":%d}`, i)
		if i >= partRows {
			text = fmt.Sprintf(`{"n":%d,"late":"%d"}`, i, i)
		}
		if i%partRows == 7 {
			text = `{"n":"no number","other":1}`
		}
		if err := r.ScanLine([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if out.Skipped != 3 || len(out.Tables) != 1 || out.Tables[0].Count() != rows-3 || len(out.Tables[0].Parts) != 2 {
		t.Fatalf("%d skipped, %v", out.Skipped, sizes(out.Tables[0]))
	}
	tr := out.Tables[0]
	if got := tr.Rows.Cols(); len(got) != 3 || got[2].Nulls()+got[2].PastNulls() != partRows-1 {
		t.Errorf("%d columns, %d nulls", len(got), got[2].Nulls()+got[2].PastNulls())
	}
	all, want := allRows(t, tr), 0
	for row := range all.Rows() {
		if want%partRows == 7 {
			want++
		}
		n, late := all.Cols()[1], all.Cols()[2]
		if n.Int(row) != int64(want) || late.IsNull(row) != (want < partRows) ||
			want >= partRows && string(late.Bytes(row)) != fmt.Sprint(want) {
			t.Fatalf("row %d is %d, not %d", row, n.Int(row), want)
		}
		want++
	}
}
