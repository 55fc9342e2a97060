package rows

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
	"cordwood/router/vrl/value"
)

// shape describes the format of the values of rows.
type shape struct {
	// most limits the bytes of a text. A longer text is cut at the end of a character.
	most int
	// columns lists the columns to show; nil means all.
	columns []string
}

// batch reads the rows of an Arrow batch from SELECT * of one table.
type batch struct {
	shape   *shape
	table   *scope.Table
	columns []batchColumn // by name
	shown   []int         // indices of columns, in the order of the table
	time    *array.Timestamp
}

// batchColumn is a column of a batch.
type batchColumn struct {
	name  string
	key   []byte // the name as JSON, with a colon
	array arrow.Array
	text  func(row int) string // nil if the column has no texts
	write format.Cell
}

func newBatch(rec arrow.RecordBatch, t *scope.Table, sh *shape) (*batch, error) {
	b := &batch{shape: sh, table: t}
	index := t.Def.TimeIndex().Name
	order := map[string]int{}
	for i, f := range rec.Schema().Fields() {
		c := rec.Column(i)
		if f.Name == index {
			b.time, _ = c.(*array.Timestamp)
		}
		order[f.Name] = i
		b.columns = append(b.columns, batchColumn{
			name: f.Name, array: c, text: format.Text(c), write: format.SafeCell(c),
			key: append(value.AppendJSONString(nil, f.Name), ':'),
		})
	}
	if b.time == nil {
		return nil, errs.New(errs.Internal, "read rows of %s: the answer has no time index", t.Def.Name)
	}
	slices.SortFunc(b.columns, func(a, c batchColumn) int { return strings.Compare(a.name, c.name) })
	for i := range b.columns {
		if sh.columns == nil || slices.Contains(sh.columns, b.columns[i].name) {
			b.shown = append(b.shown, i)
		}
	}
	slices.SortFunc(b.shown, func(x, y int) int { return order[b.columns[x].name] - order[b.columns[y].name] })
	return b, nil
}

// place returns the position of a row, without the number among identical rows.
func (b *batch) place(row int) place {
	return place{at: b.at(row), hash: b.hash(row), table: b.table.Def.Name, number: 1}
}

// at returns the time of a row.
func (b *batch) at(row int) time.Time {
	return scope.TimeOf(int64(b.time.Value(row)), b.table.Def.TimeIndex().Type)
}

// row returns a row with its values.
func (b *batch) row(p place, row int) *Row {
	r := &Row{place: p, Table: p.table, Time: p.at.Format(time.RFC3339Nano)}
	out := []byte{'{'}
	for _, i := range b.shown {
		c := &b.columns[i]
		if format.IsNull(c.array, row) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, c.key...)
		if c.text == nil {
			out = c.write(out, row)
			continue
		}
		text := c.text(row)
		if len(text) > b.shape.most {
			if r.Cut == nil {
				r.Cut = map[string]int{}
			}
			r.Cut[c.name] = len(text)
			text = scope.Cut(text, b.shape.most)
		}
		out = value.AppendJSONString(out, text)
	}
	r.V = append(out, '}')
	return r
}

// hash returns a hash of the names and values of a row that are not null. It is part of links, so it must not depend
// on the order of the columns, and must not change if a column of integers becomes a column of floats.
func (b *batch) hash(row int) uint64 {
	h := xxhash.New()
	var buf [64]byte
	part := func(p []byte) {
		_, _ = h.Write(strconv.AppendInt(buf[:0:32], int64(len(p)), 10)) // it never fails
		_, _ = h.Write([]byte{':'})
		_, _ = h.Write(p)
	}
	text := func(s string) {
		_, _ = h.Write(strconv.AppendInt(buf[:0:32], int64(len(s)), 10))
		_, _ = h.Write([]byte{':'})
		_, _ = h.WriteString(s)
	}
	for i := range b.columns {
		c := &b.columns[i]
		if format.IsNull(c.array, row) {
			continue
		}
		text(c.name)
		switch a := c.array.(type) {
		case *array.Float64:
			part(appendNumber(buf[32:32], a.Value(row), 64))
		case *array.Float32:
			part(appendNumber(buf[32:32], float64(a.Value(row)), 32))
		case *array.Timestamp:
			at := scope.TimeOf(int64(a.Value(row)), unitOf(a))
			part([]byte(nanoseconds(at)))
		default:
			if c.text != nil {
				text(c.text(row))
			} else {
				part(numeral(c.write(nil, row)))
			}
		}
	}
	return h.Sum64()
}

// numeral removes the quotes of an integer in text form.
func numeral(text []byte) []byte {
	if len(text) > 1 && text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// appendNumber appends a float. A float without a fraction is written like the integer.
func appendNumber(dst []byte, f float64, bits int) []byte {
	const most = 1 << 63
	if f == math.Trunc(f) && math.Abs(f) < most {
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return strconv.AppendFloat(dst, f, 'g', -1, bits)
}

// unitOf returns the timestamp type of the array a.
func unitOf(a *array.Timestamp) schema.Type {
	switch a.DataType().(*arrow.TimestampType).Unit {
	case arrow.Second:
		return schema.TimestampSecond
	case arrow.Millisecond:
		return schema.TimestampMillisecond
	case arrow.Microsecond:
		return schema.TimestampMicrosecond
	}
	return schema.TimestampNanosecond
}
