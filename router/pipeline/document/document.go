// Package document parses YAML documents strictly. It finds all faults of a document in one pass and reports each
// with its line, its path and, for a misspelt key, the most similar known key.
//
// It knows nothing about pipelines. The caller reads a document from the root with the methods of Node and Map. If
// a value does not have the expected form, they note a fault and return a harmless value, so that the caller
// continues and finds further faults. At the end Node.Err returns all faults.
//
// Documents come from untrusted clients, so their size, their depth and, with all aliases expanded, the number of
// their nodes are limited.
//
// A document and its nodes belong to one goroutine.
package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"cordwood/proto/lazyregexp"
)

// The limits of a document.
const (
	// MaxBytes limits the length of the text.
	MaxBytes  = 1 << 20
	maxNodes  = 200_000
	maxDepth  = 64
	maxFaults = 50
	// maxWarnings is small, because each warning becomes a header line of the answer.
	maxWarnings = 8
)

// Span is a part of a text. Lines and columns start at 1, and columns count characters. 0 means unknown. The end is
// after the last character.
type Span struct{ Line, Column, EndLine, EndColumn int }

// Fault is a fault in a document.
type Fault struct {
	Span
	// Path is the position, for example processors[2].date.timezone; "" for the whole document.
	Path    string
	Message string
	// Excerpt has lines that show the fault below the message; it may be empty.
	Excerpt string
}

func (f Fault) String() string {
	var s strings.Builder
	if f.Line > 0 {
		s.WriteString("line " + strconv.Itoa(f.Line) + ": ")
	}
	if f.Path != "" {
		s.WriteString(f.Path + ": ")
	}
	s.WriteString(f.Message)
	if f.Excerpt != "" {
		s.WriteString("\n" + f.Excerpt)
	}
	return s.String()
}

// Error has all faults of a document.
type Error struct {
	Faults []Fault
	// More is the number of faults that are not listed.
	More int

	warnings []Fault
	cost     int
	lines    []string // the lines of the document
}

// Error returns the faults, one after another. Excerpts have several lines.
func (e *Error) Error() string {
	if len(e.Faults) == 1 && e.More == 0 {
		return e.Faults[0].String()
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%d errors:", len(e.Faults)+e.More)
	for _, f := range e.Faults {
		s.WriteString("\n" + f.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&s, "\nand %d more", e.More)
	}
	return s.String()
}

func (e *Error) add(f Fault) {
	if len(e.Faults) >= maxFaults {
		e.More++
		return
	}
	e.Faults = append(e.Faults, f)
}

// Parse parses src, which must contain one document, and returns its root. The error is an *Error: the text is too
// long, not UTF-8, malformed, or does not contain exactly one document.
func Parse(src []byte) (*Node, error) {
	fail := func(line int, format string, args ...any) (*Node, error) {
		return nil, &Error{Faults: []Fault{{Span: Span{Line: line}, Message: fmt.Sprintf(format, args...)}}}
	}
	switch {
	case len(src) > MaxBytes:
		return fail(0, "the document has %d bytes, at most %d are allowed", len(src), MaxBytes)
	case !utf8.Valid(src):
		return fail(0, "the document is not valid UTF-8")
	}
	if deepFlow(src) {
		return fail(0, "Yaml parse error: the document is nested too deep")
	}
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	var root, next yaml.Node
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0:
		return fail(0, "Yaml parse error: the text contains no document, expected one")
	case err != nil:
		return fail(faultLine(src, err), "Yaml parse error: %s", yamlText(err))
	}
	switch err := decoder.Decode(&next); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return fail(faultLine(src, err), "Yaml parse error: %s", yamlText(err))
	default:
		return fail(next.Line, "Yaml parse error: the text contains several documents, expected one")
	}
	top := root.Content[0]
	budget := maxNodes
	if line, why := measure(top, 1, &budget); why != "" {
		return fail(line, "Yaml parse error: %s", why)
	}
	return &Node{y: resolve(top), out: &Error{lines: strings.Split(string(src), "\n")}}, nil
}

// deepFlow reports whether brackets are nested deeper than in any reasonable document, so that the YAML parser does
// not recurse too deeply. Brackets in strings count too. With this limit, only texts full of brackets are refused
// wrongly.
func deepFlow(src []byte) bool {
	depth := 0
	for _, c := range src {
		switch c {
		case '[', '{':
			if depth++; depth > 5000 {
				return true
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return false
}

// lineOfYAML matches the line number before errors of the YAML parser.
var lineOfYAML = lazyregexp.New(`^line [0-9]+: `)

// yamlText returns an error of the YAML parser without the line number.
func yamlText(err error) string {
	text := lineOfYAML.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
	if strings.HasSuffix(text, "cannot start any token") {
		text += "; put a text that begins with %, @ or ` in quotes, and indent with spaces, not with tabs"
	}
	return text
}

// faultLine returns the line that makes the YAML parser refuse src with err: the last line of the shortest prefix
// that it refuses with the same message. The parser itself usually reports the first line of the surrounding block.
func faultLine(src []byte, err error) int {
	var ends []int // of lines
	for i, c := range src {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	ends = append(ends, len(src))
	want := yamlText(err)
	return 1 + sort.Search(len(ends)-1, func(i int) bool {
		decoder := yaml.NewDecoder(bytes.NewReader(src[:ends[i]]))
		for {
			var n yaml.Node
			if err := decoder.Decode(&n); err != nil {
				return !errors.Is(err, io.EOF) && yamlText(err) == want
			}
		}
	})
}

// measure counts the nodes below y. An aliased node counts each time that it occurs.
func measure(y *yaml.Node, depth int, budget *int) (line int, why string) {
	if depth > maxDepth {
		return y.Line, fmt.Sprintf("nested deeper than %d levels, perhaps by an alias inside its own anchor", maxDepth)
	}
	if *budget--; *budget < 0 {
		return y.Line, fmt.Sprintf("more than %d nodes with all aliases followed", maxNodes)
	}
	if y.Kind == yaml.AliasNode {
		return measure(y.Alias, depth+1, budget)
	}
	for _, c := range y.Content {
		if line, why = measure(c, depth+1, budget); why != "" {
			return line, why
		}
	}
	return 0, ""
}

func resolve(y *yaml.Node) *yaml.Node {
	for y.Kind == yaml.AliasNode {
		y = y.Alias
	}
	return y
}
