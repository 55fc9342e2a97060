package pipeline

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"cordwood/proto/schema"
)

// lines is a layout like those of protocols.
var lines = &Layout{Columns: []schema.Column{
	{Name: "line", Type: schema.String, Semantic: schema.Field},
	{Name: "meta", Type: schema.JSON, Semantic: schema.Field},
	{Name: "severity", Type: schema.Int32, Semantic: schema.Field},
}}

func tagged(name string) schema.Column {
	return schema.Column{Name: name, Type: schema.String, Semantic: schema.Tag}
}

// direct runs fill and returns the resulting rows.
func direct(q *Request, fill func(r *Direct) error) string {
	r, err := NewDirect(q, lines)
	if err != nil {
		return err.Error()
	}
	defer r.Release()
	if err := fill(r); err != nil {
		return err.Error()
	}
	out, err := r.Finish()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(trimLines(dump(out)))
}

// twoRows puts a row with all columns of the layout and one more, and a row with one column.
func twoRows(r *Direct) error {
	app := r.Column(tagged("app"))
	r.Time(5)
	r.Text(0, []byte("one"))
	r.JSON(1, []byte(`{"a":1}`))
	r.Int(2, 9)
	r.Text(app, []byte("x"))
	if err := r.End(); err != nil {
		return err
	}
	r.Text(0, []byte("two"))
	return r.End()
}

// threeRows puts a row whose severity is a text between two valid ones. The failing row adds the column "late",
// which has a value in the last row.
func threeRows(r *Direct) error {
	late := r.Column(schema.Column{Name: "late", Type: schema.Int64, Semantic: schema.Field})
	for i := range 3 {
		r.Time(int64(i))
		if r.Int(2, 1); i == 1 {
			r.Int(late, 1)
			r.Text(2, []byte("again"))
		} else if i == 2 {
			r.Int(late, 2)
		}
		if err := r.End(); err != nil {
			return err
		}
	}
	return nil
}

func TestDirect(t *testing.T) {
	for _, c := range []struct {
		name   string
		change []func(*Request)
		fill   func(r *Direct) error
		want   string
	}{
		{"a new table", nil, twoRows, `
			t
			svc_timestamp TimestampNanosecond TIMESTAMP: 5 now+1
			line String: "one" "two"
			meta Json: "{\"a\":1}" -
			severity Int32: 9 -
			app String TAG: "x" -`},
		{"no rows", nil, func(*Direct) error { return nil }, ""},
		{
			"a table keeps its types, roles and time index",
			[]func(*Request){having("at TimestampMillisecond ti, line String tag, meta String, severity Float64, app Int64")},
			func(r *Direct) error {
				r.Time(7_000_000)
				r.Text(0, []byte("one"))
				r.JSON(1, []byte(`{"a":1}`))
				r.Int(2, 9)
				r.Int(r.Column(tagged("app")), 4)
				return r.End()
			},
			`t
			at TimestampMillisecond TIMESTAMP: 7
			app Int64: 4
			line String TAG: "one"
			meta String: "{\"a\":1}"
			severity Float64: 9.0`,
		},
		{
			"a value of another type",
			[]func(*Request){having("svc_timestamp TimestampNanosecond ti, line Int64")},
			twoRows,
			`record 0: column "line" of table "t": expected Int64, actual String: "one"; ` +
				`set the table option on_type_conflict=aside to keep such rows, or skip_error=true to drop them`,
		},
		{
			"a value that goes aside",
			[]func(*Request){having("svc_timestamp TimestampNanosecond ti, line Int64", "on_type_conflict", "aside")},
			func(r *Direct) error {
				r.Text(0, []byte("one"))
				return r.End()
			},
			`t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+0
			line Int64: -
			line_conflict String: "one"
			1 value of the column line of table public.t was put aside, as text in line_conflict: ` +
				`its type is not the column's; the first is one`,
		},
		{
			"columns that a refused row introduced",
			[]func(*Request){skipErrors, having("svc_timestamp TimestampNanosecond ti")},
			threeRows,
			`t
			svc_timestamp TimestampNanosecond TIMESTAMP: 0 2
			late Int64: - 2
			severity Int32: 1 1
			skipped 1 of 3: record 1: column "severity": the record has two values for it`,
		},
		{"two values", nil, threeRows, `record 1: column "severity": the record has two values for it`},
		{
			"no new columns",
			[]func(*Request){
				func(q *Request) { q.AutoCreate = false }, having("svc_timestamp TimestampNanosecond ti, line String"),
			},
			twoRows,
			`record 0: table "t" has no column "meta", and adding columns is disabled with auto_create_table`,
		},
		{
			"too many columns",
			[]func(*Request){maxColumnsOf(4)},
			twoRows,
			`record 0: table "t" would get more than 4 columns with "app"; store fields that vary in an array, ` +
				`or lower max_nested_levels`,
		},
		{
			"a column that must have a value",
			[]func(*Request){having("svc_timestamp TimestampNanosecond ti, k String not null")},
			twoRows, `record 0: missing column "k": table "t" has it NOT NULL and without a default`,
		},
		{"a name that no column may have", []func(*Request){skipErrors}, func(r *Direct) error {
			r.Text(r.Column(tagged("")), []byte("x"))
			return r.End()
		}, `skipped 1 of 1: record 0: Invalid column name: it is empty; ` + nameAdvice},
		{"a record that the decoder refuses", []func(*Request){skipErrors}, func(r *Direct) error {
			r.Text(0, []byte("half"))
			if err := r.Drop(errors.New("no time")); err != nil {
				return err
			}
			r.Text(0, []byte("whole"))
			return r.End()
		}, `t
			svc_timestamp TimestampNanosecond TIMESTAMP: now+1
			line String: "whole"
			meta Json: -
			severity Int32: -
			skipped 1 of 2: record 0: no time`},
		{"the name of the time index", nil, func(r *Direct) error {
			r.Text(r.Column(tagged("svc_timestamp")), []byte("x"))
			r.Time(3)
			return r.End()
		}, `t
			svc_timestamp TimestampNanosecond TIMESTAMP: 3
			line String: -
			meta Json: -
			severity Int32: -`},
	} {
		for range 2 { // the second time with memory from the first
			if got, want := direct(request(c.change...), c.fill), trimLines(c.want); got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, want)
			}
		}
	}
}

