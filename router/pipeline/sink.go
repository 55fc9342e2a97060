package pipeline

import (
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// sink has the tables that one pipeline fills for one request.
type sink struct {
	req      Request
	hints    map[string]string
	base     *optionSet // for records without variables
	timeName string
	timeUnit schema.Type
	ownTime  bool // the pipeline defines the time field, so custom_time_index is ignored
	// listed are columns that every table has besides the time index, in this order. In a new table, timePlace of them
	// come before the time index.
	listed    []schema.Column
	timePlace int

	dests      []*dest
	byKey      map[string]*dest
	optionSets map[string]*optionSet
	tables     int // of all sinks together, in the topmost one
	columns    int // of all tables together, in the topmost sink
	newColumns int // columns from records that no table has yet, in the topmost sink
	minCells   int
	ledger     *ledger // of the request
	ownLedger  ledger  // in the topmost sink, it is that of the request
	below      []*sink

	start    int64 // nanoseconds since 1970
	event    int64 // the time of the current record, if At was called; in the topmost sink
	eventSet bool
	records  int
	skips    skips
	untick   int // records until tick checks whether the request has ended
	// The custom time index of the current row, in timeUnit.
	timeValue int64
	timeRest  int64 // nanoseconds beyond timeValue, less than timeUnit
	timeCut   bool  // whether digits below nanoseconds were dropped
	timeSet   bool
	notes     notes // of the request, in the topmost sink
	lost      lost  // of the request, in the topmost sink
	drops     drops // of the request, in the topmost sink
	// newTables, in the topmost sink, are the tables that the request creates.
	newTables map[string]struct{}
	// retyped, in the topmost sink, says that the type of a column has changed.
	retyped bool
	// above is the sink that dispatches records to this one; nil if this is the topmost sink.
	above *sink

	// Buffers.
	quoted []byte
	key    []byte
	spare  []*column.Builder
}

// top returns the sink of the whole request.
func (s *sink) top() *sink {
	for s.above != nil {
		s = s.above
	}
	return s
}

// now returns the time of processing of the current record, in nanoseconds. It is the time of the request plus a
// nanosecond for each record, so that rows keep their order.
func (s *sink) now() int64 { return s.start + int64(s.records) }

// At implements Runner.
func (s *sink) At(nanos int64) { s.event, s.eventSet = nanos, true }

// moment returns the time of a record without a time, in nanoseconds.
func (s *sink) moment() int64 {
	if top := s.top(); top.eventSet {
		return top.event
	}
	return s.now()
}

// arrival reports whether t, in timeUnit, is the time of processing of the current record.
func (s *sink) arrival(t int64) bool {
	now, _ := convertTime(s.now(), schema.TimestampNanosecond, s.timeUnit)
	return t == now
}

// refuse handles a record that failed with a record error.
func (s *sink) refuse(err error) error {
	if s.req.SkipError {
		s.Refuse(err)
		if s.req.Stop != nil {
			if err := s.req.Stop(); err != nil {
				return err
			}
		}
		return s.tick()
	}
	return errs.Wrap(errs.InvalidArguments, err, "record %d", s.records)
}

// Refuse counts a record that was skipped because of err.
func (s *sink) Refuse(err error) {
	s.skips.add(s.records, err, s.req.OnSkip)
	s.records++
}

// quiet reports whether the texts of further record errors will not be read.
func (s *sink) quiet() bool {
	if s.above != nil {
		return s.above.quiet()
	}
	return s.req.SkipError && s.req.OnSkip == nil && s.req.Trace == nil && len(s.skips.reasons) >= maxReasons
}

// errSkipped replaces a record error if its text will not be read.
var (
	errSkipped     = WithKind(SkipType, errs.New(errs.InvalidArguments, "skipped"))
	errSkippedWide = WithKind(SkipLimit, errs.New(errs.InvalidArguments, "skipped"))
)

// dest is a table with one set of options, and the rows for it.
type dest struct {
	s        *sink
	table    string
	opts     *optionSet
	existing *schema.Table
	// err is the reason why no record can be stored in it: a record error.
	err error

	rows     *column.Builder
	time     *column.Col
	listed   []*column.Col // of sink.listed
	byName   map[string]*column.Col
	guess    []guess // sorted by key; see runner.storeRest
	plans    []plan
	columns  int // of the table and the new ones
	must     []mustColumn
	maxCells int
	born     int // the index of the record of the first row
	heat     warmth
	warmed   bool // it has columns that no row may use

	// parts are rows that are encoded already, before those in rows.
	parts      []*column.Sealed
	expired    int // rows in parts that are older than the table's ttl
	partSize   int // the memory of parts
	pastValues int // values in parts
	load       int // bytes of records that became rows, without the rows in parts
	rule       schema.ConflictRule
	retyped    []retyped // of the current record, like adapted
	adapted    []adapted
	asides     []*Aside
	casts      Aside
	lookAt     int // the number of rows at which cells are counted again
	texts      int // bytes that a pipeline has put into the current row
}

// mustColumn is a column of the table that must not be null.
type mustColumn struct {
	col *column.Col
	def *defaultValue
}

// guess is the meaning of a field name in a table.
type guess struct {
	key  string
	col  *column.Col // nil if not known yet
	skip bool        // it is not an ordinary column, but listed, a variable or the time index
}

// maxGuesses limits the guesses for a table. Beyond the limit, all are forgotten.
const maxGuesses = 1024

// nodeKind is the meaning of a key, independent of its values.
type nodeKind uint8

const (
	plainKey   nodeKind = iota
	variable            // svc_ttl and so on
	droppedKey          // a client's field with the name of our time index
	timeKey             // the custom time index
	jsonKey             // the column contains JSON, so objects are not flattened
)

// warmth is the state that, with the table, determines the home of a request.
type warmth struct {
	database, timestamp string
	json                string // the names of Request.JSON
	levels, columns     int
	autoCreate          bool
	hasTime             bool
	time                TimeIndex
}

// ledger counts the memory of a request for all its tables.
type ledger struct {
	// due is how many bytes may be stored before the memory is counted again.
	due int
	// extra is memory besides the tables.
	extra int
	// reserved is the memory that was reserved.
	reserved int64
}

func limitError(format string, args ...any) error {
	return &kindError{SkipLimit, errs.New(errs.InvalidArguments, format, args...)}
}

// noteLoss counts a value that lost something when it was converted for the column.
func (s *sink) noteLoss(l loss, column string) {
	top := s.top()
	switch l {
	case lossNone:
	case lossAll:
		top.notes.vanished++
	case lossUnit:
		top.notes.cut++
	default:
		n := &top.lost[l]
		if n.count++; n.count == 1 {
			n.first = column
		}
	}
}

// jsonText is v as JSON.
func (s *sink) jsonText(v *cell) []byte {
	b := s.quoted[:0]
	switch v.kind {
	case kindText, kindJSON:
		return v.bytes
	case kindTime:
		b = append(b, '"')
		per := v.unit.UnitsPerSecond()
		b = time.Unix(v.i/per, v.i%per*(1e9/per)).UTC().AppendFormat(b, time.RFC3339Nano)
		b = append(b, '"')
	case kindString:
		b = jsonscan.AppendQuotedBytes(b, v.bytes)
	case kindInt:
		b = strconv.AppendInt(b, v.i, 10)
	case kindUint:
		b = strconv.AppendUint(b, uint64(v.i), 10)
	case kindBig:
		b = append(b, v.bytes...)
	case kindFloat:
		b = jsonscan.AppendFloat(b, v.f)
	case kindBool:
		b = strconv.AppendBool(b, v.i != 0)
	}
	s.quoted = b
	return b
}
