package translate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
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
// aggregation if the same statement computes it, or nil.
func (t *Table) Names(r *logql.Range, q *Query, g *logql.Grouping) ([]string, error) {
	if g == nil {
		g = r.Grouping
	}
	switch {
	case g != nil && !g.Without:
		return g.Names, nil
	case g == nil && r.Op == "absent_over_time":
		return nil, nil
	}
	names, err := t.allNames(r, q)
	if err != nil || g == nil {
		return names, err
	}
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(g.Names, n) }), nil
}

// allNames returns the labels that the entries of a range have: the indexed labels, and those that the query mentions.
func (t *Table) allNames(r *logql.Range, q *Query) ([]string, error) {
	names, ok := q.Kept()
	if !ok {
		if q.Parses() {
			return nil, errs.New(errs.InvalidArguments, "%s(…) after a parser has the labels that it finds, whose names are "+
				"not known in advance: name the labels that count, as in sum by (label) (%s(…)), or keep them by | keep label",
				r.Op, r.Op)
		}
		names = t.LabelNames()
	}
	used := map[string]bool{}
	for _, n := range names {
		used[n] = true
	}
	for _, s := range r.Log.Stages {
		usedBy(s, used)
	}
	delete(used, ErrorLabel)
	delete(used, "__error_details__")
	if r.Unwrap != nil {
		delete(used, r.Unwrap.Name)
	}
	return slices.Sorted(maps.Keys(used)), nil
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
	// Each is true if there is one complete row for each step. Otherwise, all rows that belong to a step have to be
	// merged.
	Each bool
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
	q, err := t.Compile(r.Log)
	if err != nil {
		return nil, err
	}
	value := ""
	if r.Unwrap != nil {
		if value, err = q.Unwrap(r.Unwrap); err != nil {
			return nil, err
		}
	}
	s := &Samples{}
	if s.Names, err = t.Names(r, q, g); err != nil {
		return nil, err
	}
	var inner, ordinals []string
	for i, name := range s.Names {
		sql, err := q.Label(name)
		if err != nil {
			return nil, err
		}
		inner = append(inner, sql+" AS g"+strconv.Itoa(i))
		ordinals = append(ordinals, strconv.Itoa(i+1))
	}
	nanos := "epoch_ns(" + t.Time() + ")"
	first, last := bounds(r, steps, nanos)
	conditions := append(t.rangeOf(r, steps), q.Where()...)
	if int64(r.Range) < steps.Step && steps.N > 1 {
		conditions = append(conditions, first+" <= "+last)
	}
	n := len(s.Names)
	ordinals = append(ordinals, strconv.Itoa(n+1), strconv.Itoa(n+2))
	where := scope.WhereAll(conditions...)
	if s.Each = r.Op == "quantile_over_time"; s.Each && steps.N > 1 && int64(r.Range) > steps.Step {
		s.SQL, s.Columns = overlapping(r, inner, ordinals, []string{
			value + " AS v", nanos + " AS at", first + " AS f", last + " AS l",
		}, t.From()+where, steps.N)
		return s, nil
	}
	line := ""
	if r.Op == "bytes_over_time" || r.Op == "bytes_rate" {
		if line, err = q.Line(); err != nil {
			return nil, err
		}
	}
	columns, sql := parts(r, value, line, nanos)
	s.Columns = columns
	list := slices.Concat(inner, []string{first + " AS f", last + " AS l"}, sql)
	s.SQL = "SELECT " + strings.Join(list, ", ") + " FROM " + t.From() + where +
		" GROUP BY " + strings.Join(ordinals, ", ")
	return s, nil
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

// overlapping returns SQL that counts each row once for each step that it belongs to.
func overlapping(r *logql.Range, labels, ordinals, more []string, from string, n int) (sql string, columns []string) {
	var outer []string
	for i := range labels {
		outer = append(outer, "g"+strconv.Itoa(i))
	}
	columns, computed := parts(r, "v", "", "at")
	outer = append(append(outer, "s.k", "s.k"), computed...)
	inner := slices.Concat(labels, more)
	return fmt.Sprintf("SELECT %s FROM (SELECT %s FROM %s) AS x JOIN range(0, %d) AS s(k) ON s.k >= x.f AND s.k <= x.l "+
		"GROUP BY %s", strings.Join(outer, ", "), strings.Join(inner, ", "), from, n, strings.Join(ordinals, ", ")), columns
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
