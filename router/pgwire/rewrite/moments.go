package rewrite

import (
	"slices"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// zoneName matches the name of a zone after a time of day.
var zoneName = lazyregexp.New(`(?i)(:[0-9.]+) ?([a-z]+/[a-z_/]+|[a-z]{3,4})$`)

// withoutZone returns the text of a timestamp without the name of a zone, which PostgreSQL ignores in this type.
func (t castType) withoutZone(text string) string {
	if t.name != "timestamp" {
		return text
	}
	return zoneName.ReplaceAllString(text, "$1")
}

// typedMoment rewrites TIMESTAMPTZ '…' and TIMESTAMP WITH TIME ZONE '…'. Parameters are inserted in this form, too.
func (r *rewriter) typedMoment() bool {
	t, ok := r.readType(0)
	if !ok || t.array || r.at(t.size).kind != statement.TokenText || isMarker(r.at(t.size).val) {
		return false
	}
	first, text := r.at(0), t.withoutZone(r.at(t.size).val)
	if moment, ok := t.spoken(text); ok {
		r.raw(first, moment)
		r.i += t.size + 1
		return true
	}
	literal, err := value.MomentLiteral(text)
	if err != nil {
		return r.checked(r.at(t.size), "", err)
	}
	r.i += t.size + 1
	if t.name != "timestamptz" && !r.compared() {
		form := quote(text)
		if !day.MatchString(text) { // the engine does not read it
			_, form, _ = strings.Cut(literal, " ")
		}
		literal = strings.ToUpper(first.text) + " " + form
	}
	r.moment(first, literal)
	return true
}

// day matches texts that begin with a day.
var day = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?$`)

// untypedMoment gives the text in ts - '2026-01-05' the type of a time, as PostgreSQL does.
func (r *rewriter) untypedMoment() bool {
	t, n := r.at(0), len(r.out)
	if n < 2 || !r.out[n-1].sym("-") || !r.out[n-2].endsOperand() || r.at(1).sym("::") || !day.MatchString(t.val) {
		return false
	}
	before := strings.ToUpper(r.out[n-2].text)
	if before == "DATE" || before == "CURRENT_DATE" || strings.Contains(before, "AS DATE)") {
		return false // the difference is a number of days
	}
	literal, err := value.MomentLiteral(t.val)
	if err != nil {
		return r.checked(t, "", err)
	}
	r.raw(t, literal)
	r.i++
	return true
}

// engineMoment matches the texts that the engine reads as times, as PostgreSQL does.
var engineMoment = lazyregexp.New(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.]*( ?[-+Z][0-9:]*)?)?$`)

// wordedMoment gives the text in ts > 'yesterday' or ts > 'Jan 5 2026' the type of the column of times before it. Texts
// that begin with a day are read by the engine.
func (r *rewriter) wordedMoment() bool {
	t, n := r.at(0), len(r.out)
	for n > 0 && (r.out[n-1].sym("=") || r.out[n-1].sym("<") || r.out[n-1].sym(">")) {
		n--
	}
	if n == 0 || n == len(r.out) || !r.out[n-1].isName() || r.at(1).sym("::") || t.val == "" || isMarker(t.val) ||
		engineMoment.MatchString(t.val) || !r.columns().onlyTimes(r.out[n-1].val) {
		return false
	}
	if spoken, ok := spokenDays[strings.ToLower(strings.TrimSpace(t.val))]; ok {
		r.raw(t, spoken.moment)
		r.i++
		return true
	}
	literal, err := value.MomentLiteral(t.val)
	if err != nil {
		return false
	}
	r.moment(t, literal)
	r.i++
	return true
}

// moment writes the literal of a timestamp in place of the tokens that start with first. In a comparison, it is written
// without a type: the engine then reads it in the unit of the other side, and compares columns of seconds to
// microseconds over the whole range of times. With nanoseconds, the engine would have to convert all rows to
// nanoseconds.
func (r *rewriter) moment(first tok, literal string) {
	if _, text, ok := strings.Cut(literal, " "); ok && r.compared() {
		literal = text
	}
	r.raw(first, literal)
}

// isMoment reports whether a token was written by moment with a type.
func isMoment(t tok) bool {
	return t.kind == written && (strings.HasPrefix(t.text, "TIMESTAMP_NS '") || strings.HasPrefix(t.text, "TIMESTAMP '"))
}

// compared reports whether an operand between the end of the output and the next token is an operand of a comparison.
// Brackets around the operand alone make no difference.
func (r *rewriter) compared() bool {
	n, k := len(r.out), 0
	for n > 1 && r.out[n-1].sym("(") && r.at(k).sym(")") && !r.out[n-2].word("IN") && !r.out[n-2].calls() {
		n, k = n-1, k+1
	}
	if n == 0 {
		return false
	}
	next, last := r.at(k), r.out[n-1]
	compares := next.sym("=") || next.sym("<") || next.sym(">") || next.sym("!")
	switch {
	case next.kind == statement.TokenSymbol && !compares && !next.sym(")") && !next.sym(",") && !next.sym(";"),
		next.word("AT"), next.sym("=") && r.at(k+1).sym(">"):
		return false // it is part of a larger expression, or the name of an argument
	case last.sym("<"), last.sym(">") && !isArrow(r.out[:n]), last.sym("="), last.word("BETWEEN"):
		return true
	case last.word("AND"):
		return endsBetween(r.out[:n-1])
	case last.sym("("), last.sym(","):
		return r.inList()
	}
	return compares && last.kind != statement.TokenSymbol
}

// calls reports whether parentheses after the token belong to a call.
func (t tok) calls() bool { return t.isName() && !notCalled[strings.ToUpper(t.val)] }

// isArrow reports whether the > at the end belongs to =>, -> or ->>.
func isArrow(out []tok) bool {
	n := len(out)
	return n > 1 && (out[n-2].sym("=") || out[n-2].sym("-") || out[n-2].sym(">"))
}

// endsBetween reports whether the last tokens are BETWEEN and a literal, which may be in brackets.
func endsBetween(out []tok) bool {
	n := len(out)
	switch {
	case n > 1 && isLiteral(out[n-1]):
		return out[n-2].word("BETWEEN")
	case n > 3 && out[n-1].match == -2:
		return out[n-4].word("BETWEEN") && isLiteral(out[n-2])
	}
	return false
}

// inList reports whether the next token is an element of x IN (…).
func (r *rewriter) inList() bool {
	up := r.here().up
	return up > 0 && r.out[up-1].word("IN")
}

func isLiteral(t tok) bool {
	return slices.Contains([]statement.TokenKind{statement.TokenText, statement.TokenNumber, written}, t.kind)
}
