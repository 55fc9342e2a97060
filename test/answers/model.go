package answers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// mode is how a table merges rows with the same identity.
type mode string

const (
	appends     mode = "append"
	lastRow     mode = "last_row"
	lastNonNull mode = "last_non_null"
)

// field is a column of the model.
type field struct {
	name string
	typ  schema.Type
	tag  bool
	// shown is the value of rows that are older than the column; nil is null.
	shown any
	// notNull columns have a value in every new row.
	notNull bool
	// missing is the value of rows that are written without a value; nil is null.
	missing any
	index   string // the kind of its index; empty if it has none
	// wide means that the column had an integer beyond ±2^53 at some time.
	wide bool
	// halves means that the column has floats whose sums are exact.
	halves bool
	// values returns a random value; nil is null.
	values func(r *rand.Rand) any
}

// record is a row of the model. A value is an int64, a float64 or a string; a missing value is
// null.
type record struct {
	ts      int64
	cells   map[*field]any
	deleted bool
}

// table is a table with its model: every acknowledged row, in order.
type table struct {
	name   string
	mode   mode
	unit   schema.Type // of the time index
	when   when
	fields []*field
	rows   []*record
	nextID int64
	clock  int64 // the approximate time of the next rows
	large  bool
	added  int // the number of columns that were added
}

func (t *table) field(name string) *field {
	for _, f := range t.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// identity returns the identity of a row, for a table that merges rows.
func (t *table) identity(r *record) string {
	s := strconv.FormatInt(r.ts, 10)
	for _, f := range t.fields {
		if f.tag {
			s += "|" + cell(f, r.cells[f])
		}
	}
	return s
}

// visible returns the rows that the table shows.
func (t *table) visible() []*record {
	if t.mode == appends {
		return t.rows
	}
	merged := map[string]*record{}
	for _, r := range t.rows {
		id := t.identity(r)
		switch old := merged[id]; {
		case r.deleted:
			delete(merged, id)
		case old == nil || t.mode == lastRow:
			merged[id] = r
		default:
			joined := &record{ts: r.ts, cells: map[*field]any{}}
			for _, f := range t.fields {
				joined.cells[f] = r.cells[f]
				if r.cells[f] == nil {
					joined.cells[f] = old.cells[f]
				}
			}
			merged[id] = joined
		}
	}
	var out []*record
	for _, r := range merged {
		out = append(out, r)
	}
	return out
}

// lines returns the visible rows, as SELECT * shows them, sorted.
func (t *table) lines() []string {
	var rows [][]string
	for _, r := range t.visible() {
		row := []string{strconv.FormatInt(r.ts, 10)}
		for _, f := range t.fields {
			v := r.cells[f]
			if v == nil {
				v = f.shown
			}
			row = append(row, cell(f, v))
		}
		rows = append(rows, row)
	}
	return lines(rows)
}

// columnList returns the time index and the fields in the order of the model.
func (t *table) columnList() string {
	names := []string{"ts"}
	for _, f := range t.fields {
		names = append(names, schema.QuoteIdent(f.name))
	}
	return strings.Join(names, ", ")
}

// cell returns a value of the model as cellText shows it.
func cell(f *field, v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		switch f.typ {
		case schema.Boolean:
			return strconv.FormatBool(v != 0)
		case schema.Uint64:
			return strconv.FormatUint(uint64(v), 10)
		}
		return strconv.FormatInt(v, 10)
	case float64:
		return floatText(v)
	case string:
		return strconv.Quote(v)
	}
	panic(fmt.Sprintf("a value of type %T", v))
}

// floatText returns a number without the sign of zero, because it is not defined whether a group or
// an extreme shows 0 or -0.
func floatText(v float64) string {
	if v == 0 {
		v = 0
	}
	return strconv.FormatFloat(v+0, 'g', -1, 64)
}

// cellText returns a value of an answer as text.
func cellText(a arrow.Array, row int) string {
	if a.IsNull(row) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Float32:
		return floatText(float64(a.Value(row)))
	case *array.Float64:
		return floatText(a.Value(row))
	case *array.Timestamp:
		return strconv.FormatInt(int64(a.Value(row)), 10)
	case *array.String:
		return strconv.Quote(a.Value(row))
	case *array.LargeString:
		return strconv.Quote(a.Value(row))
	case *array.Binary:
		return strconv.Quote(string(a.Value(row)))
	case *array.LargeBinary:
		return strconv.Quote(string(a.Value(row)))
	}
	return a.ValueStr(row)
}

