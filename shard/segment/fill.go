package segment

import (
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

const (
	// fillRows and fillBytes bound what goes to a column writer at once, and so by
	// how much a page may exceed its size.
	fillRows  = 1024
	fillBytes = 256 << 10
)

// filler turns columns of batches into the values that a column writer takes. The
// values of byte strings point into the batches.
type filler struct {
	values [fillRows]parquet.Value
}

// column writes the rows' values of a column.
func (f *filler) column(w *parquet.ColumnWriter, c *fileColumn, rows []RowRef) error {
	level := 1
	if c.required {
		level = 0
	}
	for len(rows) > 0 {
		n := min(len(rows), fillRows)
		if c.Name == TableColumn {
			for i := range n {
				f.values[i] = parquet.Int64Value(int64(c.table))
			}
		} else if c.Type.IsBytes() {
			n = f.byteStrings(c, rows[:n], level)
		} else {
			f.numbers(c, rows[:n], level)
		}
		written, err := w.WriteRowValues(f.values[:n])
		if err != nil {
			return err
		}
		if written != n {
			return fmt.Errorf("parquet took %d of %d values", written, n)
		}
		rows = rows[n:]
	}
	return nil
}

// byteStrings fills in values until rows or fillBytes are used up, and returns how many.
func (f *filler) byteStrings(c *fileColumn, rows []RowRef, level int) int {
	size := 0
	for i, r := range rows {
		v := c.views[r.Batch]
		if v == nil || v.IsNull(int(r.Row)) {
			f.values[i] = parquet.Value{}
			continue
		}
		b := v.Bytes(int(r.Row))
		f.values[i] = parquet.ByteArrayValue(b).Level(0, level, 0)
		if size += len(b); size >= fillBytes {
			return i + 1
		}
	}
	return len(rows)
}

// numbers fills in values, run of rows of one batch by run.
func (f *filler) numbers(c *fileColumn, rows []RowRef, level int) {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && rows[to].Batch == rows[from].Batch {
			to++
		}
		out, run := f.values[from:to], rows[from:to]
		if v := c.views[rows[from].Batch]; v != nil {
			number(out, c.Type, v, run, level)
			if v.Nulls > 0 {
				for i, r := range run {
					if v.IsNull(int(r.Row)) {
						out[i] = parquet.Value{}
					}
				}
			}
		} else {
			clear(out)
		}
		from = to
	}
}

func number(out []parquet.Value, typ schema.Type, v *column.View, rows []RowRef, level int) {
	switch typ {
	case schema.Boolean:
		for i, r := range rows {
			out[i] = parquet.BooleanValue(v.Int(int(r.Row)) != 0).Level(0, level, 0)
		}
	case schema.Int8, schema.Int16, schema.Int32, schema.Uint8, schema.Uint16, schema.Uint32:
		for i, r := range rows {
			out[i] = parquet.Int32Value(int32(v.Int(int(r.Row)))).Level(0, level, 0)
		}
	case schema.Float32:
		for i, r := range rows {
			out[i] = parquet.FloatValue(float32(v.Float(int(r.Row)))).Level(0, level, 0)
		}
	case schema.Float64:
		for i, r := range rows {
			out[i] = parquet.DoubleValue(v.Float(int(r.Row))).Level(0, level, 0)
		}
	case schema.TimestampSecond:
		for i, r := range rows {
			out[i] = parquet.Int64Value(thousandfold(v.Int(int(r.Row)))).Level(0, level, 0)
		}
	default:
		for i, r := range rows {
			out[i] = parquet.Int64Value(v.Int(int(r.Row))).Level(0, level, 0)
		}
	}
}

// thousandfold is 1000*v, or the nearest number there is.
func thousandfold(v int64) int64 {
	switch {
	case v > math.MaxInt64/1000:
		return math.MaxInt64
	case v < math.MinInt64/1000:
		return math.MinInt64
	}
	return 1000 * v
}
