package pipeline

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/processor"
	"cordwood/router/vrl/fn"
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
	minCells   int
	ledger     *ledger // of the request
	below      []*sink

	start   int64 // nanoseconds since 1970
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
	// newTables are those that the request makes, in the one on top.
	newTables map[string]struct{}
	// retyped says that a column got another type, in the one on top.
	retyped bool
	// above is the sink of the request whose records come here in part; nil: it is this one.
	above *sink

	// Scratch memory.
	quoted []byte
	key    []byte
	spare  []*column.Builder
}

// begin prepares an empty sink for a request, with defaults for what the request leaves
// out. timeName and timeUnit are the caller's to set.
func (s *sink) begin(q *Request) error {
	if err := schema.CheckTableName(q.Table); err != nil {
		return err
	}
	hints, err := hintOptions(q.Hints)
	if err != nil {
		return err
	}
	base, err := newOptionSet(hints)
	if err != nil {
		return err
	}
	s.req, s.hints, s.base = *q, hints, base
	if s.req.MaxNestedLevels <= 0 {
		s.req.MaxNestedLevels = DefaultNestedLevels
	}
	if s.req.MaxColumns <= 0 {
		s.req.MaxColumns = DefaultMaxColumns
	}
	if s.req.TimestampColumn == "" {
		s.req.TimestampColumn = DefaultTimestampColumn
	}
	now := time.Now
	if s.req.Now != nil {
		now = s.req.Now
	}
	s.start = now().UnixNano()
	s.minCells = minCells
	s.untick = 0
	if s.req.Steps == 0 {
		s.req.Steps = DefaultSteps
	}
	s.ledger = &ledger{due: reserveStep}
	return nil
}

// top is the sink of the whole request.
func (s *sink) top() *sink {
	for s.above != nil {
		s = s.above
	}
	return s
}

// now is the time of processing of the record under way, in nanoseconds: that of the
// request, and a nanosecond more for each record, so that rows keep their order.
func (s *sink) now() int64 { return s.start + int64(s.records) }

// arrival reports whether t, in timeUnit, is the time of processing of the record under way.
func (s *sink) arrival(t int64) bool {
	now, _ := convertTime(s.now(), schema.TimestampNanosecond, s.timeUnit)
	return t == now
}

// destFor returns the destination of records for a table under a set of options.
func (s *sink) destFor(suffix []byte, opts *optionSet) (*dest, error) {
	key := append(s.key[:0], opts.key...)
	key = append(append(key, '\n'), suffix...)
	s.key = key
	if d := s.byKey[string(key)]; d != nil {
		return d, nil
	}
	if s.top().tables >= maxTables {
		return nil, limitError("more than %d destination tables in one request; send fewer per request", maxTables)
	}
	table := s.req.Table + string(suffix)
	if err := schema.CheckTableName(table); err != nil {
		return nil, WithKind(SkipTable, err)
	}
	d := &dest{s: s, table: table, opts: opts, maxCells: s.minCells, lookAt: lookRows}
	if s.req.Catalog != nil {
		if t, ok := s.req.Catalog.Table(s.req.Database, table); ok {
			d.existing = t
		}
	}
	if d.existing == nil && len(suffix) > 0 { // the request's own is one in any case
		if err := s.top().newTable(table); err != nil {
			return nil, err
		}
	}
	d.open()
	s.top().tables++
	s.dests = append(s.dests, d)
	s.byKey[string(key)] = d
	return d, nil
}

// newTable counts a table that the request makes beside the one that it names.
func (s *sink) newTable(name string) error {
	limit := s.req.MaxNewTables
	if _, ok := s.newTables[name]; ok || limit <= 0 {
		return nil
	}
	if len(s.newTables) >= limit {
		return limitError("table %q would be one more than %d new tables in one request (--max-new-tables-per-request); "+
			"send fewer new ones per request", cut(name), limit)
	}
	if s.newTables == nil {
		s.newTables = map[string]struct{}{}
	}
	s.newTables[name] = struct{}{}
	return nil
}

// rowTime is the time of the row under way in timeUnit.
func (s *sink) rowTime() (int64, error) {
	if s.timeSet {
		return s.timeValue, nil
	}
	s.timeRest, s.timeCut = 0, false
	if s.req.TimeIndex != nil && !s.req.IgnoreErrors {
		return 0, &kindError{SkipTimeIndex, errs.New(errs.InvalidArguments, "time index %q: the field is missing or null",
			s.timeName)}
	}
	t, _ := convertTime(s.now(), schema.TimestampNanosecond, s.timeUnit)
	return t, nil
}

// setTime reads the custom time index from v.
func (s *sink) setTime(v *cell) error {
	ti := s.req.TimeIndex
	var m moment
	var err error
	switch {
	case s.req.IgnoreErrors && v.kind != kindInt && v.kind != kindFloat && v.kind != kindString:
		return nil
	case v.kind == kindInt && ti.format == nil:
		m.value = v.i
	case v.kind == kindFloat && ti.format == nil:
		m, err = ti.number(v.f)
	case v.kind == kindString:
		m, err = ti.parse(v.bytes)
	default:
		err = errs.New(errs.InvalidArguments, "time index %q: expected %s, actual %s: %s", ti.Field, ti.want(),
			v.kind.columnType(), processor.Cut(string(s.jsonText(v))))
	}
	t := m.value
	if err == nil && !timeInRange(t, ti.Unit) {
		lo, hi := ti.Unit.TimeRange()
		err = errs.New(errs.InvalidArguments, "time index %q: %d of %s is out of range, which is %d to %d (%s)", ti.Field, t,
			ti.Unit, lo, hi, ti.Unit.TimeSpan())
	}
	if err != nil {
		if s.req.IgnoreErrors {
			return nil
		}
		return &kindError{SkipTimeIndex, err}
	}
	s.timeValue, s.timeRest, s.timeCut, s.timeSet = t, m.rest, m.cut, true
	return nil
}

// refuse ends a record that failed with a record error.
func (s *sink) refuse(err error) error {
	if s.req.SkipError {
		s.Refuse(err)
		return s.tick()
	}
	return errs.Wrap(errs.InvalidArguments, err, "record %d", s.records)
}

// ticks is the number of records after which tick asks whether the request is over.
const ticks = 256

// tick is called for each record. It returns an error when the request is over.
func (s *sink) tick() error {
	if s.untick--; s.untick >= 0 || s.req.Ended == nil {
		return nil
	}
	s.untick = ticks
	if err := s.req.Ended(); err != nil {
		return s.ended(err)
	}
	return nil
}

// ended is the error of a request that ended, for the reason that Ended gave, or that took
// too much work.
func (s *sink) ended(err error) error {
	at := s.top().records
	switch {
	case errors.Is(err, fn.ErrSteps):
		return errs.New(errs.InvalidArguments,
			"record %d: the request needs more work than one may take: %d steps, and %d more for each byte of its records; "+
				"send fewer records per request, make the pipeline cheaper, or raise --pipeline-request-steps", at, s.req.Steps,
			stepsPerByte)
	case errors.Is(err, context.DeadlineExceeded):
		return errs.Wrap(errs.DeadlineExceeded, err,
			"record %d: the time of the request was up before all records had gone through the pipeline", at)
	}
	return errs.Wrap(errs.Cancelled, err, "record %d: the request ended before all records had gone through the pipeline",
		at)
}

// Refuse counts a record that was skipped because of err.
func (s *sink) Refuse(err error) {
	s.skips.add(s.records, err, s.req.OnSkip)
	s.records++
}

// quiet tells that nobody will read the text of a record error any more.
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
