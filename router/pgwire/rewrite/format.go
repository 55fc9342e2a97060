package rewrite

import (
	"fmt"
	"strconv"
	"strings"
)

// formatCall rewrites format(text, …) with a literal text. A text with {} and without % is in the engine's form.
func formatCall(r *rewriter, args []string) (string, bool) {
	if len(args) == 0 {
		return "", false
	}
	text, ok := literalOf(args[0])
	if !ok || !strings.Contains(text, "%") && strings.Contains(text, "{") {
		return "", false
	}
	var parts []string
	next := 1
	for text != "" {
		before, rest, found := strings.Cut(text, "%")
		if before != "" {
			parts = append(parts, quote(before))
		}
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			parts, text = append(parts, "'%'"), rest[1:]
			continue
		}
		spec, after, err := readSpecifier(rest)
		if err != nil {
			r.err = err
			return "NULL", true
		}
		if spec.position > 0 {
			next = spec.position
		}
		if next >= len(args) {
			r.err = &Error{State: "22023", Text: "too few arguments for format()", At: -1}
			return "NULL", true
		}
		parts, text = append(parts, spec.sql(args[next])), after
		next++
	}
	if len(parts) == 0 {
		return "''", true
	}
	return "(" + strings.Join(parts, " || ") + ")", true
}

// specifier is %[position$][-][width]type.
type specifier struct {
	position, width int
	left            bool
	kind            byte
}

// maxFormatWidth limits the width of a specifier, as the engine limits the lengths of lpad and rpad.
const maxFormatWidth = 1_000

// readSpecifier reads a specifier after its %.
func readSpecifier(text string) (s specifier, rest string, err *Error) {
	digits := func() (n int, some bool) {
		end := 0
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		n, _ = strconv.Atoi(text[:end])
		text, some = text[end:], end > 0
		return min(n, maxFormatWidth+1), some
	}
	n, some := digits()
	if some && strings.HasPrefix(text, "$") {
		if n == 0 {
			return s, "", &Error{
				State: "22023", Text: "format specifies argument 0, but arguments are numbered from 1", At: -1,
			}
		}
		s.position, text = n, text[1:]
		n, some = digits()
	}
	if !some && strings.HasPrefix(text, "-") {
		s.left, text = true, text[1:]
		n, _ = digits()
	}
	s.width = n
	switch {
	case text == "":
		return s, "", &Error{State: "22023", Text: "unterminated format() type specifier", At: -1}
	case s.width > maxFormatWidth:
		return s, "", &Error{State: "22023", Text: fmt.Sprintf("the width of a format() specifier is above %d",
			maxFormatWidth), At: -1}
	case !strings.ContainsRune("sIL", rune(text[0])):
		return s, "", &Error{
			State: "22023", Text: fmt.Sprintf("unrecognized format() type specifier \"%c\"", []rune(text)[0]), At: -1,
		}
	}
	s.kind = text[0]
	return s, text[1:], nil
}

// sql returns the expression for an argument.
func (s specifier) sql(arg string) string {
	template := "coalesce(CAST(%1 AS VARCHAR), '')"
	switch s.kind {
	case 'I':
		template = "CASE WHEN %1 IS NULL THEN CAST(error('null values cannot be formatted as an SQL identifier') AS " +
			"VARCHAR) ELSE " + quoteIdent + " END"
	case 'L':
		template = quoteNullable
	}
	out, _ := with(template, 1)(nil, []string{arg})
	if s.width == 0 {
		return out
	}
	pad := "lpad"
	if s.left {
		pad = "rpad"
	}
	out, _ = with("CASE WHEN length(%1) < %2 THEN "+pad+"(%1, %2, ' ') ELSE %1 END", 2)(nil,
		[]string{out, strconv.Itoa(s.width)})
	return out
}
