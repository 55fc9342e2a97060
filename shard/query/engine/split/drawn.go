package split

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// This file splits statements such as SELECT random(), host FROM logs LIMIT 3. Nodes send the first rows, with the
// columns that the statement needs. The last step calls the functions: answers of nodes are kept, so their statements
// must not call them.

// drawn are the functions that return another value for each row.
var drawn = map[string]bool{"random": true, "uuid": true, "gen_random_uuid": true, "uuidv4": true, "uuidv7": true}

// drawnHere returns the error for a statement that calls a function of drawn where it cannot be split.
func drawnHere() error {
	return notSplit(causeVolatile,
		"a function such as random() is called for more rows than those of a LIMIT; "+
			"call it in the SELECT list of a query with LIMIT")
}

// draws reports whether an expression calls a function of drawn.
func draws(v any) bool {
	found := false
	sql.EachNode(v, func(n sql.Node) bool {
		found = found || sql.Text(n, "class") == "FUNCTION" && drawn[sql.LowerASCII(sql.Text(n, "function_name"))]
		return !found
	})
	return found
}

// splitDrawn splits a statement that calls functions of drawn for the rows of a LIMIT.
func (b *block) splitDrawn() (*Plan, error) {
	if b.over != nil || b.aggregates() || b.distinct || !b.limited && b.Limit == 0 || draws(b.where) ||
		slices.ContainsFunc(b.orders, func(o order) bool { return draws(o.by) }) {
		return nil, drawnHere()
	}
	of := *b.Statement
	of.Names, of.Time = nil, "" // the last step needs all rows
	first := *b
	first.Statement, first.items, first.itemKeys, first.draws = &of, nil, map[string]int{}, false
	column := func(n sql.Node) sql.Node {
		k := key(n)
		if first.itemKeys[k] == 0 {
			first.items = append(first.items, n)
			of.Names = append(of.Names, fmt.Sprintf("__v%d", len(first.items)))
			first.itemKeys[k] = len(first.items)
		}
		return columnOf(of.Names[first.itemKeys[k]-1])
	}
	var items []string
	for _, item := range b.expandedItems() {
		here, err := b.drawnItem(item, column)
		if err != nil {
			return nil, err
		}
		s, err := text(here)
		if err != nil {
			return nil, err
		}
		if len(items) == len(b.Names) {
			return nil, drawnHere()
		}
		items = append(items, s+" AS "+sql.QuoteName(b.Names[len(items)]))
	}
	if len(first.items) == 0 {
		column(rawOf("1"))
	}
	first.orders = slices.Clone(b.orders)
	for i := range first.orders {
		first.orders[i].item = first.itemOf(first.orders[i].by)
	}
	p, err := first.splitRows()
	if err != nil {
		return nil, err
	}
	return &Plan{
		Kind: p.Kind, Worker: p.Worker, Draws: true,
		Final: "SELECT " + strings.Join(items, ", ") + " FROM (" + p.Final + ") AS __inner",
	}, nil
}

// expandedItems returns the items, with the columns of the table in place of a star.
func (b *block) expandedItems() (out []sql.Node) {
	for _, item := range b.items {
		if !isStar(item) {
			out = append(out, item)
			continue
		}
		for _, c := range b.Columns {
			out = append(out, columnOf(c))
		}
	}
	return out
}

// drawnItem returns an item for the last step. column returns the column of the partial results with the value of an
// expression.
func (b *block) drawnItem(item sql.Node, column func(sql.Node) sql.Node) (sql.Node, error) {
	if !draws(item) {
		return column(item), nil
	}
	return expression(item, func(n sql.Node) (sql.Node, error) {
		switch sql.Text(n, "class") {
		case "COLUMN_REF":
			return column(n), nil
		case "FUNCTION":
			if name := sql.LowerASCII(sql.Text(n, "function_name")); !drawn[name] && !finalFunctions[name] {
				return nil, notSplit(causeFunction, "the function %s is applied beside a function such as random()", name)
			}
		}
		return nil, nil
	})
}
