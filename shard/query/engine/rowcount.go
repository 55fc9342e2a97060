package engine

import (
	"slices"

	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/query/partial"
)

// This file answers count(*) from the row counts of segments and batches, without reading a row.

// rowCount is a statement that returns only the number of rows.
type rowCount struct {
	names []string // names of the answer's columns
	where sql.Node
}

// findRowCount returns the rowCount of a statement that asks only for the number of rows of a
// table. Otherwise it returns nil.
func findRowCount(st *sql.Statement, n sql.Node) *rowCount {
	if sql.Text(n, "type") != "SELECT_NODE" ||
		!sql.OnlyKeys(n, "aggregate_handling", "from_table", "select_list", "where_clause") ||
		sql.Text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil
	}
	from, _ := n["from_table"].(sql.Node)
	if _, ok := st.Reference(from); !ok || !sql.OnlyKeys(from, "alias", "table_name", "schema_name", "catalog_name") {
		return nil
	}
	c := &rowCount{}
	c.where, _ = n["where_clause"].(sql.Node)
	list, _ := n["select_list"].([]any)
	for _, v := range list {
		item, _ := v.(sql.Node)
		name := sql.Text(item, "alias")
		if sql.LowerASCII(sql.Text(item, "function_name")) != "count_star" || !sql.OnlyKeys(item, "function_name", "alias",
			"schema", "catalog", "order_bys") || hasOrder(item) {
			return nil
		}
		if name == "" {
			name = "count_star()"
		}
		c.names = append(c.names, name)
	}
	return c
}

// hasOrder reports whether an aggregate has an ORDER BY.
func hasOrder(call sql.Node) bool {
	order, _ := call["order_bys"].(sql.Node)
	return !sql.OnlyKeys(order)
}

// countRows returns the number of rows that meet the statement's conditions, if the row counts of
// the parts determine it.
func (r *run) countRows() (rows int64, ok bool) {
	c := r.st.count
	if c == nil || len(r.Plans) != 1 {
		return 0, false
	}
	p := r.Plans[0]
	conditions := p.Conditions(c.where, r.now)
	if slices.ContainsFunc(conditions, func(c plan.Condition) bool { return !c.OnTime() }) {
		return 0, false
	}
	parts, ok := p.Apart()
	if !ok {
		return 0, false
	}
	for i := range parts {
		n, whole := p.WholeRows(&parts[i])
		if !whole || !p.Decided(&parts[i], conditions) {
			return 0, false
		}
		rows += n
	}
	return rows, true
}

// answerCount answers a statement for the number of rows.
func (r *run) answerCount() (done bool, err error) {
	if r.st.Explain != "" {
		return false, nil
	}
	rows, ok := r.countRows()
	if !ok {
		return false, nil
	}
	r.engine.direct.Add(1)
	ipc, err := partial.Number(rows, r.st.count.names...)
	if err != nil {
		return false, err
	}
	return true, r.send(ipc)
}
