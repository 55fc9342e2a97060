package split

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/shard/query/engine/sql"
)

// aggregateNames are all aggregates of DuckDB, and the macros and window functions that use
// aggregates.
var aggregateNames = wordSet(`any_value approx_count_distinct approx_quantile approx_top_k arbitrary arg_max
	arg_max_null arg_max_nulls_last arg_min arg_min_null arg_min_nulls_last argmax argmin array_agg avg bit_and bit_or ` +
	`bit_xor bitstring_agg
	bool_and bool_or corr count count_if count_star countif covar_pop covar_samp entropy favg first fsum geomean ` +
	`geometric_mean
	group_concat histogram histogram_exact json_group_array json_group_object json_group_structure kahan_sum kurtosis
	kurtosis_pop last list listagg mad max max_by mean median min min_by mode product quantile quantile_cont quantile_disc
	regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy reservoir_quantile sem
	skewness stddev stddev_pop stddev_samp string_agg sum sum_no_overflow sumkahan var_pop var_samp variance`)

// finalFunctions are the functions that the final statement may call on groups and aggregates. Each
// depends only on its arguments. A macro that hides an aggregate must not be in the list.
var finalFunctions = wordSet(`+ - * / // % ** ^ || abs ceil ceiling floor round trunc sqrt ln log log2 log10 exp pow ` +
	`power
	greatest least nullif concat lower upper length substr substring left right strftime date_trunc datetrunc date_part ` +
	`datepart
	time_bucket epoch epoch_ms epoch_us epoch_ns year month day hour minute second to_seconds to_minutes to_hours to_days
	to_milliseconds to_microseconds make_timestamp format_bytes replace contains starts_with sign fdiv isnan isfinite ` +
	`list_sort list_reverse_sort`)

func wordSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(s) {
		out[w] = true
	}
	return out
}

// isAggregate reports whether a node is a call of an aggregate.
func isAggregate(n sql.Node) bool {
	return sql.Text(n, "class") == "FUNCTION" && aggregateNames[sql.LowerASCII(sql.Text(n, "function_name"))]
}

// hasAggregate reports whether an aggregate is in an expression.
func hasAggregate(v any) bool {
	found := false
	sql.EachNode(v, func(n sql.Node) bool {
		found = found || isAggregate(n)
		return !found
	})
	return found
}

// aggregates reports whether the block groups rows.
func (b *block) aggregates() bool {
	if b.all || len(b.groups) > 0 || b.sets != nil || b.having != nil {
		return true
	}
	return slices.ContainsFunc(b.items, func(n sql.Node) bool { return hasAggregate(n) })
}

// merging is a block with aggregates that is being split.
type merging struct {
	*block
	groups []string // the group expressions, as text
	keys   map[string]int
	parts  []string // what nodes compute for each group, as text
	// pairs is the expression whose values are counted in each group, as text. It is empty if there
	// is none.
	pairs string
	// ranks means that the final statement finds values by their rank.
	ranks bool
	// best is the column with the largest ranks of registers. It is empty if there is none.
	best string
	// project means that nodes compute no aggregates: parts are expressions of rows, and the final
	// statement calls the client's aggregates.
	project bool
	// number, if not empty, is the column with the number of distinct values, which replaces the
	// values.
	number string
	// divided are the columns of sums from which averages are computed.
	divided []string
}

const pairsName = `"__h"`

func groupName(i int) string { return fmt.Sprintf(`"__g%d"`, i) }

// part adds an aggregate to the statement for nodes, and returns its column.
func (m *merging) part(aggregate string) string {
	i := slices.Index(m.parts, aggregate)
	if i < 0 {
		i = len(m.parts)
		m.parts = append(m.parts, aggregate)
	}
	return fmt.Sprintf(`"__a%d"`, i)
}

func (b *block) splitAggregates() (*Plan, error) {
	if b.distinct {
		return nil, notSplit(causeForm, "it has DISTINCT together with groups; if all groups are selected, leave it out")
	}
	if b.star() {
		return nil, notSplit(causeForm, "a star next to aggregates; write the columns, and an aggregate for each of them")
	}
	p, err := b.splitGroups(false)
	if h := (*NotSplit)(nil); errors.As(err, &h) && h.Cause == causeAggregate {
		return b.splitGroups(true) // its reason is what remains in the way
	}
	return p, err
}

