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
func (s *Source) SQL(lend Lend) (string, error) {
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
		if err := s.scan(&b, lend, batches, ""); err != nil {
			return "", err
		}
	}
	for _, parts := range s.Merges {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		if err := s.merge(&b, lend, parts); err != nil {
			return "", err
		}
	}
	for _, same := range s.same {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.repeat(&b, same)
	}
	for _, counted := range s.counted {
		if b.Len() > 0 {
			b.WriteString(" UNION ALL ")
		}
		s.repeated(&b, counted)
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
	return "SELECT " + strings.Join(list, ", ") + " WHERE false"
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
func (s *Source) scan(b *strings.Builder, lend Lend, parts []Part, mark string) error {
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
	rel, err := lend(names, columns, parts)
	if err != nil {
		return err
	}
	s.lent = append(s.lent, rel)
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

// repeat writes the query of count rows with a constant time.
func (s *Source) repeat(b *strings.Builder, same sameRows) {
	at := s.need[0]
	fmt.Fprintf(b, "SELECT %s AS %s FROM range(%d)", s.moment(same.at, &s.Columns[at]), sql.QuoteName(s.Names[at]),
		same.rows)
	s.conditions(b)
}

// repeatValues writes the query of rows with a constant value.
func (s *Source) repeated(b *strings.Builder, counted countedRows) {
	b.WriteString("SELECT ")
	for i, at := range s.need {
		if i > 0 {
			b.WriteString(", ")
		}
		value := counted.literal
		if c := &s.Columns[at]; c.Semantic == schema.Timestamp {
			value = s.moment(counted.at, c)
		}
		b.WriteString(value + " AS " + sql.QuoteName(s.Names[at]))
	}
	fmt.Fprintf(b, " FROM range(%d)", counted.rows)
	s.conditions(b)
}
