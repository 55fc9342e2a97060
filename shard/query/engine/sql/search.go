package sql

import (
	"fmt"
	"strings"

	"cordwood/proto/errs"
)

// Limits of a search.
const (
	maxTerms     = 64
	maxTermBytes = 1024
	maxNesting   = 32
)

// SearchCall is a call of matches or matches_term.
type SearchCall struct {
	function string
	Column   Node // the first argument
	Query    *term
	literal  string // as the client wrote it
	// Name and argument are the places of the function's name and of the literal.
	Name, argument Edit
}

// term is a boolean expression over literals.
type term struct {
	op   byte // 't' is a text, 'p' the beginning of a word; '&', '|' and '!' are operators
	text string
	of   []*term
}

// Analyzer describes how the words of a column are separated.
type Analyzer struct{ CaseSensitive, Chinese bool }

// program returns the form of t that match.c reads.
func (t *term) program(a Analyzer) string {
	flags := 0
	if a.CaseSensitive {
		flags |= 1
	}
	if a.Chinese {
		flags |= 2
	}
	var b strings.Builder
	fmt.Fprint(&b, flags)
	t.write(&b)
	return b.String()
}

func (t *term) write(b *strings.Builder) {
	if t.op == 't' || t.op == 'p' {
		fmt.Fprintf(b, "%c%d:%s", t.op, len(t.text), t.text)
		return
	}
	for i, child := range t.of {
		child.write(b)
		if i > 0 || t.op == '!' {
			b.WriteByte(t.op)
		}
	}
}

// May reports whether a text can match, given only which literals it may contain.
func (t *term) May(has func(literal string) bool) bool {
	switch t.op {
	case 't':
		return has(t.text)
	case '&':
		for _, child := range t.of {
			if !child.May(has) {
				return false
			}
		}
		return true
	case '|':
		for _, child := range t.of {
			if child.May(has) {
				return true
			}
		}
		return false
	}
	return true // nothing is known about words that must be absent, or about beginnings of words
}

// search checks a call and records it.
func (w *walker) search(name string, n Node) error {
	list := Args(n)
	if len(list) != 2 || Text(n, "schema") != "" {
		return errs.New(errs.PlanQuery, "%s takes a column and a text, as in %s(message, 'word')", name, name)
	}
	literal, _ := list[1].(Node)
	given, isText := TextLiteral(literal)
	at, ok := Position(n)
	from, known := Position(literal)
	if !isText || !ok || !known {
		return errs.New(errs.PlanQuery, "%s: the search text must be a literal, as in %s(message, 'word')", name, name)
	}
	called, end := Word(w.st.SQL, at)
	if called != name {
		return errs.New(errs.Unsupported, "%s must be called as %s(column, 'word'): do not quote the name of the function, "+
			"nor put anything before it",
			name, name)
	}
	last := SkipLiteral(w.st.SQL, from)
	if next := SkipSpace(w.st.SQL, last); next >= len(w.st.SQL) || w.st.SQL[next] != ')' {
		return errs.New(errs.PlanQuery, "%s: the search text must be a plain literal in single quotes", name)
	}
	call := &SearchCall{function: name, literal: given, Name: Edit{From: at, To: end}, argument: Edit{
		From: from,
		To:   last,
	}}
	call.Column, _ = list[0].(Node)
	var err error
	if name == "matches" {
		call.Query, err = parseSearch(given)
	} else {
		call.Query, err = wholeTerm(given)
	}
	if err != nil {
		return errs.New(errs.InvalidArguments, "%s: %s", name, err)
	}
	w.st.Searches = append(w.st.Searches, call)
	return nil
}

// wholeTerm returns the query for a text that is searched for exactly as it is.
func wholeTerm(text string) (*term, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("the search text has no word")
	}
	if len(text) > maxTermBytes {
		return nil, fmt.Errorf("a search text of %d bytes; at most %d are allowed", len(text), maxTermBytes)
	}
	return &term{op: 't', text: text}, nil
}

// Search is a call with the way in which words are separated.
type Search struct {
	*SearchCall
	Analyzer
}

// Edits returns the edits that replace the call in the text.
func (c Search) Edits() []Edit {
	name, argument := c.Name, c.argument
	name.Text, argument.Text = "cordwood_matches", QuoteText(c.Query.program(c.Analyzer))
	return []Edit{name, argument}
}

// Restore puts the client's call back into the column name that DuckDB derives from it.
func (c Search) Restore(name string) string {
	was := strings.ReplaceAll(name, ", "+QuoteText(c.Query.program(c.Analyzer))+")", ", "+QuoteText(c.literal)+")")
	if was == name {
		return name
	}
	return strings.Replace(was, "cordwood_matches(", c.function+"(", 1)
}
