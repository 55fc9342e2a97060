package dryrun

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/pipeline"
)

// tableResult has the rows that a dry run would store in one table.
type tableResult struct {
	name  string
	parts []*pipeline.TableRows // more than one if there are several sets of options
	cols  []schema.Column
	cut   int // rows that are not shown
}

// The size limits for rows and for traces in an answer, in bytes.
const (
	maxRowBytes   = 2 << 20
	maxTraceBytes = 2 << 20
)

// joinTables returns one result for each table.
func joinTables(out *pipeline.Output) []*tableResult {
	var tables []*tableResult
	for _, rows := range out.Tables {
		if rows.Rows.Rows() == 0 {
			continue
		}
		i := slices.IndexFunc(tables, func(t *tableResult) bool { return t.name == rows.Table })
		if i < 0 {
			i = len(tables)
			tables = append(tables, &tableResult{name: rows.Table})
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

// dataTypes are the names of types in answers.
var dataTypes = map[schema.Type]string{
	schema.Boolean: "BOOLEAN", schema.Int8: "INT8", schema.Int16: "INT16", schema.Int32: "INT32", schema.Int64: "INT64",
	schema.Uint8: "UINT8", schema.Uint16: "UINT16", schema.Uint32: "UINT32", schema.Uint64: "UINT64",
	schema.Float32: "FLOAT32", schema.Float64: "FLOAT64", schema.String: "STRING", schema.Binary: "BINARY",
	schema.JSON:            "JSON",
	schema.TimestampSecond: "TIMESTAMP_SECOND", schema.TimestampMillisecond: "TIMESTAMP_MILLISECOND",
	schema.TimestampMicrosecond: "TIMESTAMP_MICROSECOND", schema.TimestampNanosecond: "TIMESTAMP_NANOSECOND",
}

// appendTables appends the tables as an array. more, if not nil, appends further members to each table.
func appendTables(out []byte, tables []*tableResult, more func(out []byte, t *tableResult) []byte) []byte {
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
func (t *tableResult) appendRows(out []byte, part *pipeline.TableRows, first bool) ([]byte, bool) {
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
		if len(out) > maxRowBytes+maxTraceBytes { // a single row may exceed the limit
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
		if err != nil { // JSON has no NaN or infinities
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

// appendJSONOrText appends a text unchanged if it is JSON, and as a JSON string otherwise.
func appendJSONOrText(out []byte, text string) []byte {
	if text != "" && json.Valid([]byte(text)) {
		return append(out, text...)
	}
	return exchange.AppendJSONString(out, text)
}

// refusal returns the reason why ingestion would refuse all rows of the table: the table does not exist and must not
// be created. It returns nil if ingestion would accept the rows.
func (h *Handler) refusal(d *request, table string, noCreate bool) error {
	if !d.real || !noCreate {
		return nil
	}
	if _, exists := d.catalog.Table(d.options.Database, table); exists {
		return nil
	}
	if h.cfg.NoAutoCreate {
		return errs.New(errs.InvalidArguments,
			"Table `%s` does not exist, and auto_create_table is disabled by configuration", table)
	}
	return errs.New(errs.InvalidArguments, "Table `%s` does not exist, and `auto_create_table` hint is disabled", table)
}

// refuseTables returns the error that ingestion would return for one of the tables.
func (h *Handler) refuseTables(d *request, tables []*tableResult) error {
	for _, t := range tables {
		if err := h.refusal(d, t.name, t.noCreate()); err != nil {
			return err
		}
	}
	return nil
}

// noCreate reports whether no row permits the creation of the table.
func (t *tableResult) noCreate() bool {
	return !slices.ContainsFunc(t.parts, func(part *pipeline.TableRows) bool { return !part.NoCreate })
}

// refuseRecords marks the records that would fail because a table is refused.
func (h *Handler) refuseRecords(d *request, traces []pipeline.RecordTrace, tables []*tableResult) {
	for i := range traces {
		t := &traces[i]
		for _, row := range t.Rows {
			at := slices.IndexFunc(tables, func(have *tableResult) bool { return have.name == row.Table })
			if at < 0 {
				continue
			}
			if err := h.refusal(d, row.Table, tables[at].noCreate()); err != nil {
				t.Outcome = pipeline.Failed
				t.Error = &pipeline.StepError{Pipeline: d.name, Step: "table", Position: -1, Reason: err.Error()}
				break
			}
		}
	}
}
