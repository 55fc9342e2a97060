package statement

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// maxCondition bounds the text of a condition, in bytes.
const maxCondition = 64 << 10

// CheckCondition checks that src can stand between the parentheses of WHERE (…) and
// nowhere else: it is not empty, its quotes and comments end, its parentheses match, and
// it does not end the statement. What it says is for the engine to judge.
func CheckCondition(src string) error {
	if len(src) > maxCondition {
		return errs.New(errs.InvalidArguments, "the condition has %d bytes, at most %d are allowed", len(src), maxCondition)
	}
	l := lexer{src: src}
	depth, some := 0, false
	for {
		t, err := l.next()
		if err != nil {
			return err
		}
		switch {
		case t.kind == eof && depth > 0:
			return syntaxError(src, t.from, "the condition lacks a `)`")
		case t.kind == eof && !some:
			return errs.New(errs.InvalidSyntax, "the condition is empty")
		case t.kind == eof:
			return nil
		case t.sym(";"):
			return syntaxError(src, t.from, "expected the end of the condition %s", near(src, t))
		case t.sym("("):
			depth++
		case t.sym(")"):
			if depth--; depth < 0 {
				return syntaxError(src, t.from, "the condition has a `)` too many")
			}
		}
		some = true
	}
}

// aloneHead is what stands before a condition in Alone.
const aloneHead = "SELECT ["

// Alone returns a statement that the engine parses only if src, which is put between parentheses
// elsewhere, is expressions there, too: brackets hold nothing else, and what closes a parenthesis
// that it did not open does not fit between them. CheckCondition decides by our lexer what a
// condition is, this by the engine's.
func Alone(src string) string { return aloneHead + src + "\n]" }

// InAlone makes the position in an error of the engine about Alone(src) one in src.
func InAlone(err error) error { return InCondition(err, len(aloneHead)) }

var position = regexp.MustCompile(`\(position (\d+)\)$`)

// InCondition makes the position in an error of the engine, in the statement made of a
// condition, one in the condition itself, which begins at offset from of the statement.
func InCondition(err error, from int) error {
	e := (*errs.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	m := position.FindStringSubmatchIndex(e.Msg)
	if m == nil {
		return err
	}
	at, aerr := strconv.Atoi(e.Msg[m[2]:m[3]])
	if aerr != nil || at < from {
		return err
	}
	shifted := *e
	shifted.Msg = e.Msg[:m[0]] + "(position " + strconv.Itoa(at-from) + " of the condition)"
	return &shifted
}

// Names lists the words and quoted names of src that could name a column, each once, in
// the order of appearance and as they are written: without quotes, but in their case.
func Names(src string) []string {
	l := lexer{src: src}
	var names []string
	for {
		t, err := l.next()
		if err != nil || t.kind == eof {
			return names
		}
		if (t.kind == word || t.kind == quoted) && !containsFold(names, t.val) {
			names = append(names, t.val)
		}
	}
}

func containsFold(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// HasQuery reports whether a query stands in src, in parentheses: conditions that are
// computed row by row have none.
func HasQuery(src string) bool {
	l := lexer{src: src}
	opened := false
	for {
		t, err := l.next()
		if err != nil || t.kind == eof {
			return false
		}
		if opened && t.kind == word && engineWords[strings.ToUpper(t.val)] {
			return true
		}
		opened = t.sym("(")
	}
}
