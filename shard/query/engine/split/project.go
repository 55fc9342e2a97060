package split

import (
	"strings"

	"cordwood/shard/query/engine/sql"
)

// Aggregates that cannot be computed from partial aggregates, such as aggregates with ORDER BY, are
// computed by the final statement from the values of their arguments. Nodes apply the WHERE and
// send only the expressions that are needed.

// projected returns, as text, the client's own call of an aggregate over columns of the partial
// results.
func (m *merging) projected(n sql.Node) (string, error) {
	call := sql.Node{}
	for k, v := range n {
		if k != "filter" && k != "order_bys" && k != "alias" {
			call[k] = v
		}
	}
	var args []any
	for _, v := range sql.Args(n) {
		arg, _ := v.(sql.Node)
		of, err := m.column(arg)
		if err != nil {
			return "", err
		}
		node := rawOf(of)
		if alias := sql.Text(arg, "alias"); alias != "" {
			node["alias"] = alias
		}
		args = append(args, node)
	}
	call["children"] = args
	out, err := text(call)
	if err != nil {
		return "", err
	}
	order, err := m.projectedOrder(n)
	if err != nil {
		return "", err
	}
	if order != "" {
		out = strings.TrimSuffix(out, ")") + " ORDER BY " + order + ")"
	}
	if f, ok := n["filter"].(sql.Node); ok {
		filter, err := m.column(f)
		if err != nil {
			return "", err
		}
		out += " FILTER (WHERE " + filter + ")"
	}
	return out, nil
}

// projectedOrder returns the ORDER BY in the call of an aggregate, as text.
func (m *merging) projectedOrder(n sql.Node) (string, error) {
	modifier, _ := n["order_bys"].(sql.Node)
	orders, _ := modifier["orders"].([]any)
	list := make([]string, len(orders))
	for i, v := range orders {
		o, _ := v.(sql.Node)
		how, err := direction(o)
		if err != nil {
			return "", err
		}
		by, _ := o["expression"].(sql.Node)
		if list[i], err = m.column(by); err != nil {
			return "", err
		}
		list[i] += how
	}
	return strings.Join(list, ", "), nil
}

// column returns the column of the partial results with the value of a row expression. An
// expression without a column stays as it is, since some arguments must be constants.
func (m *merging) column(n sql.Node) (string, error) {
	s, err := text(n)
	if err != nil {
		return "", err
	}
	named := false
	sql.EachNode(n, func(n sql.Node) bool {
		named = named || sql.Text(n, "class") == "COLUMN_REF"
		return !named
	})
	if !named {
		return s, nil
	}
	return m.part(s), nil
}
