package split

import (
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/shard/query/engine/sql"
)

// This file reads GROUP BY, DISTINCT, ORDER BY and LIMIT.

// readGroups reads GROUP BY.
func (b *block) readGroups(n sql.Node) error {
	switch sql.Text(n, "aggregate_handling") {
	case "", "STANDARD_HANDLING":
	case "FORCE_AGGREGATES":
		b.all = true
		for _, item := range b.items {
			if !hasAggregate(item) {
				b.groups = append(b.groups, item)
			}
		}
		return nil
	default:
		return notSplit(causeForm, "it groups in a way that is not known here")
	}
	list, _ := n["group_expressions"].([]any)
	for _, v := range list {
		g, _ := v.(sql.Node)
		if sql.Text(g, "class") == "CONSTANT" {
			i, ok := sql.Integer(g)
			if !ok || i < 1 || i > int64(len(b.items)) {
				return notSplit(causeForm, "it groups by a literal; leave it out of GROUP BY")
			}
			b.groups = append(b.groups, b.items[i-1])
			continue
		}
		if name, bare := bareColumn(g); bare && b.clashes(name) {
			return notSplit(causeNames, "the name %s is a column and an alias; give the alias another name", name)
		}
		g, err := b.clause(g)
		if err != nil {
			return err
		}
		b.groups = append(b.groups, g)
	}
	if !groupingSets.MatchString(b.SQL) {
		return nil
	}
	sets, err := b.Sets()
	if err != nil {
		return notSplit(causeForm, "its grouping sets: %s", err)
	}
	if len(sets) > 1 || len(sets) == 1 && !wholeSet(sets[0], len(b.groups)) {
		b.sets = sets
	}
	return nil
}

// groupingSets matches statements that may have grouping sets other than the set of all
// expressions.
var groupingSets = lazyregexp.New(`(?i)\b(?:rollup|cube|grouping)\b|(?:\bby|,)\s*\(\s*\)`)

// wholeSet reports whether a grouping set has all expressions.
func wholeSet(v any, groups int) bool {
	set, _ := v.([]any)
	return len(set) == groups
}

// modifier reads DISTINCT, ORDER BY or LIMIT.
func (b *block) modifier(m sql.Node) error {
	switch kind := sql.Text(m, "type"); kind {
	case "DISTINCT_MODIFIER":
		if !sql.OnlyKeys(m) {
			return notSplit(causeForm, "it has DISTINCT ON; arg_max(x, ts) with GROUP BY is split")
		}
		b.distinct = true
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		for _, v := range list {
			o, _ := v.(sql.Node)
			if err := b.order(o); err != nil {
				return err
			}
		}
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, ok2 := sql.RowCount(m["offset"])
		if !ok || !ok2 {
			return notSplit(causeForm, "its LIMIT or OFFSET is not a literal number; write the number")
		}
		if limit > maxRows || offset > maxRows {
			return notSplit(causeForm,
				"its LIMIT or OFFSET is more than %d; write a smaller one, or leave out LIMIT and ORDER BY", maxRows)
		}
		b.limit, b.offset, b.limited = limit, offset, m["limit"] != nil
		if !b.limited && m["offset"] == nil {
			return notSplit(causeForm, "LIMIT 0")
		}
	case "LIMIT_PERCENT_MODIFIER":
		return notSplit(causeForm, "its LIMIT is a percentage; write the number of rows")
	default:
		return notSplit(causeForm, "%s", strings.ToLower(strings.ReplaceAll(strings.TrimSuffix(kind, "_MODIFIER"), "_", " ")))
	}
	return nil
}

// maxRows limits LIMIT and OFFSET of statements that are split.
const maxRows = 10_000_000

// direction returns what follows an expression of ORDER BY: ASC or DESC, and the order of nulls.
func direction(o sql.Node) (string, error) {
	how := ""
	switch sql.Text(o, "type") {
	case "", "ORDER_DEFAULT":
	case "ASCENDING":
		how = " ASC"
	case "DESCENDING":
		how = " DESC"
	default:
		return "", notSplit(causeSort, "the order of its ORDER BY is not known here")
	}
	switch sql.Text(o, "null_order") {
	case "", "ORDER_DEFAULT":
	case "NULLS FIRST":
		how += " NULLS FIRST"
	case "NULLS LAST":
		how += " NULLS LAST"
	default:
		return "", notSplit(causeSort, "the order of its ORDER BY is not known here")
	}
	return how, nil
}

// order reads an expression of ORDER BY.
func (b *block) order(o sql.Node) error {
	how, err := direction(o)
	if err != nil {
		return err
	}
	by, _ := o["expression"].(sql.Node)
	if sql.Text(by, "class") == "STAR" && sql.OnlyKeys(by, "columns") && !b.star() { // ORDER BY ALL
		for i, item := range b.items {
			b.orders = append(b.orders, order{by: item, item: i + 1, how: how})
		}
		return nil
	}
	if sql.Text(by, "class") == "CONSTANT" {
		i, ok := sql.Integer(by)
		if !ok || i < 1 || i > int64(len(b.items)) || b.star() {
			return notSplit(causeForm, "it sorts by a literal; leave it out of ORDER BY")
		}
		b.orders = append(b.orders, order{by: b.items[i-1], item: int(i), how: how})
		return nil
	}
	if name, bare := bareColumn(by); bare {
		if b.clashes(name) {
			return notSplit(causeNames, "the name %s is a column and an alias; give the alias another name", name)
		}
	}
	if by, err = b.clause(by); err != nil {
		return err
	}
	ord := order{by: by, how: how}
	ord.item = b.itemOf(by)
	b.orders = append(b.orders, ord)
	return nil
}

// itemOf returns the position, from 1, of the item that is written like an expression. It returns 0
// if there is none.
func (b *block) itemOf(by sql.Node) int {
	if b.itemKeys == nil {
		b.itemKeys = make(map[string]int, len(b.items))
		for i, item := range b.items {
			if k := key(item); b.itemKeys[k] == 0 {
				b.itemKeys[k] = i + 1
			}
		}
	}
	if b.star() {
		return 0
	}
	return b.itemKeys[key(by)]
}
