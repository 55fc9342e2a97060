package split

import (
	"fmt"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// merged are the aggregates of which the last step adds up, or takes the least of, what nodes say. %s is their column.
var merged = map[string]string{
	"count": "CAST(COALESCE(sum(%s), 0) AS BIGINT)", "count_star": "CAST(COALESCE(sum(%s), 0) AS BIGINT)",
	"count_if": "CAST(sum(%s) AS HUGEINT)", "countif": "CAST(sum(%s) AS HUGEINT)",
	"sum": "sum(%s)", "fsum": "fsum(%s)", "kahan_sum": "kahan_sum(%s)", "sumkahan": "sumkahan(%s)",
	"product": "product(%s)",
	"min":     "min(%s)", "max": "max(%s)", "any_value": "any_value(%s)",
	"bool_and": "bool_and(%s)", "bool_or": "bool_or(%s)", "bit_and": "bit_and(%s)", "bit_or": "bit_or(%s)",
	"bit_xor": "bit_xor(%s)",
}

// byValue are the aggregates of the different values of a group.
var byValue = map[string]bool{"count": true, "sum": true, "avg": true, "mean": true, "min": true, "max": true}

// aggregate returns what the last step computes in the place of an aggregate, as text.
func (m *merging) aggregate(n sql.Node) (string, error) {
	name := sql.LowerASCII(sql.Text(n, "function_name"))
	args := sql.Args(n)
	if hasAggregate(args) {
		return "", haul(causeAggregate, "an aggregate in an aggregate")
	}
	distinct, _ := n["distinct"].(bool)
	if orders, _ := n["order_bys"].(sql.Node); len(orders) > 1 {
		return "", haul(causeAggregate, "%s with ORDER BY", name)
	}
	switch {
	case distinct && (name == "min" || name == "max"), distinct && byValue[name] && len(args) == 1:
		return m.different(name, n)
	case distinct:
		return "", haul(causeAggregate, "%s of different values", name)
	}
	switch name {
	case "avg", "mean":
		return m.average(n)
	case "arg_max", "argmax", "max_by", "arg_min", "argmin", "min_by":
		return m.extreme(name, n)
	case "quantile_cont", "median":
		return m.quantile(name, n)
	}
	rule, ok := merged[name]
	if !ok || len(args) > 1 {
		return "", haul(causeAggregate, "the aggregate %s", name)
	}
	s, err := text(n)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(rule, m.part(s)), nil
}

// call returns a call of another aggregate with the arguments and the FILTER of n, as text.
func call(name string, n sql.Node) (string, error) {
	c := sql.Node{"class": "FUNCTION", "type": "FUNCTION", "function_name": name, "children": n["children"]}
	if f, ok := n["filter"]; ok {
		c["filter"] = f
	}
	return text(c)
}

// average divides the sum of the sums by that of the counts, as the engine does.
func (m *merging) average(n sql.Node) (string, error) {
	if len(sql.Args(n)) != 1 {
		return "", haul(causeAggregate, "an average of several arguments")
	}
	sum, err := call("sum", n)
	if err != nil {
		return "", err
	}
	count, err := call("count", n)
	if err != nil {
		return "", err
	}
	of := m.part(sum)
	m.divided = append(m.divided, strings.Trim(of, `"`))
	return fmt.Sprintf("cordwood_quotient(sum(%s), CAST(sum(%s) AS BIGINT))", of, m.part(count)), nil
}

// extreme takes the value of the node with the largest key, or the smallest.
func (m *merging) extreme(name string, n sql.Node) (string, error) {
	args := sql.Args(n)
	if len(args) != 2 {
		return "", haul(causeAggregate, "%s of several rows", name)
	}
	value, err := call(name, n)
	if err != nil {
		return "", err
	}
	of := "max"
	switch name {
	case "arg_min", "argmin", "min_by":
		of = "min"
	}
	// A row whose value is null is passed over.
	there := sql.Node{"class": "OPERATOR", "type": "OPERATOR_IS_NOT_NULL", "children": args[:1]}
	if f, ok := n["filter"]; ok {
		there = sql.Node{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": []any{f, there}}
	}
	bound, err := call(of, sql.Node{"children": args[1:], "filter": there})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s(%s, %s)", name, m.part(value), m.part(bound)), nil
}

// counted has nodes group by the argument of n as well. Only one expression can be so.
func (m *merging) counted(n sql.Node) error {
	arg, _ := sql.Args(n)[0].(sql.Node)
	s, err := text(arg)
	if err != nil {
		return err
	}
	if f, ok := n["filter"].(sql.Node); ok {
		filter, err := text(f)
		if err != nil {
			return err
		}
		s = "CASE WHEN " + filter + " THEN " + s + " END"
	}
	switch m.pairs {
	case "", s:
		m.pairs = s
		return nil
	}
	return haul(causeAggregate, "the different values of two expressions")
}

// different returns an aggregate of the different values of a group.
func (m *merging) different(name string, n sql.Node) (string, error) {
	if err := m.counted(n); err != nil {
		return "", err
	}
	return name + "(DISTINCT " + pairsName + ")", nil
}

// quantile returns the value at a rank, or between the two next to it. Rank and weights are computed as the engine
// does: (N-1)·q in doubles, and lo·(1-f) + hi·f.
func (m *merging) quantile(name string, n sql.Node) (string, error) {
	args := sql.Args(n)
	q := "0.5"
	switch {
	case m.sets != nil:
		return "", haul(causeAggregate, "%s of grouping sets", name)
	case name == "median" && len(args) == 1:
	case name == "quantile_cont" && len(args) == 2:
		of, _ := args[1].(sql.Node)
		s, err := text(of)
		if sql.Text(of, "class") != "CONSTANT" || err != nil {
			return "", haul(causeAggregate, "%s of a rank that is no literal", name)
		}
		q = s
	default:
		return "", haul(causeAggregate, "the aggregate %s", name)
	}
	if err := m.counted(sql.Node{"children": args[:1], "filter": n["filter"]}); err != nil {
		return "", err
	}
	m.ranks = true
	m.count()
	rank := fmt.Sprintf(`(CAST("__total" - 1 AS DOUBLE) * CAST(%s AS DOUBLE))`, q)
	at := func(round string) string {
		return fmt.Sprintf(`CAST(min(%s) FILTER (WHERE CAST("__upto" AS DOUBLE) > %s(%s)) AS DOUBLE)`, pairsName, round, rank)
	}
	weight := fmt.Sprintf(`max(%[1]s - floor(%[1]s))`, rank)
	return fmt.Sprintf("CASE WHEN %[1]s = %[2]s THEN %[1]s ELSE %[1]s * (1 - %[3]s) + %[2]s * %[3]s END", at("floor"),
		at("ceil"), weight), nil
}