func TestDirectTexts(t *testing.T) {
	r, err := NewDirect(request(), lines)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	r.Text(0, []byte("a\xffb"))
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Tables[0].Rows.Cols()[1].Bytes(0); string(got) != "a\uFFFDb" || r.Repaired() != 1 || !r.NewTable() {
		t.Errorf("text %q, %d repaired", got, r.Repaired())
	}
}

// Many rows are divided into parts, as in other runners.
func TestDirectParts(t *testing.T) {
	r, err := NewDirect(request(), lines)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	const n = partRows + 10
	for i := range n {
		r.Time(int64(i))
		r.Text(0, []byte("a line"))
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
	}
	out, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	rows := out.Tables[0].Rows.Rows()
	for _, p := range out.Tables[0].Parts {
		rows += p.Rows()
	}
	if len(out.Tables[0].Parts) == 0 || rows != n {
		t.Errorf("%d rows in %d parts and the rest, of %d", rows, len(out.Tables[0].Parts), n)
	}
}

func BenchmarkDirect(b *testing.B) {
	line, meta, web := bytes.Repeat([]byte("GET /index.html 200 "), 6), []byte("{}"), []byte("web")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewDirect(request(), lines)
		if err != nil {
			b.Fatal(err)
		}
		app := r.Column(tagged("app"))
		for i := range 1000 {
			r.Time(int64(i))
			r.Text(0, line)
			r.JSON(1, meta)
			r.Text(app, web)
			if err := r.End(); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := r.Finish(); err != nil {
			b.Fatal(err)
		}
		r.Release()
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "rows/s")
}

// TestDirectTotal checks that a text that all records of a request share counts each time that it becomes a value, even
// in records that are skipped.
func TestDirectTotal(t *testing.T) {
	shared := bytes.Repeat([]byte("x"), 4<<20)
	rows := 0
	got := direct(&Request{Database: "public", Table: "t", SkipError: true}, func(r *Direct) error {
		for range maxDirectBytes/len(shared) + 1 {
			r.Text(0, shared)
			if err := r.End(); err != nil {
				return err
			}
			rows++
		}
		return nil
	})
	if !strings.Contains(got, "send fewer records in a request") || rows != maxDirectBytes/len(shared) {
		t.Errorf("%d rows: %.300s", rows, got)
	}
}

// TestDroppedRowsCount checks that the values of dropped rows count towards the limit of the request. Otherwise a
// request could copy texts without a limit.
func TestDroppedRowsCount(t *testing.T) {
	r, err := NewDirect(request(skipErrors), lines)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	text := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 2 * maxDirectBytes / len(text) {
		r.Text(0, text)
		if err := r.Drop(errors.New("no time")); err != nil {
			if i < maxDirectBytes/len(text) || !strings.Contains(err.Error(), "send fewer records") {
				t.Errorf("row %d: %v", i, err)
			}
			return
		}
	}
	t.Error("the dropped rows had no limit")
}

// TestExpect checks that memory allocated in advance does not change the stored texts, in a new table or in an existing
// one.
func TestExpect(t *testing.T) {
	for _, change := range [][]func(*Request){
		nil,
		{having("svc_timestamp TimestampNanosecond ti, line String")},
		{having("svc_timestamp TimestampNanosecond ti, line JSON")},
	} {
		if got, want := direct(request(change...), func(r *Direct) error {
			r.Expect(0, 1000)
			return twoRows(r)
		}), direct(request(change...), twoRows); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	r, err := NewDirect(request(having("svc_timestamp TimestampNanosecond ti, line String")), lines)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	line := bytes.Repeat([]byte("x"), 500)
	r.Expect(0, 1000*len(line))
	put := func() {
		r.Text(0, line)
		if err := r.End(); err != nil {
			t.Error(err)
		}
	}
	put()
	before := &r.cols[0].col.Bytes(0)[0]
	for range 900 {
		put()
	}
	if &r.cols[0].col.Bytes(0)[0] != before {
		t.Error("the column was moved although its size was known")
	}
}