// splitGroups splits a statement with aggregates. Nodes compute parts of the aggregates or, if
// project is set, the expressions that the aggregates use.
func (b *block) splitGroups(project bool) (*Plan, error) {
	m := &merging{block: b, keys: map[string]int{}, project: project}
	for _, g := range b.groups {
		if hasAggregate(g) {
			return nil, notSplit(causeForm, "GROUP BY an aggregate")
		}
		s, err := text(g)
		if err != nil {
			return nil, err
		}
		m.keys[key(g)] = len(m.groups)
		m.groups = append(m.groups, s)
	}
	items, err := m.finals()
	if err != nil {
		return nil, err
	}
	after, err := m.after()
	if err != nil {
		return nil, err
	}
	p := &Plan{Kind: "aggregate"}
	switch {
	case m.project:
		p.Kind = "project"
	case m.pairs != "":
		p.Kind = "pairs"
	}
	if p.Worker, err = m.worker(); err != nil {
		return nil, err
	}
	p.divided = m.divided
	p.Best = m.largest(p.Worker)
	p.Hashed = m.hashed()
	p.Combine = m.combine()
	p.Counts = b.where == nil && len(m.groups) == 0 && m.pairs == "" && slices.Equal(m.parts, []string{countStar})
	p.Final = "SELECT " + items + " FROM " + m.partials() + after
	return p, nil
}

// finals returns the SELECT list of the final statement.
func (m *merging) finals() (string, error) {
	items := make([]string, len(m.items))
	for i, item := range m.items {
		s, err := m.final(item)
		if err != nil {
			return "", err
		}
		items[i] = s + " AS " + sql.QuoteName(m.Names[i])
	}
	return strings.Join(items, ", "), nil
}

// after returns the clauses that follow FROM in the final statement.
func (m *merging) after() (string, error) {
	out := m.groupBy()
	if m.having != nil {
		s, err := m.final(m.having)
		if err != nil {
			return "", err
		}
		out += " HAVING " + s
	}
	for i, o := range m.orders {
		by := strconv.Itoa(o.item)
		if o.item == 0 {
			s, err := m.final(o.by)
			if err != nil {
				return "", err
			}
			by = s
		}
		if i == 0 {
			out += " ORDER BY "
		} else {
			out += ", "
		}
		out += by + o.how
	}
	return out + m.tail(), nil
}

