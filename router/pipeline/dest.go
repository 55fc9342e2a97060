package pipeline

import (
	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// Limits of one request, over all its tables.
const (
	maxTables  = 10_000
	maxColumns = 200_000
	// Columns are padded to the length of their table, so a few wide records among
	// many short ones cost far more memory than they brought. Up to minCells cells
	// of a table, and up to maxPadding times those with a value, are allowed.
	minCells   = 32 << 20
	maxPadding = 4
)

// dest is a table under one set of options, with the rows that go there.
type dest struct {
	r        *identity
	table    string
	opts     *optionSet
	existing *schema.Table
	// err is why no record can go there: a record error.
	err error

	rows     *column.Builder
	time     *column.Col
	byName   map[string]*column.Col
	columns  int // that the table has or will have
	must     []mustColumn
	maxCells int
	born     int // the record that gave the first row
}

// mustColumn is a column of the table in which no row may be null.
type mustColumn struct {
	col *column.Col
	def *defaultValue
}

// destFor returns the destination of records for a table under a set of options.
func (r *identity) destFor(suffix []byte, opts *optionSet) (*dest, error) {
	key := append(r.key[:0], opts.key...)
	key = append(append(key, '\n'), suffix...)
	r.key = key
	if d := r.byKey[string(key)]; d != nil {
		return d, nil
	}
	if len(r.dests) >= maxTables {
		return nil, limitError("more than %d destination tables in one request; send fewer per request", maxTables)
	}
	table := r.req.Table + string(suffix)
	if err := schema.CheckTableName(table); err != nil {
		return nil, WithKind(SkipTable, err)
	}
	d := &dest{r: r, table: table, opts: opts, maxCells: r.minCells}
	if r.req.Catalog != nil {
		if t, ok := r.req.Catalog.Table(r.req.Database, table); ok {
			d.existing = t
		}
	}
	d.open()
	r.dests = append(r.dests, d)
	r.byKey[string(key)] = d
	return d, nil
}

// open makes the builder with the columns that every row has.
func (d *dest) open() {
	r := d.r
	if n := len(r.spare); n > 0 {
		d.rows, r.spare = r.spare[n-1], r.spare[:n-1]
	} else {
		d.rows = &column.Builder{}
	}
	d.byName = make(map[string]*column.Col)
	index := schema.Column{Name: r.timeName, Type: r.timeUnit, Semantic: schema.Timestamp, NotNull: true}
	d.columns = 1
	if d.existing != nil {
		d.columns = len(d.existing.Columns)
		c := d.existing.TimeIndex()
		switch {
		case c == nil:
			d.err = errs.New(errs.Internal, "table %q has no time index", d.table)
		case c.Name != r.timeName:
			d.err = &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments,
				"table %q has the time index %q, and records cannot bring another one, %q; use custom_time_index to name a field %q", d.table, c.Name, r.timeName, c.Name)}
		default:
			index = *c
		}
	}
	d.time = d.rows.Add(index)
	d.time.Pin()
	r.columns++
	if d.existing == nil || d.err != nil {
		return
	}
	for _, c := range d.existing.Columns {
		if c.Semantic == schema.Timestamp {
			continue
		}
		m := mustColumn{}
		if c.Default != nil {
			m.def = parseDefault(&c)
		}
		if m.def == nil && !c.NotNull {
			continue
		}
		m.col = d.rows.Add(c)
		m.col.Pin()
		r.columns++
		d.byName[c.Name] = m.col
		d.must = append(d.must, m)
	}
}

// kindOf tells what a flattened name means in this table.
func (d *dest) kindOf(name []byte) nodeKind {
	if string(name) == d.r.timeName {
		if d.r.req.TimeIndex != nil {
			return timeKey
		}
		return droppedKey
	}
	if d.existing != nil {
		if c := d.existing.ColumnBytes(name); c != nil && c.Type == schema.JSON {
			return jsonKey
		}
	}
	return plainKey
}

// column returns the column of that name, which is made if the table has or may have
// it; typ is its type if it is new.
func (d *dest) column(name []byte, typ schema.Type) (*column.Col, error) {
	if col := d.byName[string(name)]; col != nil {
		return col, nil
	}
	r := d.r
	if r.columns >= maxColumns {
		return nil, limitError("more than %d columns over all tables of one request; send fewer tables per request", maxColumns)
	}
	var c schema.Column
	if found := d.existingColumn(name); found != nil {
		c = *found
	} else {
		if err := schema.CheckColumnName(string(name)); err != nil {
			return nil, WithKind(SkipTable, err)
		}
		if d.existing != nil && (d.opts.noCreate || !r.req.AutoCreate) {
			return nil, &kindError{SkipType, errs.New(errs.InvalidArguments,
				"table %q has no column %q, and adding columns is disabled with auto_create_table", d.table, cut(string(name)))}
		}
		if d.columns >= r.req.MaxColumns {
			if r.quiet() {
				return nil, errSkippedWide
			}
			return nil, limitError(
				"table %q would get more than %d columns with %q; store fields that vary in an array, or lower max_nested_levels", d.table, r.req.MaxColumns, cut(string(name)))
		}
		c = schema.Column{Name: string(name), Type: typ, Semantic: schema.Field}
		d.columns++
	}
	col := d.rows.Add(c)
	d.byName[c.Name] = col
	r.columns++
	return col, nil
}

func (d *dest) existingColumn(name []byte) *schema.Column {
	if d.existing == nil {
		return nil
	}
	return d.existing.ColumnBytes(name)
}

func limitError(format string, args ...any) error {
	return &kindError{SkipLimit, errs.New(errs.InvalidArguments, format, args...)}
}

// end completes the row under way: its time, in the request's unit, and the columns
// that may not be null.
func (d *dest) end(t int64) error {
	row := d.rows.Rows()
	v, ok := convertTime(t, d.r.timeUnit, d.time.Type)
	if !ok {
		return &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments, "time index %q: %d of %s is out of the range of a %s", d.time.Name, t, d.r.timeUnit, d.time.Type)}
	}
	for i := range d.must {
		m := &d.must[i]
		if m.col.Has(row) {
			continue
		}
		if m.def == nil {
			return &kindError{SkipType, errs.New(errs.InvalidArguments, "missing column %q: table %q has it NOT NULL and without a default", m.col.Name, d.table)}
		}
		m.def.write(m.col, row, d.r.now())
	}
	d.time.SetInt(row, v)
	if row == 0 {
		d.born = d.r.records
	}
	d.rows.EndRow()
	return nil
}

// checkSize refuses a table whose padding outgrows its values.
func (d *dest) checkSize() error {
	cells := d.rows.Rows() * len(d.rows.Cols())
	if cells <= d.maxCells {
		return nil
	}
	values := 0
	for _, c := range d.rows.Cols() {
		values += c.Len() - c.Nulls()
	}
	if d.maxCells = max(d.r.minCells, maxPadding*values); cells <= d.maxCells {
		return nil
	}
	return errs.New(errs.InvalidArguments,
		"the request's %d rows for table %q have %d columns, nearly all of them empty, which takes too much memory at once; send fewer rows per request",
		d.rows.Rows(), d.table, len(d.rows.Cols()))
}

// drop takes back the row under way.
func (d *dest) drop() {
	row, cols := d.rows.Rows(), d.rows.Cols()
	for i := len(cols) - 1; i >= 0 && cols[i].FirstRow() == row; i-- {
		delete(d.byName, cols[i].Name)
		d.r.columns--
		if cols[i].ID == 0 {
			d.columns--
		}
	}
	d.rows.DropRow()
}
