package dryrun

import (
	"maps"
	"slices"
	"strconv"

	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline"
)

// traceAnswer returns the answer that describes every step.
func (h *Handler) traceAnswer(x *exchange.Exchange, d *request, tables []*tableResult) []byte {
	traces := completeTraces(d)
	h.refuseRecords(d, traces, tables)
	out := appendTables([]byte(`{"tables":`), tables, func(out []byte, t *tableResult) []byte {
		out = h.appendDifference(out, d, t)
		return strconv.AppendInt(append(out, `,"rows_cut":`...), int64(t.cut), 10)
	})
	out = append(out, `,"records":[`...)
	for i, t := range traces {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendRecordTrace(out, &t, tables)
	}
	out = appendConflicts(append(out, `],"conflicts":`...), d, findConflicts(tables, traces))
	out = append(out, `,"skipped":`...)
	out = strconv.AppendInt(out, int64(len(d.skipReasons)), 10)
	cut := slices.ContainsFunc(tables, func(t *tableResult) bool { return t.cut > 0 }) ||
		slices.ContainsFunc(traces, func(t pipeline.RecordTrace) bool { return t.Cut })
	out = strconv.AppendBool(append(out, `,"cut":`...), cut)
	out = append(out, `,"execution_time_ms":`...)
	return append(strconv.AppendInt(out, x.Millis(), 10), '}')
}

// completeTraces inserts the records that failed before they reached a pipeline.
func completeTraces(d *request) []pipeline.RecordTrace {
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

// appendDifference appends the table's database and options, and its differences from the existing table.
func (h *Handler) appendDifference(out []byte, d *request, t *tableResult) []byte {
	options := t.parts[0].Options
	out = exchange.AppendJSONString(append(out, `,"database":`...), t.parts[0].Database)
	out = appendOptions(append(out, `,"options":`...), options)
	existing := t.parts[0].Existing
	if !d.real || existing == nil {
		out = append(out, `,"exists":false`...)
		if err := h.refusal(d, t.name, t.noCreate()); err != nil {
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

// appendOptions appends a table's options, without the default comment.
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

// findRow returns the number of a row among the rows of its table, and its part. If several parts of the table have
// the row's options, the number is unknown, and findRow returns -1.
func findRow(row *pipeline.RowTrace, tables []*tableResult) (number int, in *tableResult, part *pipeline.TableRows) {
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

// appendStored appends the row as it would be stored, leaving out nulls.
func (t *tableResult) appendStored(out []byte, part *pipeline.TableRows, row int) []byte {
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

// conflict is a column that does not accept some values of the records.
type conflict struct {
	table, column, outcome, example string
	records                         int
}

// findConflicts returns the columns of existing tables whose values are set aside as text, and the columns for
// which records are refused.
func findConflicts(tables []*tableResult, traces []pipeline.RecordTrace) []*conflict {
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

// appendConflicts appends conflicts as an array, with the types of existing columns.
func appendConflicts(out []byte, d *request, list []*conflict) []byte {
	out = append(out, '[')
	for i, c := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(append(out, `{"table":`...), c.table)
		out = exchange.AppendJSONString(append(out, `,"column":`...), c.column)
		if t, ok := d.options.Catalog.Table(d.options.Database, c.table); ok {
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

// appendRecordTrace appends everything that happened to a record.
func appendRecordTrace(out []byte, t *pipeline.RecordTrace, tables []*tableResult) []byte {
	out = append(out, `{"index":`...)
	out = strconv.AppendInt(out, int64(t.Index), 10)
	if t.Input != "" {
		out = appendJSONOrText(append(out, `,"input":`...), t.Input)
	}
	if t.Cut {
		out = append(out, `,"cut":true`...)
	}
	out = append(out, `,"outcome":"`+string(t.Outcome)+`","steps":[`...)
	out = appendSteps(out, t.Steps)
	out = appendRows(append(out, `],"rows":[`...), t.Rows, tables)
	out = append(out, ']')
	if t.Error != nil {
		out = appendStepError(append(out, `,"error":`...), t.Error)
	}
	return append(out, '}')
}

// appendSteps appends the steps that processed a record.
func appendSteps(out []byte, steps []pipeline.StepTrace) []byte {
	for i, step := range steps {
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
		out = exchange.AppendJSONStrings(append(out, `,"added":`...), step.Added)
		out = exchange.AppendJSONStrings(append(out, `,"changed":`...), step.Changed)
		out = exchange.AppendJSONStrings(append(out, `,"removed":`...), step.Removed)
		out = append(out, '}')
	}
	return out
}

// appendRows appends the rows that a record produced.
func appendRows(out []byte, rows []pipeline.RowTrace, tables []*tableResult) []byte {
	for i, row := range rows {
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
			out = exchange.AppendJSONStrings(append(out, `,"dropped":`...), row.Dropped)
		}
		out = append(out, '}')
	}
	return out
}

// appendStepError appends why a record failed.
func appendStepError(out []byte, e *pipeline.StepError) []byte {
	out = exchange.AppendJSONString(append(out, `{"pipeline":`...), e.Pipeline)
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
	return append(out, '}')
}