// groupBy returns the GROUP BY of the final statement.
func (m *merging) groupBy() string {
	names := func(set []any) string {
		list := make([]string, len(set))
		for i, v := range set {
			n, _ := strconv.Atoi(fmt.Sprint(v))
			list[i] = groupName(n)
		}
		return strings.Join(list, ", ")
	}
	if m.sets != nil {
		sets := make([]string, len(m.sets))
		for i, v := range m.sets {
			set, _ := v.([]any)
			sets[i] = "(" + names(set) + ")"
		}
		return " GROUP BY GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	}
	if len(m.groups) == 0 {
		return ""
	}
	all := make([]any, len(m.groups))
	for i := range all {
		all[i] = i
	}
	return " GROUP BY " + names(all)
}

// worker returns the statement for nodes.
func (m *merging) worker() (string, error) {
	source, err := m.source()
	if err != nil {
		return "", err
	}
	if m.project && len(m.groups)+len(m.parts) == 0 {
		m.part("1") // each row counts
	}
	var items, keys []string
	add := func(s, name string) {
		items = append(items, s+" AS "+name)
		keys = append(keys, strconv.Itoa(len(items)))
	}
	for i, g := range m.groups {
		add(g, groupName(i))
	}
	if m.pairs != "" {
		add(m.pairs, pairsName)
	}
	for i, a := range m.parts {
		items = append(items, fmt.Sprintf(`%s AS "__a%d"`, a, i))
	}
	out := "SELECT " + strings.Join(items, ", ") + source
	if m.project {
		return out, nil
	}
	if len(keys) > 0 {
		out += " GROUP BY " + strings.Join(keys, ", ")
	}
	if cut := m.cut(); cut != "" {
		out += cut
	}
	return out, nil
}

// cut returns ORDER BY and LIMIT for nodes: a group that is among the first n by its keys is among
// the first n on every node that has it.
func (m *merging) cut() string {
	if !m.limited || m.having != nil || m.sets != nil || m.pairs != "" || len(m.orders) == 0 {
		return ""
	}
	out := ""
	for i, o := range m.orders {
		g, ok := m.keys[key(o.by)]
		if !ok {
			return ""
		}
		if i == 0 {
			out = " ORDER BY "
		} else {
			out += ", "
		}
		out += strconv.Itoa(g+1) + o.how
	}
	return fmt.Sprintf("%s LIMIT %d", out, m.limit+m.offset)
}

const (
	// bestRows is the minimum number of groups that each node sends if only the groups with the
	// largest counts are requested.
	bestRows = 1000
	// maxFirst is the maximum number of groups in the answer of such a statement.
	maxFirst = 200
)

// largest returns the statement for the groups with the largest counts, or nil if the client's
// statement does not request these. Counts are never negative, so if a node does not send a group,
// its count there is at most that of the last group that the node sent.
func (m *merging) largest(worker string) *Best {
	if !m.limited || m.limit == 0 || m.limit+m.offset > maxFirst || m.having != nil || m.sets != nil || m.pairs != "" ||
		m.project || len(m.groups) == 0 || len(m.orders) == 0 {
		return nil
	}
	o := m.orders[0]
	distinct, _ := o.by["distinct"].(bool)
	name := sql.LowerASCII(sql.Text(o.by, "function_name"))
	if !isAggregate(o.by) || distinct || name != "count" && name != "count_star" || !strings.HasPrefix(o.how, " DESC") {
		return nil
	}
	s, err := text(o.by)
	if err != nil {
		return nil
	}
	i := slices.Index(m.parts, s)
	if i < 0 {
		return nil
	}
	b := &Best{Groups: len(m.groups), Count: fmt.Sprintf("__a%d", i), First: m.limit + m.offset}
	b.Rows = max(bestRows, 10*b.First)
	b.Worker = fmt.Sprintf("%s ORDER BY %d DESC LIMIT %d", worker, len(m.groups)+i+1, b.Rows)
	return b
}

// partials returns, as text, the table that the final statement reads.
func (m *merging) partials() string {
	if !m.ranks && m.best == "" {
		return Partials
	}
	var by []string
	for i := range m.groups {
		by = append(by, groupName(i))
	}
	group := ""
	if len(by) > 0 {
		group = "PARTITION BY " + strings.Join(by, ", ")
	}
	value := "PARTITION BY " + strings.Join(append(by, pairsName), ", ")
	out := "(SELECT *"
	if m.ranks {
		out += fmt.Sprintf(`, CAST(sum(%[1]s) OVER (%[2]s ORDER BY %[3]s) AS BIGINT) AS "__upto", `+
			`CAST(sum(%[1]s) OVER (%[2]s) AS BIGINT) AS "__total", CAST(sum(%[1]s) OVER (%[4]s) AS BIGINT) AS "__often"`,
			m.count(), group, pairsName, value)
	}
	if m.best != "" {
		out += fmt.Sprintf(`, max(%s) OVER (%[2]s) AS "__best", row_number() OVER (%[2]s) = 1 AS "__first"`, m.best, value)
	}
	return out + " FROM " + Partials + ")"
}

// count returns the column that counts the values of pairs.
func (m *merging) count() string { return m.part("count(" + m.pairs + ")") }

// final returns an expression over the partial results, as text.
func (m *merging) final(n sql.Node) (string, error) {
	out, err := expression(n, m.finalNode)
	if err != nil {
		return "", err
	}
	return text(out)
}

func (m *merging) finalNode(n sql.Node) (sql.Node, error) {
	if g, ok := m.keys[key(n)]; ok {
		return rawOf(groupName(g)), nil
	}
	if isAggregate(n) {
		s, err := m.aggregate(n)
		if err != nil {
			return nil, err
		}
		return rawOf(s), nil
	}
	switch sql.Text(n, "class") {
	case "COLUMN_REF":
		name, _ := bareColumn(n)
		return nil, notSplit(causeForm, "the column %s is used outside of GROUP BY and aggregates", name)
	case "FUNCTION":
		if name := sql.LowerASCII(sql.Text(n, "function_name")); !finalFunctions[name] {
			return nil, notSplit(causeFunction,
				"the function %s is applied to a group or aggregate; add the call to GROUP BY, or apply it to the "+
					"values of rows, so that each node computes it", name)
		}
	case "CONSTANT":
		if s, ok := sql.TextLiteral(n); ok && strings.Contains(s, ".[") {
			return nil, notSplit(causeFunction, "a JSON path with .[ is applied to a group or aggregate; apply it to the "+
				"values of rows, or write [ without the dot")
		}
	}
	return nil, nil
}
