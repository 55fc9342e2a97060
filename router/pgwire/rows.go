package pgwire

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/value"
	"cordwood/router/pgwire/wire"
	"cordwood/router/query"
	"cordwood/router/query/format"
)

// column is a column of a result.
type column struct {
	name string
	typ  *value.Type
	// table and number identify a column of a stored table.
	table  uint32
	number uint16
}

// maxAnswerColumns is the maximum number of columns in the protocol.
const maxAnswerColumns = 65_535

// describe returns the description of columns in the given formats.
func describe(columns []column, formats []value.Format) *pgproto3.RowDescription {
	out := &pgproto3.RowDescription{Fields: make([]pgproto3.FieldDescription, len(columns))}
	for i, c := range columns {
		out.Fields[i] = pgproto3.FieldDescription{
			Name: []byte(c.name), TableOID: c.table, TableAttributeNumber: c.number, DataTypeOID: c.typ.OID,
			DataTypeSize: c.typ.Len, TypeModifier: c.typ.Mod, Format: int16(formatOf(formats, i)),
		}
	}
	return out
}

// formatOf returns the format of a column. No format means text; a single format is for all columns.
func formatOf(formats []value.Format, i int) value.Format {
	switch len(formats) {
	case 0:
		return value.FormatText
	case 1:
		return formats[0]
	}
	return formats[i]
}

// columnsOf returns the columns of a result.
func columnsOf(s *arrow.Schema) []column {
	out := make([]column, s.NumFields())
	for i, f := range s.Fields() {
		out[i] = column{name: f.Name, typ: value.OfField(f)}
	}
	return out
}

// cursor reads the rows of a result.
type cursor struct {
	x       *execution // nil if the rows were made in this package
	rows    format.Rows
	columns []column
	formats []value.Format
	// warnings are sent after the rows.
	warnings []string

	rec   arrow.RecordBatch
	row   int
	cells []value.Cell
	nulls []bool // whether a column of rec may hold nulls
}

// newCursor returns the rows of a result.
func newCursor(x *execution, res query.Result) (*cursor, error) {
	c := &cursor{x: x, rows: res.Rows, columns: columnsOf(res.Rows.Schema()), warnings: res.Warnings}
	for _, missing := range res.Partial {
		c.warnings = append(c.warnings, missing.String())
	}
	if len(c.columns) > maxAnswerColumns {
		return nil, failure("54011", "the answer has %d columns; the protocol has at most %d", len(c.columns),
			maxAnswerColumns)
	}
	return c, nil
}

// textCursor returns rows of texts. A nil is a null.
func textCursor(names []string, rows [][]any) *cursor {
	fields := make([]arrow.Field, len(names))
	columns := make([]arrow.Array, len(names))
	for i, name := range names {
		fields[i] = arrow.Field{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for _, row := range rows {
			if s, ok := row[i].(string); ok {
				b.Append(s)
			} else {
				b.AppendNull()
			}
		}
		columns[i] = b.NewArray()
	}
	s := arrow.NewSchema(fields, nil)
	return &cursor{
		rows:    &oneBatch{schema: s, rec: array.NewRecordBatch(s, columns, int64(len(rows)))},
		columns: columnsOf(s),
	}
}

// oneBatch is a single batch of rows.
type oneBatch struct {
	schema *arrow.Schema
	rec    arrow.RecordBatch
	read   bool
}

func (b *oneBatch) Schema() *arrow.Schema          { return b.schema }
func (b *oneBatch) RecordBatch() arrow.RecordBatch { return b.rec }
func (b *oneBatch) Err() error                     { return nil }
func (b *oneBatch) Next() bool {
	first := !b.read
	b.read = true
	return first
}

// next moves to the next row. It returns false at the end and after an error.
func (c *cursor) next() bool {
	c.row++
	for c.rec == nil || c.row >= int(c.rec.NumRows()) {
		if !c.rows.Next() {
			c.rec = nil
			return false
		}
		c.rec, c.row = c.rows.RecordBatch(), 0
		c.makeCells()
	}
	return true
}

// makeCells creates the functions that format the values of the batch.
func (c *cursor) makeCells() {
	c.cells, c.nulls = c.cells[:0], c.nulls[:0]
	for i, a := range c.rec.Columns() {
		c.cells = append(c.cells, value.CellOf(a, c.columns[i].typ, formatOf(c.formats, i)))
		id := a.DataType().ID()
		c.nulls = append(c.nulls, a.NullN() > 0 || id == arrow.DICTIONARY || id == arrow.NULL)
	}
}

// setFormats sets the formats of the rows that follow.
func (c *cursor) setFormats(formats []value.Format) {
	c.formats = formats
	if c.rec != nil {
		c.makeCells()
	}
}

// appendValue appends a value of the row. If the value is null, it appends nothing and returns null = true.
func (c *cursor) appendValue(dst []byte, i int) (out []byte, null bool, err error) {
	if c.nulls[i] && value.IsNull(c.rec.Column(i), c.row) {
		return dst, true, nil
	}
	dst, err = c.cells[i](dst, c.row)
	return dst, false, err
}

// send sends at most most rows (0 means all). It returns the number of rows and whether more may follow.
func (c *cursor) send(w *wire.Writer, most int64) (n int64, more bool, err error) {
	for most == 0 || n < most {
		if !c.next() {
			return n, false, c.rows.Err()
		}
		at := w.Begin('D')
		dst, err := c.appendRow(w.Buffer())
		w.Replace(dst)
		if err != nil {
			w.Drop(at)
			return n, false, err
		}
		w.End(at)
		if err := w.Err(); err != nil {
			return n, false, errGone
		}
		n++
	}
	return n, true, nil
}

// appendRow appends the body of a DataRow.
func (c *cursor) appendRow(dst []byte) ([]byte, error) {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(c.columns)))
	for i := range c.columns {
		at := len(dst)
		var null bool
		var err error
		dst, null, err = c.appendValue(append(dst, 0xff, 0xff, 0xff, 0xff), i)
		if err != nil {
			return dst, err
		}
		if !null {
			binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		}
	}
	return dst, nil
}

// end ends the result, and returns the error of its statement.
func (c *cursor) end(err error) error {
	if c.x == nil {
		return err
	}
	xerr, cause := c.x.end()
	switch {
	case err != nil && cause != nil:
		return asError(err, cause)
	case err == nil && xerr != nil:
		return asError(xerr, cause)
	}
	return err
}
