package pipeline

import (
	"fmt"

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
	s        *sink
	table    string
	opts     *optionSet
	existing *schema.Table
	// err is why no record can go there: a record error.
	err error

	rows     *column.Builder
	time     *column.Col
	listed   []*column.Col // of sink.listed
	byName   map[string]*column.Col
	guess    []guess // in the order of their keys; see runner.storeRest
	columns  int     // that the table has or will have
	must     []mustColumn
	maxCells int
	born     int // the record that gave the first row
	heat     warmth
	warmed   bool // it has columns that no row may use

	// parts are rows that are encoded already, before those in rows.
	parts      []*column.Sealed
	expired    int // rows in parts that are older than the table's ttl
	partSize   int // the memory of parts
	pastValues int // values in parts
	load       int // bytes of which rows were made, those that are not in parts
	rule       schema.ConflictRule
	retyped    []retyped // of the record under way, as is adapted
	adapted    []adapted
	asides     []*Aside
	casts      Aside
	lookAt     int // how many rows there are when cells are counted
	texts      int // bytes put into the row under way by a pipeline
}

// mustColumn is a column of the table in which no row may be null.
type mustColumn struct {
	col *column.Col
	def *defaultValue
}

// timeAdvice says what to do where a table has another time index, named has, than the records
// bring.
func (s *sink) timeAdvice(has string) string {
	again := "drop or rename the table and send all rows again"
	switch arrival := s.req.TimestampColumn; {
	case s.ownTime:
		return fmt.Sprintf("have the pipeline make %q the time index, in its transform list or by date or epoch; or %s", has,
			again)
	case s.timeName == arrival:
		return fmt.Sprintf("if they have a time in %q, send custom_time_index=%s;rfc3339 (or ;epoch;ms, "+
			";datestr;PATTERN); if they have none, the table needs %s TIMESTAMP(9) TIME INDEX in CREATE TABLE", has, has,
			arrival)
	case has == arrival:
		return fmt.Sprintf("rows without custom_time_index go there, with the time of their arrival; to have the time of "+
			"%q, %s", s.timeName, again)
	}
	return fmt.Sprintf("name %q by custom_time_index; or %s", has, again)
}

// open makes the builder with the columns that every row has.
func (d *dest) open() {
	s := d.s
	d.rule = schema.ConflictRuleOf(d.opts.options)
	if d.existing != nil {
		d.rule = schema.ConflictRuleOf(d.existing.Options)
	}
	if n := len(s.spare); n > 0 {
		d.rows, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		d.rows = &column.Builder{}
	}
	d.byName = make(map[string]*column.Col)
	index := schema.Column{Name: s.timeName, Type: s.timeUnit, Semantic: schema.Timestamp, NotNull: true}
	d.columns = 1
	if d.existing != nil {
		d.columns = len(d.existing.Columns)
		c := d.existing.TimeIndex()
		switch {
		case c == nil:
			d.err = errs.New(errs.Internal, "table %q has no time index", d.table)
		case c.Name != s.timeName:
			d.err = &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments,
				"table %q has the time index %q, and these records bring %q; %s", d.table, c.Name, s.timeName,
				s.timeAdvice(c.Name))}
		default:
			index = *c
		}
	}
	d.time = d.rows.Add(index)
	d.time.Pin()
	s.top().columns++
	if d.err == nil {
		d.addListed()
	}
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
		if m.col = d.byName[c.Name]; m.col == nil {
			m.col = d.addPinned(c)
		}
		d.must = append(d.must, m)
	}
}

// addPinned adds a column that every row has.
func (d *dest) addPinned(c schema.Column) *column.Col {
	col := d.rows.Add(c)
	col.Pin()
	d.s.top().columns++
	d.byName[c.Name] = col
	return col
}