// create creates the table.
func (c *cluster) create(t *table, partitions int) {
	var columns []string
	var tags []string
	columns = append(columns, "ts "+t.unit.SQL()+" TIME INDEX")
	for _, f := range t.fields {
		if f.tag {
			tags = append(tags, f.name)
		}
		columns = append(columns, f.sql())
	}
	if len(tags) > 0 {
		columns = append(columns, "PRIMARY KEY ("+strings.Join(tags, ", ")+")")
	}
	options := []string{fmt.Sprintf("'append_mode'='%t'", t.mode == appends)}
	if t.mode != appends {
		options = append(options, fmt.Sprintf("'merge_mode'='%s'", t.mode))
	}
	if partitions > 1 {
		options = append(options, fmt.Sprintf("'partitions'='%d'", partitions))
	}
	c.must("CREATE TABLE " + t.name + " (" + strings.Join(columns, ", ") + ") WITH (" + strings.Join(options, ", ") + ")")
}

func (f *field) sql() string {
	if f.index == "" {
		return f.name + " " + f.typ.SQL()
	}
	return f.name + " " + f.typ.SQL() + " " + f.index + " INDEX"
}

// write stores rows through the router's write path.
func (c *cluster) write(t *table, rows []*record) {
	c.t.Helper()
	def, ok := c.meta.Table(schema.DefaultDatabase, t.name)
	if !ok {
		c.t.Fatalf("table %s does not exist", t.name)
	}
	b := &column.Builder{}
	ts := b.Add(*def.TimeIndex())
	cols := make([]*column.Col, len(t.fields))
	for i, f := range t.fields {
		cols[i] = b.Add(*def.Column(f.name))
	}
	for i, r := range rows {
		ts.SetInt(i, r.ts)
		for k, f := range t.fields {
			switch v := r.cells[f].(type) {
			case nil:
				cols[k].SetNull(i)
			case int64:
				cols[k].SetInt(i, v)
			case float64:
				cols[k].SetFloat(i, v)
			case string:
				cols[k].SetString(i, v)
			}
		}
		b.EndRow()
	}
	_, err := c.writer.Write(c.ctx, &pipeline.Output{
		Records: len(rows),
		Tables:  []*pipeline.TableRows{{Database: def.Database, Table: def.Name, Existing: def, NoCreate: true, Rows: b}},
	})
	if err != nil {
		c.t.Fatalf("write to %s: %v", t.name, err)
	}
	t.take(rows)
}

// take adds stored rows to the model.
func (t *table) take(rows []*record) {
	for _, r := range rows {
		for f, v := range r.cells {
			f.wide = f.wide || f.blurred(v)
		}
	}
	t.rows = append(t.rows, rows...)
}

// some returns n random rows, most of them roughly in the order of time.
func (t *table) some(r *rand.Rand, n int) []*record {
	out := make([]*record, n)
	for i := range out {
		rec := &record{cells: map[*field]any{}}
		rec.ts, t.clock = t.when.next(r, t.unit, t.clock)
		if t.mode != appends && len(t.rows) > 0 && r.IntN(4) == 0 {
			rec.ts = t.rows[r.IntN(len(t.rows))].ts
		}
		for _, f := range t.fields {
			v := f.values(r)
			if f.name == "id" {
				t.nextID++
				v = t.nextID
			}
			if v != nil {
				rec.cells[f] = v
			}
		}
		out[i] = rec
	}
	return out
}

// check compares the table with its model.
func (c *cluster) check(t *table) {
	c.t.Helper()
	sql := "SELECT " + t.columnList() + " FROM " + t.name
	a := c.must(sql)
	for i, text := range strings.Split(a.columns, ", ")[1:] {
		f := t.fields[i]
		if number := f.typ.IsInteger() || f.typ.IsFloat(); number && text != f.name+" "+strings.ToLower(f.typ.String()) {
			c.t.Errorf("%s: column %s is %s in an answer, want %s", t.name, f.name, text, f.typ)
		}
	}
	want, got := t.lines(), lines(a.rows)
	if slices.Equal(want, got) {
		return
	}
	c.t.Errorf("%s: %s\n%s", t.name, sql, difference(want, got))
}

// difference returns the first lines that only one of two sorted lists has.
func difference(want, got []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "want %d rows, got %d", len(want), len(got))
	count := map[string]int{}
	for _, s := range want {
		count[s]++
	}
	for _, s := range got {
		count[s]--
	}
	shown := 0
	for _, s := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(want, got)))) {
		if n := count[s]; n != 0 && shown < 6 {
			if shown++; n > 0 {
				fmt.Fprintf(&b, "\n  lacks %d: %.400s", n, s)
			} else {
				fmt.Fprintf(&b, "\n  has %d more: %.400s", -n, s)
			}
		}
	}
	return b.String()
}
