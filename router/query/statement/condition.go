package statement

import (
	"errors"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
)

// maxCondition limits the length of a condition, in bytes.
const maxCondition = 64 << 10

// CheckCondition checks that src can only be a condition between the parentheses of WHERE (…): it is not empty, its
// quotes and comments end, its parentheses match, and it does not end the statement. The engine checks its content.
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

// aloneHead is the text before a condition in Alone.
const aloneHead = "SELECT ["

// Alone returns a statement that the engine parses only if src consists of expressions. Brackets allow nothing
// else, and a parenthesis that closes one outside of src does not fit between them. CheckCondition checks a
// condition with our lexer, and this function with the engine's.
func Alone(src string) string { return aloneHead + src + "\n]" }

// InAlone converts the position in an engine error about Alone(src) to a position in src.
func InAlone(err error) error { return InCondition(err, len(aloneHead)) }

var position = lazyregexp.New(`\(position (\d+)\)$`)

// InCondition converts the position in an engine error from the statement to the condition in it, which begins at
// offset from.
func InCondition(err error, from int) error {
	return placed(err, func(at int) (string, bool) {
		return strconv.Itoa(at-from) + " of the condition", at >= from
	})
}

// Moved adds a distance to the position in an engine error about a statement that contains a part of another one.
func Moved(err error, by int) error {
	return placed(err, func(at int) (string, bool) { return strconv.Itoa(at + by), at+by >= 0 })
}

// MovedTo converts the position in an engine error about a statement that contains parts of another one. place returns
// false if a position is in none of the parts.
func MovedTo(err error, place func(at int) (int, bool)) error {
	return placed(err, func(at int) (string, bool) {
		at, ok := place(at)
		return strconv.Itoa(at), ok
	})
}

// WithoutPosition removes the position from an engine error about a statement that its reader has not written.
func WithoutPosition(err error) error {
	e := (*errs.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	at := position.FindStringIndex(e.Msg)
	if at == nil {
		return err
	}
	shortened := *e
	shortened.Msg = strings.TrimRight(e.Msg[:at[0]], " ")
	return &shortened
}

// placed converts the position in an engine error by a function, unless it returns false.
func placed(err error, convert func(at int) (string, bool)) error {
	e := (*errs.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	m := position.FindStringSubmatchIndex(e.Msg)
	if m == nil {
		return err
	}
	at, aerr := strconv.Atoi(e.Msg[m[2]:m[3]])
	if aerr != nil {
		return err
	}
	text, ok := convert(at)
	if !ok {
		return err
	}
	shifted := *e
	shifted.Msg = e.Msg[:m[0]] + "(position " + text + ")"
	return &shifted
}

// Names lists the words and quoted names in src that could name a column, without duplicates, in order of
// appearance, without quotes and in their original case.
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

// HasQuery reports whether src contains a query in parentheses. Conditions that are computed row by row must not.
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
