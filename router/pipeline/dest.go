package pipeline

import (
	"slices"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// kindOf returns the meaning of a flattened name in this table.
func (d *dest) kindOf(name []byte) nodeKind {
	if string(name) == d.s.timeName {
		if d.s.req.TimeIndex != nil {
			return timeKey
		}
		return droppedKey
	}
	if d.isJSON(name) {
		return jsonKey
	}
	return plainKey
}

// isJSON reports whether the column with that name contains JSON, or will contain JSON when it is created.
func (d *dest) isJSON(name []byte) bool {
	if c := d.existingColumn(name); c != nil {
		return c.Type == schema.JSON
	}
	return slices.Contains(d.s.top().req.JSON, string(name))
}

// column returns the column with that name. If the table has or may have it, it is created in the batch. typ is the
// type of a new column.
func (d *dest) column(name []byte, typ schema.Type) (*column.Col, error) {
	if col := d.byName[string(name)]; col != nil {
		return col, nil
	}
	like := schema.Column{Type: typ, Semantic: schema.Field}
	if d.isJSON(name) {
		like.Type = schema.JSON
	}
	if like.Type == schema.String && d.s.top().req.Tags[string(name)] {
		like.Semantic = schema.Tag
	}
	return d.columnLike(name, &like)
}

// columnLike returns the column like column. A new column gets all properties of like except its name.
func (d *dest) columnLike(name []byte, like *schema.Column) (*column.Col, error) {
	if col := d.byName[string(name)]; col != nil {
		return col, nil
	}
	s := d.s
	if s.top().columns >= maxColumns {
		return nil, limitError("more than %d columns over all tables of one request; send fewer tables per request",
			maxColumns)
	}
	var c schema.Column
	if found := d.existingColumn(name); found != nil {
		c = *found
	} else {
		if err := checkFieldName(string(name)); err != nil {
			return nil, err
		}
		if d.existing != nil && (d.opts.noCreate || !s.req.AutoCreate) {
			return nil, &kindError{SkipType, errs.New(errs.InvalidArguments,
				"table %q has no column %q, and adding columns is disabled with auto_create_table", d.table, cut(string(name)))}
		}
		if err := d.mayAdd(name); err != nil {
			return nil, err
		}
		c = *like
		c.Name = string(name)
		d.columns++
	}
	col := d.rows.Add(c)
	d.byName[c.Name] = col
	s.top().columns++
	return col, nil
}

// mayAdd counts a column that records add to the table. It returns an error if they must not add one.
func (d *dest) mayAdd(name []byte) error {
	req := &d.s.req
	wide := d.columns >= req.MaxColumns
	filled := req.MaxMadeColumns > 0 && d.columns >= req.MaxMadeColumns
	switch {
	case !wide && !filled && !d.overQuota() && d.s.takeColumn():
		return nil
	case d.s.quiet():
		return errSkippedWide
	case wide:
		return limitError(
			"table %q would get more than %d columns with %q; store fields that vary in an array, or lower max_nested_levels",
			d.table, req.MaxColumns, cut(string(name)))
	case d.overQuota():
		return d.quotaError()
	case filled:
		return limitError("table %q has %d columns, and ingestion adds no more (--max-columns-by-ingestion), such as %q; "+
			"store fields that vary in an array, lower max_nested_levels, or add columns by ALTER TABLE", d.table, d.columns,
			cut(string(name)))
	}
	return limitError("table %q would get the column %q, one more than the %d new columns of a request "+
		"(--max-new-columns-per-request); store fields that vary in an array, lower max_nested_levels, or create the table "+
		"first", d.table, cut(string(name)), req.MaxNewColumns)
}

// overQuota reports whether the quota of the database allows no further column.
func (d *dest) overQuota() bool {
	quota := d.s.req.ColumnQuota
	return quota > 0 && d.columns >= quota
}

// quotaError returns the error for a further column.
func (d *dest) quotaError() error {
	quota, columns := uint64(d.s.req.ColumnQuota), uint64(d.columns) //nolint:gosec // they are not negative
	return WithKind(SkipQuota, schema.TooManyColumns(d.s.req.Database, d.table, quota, columns+1))
}

func (d *dest) existingColumn(name []byte) *schema.Column {
	if d.existing == nil {
		return nil
	}
	return d.existing.ColumnBytes(name)
}

// checkFieldName returns an error if a field name cannot be the name of a column.
func checkFieldName(name string) error {
	err := schema.CheckColumnName(name)
	if err == nil {
		return nil
	}
	return &kindError{SkipTable, errs.New(errs.InvalidArguments, "%v; "+nameAdvice, err)}
}

// nameAdvice is the advice for field names that cannot be column names.
const nameAdvice = "rename or remove the field before it is sent or in a pipeline, or leave such records out with " +
	"skip_error=true"

// end completes the current row. It writes the time, in the request's unit, and checks the NOT NULL columns.
func (d *dest) end(t int64) error {
	row := d.rows.Rows()
	v, over, ok := convertMoment(t, d.s.timeRest, d.s.timeUnit, d.time.Type)
	if !ok {
		return &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments,
			"time index %q: %d of %s is out of the range of a %s, which is %s", d.time.Name, t, d.s.timeUnit, d.time.Type,
			d.time.Type.TimeSpan())}
	}
	for i := range d.must {
		m := &d.must[i]
		if m.col.Has(row) {
			continue
		}
		if m.def == nil {
			return &kindError{SkipType, errs.New(errs.InvalidArguments,
				"missing column %q: table %q has it NOT NULL and without a default", m.col.Name, d.table)}
		}
		m.def.write(m.col, row, d.s.now())
		d.load += len(m.def.bytes) // a short record may become a long row
		d.s.ledger.due -= len(m.def.bytes)
	}
	if over || d.s.timeCut || finer(t, d.s.timeUnit, d.time.Type) && !d.s.arrival(t) {
		d.s.top().notes.cut++
	}
	d.time.SetInt(row, v)
	if row == 0 && len(d.parts) == 0 {
		d.born = d.s.records
	}
	d.rows.EndRow()
	return nil
}

