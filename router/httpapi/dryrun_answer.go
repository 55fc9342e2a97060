package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline"
)

// dryTable is what the records of a dry run would put into one table.
type dryTable struct {
	name  string
	parts []*pipeline.TableRows // more than one if there are several sets of options
	cols  []schema.Column
	cut   int // rows that are not shown
}

// The most bytes of an answer that rows and traces take, each.
const (
	maxRowBytes   = 2 << 20
	maxTraceBytes = 2 << 20
)

// joinTables puts together what goes to the same table.
func joinTables(out *pipeline.Output) []*dryTable {
	var tables []*dryTable
	for _, rows := range out.Tables {
		if rows.Rows.Rows() == 0 {
			continue
		}
		i := slices.IndexFunc(tables, func(t *dryTable) bool { return t.name == rows.Table })
		if i < 0 {
			i = len(tables)
			tables = append(tables, &dryTable{name: rows.Table})
		}
		t := tables[i]
		rows.Rows.Finish()
		t.parts = append(t.parts, rows)
		for _, c := range rows.Rows.Cols() {
			if !slices.ContainsFunc(t.cols, func(have schema.Column) bool { return have.Name == c.Name }) {
				t.cols = append(t.cols, c.Column)
			}
		}
	}
	return tables
}

// dataTypes are the names of types in dry runs.
var dataTypes = map[schema.Type]string{
	schema.Boolean: "BOOLEAN", schema.Int8: "INT8", schema.Int16: "INT16", schema.Int32: "INT32", schema.Int64: "INT64",
	schema.Uint8: "UINT8", schema.Uint16: "UINT16", schema.Uint32: "UINT32", schema.Uint64: "UINT64",
	schema.Float32: "FLOAT32", schema.Float64: "FLOAT64", schema.String: "STRING", schema.Binary: "BINARY",
	schema.JSON:            "JSON",
	schema.TimestampSecond: "TIMESTAMP_SECOND", schema.TimestampMillisecond: "TIMESTAMP_MILLISECOND",
	schema.TimestampMicrosecond: "TIMESTAMP_MICROSECOND", schema.TimestampNanosecond: "TIMESTAMP_NANOSECOND",
}

