package split

import (
	"fmt"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// splitRows splits a statement without aggregates. A row that is among the first n rows of the
// answer is also among the first n rows of its node.
func (b *block) splitRows() (*Plan, error) {
	if b.Limit > 0 && (!b.limited || b.limit > b.Limit) {
		b.limit, b.limited = b.Limit, true
	}
	star := b.star()
	items := make([]string, len(b.items))
	for i, item := range b.items {
		if isStar(item) {
			items[i] = "*"
			continue
		}
		s, err := text(item)
		if err != nil {
			return nil, err
		}
		items[i] = s
		if !star {
			items[i] += " AS " + sql.QuoteName(b.Names[i])
		} else if alias := sql.Text(item, "alias"); alias != "" {
			items[i] += " AS " + sql.QuoteName(alias)
		}
	}
	source, err := b.source()
	if err != nil {
		return nil, err
	}
	p := &Plan{Kind: "rows"}
	word := "SELECT "
	if b.distinct {
		p.Kind, word = "distinct", "SELECT DISTINCT "
	}
	if len(b.orders) > 0 && !b.limited && !b.distinct {
		return nil, notSplit(causeSort, "it sorts all rows; with a LIMIT, each node sends its first rows only")
	}
	worker, final, hidden, err := b.sorted(items)
	if err != nil {
		return nil, err
	}
	switch {
	case !b.limited:
		worker = "" // each node's rows in any order
	case worker != "":
		p.Kind = "top"
	}
	if worker == "" && b.limited && !b.distinct {
		p.Kind = "limit"
	}
	if b.limited {
		worker += fmt.Sprintf(" LIMIT %d", b.limit+b.offset)
	}
	of := word + strings.Join(append(items, hidden...), ", ") + source
	p.Worker = of + worker
	if p.Kind == "rows" && b.offset == 0 {
		return p, nil
	}
	p.Newest = b.newest(of, worker, len(hidden))
	names := "*"
	if len(hidden) > 0 {
		drop := make([]string, len(hidden))
		for i := range hidden {
			drop[i] = sortKey(i)
		}
		names = "* EXCLUDE (" + strings.Join(drop, ", ") + ")"
	}
	p.Final = word + names + " FROM " + Partials + final + b.tail()
	return p, nil
}

// newest returns how the answer is built from rows that each node has sorted by the time index, and
// the statement for nodes with a bound for the time. It returns nil if the rows are sorted by
// something else. of and rest are the statement's text up to the end of WHERE and after it. hidden
// is the number of columns that serve only for sorting.
func (b *block) newest(of, rest string, hidden int) *Newest {
	if b.distinct || !b.limited || b.limit == 0 || len(b.orders) != 1 || b.Time == "" {
		return nil
	}
	o := b.orders[0]
	if name, bare := bareColumn(o.by); !bare || name != b.Time {
		return nil
	}
	n := &Newest{Hidden: hidden, Limit: b.limit, Offset: b.offset, After: rest}
	n.Descending = strings.HasPrefix(o.how, " DESC")
	switch {
	case o.item > 0:
		n.By = b.Names[o.item-1]
	case hidden > 0:
		n.By = strings.Trim(sortKey(0), `"`)
	default:
		n.By = b.Time
	}
	n.Before = of + " WHERE "
	if b.where != nil {
		n.Before = of + " AND "
	}
	n.Before += sql.QuoteName(b.Time)
	if n.Descending {
		n.Before += " >= "
	} else {
		n.Before += " <= "
	}
	return n
}

// isStar reports whether an item is a star without modifiers.
func isStar(n sql.Node) bool {
	return sql.Text(n, "class") == "STAR" && sql.OnlyKeys(n)
}

// sortKey returns the name of a column that serves only for sorting.
func sortKey(i int) string { return fmt.Sprintf(`"__s%d"`, i) }

// sorted returns the ORDER BY of both statements, and the columns that are added for sorting.
func (b *block) sorted(items []string) (worker, final string, hidden []string, err error) {
	for i, o := range b.orders {
		by, err := text(o.by)
		if err != nil {
			return "", "", nil, err
		}
		after := sortKey(len(hidden))
		name, bare := bareColumn(o.by)
		switch {
		case o.item > 0:
			after = sql.QuoteName(b.Names[o.item-1])
			if b.twice(b.Names[o.item-1]) {
				return "", "", nil, notSplit(causeNames, "two columns of its SELECT list have one name; give one of them an alias")
			}
		case bare && len(items) == 1 && items[0] == "*":
			after = sql.QuoteName(name)
		case b.distinct:
			return "", "", nil, notSplit(causeSort, "it sorts DISTINCT rows by an expression that is not selected; select it")
		default:
			hidden = append(hidden, by+" AS "+after)
		}
		separator := ", "
		if i == 0 {
			separator = " ORDER BY "
		}
		worker += separator + by + o.how
		final += separator + after + o.how
	}
	return worker, final, hidden, nil
}

// twice reports whether several columns of the answer have the same name.
func (b *block) twice(name string) bool {
	n := 0
	for _, other := range b.Names {
		if sql.SameName(name, other) {
			n++
		}
	}
	return n > 1
}
