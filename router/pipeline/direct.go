package pipeline

import (
	"bytes"
	"net/http"
	"sync"
	"unicode/utf8"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// Layout has the columns of a protocol's records without a pipeline.
type Layout struct {
	// Time is the name of the time index of a new table, in nanoseconds; "" means Request.TimestampColumn.
	Time string
	// Columns follow the time index in a new table. Their semantics and indexes apply only to new columns. An existing
	// table keeps its own.
	Columns []schema.Column
}

// Direct receives the records of one request value by value, for one table. Each value goes into a column of a
// Layout or into a named column. It is for protocols whose records have fixed fields and need no JSON.
//
// The values of a record may be put in any order, each column once, and End completes the row. An error of a value
// is returned by End. Values follow the same rules as those of svc_identity: the table's on_type_conflict, its ttl,
// its defaults, and the limits on columns and memory.
type Direct struct {
	sink

	layout *Layout
	home   *dest
	cols   []directColumn
	named  map[string]int
	err    error // of the current row
	load   int   // bytes of the current row
	total  int   // bytes of all rows
	// repaired counts texts that were not valid UTF-8.
	repaired int
	val      cell
}

// maxDirectBytes limits the size of the values of one request. A body of a few MiB may have a million records that
// share a long text, which becomes a value of each row.
const maxDirectBytes = 1 << 30

// directColumn is a column that Direct puts values into.
type directColumn struct {
	schema.Column
	col *column.Col // nil if the rows do not have the column yet
	// expected is the expected size of its texts; 0 after memory was allocated.
	expected int
	// origin has the arguments of CutFrom; nil if CutFrom was not called.
	origin *column.Origin
}

// maxExpected limits the memory that Expect allocates.
const maxExpected = partBytes

var directs = sync.Pool{New: func() any {
	return &Direct{sink: sink{byKey: map[string]*dest{}}, named: map[string]int{}}
}}

// NewDirect returns a Direct for one request. Request.TimeIndex is ignored. If a hint or the table name is invalid,
// or the table cannot have the columns, the error has code InvalidArguments.
func NewDirect(q *Request, l *Layout) (*Direct, error) {
	r := directs.Get().(*Direct)
	if err := r.begin(q); err != nil {
		return nil, err
	}
	r.req.TimeIndex = nil
	r.layout, r.ownTime, r.total = l, true, 0
	r.timeName, r.timeUnit = l.Time, schema.TimestampNanosecond
	if r.timeName == "" {
		r.timeName = r.req.TimestampColumn
	}
	if r.req.Catalog != nil {
		// In an existing table, the time of records goes into the table's time index, which may have any name.
		if t, ok := r.req.Catalog.Table(r.req.Database, r.req.Table); ok && t.TimeIndex() != nil {
			r.timeName = t.TimeIndex().Name
		}
	}
	home, err := r.destFor(nil, r.base)
	if err != nil {
		return nil, err
	}
	r.home = home
	for _, c := range l.Columns {
		r.cols = append(r.cols, directColumn{Column: c})
		if home.existing == nil && home.err == nil {
			r.cols[len(r.cols)-1].col = home.declared(c)
		}
	}
	return r, nil
}

// declared adds a column that every row of a new table has.
func (d *dest) declared(c schema.Column) *column.Col {
	d.columns++
	return d.addPinned(c)
}

// NewTable reports whether the table did not exist when the request began.
func (r *Direct) NewTable() bool { return r.home.existing == nil }

// TimeName returns the name of the table's time index.
func (r *Direct) TimeName() string { return r.timeName }

// Column returns a number for a column that is not in the layout, for the methods that put values. c defines the
// column if the table has none with that name. The number is valid for the whole request.
func (r *Direct) Column(c schema.Column) int {
	if i, ok := r.named[c.Name]; ok {
		return i
	}
	i := len(r.cols)
	r.cols = append(r.cols, directColumn{Column: c})
	r.named[c.Name] = i
	return i
}

// Expect announces the total size of the texts for column i, so that the column is allocated once and not again each
// time that it grows. The size must not exceed the size of the request.
func (r *Direct) Expect(i, bytes int) {
	r.cols[i].expected = min(bytes, maxExpected)
	r.makeRoom(i)
}

// CutFrom announces that the texts for column i are parts of text, in the order of the text, and that block is text as
// the client compressed it, in the format of snappy or s2. If all rows go to one shard, they are sent and logged with
// this block and not compressed again. text and block must stay unchanged until the rows are stored.
func (r *Direct) CutFrom(i int, block, text []byte) {
	r.cols[i].origin = &column.Origin{Block: block, Text: text}
	r.makeRoom(i)
}

// makeRoom passes what Expect and CutFrom said about a column to the column, when the rows have it.
func (r *Direct) makeRoom(i int) {
	c := &r.cols[i]
	if c.col == nil || !c.col.Type.IsBytes() {
		return
	}
	if c.expected > 0 {
		c.col.Grow(c.expected)
		c.expected = 0
	}
	if c.origin != nil {
		c.col.CutFrom(c.origin)
	}
}

// Time sets the time of the row, in nanoseconds since 1970. A row without a time gets the time of its arrival.
func (r *Direct) Time(ns int64) { r.timeValue, r.timeSet = ns, true }

// Text puts a text into column i of the layout, or into a column from Column. Bytes that are not valid UTF-8 are
// replaced by U+FFFD and counted.
func (r *Direct) Text(i int, text []byte) {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
		r.repaired++
	}
	r.load += len(text)
	if !r.putAsIs(i, schema.String, text) {
		r.val = cell{kind: kindString, bytes: text}
		r.put(i)
	}
}

