package engine

import (
	"fmt"
	"strings"
	"time"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"cordwood/proto/schema"
)

// summary tells what planning chose, a line for each reference to a table: the row that
// EXPLAIN shows in front of the engine's plan.
func (r *run) summary(limit uint64) string {
	if d := r.directly(limit); d != nil {
		if rows, ok := d.rows(); ok {
			return d.summary(rows)
		}
	}
	var b strings.Builder
	for i, p := range r.plans {
		if i > 0 {
			b.WriteByte('\n')
		}
		p.summary(&b, r.sources[i])
		if r.st.newest == nil || r.st.newest.ref != i {
			continue
		}
		if list := r.attemptsAt(limit); len(list) > 0 {
			fmt.Fprintf(&b, "\n  the newest rows are looked for from %s on first, and before only if those are too few",
				moment(list[0], p.view.Schema.TimeIndex()))
		}
	}
	return b.String()
}

// summary tells how the statement is answered without the engine.
func (d *directRun) summary(rows *directRows) string {
	p := d.plan
	var b strings.Builder
	files, memory := make(map[string]bool), int64(0)
	groups := make(map[rowGroup]bool)
	for _, pl := range rows.places {
		switch {
		case pl.file == nil && pl.looked:
			memory += pl.rows
		case pl.looked:
			files[pl.file.segment.Path] = true
			groups[pl.rowGroup()] = true
		}
	}
	fmt.Fprintf(&b, "%s: %d of %d segments", p.ref.name, len(files), p.pruned.segments)
	p.leftOut(&b)
	fmt.Fprintf(&b, "; %d of %d rows in memory; %d of %d columns\n  answered without the plan below: %d rows found, %d looked at, %d row groups read by the index of pages",
		memory, p.pruned.memtable, len(d.columnsRead()), len(p.view.columns), d.found, d.examined, len(groups))
	return b.String()
}

// leftOut tells what was not read, and why.
func (p *plan) leftOut(b *strings.Builder) {
	pr := &p.pruned
	for _, why := range []struct {
		n    int
		text string
	}{{pr.byTime, "by time"}, {pr.byFilters, "by bloom or token filters"}} {
		if why.n > 0 {
			fmt.Fprintf(b, ", %d left out %s", why.n, why.text)
		}
	}
	if pr.expired > 0 {
		fmt.Fprintf(b, ", %d parts expired", pr.expired)
	}
	if pr.groups > 0 {
		fmt.Fprintf(b, "; %d of %d row groups by filters", pr.groupsLeft, pr.groups)
	}
}

func (p *plan) summary(b *strings.Builder, s *source) {
	pr := &p.pruned
	files, rows, lent := make(map[string]bool), int64(0), 0
	read := func(list []part) {
		for _, part := range list {
			if part.file != nil {
				files[part.file.Path] = true
				lent += part.batch.Rows
				continue
			}
			if part.segment == nil {
				rows += int64(part.batch.Rows)
				continue
			}
			files[part.segment.Path] = true
		}
	}
	read(s.plain)
	for _, group := range s.merges {
		read(group)
	}
	fmt.Fprintf(b, "%s: %d of %d segments", p.ref.name, len(files), pr.segments)
	p.leftOut(b)
	if lent > 0 {
		fmt.Fprintf(b, "; %d rows read by the index of pages", lent)
	}
	fmt.Fprintf(b, "; %d of %d rows in memory", rows, pr.memtable)
	if len(s.same) > 0 {
		n := int64(0)
		for _, same := range s.same {
			n += same.rows
		}
		fmt.Fprintf(b, "; %d rows counted by the bounds of their times", n)
	}
	if len(s.counted) > 0 {
		n := int64(0)
		for _, counted := range s.counted {
			n += counted.rows
		}
		fmt.Fprintf(b, "; %d rows counted by the codes of their values", n)
	}
	if len(s.merges) > 0 {
		n := 0
		for _, group := range s.merges {
			n += len(group)
		}
		fmt.Fprintf(b, "; %d parts overlap and are merged", n)
	}
	fmt.Fprintf(b, "; %d of %d columns", len(s.need), len(p.view.columns))
}

// moment is a value of a time index as text.
func moment(v int64, c *schema.Column) string {
	units := c.Type.UnitsPerSecond()
	seconds := v / units
	if v%units < 0 {
		seconds--
	}
	return time.Unix(seconds, (v-seconds*units)*(second/units)).UTC().Format(time.RFC3339Nano)
}

// explainsInText tells whether the statement is an EXPLAIN whose answer is text.
func (st *statement) explainsInText() bool {
	return st.explain != "" && !strings.Contains(strings.ToLower(st.explain), "json")
}

// explained returns a chunk with the row for EXPLAIN.
func (s *session) explained(summary string) (duckdb.DataChunk, error) {
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	sql := "SELECT 'segments' AS explain_key, " + quoteText(summary) + " AS explain_value"
	if duckdb.Query(s.conn, sql, &res) == duckdb.StateError {
		return duckdb.DataChunk{}, engineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	return duckdb.FetchChunk(res), nil
}
