package engine

import (
	"fmt"
	"strings"

	"cordwood/proto/schema"
)

// truncCall is a call of date_trunc that may be about the time index of a table, by a unit
// of one length. Most of what the engine's own takes is the way of a time in nanoseconds
// to a date and back; ours divides, and that only where another unit begins.
type truncCall struct {
	ref            int // in statement.tables
	column         node
	literal        string
	microseconds   int64
	name, argument edit
}

// truncUnits are the units of one length for which the engine returns a timestamp.
var truncUnits = map[string]int64{"second": 1000_000, "minute": 60 * 1000_000, "hour": 3600 * 1000_000}

// truncs returns the calls of date_trunc in the SELECTs of a tree that read one table, those of
// queries within left to these.
func truncs(st *statement, tree any) (list []truncCall) {
	eachNode(tree, func(n node) bool {
		if text(n, "type") != "SELECT_NODE" {
			return true
		}
		from, _ := n["from_table"].(node)
		ref, ok := st.reference(from)
		if !ok || from["column_name_alias"] != nil {
			return true
		}
		for key, child := range n {
			if key == "from_table" || key == "cte_map" {
				continue
			}
			eachNode(child, func(n node) bool {
				if kind := text(n, "type"); kind == "SELECT_NODE" || text(n, "class") == "SUBQUERY" || text(n, "class") == "LAMBDA" {
					return false
				}
				if call, ok := trunc(st, n); ok {
					call.ref = ref
					list = append(list, call)
				}
				return true
			})
		}
		return true
	})
	return list
}

// trunc returns the call that a node is.
func trunc(st *statement, n node) (c truncCall, ok bool) {
	list := args(n)
	if text(n, "class") != "FUNCTION" || text(n, "function_name") != "date_trunc" || text(n, "schema") != "" || len(list) != 2 {
		return c, false
	}
	at, ok := position(n)
	literal, _ := list[0].(node)
	from, known := position(literal)
	unit, isText := textLiteral(literal)
	sql := st.sql
	if !ok || !known || !isText || from >= len(sql) || sql[from] != '\'' {
		return c, false
	}
	called, end := word(sql, at)
	last := skipLiteral(sql, from)
	if next := skipSpace(sql, last); called != "date_trunc" || sql[from:last] != quoteText(unit) || next >= len(sql) || sql[next] != ',' {
		return c, false
	}
	c = truncCall{literal: unit, microseconds: truncUnits[lowerASCII(unit)], name: edit{from: at, to: end}, argument: edit{from: from, to: last}}
	c.column, _ = list[1].(node)
	return c, c.microseconds > 0
}

// truncsOf returns the calls that are about a time index in nanoseconds for sure.
func truncsOf(st *statement, calls []truncCall, plans []*plan) (list []truncCall) {
	for _, call := range calls {
		p := plans[call.ref]
		index := p.view.Schema.TimeIndex()
		if index == nil || index.Type != schema.TimestampNanosecond {
			continue
		}
		// Nothing else may be called so: an alias in the list of columns, say.
		name, named := lowerASCII(index.Name), 0
		for _, c := range st.columns {
			if lowerASCII(c.path[len(c.path)-1]) == name {
				named++
			}
		}
		pl := &planner{schema: p.view.Schema, names: p.view.names, alias: p.ref.calledAs(), alone: true}
		if pl.isTimeIndex(call.column) && named == st.words[name] {
			list = append(list, call)
		}
	}
	return list
}

func (c *truncCall) edits() []edit {
	name, argument := c.name, c.argument
	name.text, argument.text = "cordwood_trunc", fmt.Sprint(c.microseconds)
	return []edit{name, argument}
}

// restore puts the client's call in the place of ours in the name of a column.
func (c *truncCall) restore(name string) string {
	return strings.ReplaceAll(name, fmt.Sprintf("cordwood_trunc(%d, ", c.microseconds), "date_trunc("+quoteText(c.literal)+", ")
}
