package pipeline

import (
	"encoding/binary"
	"fmt"
	"maps"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// begin prepares an empty sink for a request, and sets defaults for what the request omits. The caller must set
// timeName and timeUnit.
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
	s.event, s.eventSet, s.newColumns = 0, false, 0
	if s.req.Steps == 0 {
		s.req.Steps = DefaultSteps
	}
	s.ownLedger = ledger{due: reserveStep}
	s.ledger = &s.ownLedger
	return nil
}

// destFor returns the destination of records for a table with a set of options.
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
	if s.req.Permit != nil {
		if err := s.req.Permit(table, d.existing != nil); err != nil {
			// Messages must not describe the table.
			d.existing, d.err = nil, WithKind(SkipPermission, err)
		}
	}
	if d.existing == nil && d.err == nil && s.req.MayCreate != nil {
		d.err = WithKind(SkipQuota, s.req.MayCreate(table))
	}
	if d.existing == nil && d.err == nil && len(suffix) > 0 { // the request's own table is counted elsewhere
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

// newTable counts a table that the request creates besides the one that it names.
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

// open creates the builder of the rows, with the columns that every row has.
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
				"table %q has the time index %q, but these records have %q; %s", d.table, c.Name, s.timeName,
				s.timeAdvice(d.table, c.Name))}
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

// addListed adds the columns in the pipeline's list. If the table exists, it uses the table's definitions.
func (d *dest) addListed() {
	for _, c := range d.s.listed {
		have := d.existingColumn([]byte(c.Name))
		switch {
		case have != nil && (have.Semantic != c.Semantic):
			d.err = &kindError{SkipType, errs.New(errs.InvalidArguments,
				"table %q has the column %q as %s, but the pipeline lists it as %s; change the pipeline, or send to another table",
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
		case d.overQuota():
			d.err = d.quotaError()
			return
		default:
			d.columns++
		}
		d.listed = append(d.listed, d.addPinned(c))
	}
}

// timeAdvice returns advice for a table whose time index, has, differs from that of the records.
func (s *sink) timeAdvice(table, has string) string {
	again := "drop or rename the table and send all rows again"
	switch arrival := s.req.TimestampColumn; {
	case s.ownTime:
		return fmt.Sprintf("make %q the time index of the pipeline, in its transform list or by date or epoch; or %s", has,
			again)
	case s.timeName == arrival:
		return fmt.Sprintf("if they have a time in %q, add the parameter custom_time_index=%s;rfc3339 (or ;epoch;ms, "+
			";datestr;PATTERN) to the URL of the request: /v1/ingest?table=%s&pipeline_name=svc_identity&"+
			"custom_time_index=%s;rfc3339; if they have none, the table needs %s TIMESTAMP(9) TIME INDEX in CREATE TABLE",
			has, has, table, has, arrival)
	case has == arrival:
		return fmt.Sprintf("without custom_time_index, rows get the time of their arrival there; to use the time of "+
			"%q, %s", s.timeName, again)
	}
	return fmt.Sprintf("name %q by custom_time_index; or %s", has, again)
}

// The limits of one request, over all its tables.
const (
	maxTables  = 10_000
	maxColumns = 200_000
	// All columns of a table are padded to the same length, so a few wide records among many short ones take far more
	// memory than their values. A table may have minCells cells, or maxPadding times as many cells as values.
	minCells   = 32 << 20
	maxPadding = 4
)

// optionsFor returns the options for a record that sets v. Where v sets nothing, the request's hints apply.
func (s *sink) optionsFor(v *variables) (*optionSet, error) {
	key := s.key[:0]
	for i := range varSuffix {
		if v.set[i] {
			key = append(key, byte(i))
			key = binary.LittleEndian.AppendUint32(key, uint32(len(v.text[i])))
			key = append(key, v.text[i]...)
		}
	}
	s.key = key
	if set := s.optionSets[string(key)]; set != nil {
		return set, nil
	}
	if len(s.optionSets) >= maxOptionSets {
		return nil, errs.New(errs.InvalidArguments,
			"more than %d different sets of table options in one request; send fewer per request", maxOptionSets)
	}
	options := maps.Clone(s.hints)
	if options == nil {
		options = map[string]string{}
	}
	for i := range varSuffix {
		if !v.set[i] || i == varTableTTL && v.set[varTTL] {
			continue
		}
		value, err := schema.NormalizeOption(variableOptions[i], string(v.text[i]))
		if err != nil {
			return nil, err
		}
		options[variableOptions[i]] = value
	}
	set, err := newOptionSet(options)
	if err != nil {
		return nil, err
	}
	if s.optionSets == nil {
		s.optionSets = map[string]*optionSet{}
	}
	s.optionSets[string(key)] = set
	return set, nil
}

// maxOptionSets limits the number of different texts of variables in a request.
const maxOptionSets = 10_000
