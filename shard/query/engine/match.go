package engine

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unsafe"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

/*
#include <stdlib.h>
#include "match.h"
*/
import "C"

// initMatch gives the search functions what Go knows of letters, which is what the
// token filters of segments were made with.
var initMatch = sync.OnceFunc(func() {
	numbers, entries := letters()
	// The engine reads both for as long as the process lives.
	bytes := func(p unsafe.Pointer, n int) unsafe.Pointer { return C.CBytes(unsafe.Slice((*byte)(p), n)) }
	C.cw_match_init(
		(*C.uint16_t)(bytes(unsafe.Pointer(&numbers[0]), 2*len(numbers))),
		(*C.uint32_t)(bytes(unsafe.Pointer(&entries[0]), 4*len(entries))))
})

// pageRunes is how many code points a page of them has.
const pageRunes = 256

// runePage is what the code points of a page are, in the form of match.h.
type runePage [pageRunes]uint32

// letters returns for each page of code points its number among the different ones, and these.
// Every process of the engine does it before its first query, so that it goes through the ranges
// that Unicode names and not through a million code points.
func letters() (numbers []uint16, entries []uint32) {
	all := make([]runePage, (unicode.MaxRune+1)/pageRunes)
	mark := func(t *unicode.RangeTable, flag uint32) {
		for _, x := range t.R16 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				all[r/pageRunes][r%pageRunes] |= flag
			}
		}
		for _, x := range t.R32 {
			for r := rune(x.Lo); r <= rune(x.Hi); r += rune(x.Stride) {
				all[r/pageRunes][r%pageRunes] |= flag
			}
		}
	}
	mark(unicode.Letter, C.CW_WORD)
	mark(unicode.Digit, C.CW_WORD)
	mark(unicode.Han, C.CW_HAN)
	for _, x := range unicode.CaseRanges {
		for r := rune(x.Lo); r <= rune(x.Hi); r++ {
			all[r/pageRunes][r%pageRunes] |= uint32(unicode.ToLower(r)-r) & C.CW_POINT
		}
	}
	known := make(map[runePage]uint16)
	for i := range all {
		number, ok := known[all[i]]
		if !ok {
			number = uint16(len(known))
			known[all[i]] = number
			entries = append(entries, all[i][:]...)
		}
		numbers = append(numbers, number)
	}
	return numbers, entries
}

// Bounds on what a search may ask for.
const (
	maxTerms     = 64
	maxTermBytes = 1024
	maxNesting   = 32
)

// searchCall is a call of matches or matches_term: what it asks for, and where it is.
type searchCall struct {
	function string
	column   node // the first argument
	query    *term
	literal  string // as the client gave it
	// name and argument are the places of the function's name and of the literal.
	name, argument edit
}

// term is a boolean expression over literals.
type term struct {
	op   byte // 't' text, 'p' beginning of a word, '&', '|', '!'
	text string
	of   []*term
}

// analyzer is how a column's words are told apart.
type analyzer struct{ caseSensitive, chinese bool }

// program is the form of t that match.c reads.
func (t *term) program(a analyzer) string {
	flags := 0
	if a.caseSensitive {
		flags |= 1
	}
	if a.chinese {
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

// may tells whether a text can match of which only is known which literals it may have.
func (t *term) may(has func(literal string) bool) bool {
	switch t.op {
	case 't':
		return has(t.text)
	case '&':
		for _, child := range t.of {
			if !child.may(has) {
				return false
			}
		}
		return true
	case '|':
		for _, child := range t.of {
			if child.may(has) {
				return true
			}
		}
		return false
	}
	return true // what is not there is not known, nor which words begin so
}

// search checks a call and notes it.
func (w *walker) search(name string, n node) error {
	list := args(n)
	if len(list) != 2 || text(n, "schema") != "" {
		return errs.New(errs.PlanQuery, "%s takes a column and a text, as in %s(message, 'word')", name, name)
	}
	literal, _ := list[1].(node)
	given, isText := textLiteral(literal)
	at, ok := position(n)
	from, known := position(literal)
	if !isText || !ok || !known {
		return errs.New(errs.PlanQuery, "%s: what to look for must be a literal text, as in %s(message, 'word')", name, name)
	}
	called, end := word(w.st.sql, at)
	if called != name {
		return errs.New(errs.Unsupported, "%s must be called as %s(column, 'word'), without quotes and nothing in front", name, name)
	}
	last := skipLiteral(w.st.sql, from)
	if next := skipSpace(w.st.sql, last); next >= len(w.st.sql) || w.st.sql[next] != ')' {
		return errs.New(errs.PlanQuery, "%s: what to look for must be a plain literal text in single quotes", name)
	}
	call := &searchCall{function: name, literal: given, name: edit{from: at, to: end}, argument: edit{from: from, to: last}}
	call.column, _ = list[0].(node)
	var err error
	if name == "matches" {
		call.query, err = parseSearch(given)
	} else {
		call.query, err = wholeTerm(given)
	}
	if err != nil {
		return errs.New(errs.InvalidArguments, "%s: %s", name, err)
	}
	w.st.searches = append(w.st.searches, call)
	return nil
}

// wholeTerm is the query for a text as it stands.
func wholeTerm(text string) (*term, error) {
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("there is no word to look for")
	}
	if len(text) > maxTermBytes {
		return nil, fmt.Errorf("a term of %d bytes; %d are allowed", len(text), maxTermBytes)
	}
	return &term{op: 't', text: text}, nil
}

// search is a call, and how words are told apart in it.
type search struct {
	*searchCall
	analyzer
}

// edits are what a call is replaced by in the text.
func (c search) edits() []edit {
	name, argument := c.name, c.argument
	name.text, argument.text = "cordwood_matches", quoteText(c.query.program(c.analyzer))
	return []edit{name, argument}
}

// restore puts the call back into the name that the engine gives to a column.
func (c search) restore(name string) string {
	was := strings.ReplaceAll(name, ", "+quoteText(c.query.program(c.analyzer))+")", ", "+quoteText(c.literal)+")")
	if was == name {
		return name
	}
	return strings.Replace(was, "cordwood_matches(", c.function+"(", 1)
}

// analyzerOf is how words of a column are told apart: as its fulltext index says, else
// without regard to case.
func analyzerOf(c *schema.Column) analyzer {
	if c == nil || c.Index == nil || c.Index.Kind != schema.FulltextIndex {
		return analyzer{}
	}
	o := c.Index.Options
	caseSensitive, err := strconv.ParseBool(o[schema.IndexOptionCaseSensitive])
	return analyzer{caseSensitive: err == nil && caseSensitive, chinese: o[schema.IndexOptionAnalyzer] == "Chinese"}
}

// analyzerIn is that of the column that the call searches, told by its name among the
// columns of the statement's tables.
func analyzerIn(c *searchCall, plans []*plan) analyzer {
	path, _ := c.column["column_names"].([]any)
	if text(c.column, "class") != "COLUMN_REF" || len(path) == 0 {
		return analyzer{}
	}
	name, _ := path[len(path)-1].(string)
	for _, p := range plans {
		if len(path) > 1 {
			qualifier, _ := path[len(path)-2].(string)
			if !strings.EqualFold(qualifier, p.ref.name.Name) && !strings.EqualFold(qualifier, p.ref.given) {
				continue
			}
		}
		for i := range p.view.columns {
			if col := &p.view.columns[i]; strings.EqualFold(col.Name, name) || strings.EqualFold(p.view.names[i], name) {
				return analyzerOf(col)
			}
		}
	}
	return analyzer{}
}
