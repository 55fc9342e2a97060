package plan

import (
	"fmt"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// truncUnits are the units of fixed length for which DuckDB's date_trunc returns a timestamp.
var truncUnits = map[string]int64{"second": 1000_000, "minute": 60 * 1000_000, "hour": 3600 * 1000_000}

// truncs returns the calls of date_trunc in the SELECTs of a tree that read one table, without the
// calls in subqueries.
func truncs(st *sql.Statement, tree any) (list []truncCall) {
	sql.EachNode(tree, func(n sql.Node) bool {
		if sql.Text(n, "type") != "SELECT_NODE" {
			return true
		}
		from, _ := n["from_table"].(sql.Node)
		ref, ok := st.Reference(from)
		if !ok || from["column_name_alias"] != nil {
			return true
		}
		for key, child := range n {
			if key == "from_table" || key == "cte_map" {
				continue
			}
			sql.EachNode(child, func(n sql.Node) bool {
				if kind := sql.Text(n, "type"); kind == "SELECT_NODE" || sql.Text(n, "class") == "SUBQUERY" ||
					sql.Text(n, "class") == "LAMBDA" {
					return false
				}
				if call, ok := trunc(st, n); ok {
					call.Ref = ref
					list = append(list, call)
				}
				return true
			})
		}
		return true
	})
	return list
}

// trunc returns the node as a call of date_trunc. ok is false if it is another node.
func trunc(st *sql.Statement, n sql.Node) (c truncCall, ok bool) {
	list := sql.Args(n)
	if sql.Text(n, "class") != "FUNCTION" || sql.Text(n, "function_name") != "date_trunc" || sql.Text(n, "schema") != "" ||
		len(list) != 2 {
		return c, false
	}
	at, ok := sql.Position(n)
	literal, _ := list[0].(sql.Node)
	from, known := sql.Position(literal)
	unit, isText := sql.TextLiteral(literal)
	text := st.SQL
	if !ok || !known || !isText || from >= len(text) || text[from] != '\'' {
		return c, false
	}
	called, end := sql.Word(text, at)
	last := sql.SkipLiteral(text, from)
	if next := sql.SkipSpace(text, last); called != "date_trunc" || text[from:last] != sql.QuoteText(unit) ||
		next >= len(text) || text[next] != ',' {
		return c, false
	}
	c = truncCall{
		literal: unit, microseconds: truncUnits[sql.LowerASCII(unit)], name: sql.Edit{From: at, To: end},
		argument: sql.Edit{From: from, To: last},
	}
	c.column, _ = list[1].(sql.Node)
	return c, c.microseconds > 0
}

// truncsOf returns the calls whose argument is certainly a time index in nanoseconds.
func truncsOf(st *sql.Statement, calls []truncCall, plans []*Plan) (list []truncCall) {
	for _, call := range calls {
		p := plans[call.Ref]
		index := p.View.Schema.TimeIndex()
		if index == nil || index.Type != schema.TimestampNanosecond {
			continue
		}
		// Nothing else may have this name, such as an alias in the list of columns.
		name, named := sql.LowerASCII(index.Name), 0
		for _, c := range st.Columns {
			if sql.LowerASCII(c.Path[len(c.Path)-1]) == name {
				named++
			}
		}
		pl := &Scope{Schema: p.View.Schema, Names: p.View.Names, Alias: p.Ref.CalledAs(), Alone: true}
		if pl.isTimeIndex(call.column) && named == st.Words[name] {
			list = append(list, call)
		}
	}
	return list
}

func (c *truncCall) Edits() []sql.Edit {
	name, argument := c.name, c.argument
	name.Text, argument.Text = "cordwood_trunc", fmt.Sprint(c.microseconds)
	name.Restored, argument.Restored = true, true
	return []sql.Edit{name, argument}
}

// Restore replaces our call in the name of a column with the client's call.
func (c *truncCall) Restore(name string) string {
	return strings.ReplaceAll(name, fmt.Sprintf("cordwood_trunc(%d, ",
		c.microseconds), "date_trunc("+sql.QuoteText(c.literal)+", ")
}
