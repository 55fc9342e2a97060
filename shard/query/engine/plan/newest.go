package plan

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// This file answers "the newest N rows", also with an upper bound of the time, without reading all
// rows. It runs the statement over the rows from some moment on. If that yields N rows, they are
// the answer, since all others are older. If not, it runs the statement again from an earlier
// moment. The oldest rows are found in the same way, up to some moment.

const (
	// maxNewest is the largest N for which the newest rows are searched for first.
	maxNewest = 10_000
	// firstFactor times N is how many rows the first attempt reads. Each further attempt reads
	// growth times as many. The last reads everything.
	firstFactor = 16
	growth      = 16
	maxAttempts = 3
	// MinAttempt is the minimum number of rows of the first attempt. Fewer rows are not faster to
	// read.
	MinAttempt = 20_000
	// MaxKept is the maximum size of an answer, in bytes, that is held back until it is known that
	// the attempt found enough rows.
	MaxKept = 16 << 20
)

// findNewest returns what a query for the newest or the oldest rows requests, or nil for another
// query.
func findNewest(st *sql.Statement, n sql.Node) *newest {
	if sql.Text(n, "type") != "SELECT_NODE" {
		return nil
	}
	for _, key := range []string{"group_expressions", "group_sets", "having", "qualify", "sample"} {
		if n[key] != nil {
			return nil
		}
	}
	if sql.Text(n, "aggregate_handling") != "STANDARD_HANDLING" {
		return nil // GROUP BY ALL
	}
	from, _ := n["from_table"].(sql.Node)
	ref, ok := st.Reference(from)
	if !ok || from["sample"] != nil || from["column_name_alias"] != nil {
		return nil
	}
	out := &newest{Ref: ref}
	modifiers, _ := n["modifiers"].([]any)
	for _, m := range modifiers {
		if m, _ := m.(sql.Node); !out.modified(m) {
			return nil
		}
	}
	if out.order == "" || out.rows > maxNewest || out.hidden(n["select_list"]) {
		return nil
	}
	if sql.HasClass(n["select_list"], "WINDOW") || sql.HasClass(modifiers, "WINDOW") {
		return nil // a row's values depend on other rows
	}
	return out
}

// modified reads the ORDER BY or LIMIT of the query. It returns false for other modifiers, and if
// the order is not by a column.
func (q *newest) modified(m sql.Node) bool {
	switch sql.Text(m, "type") {
	case "ORDER_MODIFIER":
		list, _ := m["orders"].([]any)
		if len(list) == 0 {
			return false
		}
		first, _ := list[0].(sql.Node)
		by, _ := first["expression"].(sql.Node)
		path, _ := by["column_names"].([]any)
		if sql.Text(by, "class") != "COLUMN_REF" || len(path) != 1 {
			return false
		}
		q.order, _ = path[0].(string)
		switch sql.Text(first, "type") {
		case "DESCENDING":
			return true
		case "ASCENDING", "ORDER_DEFAULT", "":
			q.Oldest = true
			return true
		}
	case "LIMIT_MODIFIER":
		limit, ok := sql.RowCount(m["limit"])
		offset, fine := sql.RowCount(m["offset"])
		q.Limit, q.rows = limit, limit+offset
		return ok && fine
	}
	return false
}

