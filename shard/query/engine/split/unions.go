package split

import "cordwood/shard/query/engine/sql"

// Union describes the first rows of a UNION ALL: the rows that ORDER BY, OFFSET and LIMIT of the whole select.
type Union struct {
	// Keys are the expressions of ORDER BY. They are columns of the answer.
	Keys []UnionKey
	// Rows is LIMIT plus OFFSET.
	Rows uint64
	// ByName means that the columns of an operand have the places of their names in the answer.
	ByName bool
}

// UnionKey is an expression of ORDER BY of a UNION ALL.
type UnionKey struct {
	// Column is the number of the answer's column, from 0.
	Column int
	// How follows the expression: ASC or DESC, and the order of nulls.
	How string
}

// FirstOfUnion returns the first rows of a statement whose answer has columns with these names. It returns nil if the
// statement is not a UNION ALL with LIMIT, or if it is sorted by anything but columns of the answer. A row that is
// among the first n rows of the whole is also among the first n rows of its operand. This is not so for UNION without
// ALL, which drops rows.
func FirstOfUnion(root sql.Node, names []string) *Union {
	if sql.Text(root, "type") != "SET_OPERATION_NODE" || !unionAll(root, sql.Text(root, "setop_type")) {
		return nil
	}
	u := &Union{ByName: sql.Text(root, "setop_type") == "UNION_BY_NAME"}
	modifiers, _ := root["modifiers"].([]any)
	for _, v := range modifiers {
		if m, _ := v.(sql.Node); !u.modifier(m, names) {
			return nil
		}
	}
	if u.Rows == 0 {
		return nil
	}
	return u
}

// LimitsUnion reports whether a query may have first rows; see FirstOfUnion.
func LimitsUnion(root sql.Node) bool {
	return sql.Text(root, "type") == "SET_OPERATION_NODE" && root["modifiers"] != nil &&
		unionAll(root, sql.Text(root, "setop_type"))
}

// unionAll reports whether a query and its operands are combined by UNION ALL of the given type, and only the query
// itself has ORDER BY and LIMIT.
func unionAll(n sql.Node, kind string) bool {
	if sql.Text(n, "type") != "SET_OPERATION_NODE" {
		return true
	}
	if kind != "UNION" && kind != "UNION_BY_NAME" || sql.Text(n, "setop_type") != kind ||
		!sql.OnlyKeys(n, "setop_type", "left", "right", "modifiers", "cte_map") {
		return false // the tree has setop_all only if it is false
	}
	for _, side := range []string{"left", "right"} {
		of, _ := n[side].(sql.Node)
		if sql.Text(of, "type") == "SET_OPERATION_NODE" && of["modifiers"] != nil || !unionAll(of, kind) {
			return false
		}
	}
	return true
}

// DropsDuplicates reports whether the duplicates in each operand of a UNION, EXCEPT or INTERSECT do not matter, because
// an operator without ALL drops them.
func DropsDuplicates(root sql.Node) bool {
	return sql.Text(root, "type") == "SET_OPERATION_NODE" && dropsDuplicates(root, false)
}

// dropsDuplicates is DropsDuplicates for a query within others. dropped means that its own duplicates do not matter.
func dropsDuplicates(n sql.Node, dropped bool) bool {
	if sql.Text(n, "type") != "SET_OPERATION_NODE" {
		return dropped
	}
	kind, all := sql.Text(n, "setop_type"), n["setop_all"] == nil // the tree has setop_all only if it is false
	switch {
	case !all:
		dropped = true
	case kind != "UNION" && kind != "UNION_BY_NAME":
		dropped = false
	}
	for _, side := range []string{"left", "right"} {
		of, _ := n[side].(sql.Node)
		// LIMIT counts duplicates.
		if !dropsDuplicates(of, dropped && (of["modifiers"] == nil || sql.Text(of, "type") != "SET_OPERATION_NODE")) {
			return false
		}
	}
	return true
}

// modifier reads ORDER BY or LIMIT. It returns false if it does not know it.
func (u *Union) modifier(m sql.Node, names []string) bool {
	switch sql.Text(m, "type") {
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		for _, v := range list {
			o, _ := v.(sql.Node)
			how, err := direction(o)
			if err != nil || !u.order(o, how, names) {
				return false
			}
		}
		return true
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, ok2 := sql.RowCount(m["offset"])
		u.Rows = limit + offset
		return ok && ok2 && limit > 0 && limit <= maxRows && offset <= maxRows
	}
	return false
}

// order reads an expression of ORDER BY: the number or the name of a column.
func (u *Union) order(o sql.Node, how string, names []string) bool {
	by, _ := o["expression"].(sql.Node)
	if sql.Text(by, "class") == "CONSTANT" {
		i, ok := sql.Integer(by)
		if !ok || i < 1 || i > int64(len(names)) {
			return false
		}
		u.Keys = append(u.Keys, UnionKey{int(i) - 1, how})
		return true
	}
	name, bare := bareColumn(by)
	at := -1
	for i, n := range names {
		if sql.SameName(n, name) {
			if at >= 0 {
				return false
			}
			at = i
		}
	}
	if !bare || at < 0 {
		return false
	}
	u.Keys = append(u.Keys, UnionKey{at, how})
	return true
}
