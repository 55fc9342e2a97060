package engine

import (
	"cmp"
	"fmt"
	"slices"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// This file gives the operands of a UNION ALL its ORDER BY and LIMIT, so that each node sends only the first rows of
// each operand. The operands of a UNION without ALL get DISTINCT.

// firstOfUnion returns the first rows of the run's statement, if it is a UNION ALL that selects some. answer are the
// columns of its answer.
func (r *run) firstOfUnion(answer []duck.Column) *split.Union {
	names := make([]string, len(answer))
	for i, c := range answer {
		names[i] = c.Name
	}
	return split.FirstOfUnion(r.st.tree, names)
}

// innerUnion is a UNION ALL with LIMIT inside of a statement: the rows of each operand that it needs, and its columns.
type innerUnion struct {
	first   *split.Union
	columns []duck.Column
}

// innerUnion returns the UNION ALL with LIMIT that a query in parentheses is, or nil if it is none.
func (r *run) innerUnion(text string) (*innerUnion, error) {
	if sql.Operands(text) == nil {
		return nil, nil
	}
	_, root, err := sql.Parse(text, r.request.Database, r.in.SyntaxTree)
	if sql.IsBroken(err) {
		return nil, err
	}
	if err != nil || !split.LimitsUnion(root) {
		return nil, nil //nolint:nilerr // it is no query
	}
	columns, err := r.columnsOf(text)
	if err != nil {
		if sql.IsBroken(err) || r.ctx.Err() != nil {
			return nil, err
		}
		return nil, nil // it uses columns of the query around it
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	first := split.FirstOfUnion(root, names)
	if first == nil {
		return nil, nil
	}
	return &innerUnion{first, columns}, nil
}

// ofInnerUnion returns how an operand of an inner UNION ALL is split with the LIMIT of the union. whole is how it is
// split without it, which is used if its partial results are not the rows themselves.
func (r *run) ofInnerUnion(u *innerUnion, text string, whole *query.Split, operand []duck.Column,
) (*query.Split, error) {
	if whole.Kind != "rows" && whole.Kind != "distinct" {
		return whole, nil
	}
	less, err := r.firstRows(u.first, text, operand, u.columns)
	if less != nil || err != nil || whole.Kind == "distinct" {
		return cmp.Or(less, whole), err
	}
	return nil, split.SeveralTables()
}

// firstRows splits an operand of a UNION ALL with the ORDER BY and LIMIT of the whole. It returns nil if that is not
// possible. operand are the columns of the operand, answer those of the whole.
func (r *run) firstRows(u *split.Union, text string, operand, answer []duck.Column) (*query.Split, error) {
	for _, byName := range []bool{false, true} { // numbers are not possible beside a star, and names may have two meanings
		order, ok := orderOf(u, operand, answer, byName)
		if !ok {
			return nil, nil
		}
		b, err := r.parseBlock(fmt.Sprintf("%s\n%s LIMIT %d", text, order, u.Rows))
		if sql.IsBroken(err) {
			return nil, err
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the operand has an ORDER BY or LIMIT of its own
		}
		out, err := b.split(split.Split)
		switch {
		case err == nil && len(out.First) == 0 && out.Final != "":
			return out, nil
		case err != nil && (sql.IsBroken(err) || r.ctx.Err() != nil):
			return nil, err
		}
	}
	return nil, nil
}

// orderOf returns the ORDER BY of a UNION ALL for an operand.
func orderOf(u *split.Union, operand, answer []duck.Column, byName bool) (string, bool) {
	out := ""
	for _, k := range u.Keys {
		at, of := k.Column, answer[k.Column]
		if u.ByName {
			at = slices.IndexFunc(operand, func(c duck.Column) bool { return sql.SameName(c.Name, of.Name) })
			if at < 0 {
				continue // the column is null in all rows of the operand
			}
		}
		if at >= len(operand) || !sortsAlike(operand[at].Type, of.Type) {
			return "", false
		}
		by := fmt.Sprint(at + 1)
		if byName {
			by = sql.QuoteName(operand[at].Name)
			same := func(c duck.Column) bool { return sql.SameName(c.Name, operand[at].Name) }
			if slices.ContainsFunc(operand[at+1:], same) || slices.ContainsFunc(operand[:at], same) {
				return "", false
			}
		}
		out += map[bool]string{true: " ORDER BY ", false: ", "}[out == ""] + by + k.How
	}
	return out, true
}

// wholeTypes are the integer types.
var wholeTypes = []string{
	"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
}

// unionTimes are the types of times, in the order in which UNION widens them.
var unionTimes = []string{"TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP", "TIMESTAMP_NS"}

// sortsAlike reports whether values of a type have the same order after UNION has cast them to another type. UNION
// casts integers to a type that has all their values.
func sortsAlike(from, to string) bool {
	if from == to || slices.Contains(wholeTypes, from) && slices.Contains(wholeTypes, to) {
		return true
	}
	i := slices.Index(unionTimes, from)
	return i >= 0 && slices.Index(unionTimes, to) > i
}

// distinctRows splits an operand of a UNION without ALL with DISTINCT. It returns nil if that is not possible. b is the
// run of the operand, and answer are the columns of the whole.
func (r *run) distinctRows(text string, b *run, answer []duck.Column) (*query.Split, error) {
	// Values that are equal may differ after the UNION has cast them to another type, as 0 and -0 do as texts.
	if !slices.EqualFunc(b.answer, answer, func(x, y duck.Column) bool { return x.Type == y.Type }) {
		return nil, nil
	}
	less := sql.Distinct(text, b.st.tree, split.HasAggregate)
	if less == text {
		return nil, nil
	}
	d, err := r.parseBlock(less)
	if sql.IsBroken(err) {
		return nil, err
	}
	if err != nil {
		return nil, nil //nolint:nilerr // the operand is split without DISTINCT
	}
	out, err := d.split(split.Split)
	switch {
	case err == nil && len(out.First) == 0 && out.Kind == "distinct":
		return out, nil
	case err != nil && (sql.IsBroken(err) || r.ctx.Err() != nil):
		return nil, err
	}
	return nil, nil
}
