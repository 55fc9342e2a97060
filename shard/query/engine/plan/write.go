package plan

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// SQL returns the query of the source's rows. Release ends DuckDB's access to the batches that it
// uses.
func (s *Source) SQL(register Register) (string, error) {
	var b strings.Builder
	for i, group := range s.filesOf(s.Plain) {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.files(&b, group, s.hidden(group.columns), "")
	}
	batches := batchesOf(s.Plain)
	if len(batches) > 0 {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		if err := s.scan(&b, register, batches, ""); err != nil {
			return "", err
		}
	}
	for _, parts := range s.Merges {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		if err := s.merge(&b, register, parts); err != nil {
			return "", err
		}
	}
	if s.weighted && b.Len() > 0 {
		rows := b.String()
		b.Reset()
		b.WriteString("SELECT *, 1::BIGINT AS " + sql.QuoteName(WeightColumn) + " FROM (" + rows + ")")
	}
	if s.weighted {
		s.weights(&b)
	} else {
		s.repetitions(&b)
	}
	if b.Len() == 0 {
		return s.nothing(), nil
	}
	return s.filled(b.String()), nil
}

// nothing returns a query of no rows with the source's columns.
func (s *Source) nothing() string {
	list := make([]string, len(s.need))
	for i, at := range s.need {
		list[i] = s.null(at) + " AS " + sql.QuoteName(s.Names[at])
	}
	if s.weighted {
		list = append(list, "1::BIGINT AS "+sql.QuoteName(WeightColumn))
	}
	return "SELECT " + strings.Join(list, ", ") + " WHERE false"
}

// weights writes the query of rows that were only counted. Each kind of row comes once, with the number of its
// rows.
func (s *Source) weights(b *strings.Builder) {
	counted := s.onlyCounted()
	if len(counted) == 0 {
		return
	}
	if b.Len() > 0 {
		b.WriteString(" UNION ALL ")
	}
	b.WriteString("SELECT * FROM (VALUES ")
	for i, c := range counted {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('(')
		for _, at := range s.need {
			b.WriteString(s.valueOf(c, at) + ", ")
		}
		fmt.Fprintf(b, "%d::BIGINT)", c.rows)
	}
	b.WriteString(") AS counted(")
	for _, at := range s.need {
		b.WriteString(sql.QuoteName(s.Names[at]) + ", ")
	}
	b.WriteString(sql.QuoteName(WeightColumn) + ")")
	s.conditions(b)
}

// valueOf returns the value that counted rows have in a column, as SQL.
func (s *Source) valueOf(counted countedRows, at int) string {
	if c := &s.Columns[at]; c.Semantic == schema.Timestamp {
		return s.moment(counted.at, c)
	}
	return counted.literal
}

// files writes the query of some files' rows. The rows meet condition; extra is added to the list
// of columns.
func (s *Source) files(b *strings.Builder, g *fileGroup, condition, extra string) {
	has := make(map[uint32]query.SegmentColumn, len(g.columns))
	for _, c := range g.columns {
		has[c.ID] = c
	}
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		name := sql.QuoteName(s.Names[at])
		switch c, ok := has[s.Columns[at].ID]; {
		case !ok:
			b.WriteString(s.null(at) + " AS " + name)
		case s.Columns[at].Type == schema.JSON:
			b.WriteString("cordwood_json(" + name + ") AS " + name)
		case s.casts(c):
			b.WriteString(name + "::" + EngineTypes[s.Columns[at].Type].SQL + " AS " + name)
		case g.far && s.Columns[at].Semantic == schema.Timestamp:
			b.WriteString(s.near(at))
		default:
			b.WriteString(name)
		}
	}
	b.WriteString(extra)
	if s.numbered {
		fmt.Fprintf(b, ", file_index + %d AS %s", len(s.Numbered), sql.QuoteName(NumberColumn))
		s.Numbered = append(s.Numbered, g.paths...)
	}
	b.WriteString(" FROM read_parquet(" + sql.QuoteList(g.paths) + ", hive_partitioning = false, schema = MAP {")
	comma := ""
	field := func(id uint32, name, kind string) {
		// Map columns by field id: a file may have the column under an older name.
		fmt.Fprintf(b, "%s%d: {name: %s, type: '%s', default_value: NULL}", comma, int32(id), sql.QuoteText(name), kind)
		comma = ", "
	}
	var conditions []string
	if g.shared {
		field(segment.TableFieldID, TableName, "UBIGINT")
		conditions = append(conditions, fmt.Sprintf("%s = %d::UBIGINT", sql.QuoteName(TableName), s.Schema.ID))
	}
	for _, at := range s.need {
		if c, ok := has[s.Columns[at].ID]; ok {
			kind := s.Columns[at].Type
			if s.casts(c) {
				kind = c.Type
			}
			field(c.FieldID, s.Names[at], EngineTypes[kind].SQL)
		}
	}
	if c, ok := has[schema.DeletedColumnID]; ok {
		field(c.FieldID, deletedName, "BOOLEAN")
	}
	b.WriteString("})")
	if len(g.runs) > 0 {
		var runs []string
		for _, r := range g.runs {
			runs = append(runs, fmt.Sprintf("file_row_number BETWEEN %d AND %d", r.First, r.Last))
		}
		conditions = append(conditions, "("+strings.Join(runs, " OR ")+")")
	}
	s.conditions(b, append(conditions, condition)...)
}

