package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/router/explore/scope"
	"cordwood/router/loki/logql"
)

// Steps are the times at which a metric is computed, in nanoseconds since 1970.
type Steps struct {
	Start, Step int64
	N           int
}

// Last returns the time of the last step.
func (s Steps) Last() int64 { return s.Start + int64(s.N-1)*s.Step }

// Names returns the labels by which the statement for a table groups a range. g is the grouping of the enclosing
// aggregation if the same statement computes it, or nil. known is false if the entries have labels whose names are not
// known in advance.
func (t *Table) Names(r *logql.Range, q *Query, g *logql.Grouping) (names []string, known bool) {
	if g == nil {
		g = r.Grouping
	}
	switch {
	case g != nil && !g.Without:
		return g.Names, true
	case g == nil && r.Op == "absent_over_time":
		return nil, true
	}
	if names, known = t.allNames(r, q); g == nil {
		return names, known
	}
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(g.Names, n) }), known
}

// allNames returns the labels that the entries of a range have: the indexed labels, and those that the query mentions.
func (t *Table) allNames(r *logql.Range, q *Query) (names []string, known bool) {
	names, kept := q.Kept()
	if !kept {
		if q.Parses() {
			return nil, false
		}
		names = t.LabelNames()
	}
	used := Mentioned(r)
	for _, n := range names {
		used[n] = true
	}
	if r.Unwrap != nil {
		delete(used, r.Unwrap.Name)
	}
	return slices.Sorted(maps.Keys(used)), true
}

// Mentioned returns the labels that the query mentions in the pipeline of a range, and around the range. Structured
// metadata counts as labels of a series only if the query mentions it.
func Mentioned(r *logql.Range) map[string]bool {
	used := map[string]bool{}
	for _, s := range r.Log.Stages {
		usedBy(s, used)
	}
	for _, n := range r.Named {
		used[n] = true
	}
	delete(used, ErrorLabel)
	delete(used, "__error_details__")
	return used
}

// usedBy adds the labels that a stage mentions.
func usedBy(s logql.Stage, used map[string]bool) {
	extracts := func(list []logql.Extract) {
		for _, e := range list {
			used[e.Name] = true
		}
	}
	switch s := s.(type) {
	case *logql.LabelFilter:
		usedByCondition(s.Cond, used)
	case *logql.JSON:
		extracts(s.List)
	case *logql.Logfmt:
		extracts(s.List)
	case *logql.LabelFormat:
		for _, set := range s.Sets {
			used[set.Name] = true
		}
	case *logql.Keep:
		for _, n := range s.Names {
			used[n.Name] = true
		}
	case *logql.Regexp:
		for _, n := range s.Re.SubexpNames() {
			used[n] = n != ""
		}
		delete(used, "")
	case *logql.Pattern:
		for _, p := range s.Parts {
			if p.Name != "" && p.Name != "_" {
				used[p.Name] = true
			}
		}
	}
}

func usedByCondition(c logql.Cond, used map[string]bool) {
	switch c := c.(type) {
	case *logql.And:
		usedByCondition(c.A, used)
		usedByCondition(c.B, used)
	case *logql.Or:
		usedByCondition(c.A, used)
		usedByCondition(c.B, used)
	case *logql.Text:
		used[c.Name] = true
	case *logql.Compare:
		used[c.Name] = true
	}
}

// Samples is an SQL statement that computes a range aggregation over a table.
type Samples struct {
	// SQL returns rows with the labels of Names as texts, then the first and the last step that a row belongs to, as
	// BIGINT, and then the columns listed in Columns.
	SQL   string
	Names []string
	// Columns are, in order, some of: n (the number of entries), sum, value (the smallest, largest, first or last
	// number, or the quantile), mean, variance, at (the time of value) and bad (the number of entries whose value is
	// not a number).
	Columns []string
	// Unnamed is true if the names of the labels are not known in advance, so that there is no statement. Where has the
	// conditions for the rows of the entries.
	Unnamed bool
	Where   []string
}

