package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"
	"github.com/mattn/go-runewidth"

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

// hidePaths puts the statement as the client wrote it, without the names of the server's
// files, in the place of the one that the engine ran, wherever a chunk of EXPLAIN shows that.
func (r *run) hidePaths(chunk duckdb.DataChunk) {
	for c := range duckdb.DataChunkGetColumnCount(chunk) {
		vector := duckdb.DataChunkGetVector(chunk, c)
		kind := duckdb.VectorGetColumnType(vector)
		isText := duckdb.GetTypeId(kind) == duckdb.TypeVarchar
		duckdb.DestroyLogicalType(&kind)
		if !isText {
			continue
		}
		cells := unsafe.Slice((*duckdb.StringT)(duckdb.VectorGetData(vector)), duckdb.DataChunkGetSize(chunk))
		for i := range cells {
			text := duckdb.StringTData(&cells[i])
			if clean := r.withoutPaths(text); clean != text {
				duckdb.VectorAssignStringElement(vector, duckdb.IdxT(i), clean)
			}
		}
	}
}

// withoutPaths is a text of EXPLAIN as the client may read it.
func (r *run) withoutPaths(text string) string {
	ran, written := r.text.sql, r.st.explain+r.st.sql
	flat := strings.NewReplacer("\n", " ") // as the engine prints it above a plan
	text = strings.ReplaceAll(text, flat.Replace(ran), flat.Replace(written))
	text = strings.ReplaceAll(text, inJSON(ran), inJSON(written))
	text = blankFileNames(text)
	// What is left, if the engine prints it otherwise, are names without folders.
	for _, p := range r.plans {
		for _, s := range p.view.Segments {
			text = strings.ReplaceAll(text, filepath.Dir(s.Path)+string(filepath.Separator), "")
		}
	}
	return text
}

// blankFileNames blanks the names of files in a drawn plan. They stand in the box of a scan
// below a heading, broken into pieces of the box's width, up to a blank line or the frame.
func blankFileNames(text string) string {
	const heading = "Filename(s):"
	if !strings.Contains(text, heading) || !strings.Contains(text, "│") {
		return text
	}
	lines := strings.Split(text, "\n")
	inside := make(map[int]bool) // by the screen column at which a box begins
	for l, line := range lines {
		cells, at := strings.Split(line, "│"), 0
		for c, cell := range cells {
			width := runewidth.StringWidth(cell)
			switch word := strings.TrimSpace(cell); {
			case word == "" || strings.ContainsAny(cell, "─"):
				delete(inside, at)
			case strings.HasPrefix(word, heading):
				inside[at] = true
				fallthrough
			case inside[at]:
				cells[c] = strings.Repeat(" ", width)
			}
			at += width + 1
		}
		lines[l] = strings.Join(cells, "│")
	}
	return strings.Join(lines, "\n")
}

// inJSON is a text as it stands between the quotes of JSON.
func inJSON(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
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