// appendTables appends the tables as an array. more, if not nil, appends further members
// to each.
func appendTables(out []byte, tables []*dryTable, more func(out []byte, t *dryTable) []byte) []byte {
	out = append(out, '[')
	for i, t := range tables {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(append(out, `{"table_name":`...), t.name)
		out = append(out, `,"schema":[`...)
		for i, c := range t.cols {
			if i > 0 {
				out = append(out, ',')
			}
			out = exchange.AppendJSONString(append(out, `{"name":`...), c.Name)
			out = append(out, `,"data_type":"`+dataTypes[c.Type]+`","column_type":"`+c.Semantic.String()+`","fulltext":`...)
			out = strconv.AppendBool(out, c.Index != nil && c.Index.Kind == schema.FulltextIndex)
			if c.Index != nil {
				out = append(out, `,"index":"`+c.Index.Kind.String()+`"`...)
			}
			out = append(out, '}')
		}
		out = append(out, `],"rows":[`...)
		first := true
		for _, part := range t.parts {
			out, first = t.appendRows(out, part, first)
		}
		out = append(out, ']')
		if more != nil {
			out = more(out, t)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// appendRows appends the rows of one part, each with all columns of the table.
func (t *dryTable) appendRows(out []byte, part *pipeline.TableRows, first bool) ([]byte, bool) {
	cols := make([]*column.Col, len(t.cols))
	for _, c := range part.Rows.Cols() {
		cols[slices.IndexFunc(t.cols, func(have schema.Column) bool { return have.Name == c.Name })] = c
	}
	for row := range part.Rows.Rows() {
		if len(out) > maxRowBytes {
			t.cut += part.Rows.Rows() - row
			break
		}
		whole, wasFirst := len(out), first
		if !first {
			out = append(out, ',')
		}
		first = false
		out = append(out, '[')
		for i, c := range t.cols {
			if i > 0 {
				out = append(out, ',')
			}
			out = exchange.AppendJSONString(append(out, `{"key":`...), c.Name)
			out = append(out, `,"value":`...)
			out = appendCell(out, cols[i], row)
			out = append(out, `,"data_type":"`+dataTypes[c.Type]+`","semantic_type":"`+c.Semantic.String()+`"}`...)
		}
		out = append(out, ']')
		if len(out) > maxRowBytes+maxTraceBytes { // a single row may be longer than all that is shown
			t.cut++
			out, first = out[:whole], wasFirst
		}
	}
	return out, first
}

// appendCell appends a value as JSON.
func appendCell(out []byte, c *column.Col, row int) []byte {
	if c == nil || c.IsNull(row) {
		return append(out, "null"...)
	}
	switch t := c.Type; {
	case t == schema.Boolean:
		return strconv.AppendBool(out, c.Int(row) != 0)
	case t == schema.Uint64:
		return strconv.AppendUint(out, uint64(c.Int(row)), 10)
	case t.IsFloat():
		text, err := json.Marshal(c.Float(row))
		if err != nil { // no JSON for NaN and infinities
			text = []byte("null")
		}
		return append(out, text...)
	case t == schema.Binary:
		return exchange.AppendJSONString(out, base64.StdEncoding.EncodeToString(c.Bytes(row)))
	case t == schema.JSON:
		return appendJSONOrText(out, string(c.Bytes(row)))
	case t.IsBytes():
		return exchange.AppendJSONString(out, string(c.Bytes(row)))
	}
	return strconv.AppendInt(out, c.Int(row), 10)
}

// appendJSONOrText appends a text that is JSON as it is, and another as a string.
func appendJSONOrText(out []byte, text string) []byte {
	if text != "" && json.Valid([]byte(text)) {
		return append(out, text...)
	}
	return exchange.AppendJSONString(out, text)
}

// refusal returns why ingestion would refuse all rows of the table: it does not exist and must
// not be created. Nil if it would not.
func (s *Server) refusal(d *dryRun, table string, noCreate bool) error {
	if !d.real || !noCreate {
		return nil
	}
	if _, exists := s.cfg.Catalog.Table(d.request.Database, table); exists {
		return nil
	}
	if s.cfg.NoAutoCreate {
		return errs.New(errs.InvalidArguments,
			"Table `%s` does not exist, and auto_create_table is disabled by configuration", table)
	}
	return errs.New(errs.InvalidArguments, "Table `%s` does not exist, and `auto_create_table` hint is disabled", table)
}

// refuseTables returns the error that ingestion would answer because of a table.
func (s *Server) refuseTables(d *dryRun, tables []*dryTable) error {
	for _, t := range tables {
		if err := s.refusal(d, t.name, t.noCreate()); err != nil {
			return err
		}
	}
	return nil
}

// noCreate reports whether no part of the table's rows allows that it is created.
func (t *dryTable) noCreate() bool {
	return !slices.ContainsFunc(t.parts, func(part *pipeline.TableRows) bool { return !part.NoCreate })
}

// refuseRecords notes the records that a table's refusal would let fail.
func (s *Server) refuseRecords(d *dryRun, traces []pipeline.RecordTrace, tables []*dryTable) {
	for i := range traces {
		t := &traces[i]
		for _, row := range t.Rows {
			at := slices.IndexFunc(tables, func(have *dryTable) bool { return have.name == row.Table })
			if at < 0 {
				continue
			}
			if err := s.refusal(d, row.Table, tables[at].noCreate()); err != nil {
				t.Outcome = pipeline.Failed
				t.Error = &pipeline.StepError{Pipeline: d.name, Step: "table", Position: -1, Reason: err.Error()}
				break
			}
		}
	}
}

// traceAnswer returns the answer with every step of every record.
func (s *Server) traceAnswer(x *exchange.Exchange, d *dryRun, tables []*dryTable) []byte {
	traces := s.completeTraces(d)
	s.refuseRecords(d, traces, tables)
	out := appendTables([]byte(`{"tables":`), tables, func(out []byte, t *dryTable) []byte {
		out = s.appendDifference(out, d, t)
		return strconv.AppendInt(append(out, `,"rows_cut":`...), int64(t.cut), 10)
	})
	out = append(out, `,"records":[`...)
	for i, t := range traces {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendRecordTrace(out, &t, tables)
	}
	out = s.appendConflicts(append(out, `],"conflicts":`...), d, findConflicts(tables, traces))
	out = append(out, `,"skipped":`...)
	out = strconv.AppendInt(out, int64(len(d.skipReasons)), 10)
	cut := slices.ContainsFunc(tables, func(t *dryTable) bool { return t.cut > 0 }) ||
		slices.ContainsFunc(traces, func(t pipeline.RecordTrace) bool { return t.Cut })
	out = strconv.AppendBool(append(out, `,"cut":`...), cut)
	out = append(out, `,"execution_time_ms":`...)
	return append(strconv.AppendInt(out, x.Millis(), 10), '}')
}

// completeTraces adds, in the order of the records, the records that failed before a pipeline had
// them.
func (s *Server) completeTraces(d *dryRun) []pipeline.RecordTrace {
	traces := slices.Clone(d.traced)
	for _, reason := range d.skipReasons {
		i := slices.IndexFunc(traces, func(t pipeline.RecordTrace) bool { return t.Index == reason.Index })
		if i >= 0 {
			continue
		}
		traces = append(traces, pipeline.RecordTrace{
			Index: reason.Index, Outcome: pipeline.Failed,
			Error: &pipeline.StepError{Pipeline: d.name, Step: reason.Kind.String(), Position: -1, Reason: reason.Error},
		})
	}
	slices.SortStableFunc(traces, func(a, b pipeline.RecordTrace) int { return a.Index - b.Index })
	return traces
}

// appendDifference appends where the table lies, the options that it would get, and how
// it differs from the one that exists.
func (s *Server) appendDifference(out []byte, d *dryRun, t *dryTable) []byte {
	options := t.parts[0].Options
	out = exchange.AppendJSONString(append(out, `,"database":`...), t.parts[0].Database)
	out = appendOptions(append(out, `,"options":`...), options)
	existing := t.parts[0].Existing
	if !d.real || existing == nil {
		out = append(out, `,"exists":false`...)
		if err := s.refusal(d, t.name, t.noCreate()); err != nil {
			out = exchange.AppendJSONString(append(out, `,"refused":`...), err.Error())
		}
		return out
	}
	out = append(out, `,"exists":true,"new_columns":[`...)
	sep := ""
	for _, c := range t.cols {
		if existing.Column(c.Name) == nil {
			out = exchange.AppendJSONString(append(out, sep...), c.Name)
			sep = ","
		}
	}
	out = append(out, `],"different_options":[`...)
	sep = ""
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if key == schema.OptionComment || existing.Options[key] == options[key] {
			continue
		}
		out = exchange.AppendJSONString(append(append(out, sep...), `{"option":`...), key)
		out = exchange.AppendJSONString(append(out, `,"wanted":`...), options[key])
		out = exchange.AppendJSONString(append(out, `,"table":`...), existing.Options[key])
		out = append(out, '}')
		sep = ","
	}
	return append(out, ']')
}

// appendOptions appends a table's options, without the comment that every table has.
func appendOptions(out []byte, options map[string]string) []byte {
	out = append(out, '{')
	sep := ""
	for _, key := range slices.Sorted(maps.Keys(options)) {
		if key == schema.OptionComment && options[key] == schema.CreatedOnInsertion {
			continue
		}
		out = exchange.AppendJSONString(append(out, sep...), key)
		out = exchange.AppendJSONString(append(out, ':'), options[key])
		sep = ","
	}
	return append(out, '}')
}

// findRow returns the place of a row among the rows of its table, and its part; -1 if several parts of the table have
// the row's options, so that the place is unknown.
func findRow(row *pipeline.RowTrace, tables []*dryTable) (number int, in *dryTable, part *pipeline.TableRows) {
	number, before := -1, 0
	for _, t := range tables {
		if t.name != row.Table {
			continue
		}
		for _, p := range t.parts {
			if maps.Equal(p.Options, row.Options) && row.Row < p.Rows.Rows() {
				if number >= 0 {
					return -1, nil, nil
				}
				number, in, part = before+row.Row, t, p
			}
			before += p.Rows.Rows()
		}
	}
	return number, in, part
}

// appendStored appends the row as it would be stored, without nulls.
func (t *dryTable) appendStored(out []byte, part *pipeline.TableRows, row int) []byte {
	out = append(out, '{')
	sep := ""
	for _, c := range part.Rows.Cols() {
		if c.IsNull(row) {
			continue
		}
		out = exchange.AppendJSONString(append(out, sep...), c.Name)
		out = appendCell(append(out, ':'), c, row)
		sep = ","
	}
	return append(out, '}')
}

// conflict is a column that does not take values of the records.
type conflict struct {
	table, column, outcome, example string
	records                         int
}

// findConflicts returns the columns of existing tables whose values go aside as text, and columns for which records
// are refused.
func findConflicts(tables []*dryTable, traces []pipeline.RecordTrace) []*conflict {
	var list []*conflict
	for _, t := range tables {
		for _, part := range t.parts {
			for _, a := range part.Asides {
				list = append(list, &conflict{
					table: t.name, column: a.Column, outcome: "aside", example: a.First, records: a.Count,
				})
			}
		}
	}
	for _, r := range traces {
		e := r.Error
		if e == nil || e.Table == "" {
			continue
		}
		i := slices.IndexFunc(list, func(c *conflict) bool {
			return c.table == e.Table && c.column == e.Field && c.outcome == "refused"
		})
		if i < 0 {
			i = len(list)
			list = append(list, &conflict{table: e.Table, column: e.Field, outcome: "refused", example: e.Value})
		}
		list[i].records++
	}
	return list
}

// appendConflicts appends conflicts as an array, with the types of the columns that there are.
func (s *Server) appendConflicts(out []byte, d *dryRun, list []*conflict) []byte {
	out = append(out, '[')
	for i, c := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(append(out, `{"table":`...), c.table)
		out = exchange.AppendJSONString(append(out, `,"column":`...), c.column)
		if t, ok := d.request.Catalog.Table(d.request.Database, c.table); ok {
			if column := t.Column(c.column); column != nil {
				out = append(out, `,"type":"`+dataTypes[column.Type]+`"`...)
			}
		}
		out = append(out, `,"outcome":"`+c.outcome+`","records":`...)
		out = strconv.AppendInt(out, int64(c.records), 10)
		out = exchange.AppendJSONString(append(out, `,"example":`...), c.example)
		out = append(out, '}')
	}
	return append(out, ']')
}

func appendRecordTrace(out []byte, t *pipeline.RecordTrace, tables []*dryTable) []byte {
	out = append(out, `{"index":`...)
	out = strconv.AppendInt(out, int64(t.Index), 10)
	if t.Input != "" {
		out = appendJSONOrText(append(out, `,"input":`...), t.Input)
	}
	if t.Cut {
		out = append(out, `,"cut":true`...)
	}
	out = append(out, `,"outcome":"`+string(t.Outcome)+`","steps":[`...)
	for i, step := range t.Steps {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		if step.Position >= 0 {
			out = strconv.AppendInt(append(out, `"index":`...), int64(step.Position), 10)
			out = strconv.AppendInt(append(out, `,"line":`...), int64(step.Line), 10)
			out = strconv.AppendInt(append(out, `,"took_us":`...), step.Took.Microseconds(), 10)
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(append(out, `"pipeline":`...), step.Pipeline)
		out = exchange.AppendJSONString(append(out, `,"step":`...), step.Step)
		if step.Record == "" {
			out = append(out, `,"cut":true`...)
		} else {
			out = appendJSONOrText(append(out, `,"record":`...), step.Record)
		}
		out = appendNames(append(out, `,"added":`...), step.Added)
		out = appendNames(append(out, `,"changed":`...), step.Changed)
		out = appendNames(append(out, `,"removed":`...), step.Removed)
		out = append(out, '}')
	}
	out = append(out, `],"rows":[`...)
	for i, row := range t.Rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(append(out, `{"table":`...), row.Table)
		n, in, part := findRow(&row, tables)
		if n >= 0 {
			out = append(out, `,"row":`...)
			out = strconv.AppendInt(out, int64(n), 10)
		}
		out = appendOptions(append(out, `,"options":`...), row.Options)
		if row.Record != "" {
			out = appendJSONOrText(append(out, `,"record":`...), row.Record)
			if n >= 0 {
				out = in.appendStored(append(out, `,"stored":`...), part, row.Row)
			}
		}
		if len(row.Dropped) > 0 {
			out = appendNames(append(out, `,"dropped":`...), row.Dropped)
		}
		out = append(out, '}')
	}
	out = append(out, ']')
	if e := t.Error; e != nil {
		out = exchange.AppendJSONString(append(out, `,"error":{"pipeline":`...), e.Pipeline)
		out = exchange.AppendJSONString(append(out, `,"step":`...), e.Step)
		out = append(out, `,"position":`...)
		out = strconv.AppendInt(out, int64(e.Position), 10)
		if e.Line > 0 {
			out = strconv.AppendInt(append(out, `,"line":`...), int64(e.Line), 10)
		}
		if e.Place > 0 {
			out = strconv.AppendInt(append(out, `,"offset":`...), int64(e.Place-1), 10)
		}
		out = exchange.AppendJSONString(append(out, `,"field":`...), e.Field)
		out = exchange.AppendJSONString(append(out, `,"value":`...), e.Value)
		out = exchange.AppendJSONString(append(out, `,"reason":`...), e.Reason)
		out = append(out, '}')
	}
	return append(out, '}')
}

// appendNames appends names as an array.
func appendNames(out []byte, names []string) []byte {
	out = append(out, '[')
	for i, name := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(out, name)
	}
	return append(out, ']')
}
