package plan

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// RowBits is how many low bits of a row's order hold its number in the batch. The bits above hold
// the part's rank.
const RowBits = 32

// separate divides the parts of a table that merges rows. Parts that can be read as they are share
// no identity with another part and have no identity twice. The other parts are grouped by what
// they may share. Parts with different times share no identity, since the time index belongs to the
// identity.
func separate(parts []Part) (plain []Part, merges [][]Part) {
	plain = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.merge != query.Append })
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.merge == query.Append })
	slices.SortStableFunc(parts, func(a, b Part) int {
		switch {
		case a.Min < b.Min:
			return -1
		case a.Min > b.Min:
			return 1
		}
		return 0
	})
	for len(parts) > 0 {
		n, end := 1, parts[0].Max
		for n < len(parts) && parts[n].Min <= end {
			end = max(end, parts[n].Max)
			n++
		}
		if n == 1 && (parts[0].Segment != nil || parts[0].Batch.Rows == 1) {
			plain = append(plain, parts[0])
		} else {
			merges = append(merges, parts[:n:n])
		}
		parts = parts[n:]
	}
	return plain, merges
}

// merge writes the query that merges the rows of each identity in the given parts.
func (s *Source) merge(b *strings.Builder, register Register, parts []Part) error {
	order, deleted := sql.QuoteName(orderName), sql.QuoteName(deletedName)
	marked := s.mayDelete(parts)
	how, mixed := parts[0].merge, false
	for _, p := range parts {
		mixed = mixed || p.merge != how
	}
	if mixed {
		// With last_row, a row replaces all rows before it, as if those were deleted.
		how, marked = query.LastNonNull, true
	}
	mark := func(p Part) string {
		if mixed && p.merge == query.LastRow {
			return fmt.Sprintf("coalesce(%[1]s, false) AS %[1]s", deleted)
		}
		return deleted
	}
	list, keys := s.latest(how, marked)
	b.WriteString("SELECT " + strings.Join(list, ", ") + " FROM (")
	first := true
	for _, p := range parts {
		if p.Segment == nil {
			continue
		}
		for _, g := range s.filesOf([]Part{p}) {
			if !first {
				b.WriteString(" UNION ALL ")
			}
			first = false
			hidden := mark(p)
			if s.hidden(g.columns) == "" {
				hidden = "NULL::BOOLEAN AS " + deleted
				if mixed && p.merge == query.LastRow {
					hidden = "false AS " + deleted
				}
			}
			s.files(b, g, "", fmt.Sprintf(", %s, %d::UBIGINT AS %s", hidden, uint64(p.Rank)<<RowBits, order))
		}
	}
	batches := batchesOf(parts)
	for len(batches) > 0 {
		if !first {
			b.WriteString(" UNION ALL ")
		}
		first = false
		n := 1
		for n < len(batches) && batches[n].merge == batches[0].merge {
			n++
		}
		if err := s.scan(b, register, batches[:n], mark(batches[0])); err != nil {
			return err
		}
		batches = batches[n:]
	}
	b.WriteString(") GROUP BY " + strings.Join(keys, ", "))
	if marked {
		fmt.Fprintf(b, " HAVING arg_max_null(%s, %s) IS NOT TRUE", deleted, order)
	}
	return nil
}

// latest returns the columns of a merged row. keys are the columns of the identity. marked means
// that some rows may be marked deleted.
func (s *Source) latest(how query.Merge, marked bool) (list, keys []string) {
	order, deleted := sql.QuoteName(orderName), sql.QuoteName(deletedName)
	for _, at := range s.need {
		name := sql.QuoteName(s.Names[at])
		value, by, back := signed(s.Columns[at].Type, name, order)
		switch {
		case s.Columns[at].Semantic == schema.Tag || s.Columns[at].Semantic == schema.Timestamp:
			list, keys = append(list, name), append(keys, name)
		case how != query.LastNonNull:
			list = append(list, fmt.Sprintf("arg_max_null(%s, %s)%s AS %s", value, by, back, name))
		case !marked:
			list = append(list, fmt.Sprintf("arg_max(%s, %s)%s AS %s", value, by, back, name))
		default:
			// Take the latest value, unless it is older than the latest deletion.
			list = append(list, fmt.Sprintf(
				"CASE WHEN max(%[2]s) FILTER (WHERE %[1]s IS NOT NULL AND %[3]s IS NOT TRUE) >= coalesce(max(%[2]s) FILTER "+
					"(WHERE %[3]s IS NOT NULL), 0)"+
					" THEN (arg_max(%[4]s, %[5]s) FILTER (WHERE %[3]s IS NOT TRUE))%[6]s END AS %[1]s",
				name, order, deleted, value, by, back))
		}
	}
	return list, keys
}

// signed returns a column and the order of its rows as arguments for arg_max, and the cast of the result. With an order
// of UBIGINT, or values of FLOAT, arg_max returns -0.0 as 0.0. An order is far below the maximum of a BIGINT.
func signed(t schema.Type, name, order string) (value, by, back string) {
	switch t {
	case schema.Float64:
		return name, order + "::BIGINT", ""
	case schema.Float32:
		return name + "::DOUBLE", order + "::BIGINT", "::FLOAT"
	}
	return name, order, ""
}

// mayDelete reports whether a row of the parts may be marked deleted.
func (s *Source) mayDelete(parts []Part) bool {
	for _, p := range parts {
		if p.Segment != nil && s.hidden(s.fileColumns(p.Segment)) != "" {
			return true
		}
		if p.Batch != nil && p.Batch.Column(schema.DeletedColumnID) != nil {
			return true
		}
	}
	return false
}
