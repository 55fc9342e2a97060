package split

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// merged are the aggregates that the final statement computes as the sum, least or greatest of the
// nodes' values. %s is the column.
var merged = map[string]string{
	"count": "CAST(COALESCE(sum(%s), 0) AS BIGINT)", "count_star": "CAST(COALESCE(sum(%s), 0) AS BIGINT)",
	"count_if": "CAST(sum(%s) AS HUGEINT)", "countif": "CAST(sum(%s) AS HUGEINT)",
	"sum": "sum(%s)", "fsum": "fsum(%s)", "kahan_sum": "kahan_sum(%s)", "sumkahan": "sumkahan(%s)",
	"product": "product(%s)",
	"min":     "min(%s)", "max": "max(%s)", "any_value": "any_value(%s)",
	"bool_and": "bool_and(%s)", "bool_or": "bool_or(%s)", "bit_and": "bit_and(%s)", "bit_or": "bit_or(%s)",
	"bit_xor": "bit_xor(%s)",
}

// byValue are the aggregates that need the distinct values of a group.
var byValue = map[string]bool{"count": true, "sum": true, "avg": true, "mean": true, "min": true, "max": true}

// aggregate returns, as text, what the final statement computes in place of an aggregate.
func (m *merging) aggregate(n sql.Node) (string, error) {
	name := sql.LowerASCII(sql.Text(n, "function_name"))
	args := sql.Args(n)
	if hasAggregate(args) {
		return "", notSplit(causeAggregate, "it has an aggregate in an aggregate; compute the inner one in a subquery")
	}
	if m.project {
		return m.projected(n)
	}
	distinct, _ := n["distinct"].(bool)
	if orders, _ := n["order_bys"].(sql.Node); len(orders) > 1 {
		return "", notSplit(causeAggregate, "%s with ORDER BY", name)
	}
	switch {
	case distinct && (name == "min" || name == "max"), distinct && byValue[name] && len(args) == 1:
		return m.different(name, n)
	case distinct:
		return "", notSplit(causeAggregate, "%s of distinct values", name)
	}
	switch name {
	case "avg", "mean":
		return m.average(n)
	case "arg_max", "argmax", "max_by", "arg_min", "argmin", "min_by":
		return m.extreme(name, n)
	case "quantile_cont", "median":
		return m.quantile(name, n)
	case "quantile_disc":
		return m.discrete(n)
	case "mode":
		return m.mode(n)
	case "approx_count_distinct":
		return m.estimate(n)
	case "var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev":
		return m.variance(name, n)
	}
	rule, ok := merged[name]
	if !ok || len(args) > 1 {
		return "", notSplit(causeAggregate, "the aggregate %s", name)
	}
	s, err := text(n)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(rule, m.part(s)), nil
}

// call returns, as text, a call of another aggregate with the arguments and the FILTER of n.
func call(name string, n sql.Node) (string, error) {
	c := sql.Node{"class": "FUNCTION", "type": "FUNCTION", "function_name": name, "children": n["children"]}
	if f, ok := n["filter"]; ok {
		c["filter"] = f
	}
	return text(c)
}