// parts returns the columns and SQL expressions of an aggregation.
func parts(r *logql.Range, value, line, at string) (columns, sql []string) {
	add := func(name, expression string) {
		columns, sql = append(columns, name), append(sql, expression)
	}
	if r.Unwrap == nil {
		add("n", "CAST(count(*) AS BIGINT)")
		if r.Op == "bytes_over_time" || r.Op == "bytes_rate" {
			add("sum", "CAST(sum(strlen("+line+")) AS DOUBLE)")
		}
		return columns, sql
	}
	double := func(expression string) string { return "CAST(" + expression + " AS DOUBLE)" }
	add("n", "CAST(count("+value+") AS BIGINT)")
	add("bad", "CAST(count(*) - count("+value+") AS BIGINT)")
	switch r.Op {
	case "sum_over_time", "avg_over_time", "rate":
		add("sum", double("sum("+value+")"))
	case "min_over_time":
		add("value", double("min("+value+")"))
	case "max_over_time":
		add("value", double("max("+value+")"))
	case "stddev_over_time", "stdvar_over_time":
		add("mean", double("avg("+value+")"))
		add("variance", double("var_pop("+value+")"))
	case "first_over_time":
		add("value", double("arg_min("+value+", "+at+")"))
		add("at", "CAST(min("+at+") AS BIGINT)")
	case "last_over_time":
		add("value", double("arg_max("+value+", "+at+")"))
		add("at", "CAST(max("+at+") AS BIGINT)")
	case "quantile_over_time":
		add("value", double("quantile_cont("+value+", "+float(r.Param)+")"))
	}
	return columns, sql
}

// Samples translates a range aggregation for a table. g is the enclosing grouping if the same statement computes it, or
// nil.
func (t *Table) Samples(r *logql.Range, g *logql.Grouping, steps Steps) (*Samples, error) {
	c, err := t.ranged(r, g, steps)
	if err != nil || !c.known {
		return &Samples{Unnamed: true, Where: c.where()}, err
	}
	if r.Op == "quantile_over_time" && overlap(r, steps) {
		return quantiles(r, []*ranged{c}, c.names, steps)
	}
	inner, err := c.labels(c.names)
	if err != nil {
		return nil, err
	}
	line := ""
	if r.Op == "bytes_over_time" || r.Op == "bytes_rate" {
		if line, err = c.q.Line(); err != nil {
			return nil, err
		}
	}
	columns, sql := parts(r, c.value, line, c.nanos)
	list := slices.Concat(inner, []string{c.first + " AS f", c.last + " AS l"}, sql)
	return &Samples{Names: c.names, Columns: columns, SQL: "SELECT " + strings.Join(list, ", ") + " FROM " + t.From() +
		scope.WhereAll(c.where()...) + " GROUP BY " + ordinals(len(c.names)+2)}, nil
}

// Quantiles translates a quantile over the entries of several tables: the quantiles of single tables cannot be merged.
func Quantiles(tables []*Table, r *logql.Range, g *logql.Grouping, steps Steps) (*Samples, error) {
	list := make([]*ranged, 0, len(tables))
	all := map[string]bool{}
	for _, t := range tables {
		c, err := t.ranged(r, g, steps)
		if err != nil {
			return nil, err
		}
		if !c.known {
			return &Samples{Unnamed: true}, nil
		}
		for _, n := range c.names {
			all[n] = true
		}
		list = append(list, c)
	}
	return quantiles(r, list, slices.Sorted(maps.Keys(all)), steps)
}

// ranged is a range aggregation of a table, in parts from which a statement is made.
type ranged struct {
	t *Table
	q *Query
	// value is SQL for the number of an entry, or empty. nanos is SQL for its time.
	value, nanos string
	// names are the labels of the series, if known is true.
	names []string
	known bool
	// first and last are SQL for the steps that a row belongs to.
	first, last string
	// times are the conditions for the time, and within are those for rows that belong to a step.
	times, within []string
}

func (t *Table) ranged(r *logql.Range, g *logql.Grouping, steps Steps) (*ranged, error) {
	q, err := t.Compile(r.Log)
	if err != nil {
		return &ranged{}, err
	}
	c := &ranged{t: t, q: q, nanos: "epoch_ns(" + t.Time() + ")", times: t.rangeOf(r, steps)}
	if r.Unwrap != nil {
		if c.value, err = q.Unwrap(r.Unwrap); err != nil {
			return &ranged{}, err
		}
	}
	c.names, c.known = t.Names(r, q, g)
	c.first, c.last = bounds(r, steps, c.nanos)
	if int64(r.Range) < steps.Step && steps.N > 1 {
		c.within = append(c.within, c.first+" <= "+c.last)
	}
	return c, nil
}

// where returns the conditions for the rows of the entries.
func (c *ranged) where() []string {
	if c.q == nil {
		return nil
	}
	return slices.Concat(c.times, c.q.Where(), c.within)
}

// labels returns SQL for labels.
func (c *ranged) labels(names []string) ([]string, error) {
	out := make([]string, 0, len(names))
	for i, name := range names {
		sql, err := c.q.Label(name)
		if err != nil {
			return nil, err
		}
		out = append(out, sql+" AS g"+strconv.Itoa(i))
	}
	return out, nil
}

// ordinals returns the numbers of the first n columns of a statement.
func ordinals(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strconv.Itoa(i + 1)
	}
	return strings.Join(list, ", ")
}

