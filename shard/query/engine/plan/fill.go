package plan

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// Fill returns the default that replaces nulls in a column added with NOT NULL. ok is false for
// other columns. Every row written after the column was added has a value in it, so a null belongs
// to an older row, whichever file has it now.
func Fill(c *schema.Column) (value string, ok bool) {
	if !c.NotNull || c.Default == nil || c.Semantic != schema.Field {
		return "", false
	}
	value = *c.Default
	switch {
	case c.Type.IsInteger(), c.Type.IsFloat(), c.Type == schema.Boolean:
		return value, true
	case c.Type == schema.String, c.Type == schema.JSON:
		if len(value) < 2 || value[0] != '\'' || value[len(value)-1] != '\'' {
			return "", false
		}
		return strings.ReplaceAll(value[1:len(value)-1], "''", "'"), true
	}
	return "", false
}

// filled returns a query of the same rows in which nulls of the columns that Fill handles are replaced by the
// column's default.
func (s *Source) filled(rows string) string {
	if !slices.ContainsFunc(s.need, func(at int) bool { _, ok := Fill(&s.Columns[at]); return ok }) {
		return rows
	}
	list := make([]string, len(s.need))
	for i, at := range s.need {
		name := sql.QuoteName(s.Names[at])
		list[i] = name
		if value, ok := Fill(&s.Columns[at]); ok {
			text := sql.QuoteText(value)
			if s.Columns[at].Type == schema.JSON {
				text = "cordwood_json(" + text + ")"
			} else {
				text += "::" + EngineTypes[s.Columns[at].Type].SQL
			}
			list[i] = "coalesce(" + name + ", " + text + ") AS " + name
		}
	}
	if s.numbered {
		list = append(list, sql.QuoteName(NumberColumn))
	}
	if s.weighted {
		list = append(list, sql.QuoteName(WeightColumn))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM (" + rows + ")"
}

// mayFill reports whether nulls of a column may be replaced by a default.
func mayFill(c *schema.Column, value string) bool {
	have, ok := Fill(c)
	if !ok || have == value {
		return ok
	}
	if c.Type.IsFloat() {
		a, errA := strconv.ParseFloat(have, 64)
		b, errB := strconv.ParseFloat(value, 64)
		return errA != nil || errB != nil || a == b
	}
	a, errA := strconv.ParseInt(have, 10, 64)
	b, errB := strconv.ParseInt(value, 10, 64)
	return c.Type.IsInteger() && (errA != nil || errB != nil || a == b)
}