// average divides the sum of the sums by the sum of the counts, as DuckDB does.
func (m *merging) average(n sql.Node) (string, error) {
	if len(sql.Args(n)) != 1 {
		return "", notSplit(causeAggregate, "an average of several arguments")
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
		return "", notSplit(causeAggregate, "%s with a number of rows", name)
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
	// Skip rows whose value is null.
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

// counted makes nodes group by the argument of n as well. A statement can have only one such
// expression.
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
	return notSplit(causeAggregate, "the distinct values of two expressions")
}

// different returns an aggregate over the distinct values of a group.
func (m *merging) different(name string, n sql.Node) (string, error) {
	if m.number != "" {
		return "CAST(COALESCE(sum(" + m.number + "), 0) AS BIGINT)", nil
	}
	if err := m.counted(n); err != nil {
		return "", err
	}
	return name + "(DISTINCT " + pairsName + ")", nil
}

// quantile returns the value at a rank, or interpolates between the two next to it. It computes
// rank and weights as DuckDB does: (N-1)·q in doubles, and lo·(1-f) + hi·f.
func (m *merging) quantile(name string, n sql.Node) (string, error) {
	args := sql.Args(n)
	q := "0.5"
	switch {
	case name == "median" && len(args) == 1:
	case name == "quantile_cont" && len(args) == 2:
		var err error
		if q, err = share(name, args[1]); err != nil {
			return "", err
		}
	default:
		return "", notSplit(causeAggregate, "the aggregate %s", name)
	}
	if err := m.ranked(name, n); err != nil {
		return "", err
	}
	rank := fmt.Sprintf(`(CAST("__total" - 1 AS DOUBLE) * CAST(%s AS DOUBLE))`, q)
	at := func(round string) string {
		return fmt.Sprintf(`CAST(min(%s) FILTER (WHERE CAST("__upto" AS DOUBLE) > %s(%s)) AS DOUBLE)`, pairsName, round, rank)
	}
	weight := fmt.Sprintf(`max(%[1]s - floor(%[1]s))`, rank)
	return fmt.Sprintf("CASE WHEN %[1]s = %[2]s THEN %[1]s ELSE %[1]s * (1 - %[3]s) + %[2]s * %[3]s END", at("floor"),
		at("ceil"), weight), nil
}

// share returns the second argument of a quantile as text.
func share(name string, arg any) (string, error) {
	of, _ := arg.(sql.Node)
	s, err := text(of)
	if sql.Text(of, "class") != "CONSTANT" || err != nil {
		return "", notSplit(causeAggregate, "%s of a rank that is not a literal", name)
	}
	if q, err := strconv.ParseFloat(s, 64); err != nil || !(q >= 0 && q <= 1) {
		// a negative rank counts from the top
		return "", notSplit(causeAggregate, "%s of a rank that is not from 0 to 1", name)
	}
	return s, nil
}

// ranked adds to the partial results, for each value of n's first argument, how often it occurs in
// its group, and at which ranks.
func (m *merging) ranked(name string, n sql.Node) error {
	if m.sets != nil {
		return notSplit(causeAggregate, "%s of grouping sets", name)
	}
	if err := m.counted(sql.Node{"children": sql.Args(n)[:1], "filter": n["filter"]}); err != nil {
		return err
	}
	m.ranks = true
	m.count()
	return nil
}

// discrete returns the value at a rank. It computes the rank as DuckDB does: exactly if the share
// is a decimal.
func (m *merging) discrete(n sql.Node) (string, error) {
	args := sql.Args(n)
	if len(args) != 2 {
		return "", notSplit(causeAggregate, "the aggregate quantile_disc")
	}
	q, err := share("quantile_disc", args[1])
	if err != nil {
		return "", err
	}
	if err := m.ranked("quantile_disc", n); err != nil {
		return "", err
	}
	return fmt.Sprintf(`min(%s) FILTER (WHERE "__upto" >= greatest(1, "__total" - floor("__total" - %s * "__total")))`,
		pairsName, q), nil
}

// mode returns the most frequent value.
func (m *merging) mode(n sql.Node) (string, error) {
	if len(sql.Args(n)) != 1 {
		return "", notSplit(causeAggregate, "the aggregate mode of several arguments")
	}
	if err := m.ranked("mode", n); err != nil {
		return "", err
	}
	return fmt.Sprintf(`arg_max(%[1]s, "__often") FILTER (WHERE %[1]s IS NOT NULL)`, pairsName), nil
}

// spread combines two sets of numbers, each given by its count, mean and sum of squared deviations.
const spread = `list_reduce(list(struct_pack(n := CAST(%[1]s AS DOUBLE), m := %[2]s, v := %[3]s * %[1]s)) ` +
	`FILTER (WHERE %[1]s > 0), lambda a, b: struct_pack(n := a['n'] + b['n'], ` +
	`m := a['m'] + (b['m'] - a['m']) * (b['n'] / (a['n'] + b['n'])), v := a['v'] + b['v'] + ` +
	`(b['m'] - a['m']) * (b['m'] - a['m']) * (a['n'] * (b['n'] / (a['n'] + b['n'])))))`

// variance combines the counts, means and variances of the nodes. A result that is too large is an
// error, as on one node.
func (m *merging) variance(name string, n sql.Node) (string, error) {
	args := sql.Args(n)
	if len(args) != 1 {
		return "", notSplit(causeAggregate, "the aggregate %s", name)
	}
	of, _ := args[0].(sql.Node)
	s, err := text(of)
	if err != nil {
		return "", err
	}
	number, err := call("count", n)
	if err != nil {
		return "", err
	}
	double := sql.Node{"children": []any{rawOf("CAST(" + s + " AS DOUBLE)")}}
	if f, ok := n["filter"]; ok {
		double["filter"] = f
	}
	mean, err := call("avg", double)
	if err != nil {
		return "", err
	}
	variance, err := call("var_pop", double)
	if err != nil {
		return "", err
	}
	all := fmt.Sprintf(spread, m.part(number), m.part(mean), m.part(variance))
	out := fmt.Sprintf("(%[1]s)['v'] / (%[1]s)['n']", all)
	if name != "var_pop" && name != "stddev_pop" {
		out = fmt.Sprintf("CASE WHEN (%[1]s)['n'] > 1 THEN (%[1]s)['v'] / ((%[1]s)['n'] - 1) END", all)
	}
	if strings.HasPrefix(name, "stddev") {
		out = "sqrt(" + out + ")"
	}
	return fmt.Sprintf("CASE WHEN isfinite((%s)['v']) IS NOT FALSE THEN %s "+
		"ELSE CAST(error('%s is out of range') AS DOUBLE) END", all, out, name), nil
}