// checkSize refuses a table whose padding is too large compared with its values.
func (d *dest) checkSize() error {
	rows := d.rows.PastRows() + d.rows.Rows()
	values, cols := d.pastValues, 0
	for _, c := range d.rows.Cols() {
		values += c.Len() - c.Nulls()
		if c.Used() { // others are kept for requests with more columns, and are left out at the end
			cols++
		}
	}
	cells, limit := rows*cols, max(d.s.minCells, maxPadding*values)
	if cells <= limit {
		d.maxCells = limit / max(cols, 1) * len(d.rows.Cols()) // it is compared with the cells of all columns
		return nil
	}
	return errs.New(errs.InvalidArguments,
		"the request's %d rows for table %q have %d columns, nearly all of them empty, which takes too much memory at "+
			"once; send fewer rows per request",
		rows, d.table, cols)
}

// drop removes the current row.
func (d *dest) drop() {
	d.typeAgain(d.rows.Rows())
	d.unadapt(d.rows.Rows())
	d.forget(d.rows.Rows())
	d.rows.DropRow()
}

// rewind removes the current row, row, and all rows after it.
func (d *dest) rewind(rows int) {
	d.typeAgain(rows)
	d.unadapt(rows)
	d.forget(rows)
	d.rows.Rewind(rows)
}

// forget removes the columns that row, or a row after it, has added.
func (d *dest) forget(rows int) {
	d.forgetFields()
	cols := d.rows.Cols()
	for i := len(cols) - 1; i >= 0 && cols[i].FirstRow() >= rows; i-- {
		delete(d.byName, cols[i].Name)
		d.s.top().columns--
		if cols[i].ID == 0 {
			d.columns--
			d.s.giveColumn()
		}
	}
}

// maxColumnBytes limits the number of bytes of one column, because offsets have 32 bits.
const maxColumnBytes = 1 << 31

func (d *dest) putBytes(col *column.Col, row int, b []byte) error {
	return d.putString(col, row, unsafe.String(unsafe.SliceData(b), len(b)))
}

func (d *dest) putString(col *column.Col, row int, s string) error {
	d.texts += len(s)
	if col.TextSize()+len(s) > maxColumnBytes {
		return errs.New(errs.InvalidArguments, "column %q: more than %d bytes in one request; send fewer rows per request",
			col.Name, maxColumnBytes)
	}
	col.SetString(row, s)
	return nil
}
