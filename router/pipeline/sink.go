package pipeline

import (
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/vrl/jsonscan"
)

// sink is the tables that one pipeline fills in one request.
type sink struct {
	req      Request
	hints    map[string]string
	base     *optionSet // of records that set no variable
	timeName string
	timeUnit schema.Type
	ownTime  bool // the pipeline says which field is the time, and custom_time_index has no effect
	// listed are columns that every table has beside the time index, in this order, and
	// timePlace is the number of those that precede it in a new table.
	listed    []schema.Column
	timePlace int

	dests      []*dest
	byKey      map[string]*dest
	optionSets map[string]*optionSet
	tables     int // of all sinks together, in the one on top
	columns    int // of all tables together, in the sink on top
	newColumns int // those of them that no table has yet and records brought, in the one on top
	minCells   int
	ledger     *ledger // of the request
	below      []*sink

	start   int64 // nanoseconds since 1970
	event   int64 // when the record under way happened, if told; in the one on top
	told    bool
	records int
	skips   skips
	untick  int // records until tick asks whether the request is over
	// What the custom time index of the row under way says, in timeUnit.
	timeValue int64
	timeRest  int64 // nanoseconds beyond timeValue, less than timeUnit
	timeCut   bool  // there were digits below nanoseconds
	timeSet   bool
	notes     notes // of the request, in the one on top
	lost      lost  // of the request, in the one on top
	drops     drops // of the request, in the one on top
	// newTables, in the uppermost sink, are the tables that the request makes.
	newTables map[string]struct{}
	// retyped, in the uppermost sink, says that a column got another type.
	retyped bool
	// above is the sink of the request whose records come here in part; nil: it is this one.
	above *sink

	// Scratch memory.
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

// now returns the time of processing of the record under way, in nanoseconds: the time of the
// request, and a nanosecond more for each record, so that rows keep their order.
func (s *sink) now() int64 { return s.start + int64(s.records) }

// At implements Runner.
func (s *sink) At(nanos int64) { s.event, s.told = nanos, true }

// moment returns the time of a record that names none, in nanoseconds.
func (s *sink) moment() int64 {
	if top := s.top(); top.told {
		return top.event
	}
	return s.now()
}

// arrival reports whether t, in timeUnit, is the time of processing of the record under way.
func (s *sink) arrival(t int64) bool {
	now, _ := convertTime(s.now(), schema.TimestampNanosecond, s.timeUnit)
	return t == now
}

// refuse ends a record that failed with a record error.
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

// quiet means that the text of a record error will not be read any more.
func (s *sink) quiet() bool {
	if s.above != nil {
		return s.above.quiet()
	}
	return s.req.SkipError && s.req.OnSkip == nil && s.req.Trace == nil && len(s.skips.reasons) >= maxReasons
}

// errSkipped stands for a record error while quiet.
var (
	errSkipped     = WithKind(SkipType, errs.New(errs.InvalidArguments, "skipped"))
	errSkippedWide = WithKind(SkipLimit, errs.New(errs.InvalidArguments, "skipped"))
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
	load       int // bytes that became rows, except rows in parts
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

// guess is what the fields of a name mean in a table.
type guess struct {
	key  string
	col  *column.Col // nil: not known yet
	skip bool        // it is not a column: listed, a variable or the time index
}

// maxGuesses bounds the guesses of a table; beyond that it begins anew.
const maxGuesses = 1024

// nodeKind says what a key means, apart from its values.
type nodeKind uint8

const (
	plainKey   nodeKind = iota
	variable            // svc_ttl and so on
	droppedKey          // what the client sent by the name of our own time index
	timeKey             // the custom time index
	jsonKey             // the column by that name holds JSON: objects are not spread
)

// warmth is what the home of a request depends on, besides the table.
type warmth struct {
	database, timestamp string
	json                string // the names of Request.JSON
	levels, columns     int
	autoCreate          bool
	hasTime             bool
	time                TimeIndex
}

// ledger counts the memory of a request. It is shared by all its tables.
type ledger struct {
	// due is what may be put down until the memory is counted again.
	due int
	// extra is memory beside the memory of tables.
	extra int
	// reserved is what was asked for.
	reserved int64
}

func limitError(format string, args ...any) error {
	return &kindError{SkipLimit, errs.New(errs.InvalidArguments, format, args...)}
}

// noteLoss counts a value that lost something on its way to the column.
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