// putAsIs stores a text if its column, of type t, can hold it unchanged. It reports whether it did. If not, the
// caller must call put.
func (r *Direct) putAsIs(i int, t schema.Type, text []byte) bool {
	c, cut := r.cols[i].col, r.cols[i].origin != nil
	if c == nil || c.Type != t || len(text) >= maxColumnBytes/2 {
		return false
	}
	row := r.home.rows.Rows()
	if c.Has(row) {
		return false
	}
	if cut {
		c.SetCut(row, text)
	} else {
		c.SetBytes(row, text)
	}
	if t == schema.String {
		c.MarkValid(row) // Text has checked it
	}
	return true
}

// JSON puts the text of a well-formed JSON value into a column.
func (r *Direct) JSON(i int, text []byte) {
	r.load += len(text)
	if !r.putAsIs(i, schema.JSON, text) {
		r.val = cell{kind: kindText, bytes: text}
		r.put(i)
	}
}

// Int puts an integer into a column.
func (r *Direct) Int(i int, v int64) {
	r.load += 8
	r.val = cell{kind: kindInt, i: v}
	r.put(i)
}

// Float puts a number into a column.
func (r *Direct) Float(i int, v float64) {
	r.load += 8
	r.val = cell{kind: kindFloat, f: v}
	r.put(i)
}

// Bool puts a boolean into a column.
func (r *Direct) Bool(i int, v bool) {
	r.load++
	r.val = cell{kind: kindBool}
	if v {
		r.val.i = 1
	}
	r.put(i)
}

// put stores r.val according to the rules of the table.
func (r *Direct) put(i int) {
	d := r.home
	if r.err != nil || d.err != nil {
		return
	}
	c := &r.cols[i]
	if c.col == nil {
		if c.Name == r.timeName {
			return // the time index has the time of the record
		}
		if c.col, r.err = d.columnLike([]byte(c.Name), &c.Column); r.err != nil {
			return
		}
		r.makeRoom(i)
		if r.val.kind == kindString && r.putAsIs(i, schema.String, r.val.bytes) {
			return
		}
	}
	row := d.rows.Rows()
	if c.col.Has(row) {
		r.err = &kindError{SkipType, limitError("column %q: the record has two values for it", cut(c.Name))}
		return
	}
	r.err = d.store(c.col, row, &r.val)
}

// End completes the current row. If the record is refused and Request.SkipError is set, it returns nil. Otherwise,
// and when a limit of the whole request is reached, it returns an *errs.Error of code InvalidArguments, and the
// caller must abort the request.
func (r *Direct) End() error {
	d, err, load := r.home, r.err, r.load
	r.err, r.load = nil, 0
	if err := r.count(load); err != nil {
		return err
	}
	if err == nil {
		err = d.err
	}
	if err == nil {
		var t int64
		if t, err = r.rowTime(); err == nil {
			err = d.end(t)
		}
	}
	r.timeSet = false
	if err != nil {
		r.takeBack()
		return r.refuse(err)
	}
	r.records++
	return d.stored(load)
}

// Drop removes the current row and counts it as refused because of err, like Runner.Refuse. If Request.SkipError is
// not set, it returns an error that ends the request.
func (r *Direct) Drop(err error) error {
	load := r.load
	r.err, r.load, r.timeSet = nil, 0, false
	r.takeBack()
	if err := r.count(load); err != nil {
		return err
	}
	return r.refuse(err)
}

// count adds the bytes of a row, whether or not it is stored, to the bytes of the request.
func (r *Direct) count(load int) error {
	r.total += load
	return CheckRepeated(r.total)
}

// CheckRepeated returns an error for the client if total, the bytes that the records of a request repeat, is over the
// limit. Its status is 413.
func CheckRepeated(total int) error {
	if total <= maxDirectBytes {
		return nil
	}
	return errs.New(errs.InvalidArguments, "the rows of the request have more than %d bytes, because its records repeat "+
		"what they share, such as the attributes of a resource: send fewer records in a request", maxDirectBytes).
		WithStatus(http.StatusRequestEntityTooLarge)
}

// takeBack removes the current row and the columns that this row added.
func (r *Direct) takeBack() {
	d := r.home
	known := len(d.byName)
	d.drop()
	if len(d.byName) == known {
		return // otherwise many refused rows of a request with many columns would take a long time
	}
	for i := range r.cols {
		c := &r.cols[i]
		if c.col != nil && d.byName[c.Name] != c.col {
			c.col = nil
		}
	}
}

// Records returns the number of records so far, including refused ones.
func (r *Direct) Records() int { return r.records }

// Repaired returns the number of texts that were not valid UTF-8.
func (r *Direct) Repaired() int { return r.repaired }

// Finish ends the input. The Output is valid until Release.
func (r *Direct) Finish() (*Output, error) {
	if err := r.reserveAll(); err != nil {
		return nil, err
	}
	out := r.output()
	r.appendTables(out, 0)
	return out, nil
}

// Release frees the memory. Neither r nor its Output may be used afterwards.
func (r *Direct) Release() {
	if r.byteSize() > keepBytes || r.columns > keepColumns {
		return
	}
	r.empty(nil)
	clear(r.cols)
	clear(r.named)
	*r = Direct{sink: r.sink, cols: r.cols[:0], named: r.named}
	directs.Put(r)
}
