// Package diag has the diagnostics of the language: the findings of the parser and the compiler. It shows them with
// the lines of the program.
package diag

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Span is a part of a source, in bytes from its start.
type Span struct{ Start, End int }

// To returns the span from the start of s to the end of o.
func (s Span) To(o Span) Span { return Span{s.Start, o.End} }

// Severity reports whether a program with the diagnostic can be used.
type Severity uint8

// The severities.
const (
	Error Severity = iota
	Warning
)

// String returns the severity's name.
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// A Diagnostic is one finding.
type Diagnostic struct {
	Severity Severity
	// Code is the number of the finding in the documentation.
	Code int
	// Message is the headline.
	Message string
	// Labels are texts about parts of the source. The first one is at the place of the finding.
	Labels []Label
	// Notes are shown below the source.
	Notes []string
}

// A Label is a text about a part of the source.
type Label struct {
	Span Span
	Text string
}

// New returns an error with a first label.
func New(code int, message string, at Span, label string) *Diagnostic {
	return &Diagnostic{Code: code, Message: message, Labels: []Label{{at, label}}}
}

// With adds a label.
func (d *Diagnostic) With(at Span, text string) *Diagnostic {
	d.Labels = append(d.Labels, Label{at, text})
	return d
}

// Note adds a note.
func (d *Diagnostic) Note(format string, args ...any) *Diagnostic {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
	return d
}

// String returns the headline: "error[E103]: unhandled fallible assignment".
func (d *Diagnostic) String() string {
	return fmt.Sprintf("%s[E%03d]: %s", d.Severity, d.Code, d.Message)
}

// Position returns the line and the column of an offset in a source. Columns count characters, and both start at 1.
func Position(source string, at int) (line, column int) {
	at = min(max(at, 0), len(source))
	line = 1 + strings.Count(source[:at], "\n")
	start := strings.LastIndexByte(source[:at], '\n') + 1
	return line, 1 + utf8.RuneCountInString(source[start:at])
}

// Render returns the diagnostics of a source as text for people. name is the name of the source and may be empty.
func Render(name, source string, list []*Diagnostic) string {
	var b strings.Builder
	for i, d := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.render(&b, name, source)
	}
	return b.String()
}

func (d *Diagnostic) render(b *strings.Builder, name, source string) {
	b.WriteString(d.String())
	b.WriteByte('\n')
	if len(d.Labels) > 0 {
		gutter := d.excerpt(b, name, source)
		if len(d.Notes) > 0 {
			fmt.Fprintf(b, "%s │\n", gutter)
		}
	}
	for _, n := range d.Notes {
		for i, l := range strings.Split(n, "\n") {
			if i == 0 {
				fmt.Fprintf(b, "  = %s\n", l)
			} else {
				fmt.Fprintf(b, "    %s\n", l)
			}
		}
	}
}

// mark is a label as it is shown on one line.
type mark struct {
	line, from, to int // columns start at 0
	text           string
	primary        bool
}

// excerpt writes the marked lines of the source. It returns as many spaces as a line number takes.
func (d *Diagnostic) excerpt(b *strings.Builder, name, source string) (gutter string) {
	line, column := Position(source, d.Labels[0].Span.Start)
	marks := make([]mark, len(d.Labels))
	last := 0
	for i, l := range d.Labels {
		m := mark{text: l.Text, primary: i == 0}
		var c int
		m.line, c = Position(source, l.Span.Start)
		m.from = c - 1
		endLine, endColumn := Position(source, l.Span.End)
		m.to = endColumn - 1
		if endLine != m.line {
			m.to = utf8.RuneCountInString(lineText(source, m.line))
		}
		m.to = max(m.to, m.from+1)
		marks[i] = m
		last = max(last, m.line)
	}
	slices.SortStableFunc(marks, func(x, y mark) int {
		if x.line != y.line {
			return x.line - y.line
		}
		return y.from - x.from // from the right, so that the texts do not overlap
	})
	gutter = strings.Repeat(" ", len(fmt.Sprint(last)))
	fmt.Fprintf(b, "%s ┌─ %s:%d:%d\n%s │\n", gutter, name, line, column, gutter)
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j].line == marks[i].line {
			j++
		}
		text := lineText(source, marks[i].line)
		fmt.Fprintf(b, "%*d │ %s\n", len(gutter), marks[i].line, strings.ReplaceAll(text, "\t", " "))
		underline(b, gutter, marks[i:j])
		i = j
	}
	return gutter
}

// underline writes the marks of one line, the rightmost first.
func underline(b *strings.Builder, gutter string, marks []mark) {
	row := drawMarks(marks)
	fmt.Fprintf(b, "%s │ %s", gutter, strings.TrimRight(row, " "))
	// Only the rightmost text fits next to the line.
	beside := -1
	for i, m := range marks {
		if m.text != "" && m.to == len(row) && (beside < 0 || m.primary) {
			beside = i
		}
	}
	if beside >= 0 {
		fmt.Fprintf(b, " %s", marks[beside].text)
	}
	b.WriteByte('\n')
	for i, m := range marks {
		if m.text != "" && i != beside {
			fmt.Fprintf(b, "%s │ %s%s\n", gutter, strings.Repeat(" ", m.from), m.text)
		}
	}
}

// drawMarks returns the line with the marks, which ends where the last of them ends. Primary marks cover others.
func drawMarks(marks []mark) string {
	width := 0
	for _, m := range marks {
		width = max(width, m.to)
	}
	row := []byte(strings.Repeat(" ", width))
	draw := func(primary bool, c byte) {
		for _, m := range marks {
			if m.primary != primary {
				continue
			}
			for i := m.from; i < m.to; i++ {
				row[i] = c
			}
		}
	}
	draw(false, '-')
	draw(true, '^')
	return string(row)
}

func lineText(source string, line int) string {
	for ; line > 1; line-- {
		i := strings.IndexByte(source, '\n')
		if i < 0 {
			return ""
		}
		source = source[i+1:]
	}
	if i := strings.IndexByte(source, '\n'); i >= 0 {
		source = source[:i]
	}
	return strings.TrimSuffix(source, "\r")
}

// Nearest returns the candidate that is most similar to the name. It returns false if none is similar.
func Nearest(name string, candidates func(yield func(string) bool)) (string, bool) {
	best, bestAt := "", max(len(name)/2, 1)+1
	for c := range candidates {
		if n := distance(name, c, bestAt); n < bestAt {
			best, bestAt = c, n
		}
	}
	return best, best != ""
}

// distance returns the number of edits between two names, or limit if it is at least limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal = row[j+1]
			row[j+1] = cost
		}
	}
	return min(row[len(b)], limit)
}
