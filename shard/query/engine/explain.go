package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

// summary returns the row that EXPLAIN shows before DuckDB's plan: one line for each reference to a
// table with what is read.
func (r *run) summary() string {
	if rows, ok := r.readDirectly(); ok {
		return rows.Summary()
	}
	var lines []string
	if rows, ok := r.countRows(); ok && !r.engine.settings.Off["count"] {
		lines = append(lines, fmt.Sprintf("answered without the plan below: the parts of the table have %d rows", rows))
	}
	for i, p := range r.Plans {
		lines = append(lines, p.Summary(r.sources[i]))
		if n := r.st.shape.Newest; n != nil && n.Ref == i {
			for first := range p.Attempts(r.request.Limit) {
				says := "  the newest rows are searched for from %s on; earlier rows are read only if these are too few"
				if n.Oldest {
					says = "  the oldest rows are searched for up to %s; later rows are read only if these are too few"
				}
				at := p.View.Schema.TimeIndex().Type.Moment(first)
				lines = append(lines, fmt.Sprintf(says, at.UTC().Format(time.RFC3339Nano)))
				break
			}
		}
	}
	if kept := r.keptSummary(); kept != "" {
		lines = append(lines, kept)
	}
	return strings.Join(lines, "\n")
}

// withoutPaths removes file paths from a text of EXPLAIN.
func (r *run) withoutPaths(text string) string {
	ran, written := r.text.SQL, r.st.Explain+r.st.SQL
	flat := strings.NewReplacer("\n", " ") // as DuckDB prints it above a plan
	text = strings.ReplaceAll(text, flat.Replace(ran), flat.Replace(written))
	text = strings.ReplaceAll(text, inJSON(ran), inJSON(written))
	text = blankFileNames(text)
	// If DuckDB prints a path in another form, remove the folders at least.
	for _, p := range r.Plans {
		for _, s := range p.View.Segments {
			text = strings.ReplaceAll(text, filepath.Dir(s.Path)+string(filepath.Separator), "")
		}
	}
	return text
}

// blankFileNames blanks the names of files in a drawn plan. The names stand in the box of a scan,
// below a heading. They are broken into pieces of the box's width, and end at a blank line or at
// the frame.
func blankFileNames(text string) string {
	const heading = "Filename(s):"
	if !strings.Contains(text, heading) || !strings.Contains(text, "│") {
		return text
	}
	lines := strings.Split(text, "\n")
	inside := make(map[int]bool) // by the screen column where a box starts
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

// inJSON returns a text escaped as in a JSON string, without the quotes.
func inJSON(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		return text
	}
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}