// overlap reports whether a row may belong to several steps.
func overlap(r *logql.Range, steps Steps) bool { return steps.N > 1 && int64(r.Range) > steps.Step }

// quantiles returns a statement that counts each row of the tables once for each step that it belongs to.
func quantiles(r *logql.Range, tables []*ranged, names []string, steps Steps) (*Samples, error) {
	rows := make([]string, 0, len(tables))
	for _, c := range tables {
		list, err := c.labels(names)
		if err != nil {
			return nil, err
		}
		list = append(list, c.value+" AS v", c.nanos+" AS at", c.first+" AS f", c.last+" AS l")
		rows = append(rows, "SELECT "+strings.Join(list, ", ")+" FROM "+c.t.From()+scope.WhereAll(c.where()...))
	}
	columns, computed := parts(r, "v", "", "at")
	var outer []string
	for i := range names {
		outer = append(outer, "g"+strconv.Itoa(i))
	}
	step, join := []string{"f", "l"}, ""
	if overlap(r, steps) {
		step = []string{"s.k", "s.k"}
		join = " JOIN range(0, " + strconv.Itoa(steps.N) + ") AS s(k) ON s.k >= x.f AND s.k <= x.l"
	}
	list := strings.Join(slices.Concat(outer, step, computed), ", ")
	return &Samples{Names: names, Columns: columns, SQL: "SELECT " + list + " FROM (" +
		strings.Join(rows, " UNION ALL ") + ") AS x" + join + " GROUP BY " + ordinals(len(names)+2)}, nil
}

// Volumes is an SQL statement that counts the bytes in the lines of the entries that have a label, for several labels.
// It returns rows with the first and the last step that a row belongs to, as BIGINT, and then a DOUBLE for each label.
func (t *Table) Volumes(r *logql.Range, labels []string, steps Steps) (string, error) {
	q, err := t.Compile(r.Log)
	if err != nil {
		return "", err
	}
	line, err := q.Line()
	if err != nil {
		return "", err
	}
	first, last := bounds(r, steps, "epoch_ns("+t.Time()+")")
	inner := []string{first + " AS f", last + " AS l", "strlen(" + line + ") AS b"}
	outer := []string{"f", "l"}
	for i, name := range labels {
		sql, err := q.Label(name)
		if err != nil {
			return "", err
		}
		has := "g" + strconv.Itoa(i)
		inner = append(inner, sql+" <> '' AS "+has)
		outer = append(outer, "CAST(coalesce(sum(b) FILTER ("+has+"), 0) AS DOUBLE)")
	}
	return "SELECT " + strings.Join(outer, ", ") + " FROM (SELECT " + strings.Join(inner, ", ") + " FROM " + t.From() +
		scope.WhereAll(append(t.rangeOf(r, steps), q.Where()...)...) + ") AS x GROUP BY 1, 2", nil
}

// Bounds returns the first and the last step whose window contains a time. They are those of the function bounds.
func (s Steps) Bounds(r *logql.Range, nanos int64) (first, last int) {
	if s.N == 1 {
		return 0, 0
	}
	since := nanos - (s.Start - int64(r.Offset))
	first = int(max(0, (since+s.Step-1)/s.Step))
	return first, int(min(int64(s.N-1), (since+int64(r.Range)-1)/s.Step))
}

// bounds returns SQL for the first and the last step whose window contains the time of a row. A window ends at its
// step, and includes this end.
func bounds(r *logql.Range, steps Steps, nanos string) (first, last string) {
	if steps.N == 1 {
		return "CAST(0 AS BIGINT)", "CAST(0 AS BIGINT)"
	}
	number := func(v int64) string { return strconv.FormatInt(v, 10) }
	// In integers: the operator / returns a DOUBLE, which loses nanoseconds.
	ceil := func(add int64) string {
		return "(" + nanos + " - " + number(steps.Start-int64(r.Offset)) + " + " + number(add) + ") // " + number(steps.Step)
	}
	first = ceil(steps.Step - 1)
	if int64(r.Range) == steps.Step {
		return first, first
	}
	return "greatest(0, " + first + ")", "least(" + number(int64(steps.N-1)) + ", " + ceil(int64(r.Range)-1) + ")"
}

// rangeOf returns the conditions for the times that belong to any step.
func (t *Table) rangeOf(r *logql.Range, steps Steps) []string {
	at := func(nanos int64) time.Time { return time.Unix(0, 0).UTC().Add(time.Duration(nanos)).Add(-r.Offset) }
	times := scope.Table{Def: t.Def}
	return []string{
		times.Compare(">", at(steps.Start).Add(-r.Range)), times.Compare("<=", at(steps.Last())),
	}
}