// scan writes the query of some batches' rows. If mark is not empty, it is the query's name of the
// hidden column, and the order of the rows follows it.
func (s *Source) scan(b *strings.Builder, register Register, parts []Part, mark string) error {
	ordered := mark != ""
	columns, names := make([]schema.Column, 0, len(s.need)+2), make([]string, 0, len(s.need)+2)
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		columns, names = append(columns, s.Columns[at]), append(names, s.Names[at])
		if s.Columns[at].Semantic == schema.Timestamp && slices.ContainsFunc(parts, func(p Part) bool { return p.far }) {
			b.WriteString(s.near(at))
		} else {
			b.WriteString(sql.QuoteName(s.Names[at]))
		}
	}
	deleted := ordered
	for _, p := range parts {
		deleted = deleted || p.Batch.Column(schema.DeletedColumnID) != nil
	}
	hidden := ""
	if deleted {
		columns, names = append(columns, schema.DeletedColumn()), append(names, deletedName)
		hidden = sql.QuoteName(deletedName) + " IS NOT TRUE"
	}
	if ordered {
		columns = append(columns, schema.Column{
			ID: OrderColumnID, Name: orderName, Type: schema.Uint64,
			Semantic: schema.Field,
		})
		names = append(names, orderName)
		b.WriteString(", " + mark + ", " + sql.QuoteName(orderName))
		hidden = ""
	}
	rel, err := register(names, columns, parts)
	if err != nil {
		return err
	}
	s.registered = append(s.registered, rel)
	fmt.Fprintf(b, " FROM cordwood_scan(%d::UBIGINT)", rel.ID())
	s.conditions(b, hidden)
	return nil
}

// moment returns a time of the time index as SQL.
func (s *Source) moment(at int64, c *schema.Column) string {
	moment := fmt.Sprintf("make_timestamp_ns(%d)", at)
	if c.Type != schema.TimestampNanosecond {
		moment = fmt.Sprintf("make_timestamp(%d)", Nanoseconds(at, c.Type)/1000)
	}
	return moment + "::" + EngineTypes[c.Type].SQL
}

// repetitions writes the queries of rows that were only counted. Each kind of row comes as often as it was counted.
func (s *Source) repetitions(b *strings.Builder) {
	for _, counted := range s.onlyCounted() {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.repeated(b, counted)
	}
}

// onlyCounted returns the rows that are not read.
func (s *Source) onlyCounted() []countedRows {
	out := make([]countedRows, 0, len(s.same)+len(s.counted))
	for _, same := range s.same {
		out = append(out, countedRows{at: same.at, rows: same.rows})
	}
	return append(out, s.counted...)
}

// repeated writes the query of rows with a constant value.
func (s *Source) repeated(b *strings.Builder, counted countedRows) {
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.valueOf(counted, at) + " AS " + sql.QuoteName(s.Names[at]))
	}
	fmt.Fprintf(b, " FROM range(%d)", counted.rows)
	s.conditions(b)
}