// addListed adds the columns that the pipeline lists, as the table has them if it does.
func (d *dest) addListed() {
	for _, c := range d.s.listed {
		have := d.existingColumn([]byte(c.Name))
		switch {
		case have != nil && (have.Semantic != c.Semantic):
			d.err = &kindError{SkipType, errs.New(errs.InvalidArguments,
				"table %q has the column %q as %s, and the pipeline lists it as %s; change the pipeline, or send to another table",
				d.table, c.Name, have.Semantic, c.Semantic)}
			return
		case have != nil:
			c = *have
		case d.existing != nil && (d.opts.noCreate || !d.s.req.AutoCreate):
			d.err = &kindError{SkipType, errs.New(errs.InvalidArguments,
				"table %q has no column %q, and adding columns is disabled with auto_create_table", d.table, c.Name)}
			return
		case d.columns >= d.s.req.MaxColumns:
			d.err = limitError("table %q would get more than %d columns with %q", d.table, d.s.req.MaxColumns, c.Name)
			return
		default:
			d.columns++
		}
		d.listed = append(d.listed, d.addPinned(c))
	}
}

// kindOf tells what a flattened name means in this table.
func (d *dest) kindOf(name []byte) nodeKind {
	if string(name) == d.s.timeName {
		if d.s.req.TimeIndex != nil {
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
		if d.columns >= s.req.MaxColumns {
			if s.quiet() {
				return nil, errSkippedWide
			}
			return nil, limitError(
				"table %q would get more than %d columns with %q; store fields that vary in an array, or lower max_nested_levels",
				d.table, s.req.MaxColumns, cut(string(name)))
		}
		c = schema.Column{Name: string(name), Type: typ, Semantic: schema.Field}
		d.columns++
	}
	col := d.rows.Add(c)
	d.byName[c.Name] = col
	s.top().columns++
	return col, nil
}

func (d *dest) existingColumn(name []byte) *schema.Column {
	if d.existing == nil {
		return nil
	}
	return d.existing.ColumnBytes(name)
}

// checkFieldName returns the error of a record with a field whose name no column may have. It
// returns nil if one may.
func checkFieldName(name string) error {
	err := schema.CheckColumnName(name)
	if err == nil {
		return nil
	}
	return &kindError{SkipTable, errs.New(errs.InvalidArguments, "%v; "+nameAdvice, err)}
}

// nameAdvice is what to do about records with names that columns cannot have.
const nameAdvice = "rename or remove the field before it is sent or in a pipeline, or leave such records out with " +
	"skip_error=true"

func limitError(format string, args ...any) error {
	return &kindError{SkipLimit, errs.New(errs.InvalidArguments, format, args...)}
}

// end completes the row under way: its time, in the request's unit, and the columns
// that may not be null.
func (d *dest) end(t int64) error {
	row := d.rows.Rows()
	v, over, ok := convertMoment(t, d.s.timeRest, d.s.timeUnit, d.time.Type)
	if !ok {
		return &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments,
			"time index %q: %d of %s is out of the range of a %s", d.time.Name, t, d.s.timeUnit, d.time.Type)}
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

// checkSize refuses a table whose padding outgrows its values.
func (d *dest) checkSize() error {
	rows := d.rows.PastRows() + d.rows.Rows()
	cells := rows * len(d.rows.Cols())
	values := d.pastValues
	for _, c := range d.rows.Cols() {
		values += c.Len() - c.Nulls()
	}
	if d.maxCells = max(d.s.minCells, maxPadding*values); cells <= d.maxCells {
		return nil
	}
	return errs.New(errs.InvalidArguments,
		"the request's %d rows for table %q have %d columns, nearly all of them empty, which takes too much memory at "+
			"once; send fewer rows per request",
		rows, d.table, len(d.rows.Cols()))
}

// drop takes back the row under way.
func (d *dest) drop() {
	d.typeAgain(d.rows.Rows())
	d.unadapt(d.rows.Rows())
	d.forget(d.rows.Rows())
	d.rows.DropRow()
}

// rewind takes back the row under way and all rows from the given one on.
func (d *dest) rewind(rows int) {
	d.typeAgain(rows)
	d.unadapt(rows)
	d.forget(rows)
	d.rows.Rewind(rows)
}

// forget forgets the columns that rows from the given one on introduced.
func (d *dest) forget(rows int) {
	d.guess = d.guess[:0]
	cols := d.rows.Cols()
	for i := len(cols) - 1; i >= 0 && cols[i].FirstRow() >= rows; i-- {
		delete(d.byName, cols[i].Name)
		d.s.top().columns--
		if cols[i].ID == 0 {
			d.columns--
		}
	}
}