// hidden reports whether a name in the SELECT list may hide the column that orders the rows.
func (q *newest) hidden(list any) bool {
	items, _ := list.([]any)
	for _, item := range items {
		item, _ := item.(sql.Node)
		if alias := sql.Text(item, "alias"); strings.EqualFold(alias, q.order) || strings.Contains(alias, `\`) {
			return true // a backslash refers to a part of the name that COLUMNS matched
		}
		plainStar := sql.Text(item, "class") == "STAR" && sql.OnlyKeys(item, "relation_name", "exclude_list")
		if !plainStar && sql.HasClass(item, "STAR") {
			return true
		}
	}
	return false
}

// Attempts yields the moments to try, in the unit of the time index. For the newest rows they are
// lower bounds, the latest first; for the oldest rows they are upper bounds. It yields none if the
// statement is of another kind or reads few rows. limit is the LIMIT of the request.
//
// If local rows may suffice, the first attempt reads only these. Cold segments are opened when it did not suffice.
func (p *Plan) Attempts(limit uint64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		n := p.shape.Newest
		rows := n.rows
		if n.Limit == 0 {
			rows += limit
		}
		if n.Limit == 0 && limit == 0 || rows > maxNewest {
			return // OFFSET alone asks for all further rows
		}
		index := p.View.Schema.TimeIndex()
		if c := p.named(n.order); index != nil && c != nil && c.ID == index.ID {
			p.attempts(int64(rows), index, yield)
		}
	}
}

func (p *Plan) attempts(rows int64, index *schema.Column, yield func(int64) bool) {
	n, kept := p.shape.Newest, p.Pruned
	units, total := p.units(index)
	p.Pruned = kept
	want := max(firstFactor*rows, p.MinAttempt)
	if p.onlyTimes && p.View.ExpiredBefore == nil && !p.View.Merges() {
		want = rows
	}
	last, local := n.withoutCold(units)
	tried := local >= rows && local < want && p.View.since(last) != ""
	if tried && !yield(last) {
		return
	}
	for range maxAttempts {
		if want > total/2 {
			break
		}
		if units = p.openUnits(units, index, want); p.Cold.Err() != nil {
			return // the run over all rows reports the error
		}
		at := n.reach(units, want)
		if want <= maxReadRows && !p.Off["pages"] {
			at = n.reach(p.pageUnits(units, at), want)
		}
		if p.View.since(at) == "" {
			break // it cannot be written in a condition
		}
		if !tried || n.sooner(last, at) {
			if !yield(at) {
				return
			}
			last, tried = at, true
		}
		want *= growth
	}
}

// Try makes the plan read only the rows from a moment on, or up to it if the oldest rows are
// requested.
func (p *Plan) Try(at int64) {
	if p.From, p.Until = &at, nil; p.shape.Newest.Oldest {
		p.From, p.Until = nil, &at
	}
}

// EndTrying makes the plan read all rows again.
func (p *Plan) EndTrying() { p.From, p.Until = nil, nil }

// outside reports whether the current attempt does not read rows with times in this range. The
// range is in the unit of the time index.
func (p *Plan) outside(lo, hi int64) bool {
	return p.From != nil && hi < *p.From || p.Until != nil && lo > *p.Until
}

// trying reports whether an attempt restricts the rows that are read.
func (p *Plan) trying() bool { return p.From != nil || p.Until != nil }

// borders returns the bounds that the condition sets for the time. ok is false if the condition
// tests anything else.
func (p *Scope) borders(v any) (list []indistinct, all bool) {
	n, _ := v.(sql.Node)
	switch sql.Text(n, "class") {
	case "COMPARISON", "BETWEEN":
		list = p.readersOf(n)
		return list, list != nil
	case "CONJUNCTION", "OPERATOR":
		all = sql.Text(n, "type") == "CONJUNCTION_AND"
		for _, child := range sql.Args(n) {
			more, known := p.borders(child)
			list, all = append(list, more...), all && known
		}
	}
	return list, all
}

// named returns the table's column of that name, if it is the only one.
func (p *Plan) named(name string) *schema.Column {
	return (&Scope{Schema: p.View.Schema, Names: p.View.Names}).Named(name)
}

// withoutCold returns the border of the largest attempt that reads no cold segment, and how many rows it reads at
// least. Without cold segments, and if they have all of the time, it returns no rows.
func (q *newest) withoutCold(units []unit) (at, rows int64) {
	at, cold := int64(math.MinInt64), false
	if q.Oldest {
		at = math.MaxInt64
	}
	for _, u := range units {
		switch {
		case !u.closed:
		case q.Oldest:
			at, cold = min(at, Plus(u.min, -1)), true
		default:
			at, cold = max(at, Plus(u.max, 1)), true
		}
	}
	if !cold {
		return at, 0
	}
	for _, u := range units {
		if !u.closed && (q.Oldest && u.max <= at || !q.Oldest && u.min >= at) {
			rows += u.rows
		}
	}
	return at, rows
}

// sort sorts the units by the order in which they have to be read.
func (q *newest) sort(units []unit) {
	slices.SortFunc(units, func(a, b unit) int {
		if q.Oldest {
			return cmp.Compare(a.max, b.max)
		}
		return cmp.Compare(b.min, a.min)
	})
}

// sooner reports whether an attempt with the border at reads fewer rows than an attempt with the border than.
func (q *newest) sooner(at, than int64) bool {
	if q.Oldest {
		return at < than
	}
	return at > than
}

// reach returns the border of the smallest attempt that reads at least the given number of rows.
func (q *newest) reach(units []unit, rows int64) int64 {
	for _, u := range units {
		if rows -= u.rows; rows > 0 {
			continue
		}
		if q.Oldest {
			return u.max
		}
		return u.min
	}
	if q.Oldest {
		return math.MaxInt64
	}
	return math.MinInt64
}
