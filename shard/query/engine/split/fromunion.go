package split

import (
	"strings"

	"cordwood/shard/query/engine/sql"
)

// This file splits a query whose FROM is a UNION ALL. First the UNION ALL is treated as one table: the query is split
// into a statement over this table and a last step. Then the statement is written for each operand of the UNION ALL,
// and the last step reads the results of all operands.

// UnionOf returns the UNION ALL in the FROM of a query, or in the FROM of its inner query, and so on. It returns nil if
// there is none.
func UnionOf(root sql.Node) sql.Node {
	var with *withQuery
	for n := root; sql.Text(n, "type") == "SELECT_NODE"; {
		sees, err := with.with(n)
		if err != nil {
			return nil
		}
		from, _ := n["from_table"].(sql.Node)
		inner, err := sees.inner(from)
		if err != nil || inner == nil {
			return nil
		}
		n, with = inner.node, inner.sees
		kind := sql.Text(n, "setop_type")
		if sql.Text(n, "type") == "SET_OPERATION_NODE" {
			if n["modifiers"] != nil || n["cte_map"] != nil || len(inner.columns) > 0 || !unionAll(n, kind) {
				return nil
			}
			return n
		}
	}
	return nil
}

// UnionByName reports whether the columns of a UNION have the places of their names.
func UnionByName(union sql.Node) bool { return sql.Text(union, "setop_type") == "UNION_BY_NAME" }

// UnionOperands returns the number of operands of a UNION ALL.
func UnionOperands(n sql.Node) int {
	if sql.Text(n, "type") != "SET_OPERATION_NODE" {
		return 1
	}
	left, _ := n["left"].(sql.Node)
	right, _ := n["right"].(sql.Node)
	return UnionOperands(left) + UnionOperands(right)
}

// IsQuery reports whether the tree root is that of the query n.
func IsQuery(n, root sql.Node) bool { return keyOf(n) == keyOf(root) }

// overUnion returns the block of a query whose FROM is a UNION ALL.
func overUnion(st *Statement, n sql.Node, inner *innerQuery) (*block, error) {
	of := *st
	of.Root = n
	b := &block{
		Statement: &of, columns: map[string]string{}, aliases: map[string]sql.Node{}, alias: inner.alias, from: st.Union,
	}
	if err := b.addColumns(); err != nil {
		return nil, err
	}
	return b, b.read(n)
}

// ForOperand returns the plan of a statement for nodes over an operand. If the operand only selects rows, Worker is one
// query over the table of the operand, and Final is empty. Otherwise the operand is split, and the statement becomes
// part of its last step.
func ForOperand(st *Statement) (*Plan, error) {
	b, err := nestedBlock(st, st.Root, nil)
	if err != nil {
		return nil, err
	}
	p := &Plan{}
	if b.draws {
		return nil, drawnHere()
	}
	if b.over != nil {
		p, err = b.split()
	} else {
		p.Worker, err = b.queryText(b.from)
		p.Counts = b.where == nil && strings.HasPrefix(p.Worker, "SELECT "+countStar+" AS \"__a0\" FROM ") &&
			len(b.items) == 1 && len(b.groups) == 0
	}
	if err != nil {
		return nil, err
	}
	p.UsesNow, p.UsesDay = b.usesNow, b.usesDay
	return p, nil
}
