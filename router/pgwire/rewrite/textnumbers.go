package rewrite

import (
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/query/statement"
)

var wholeNumber = lazyregexp.New(`^[0-9]{1,18}$`)

// textNumber writes the number in '5' + 1, whose text has the type of the other operand in PostgreSQL.
func (r *rewriter) textNumber() bool {
	t, n := r.at(0), len(r.out)
	if !wholeNumber.MatchString(t.val) || r.at(1).sym("::") {
		return false
	}
	before := n > 1 && r.out[n-1].calculates() && r.out[n-2].isWhole()
	last := r.last()
	starts := last.kind == statement.TokenComment || last.kind == statement.TokenSymbol && !last.closes() ||
		last.kind == statement.TokenWord && notCalled[strings.ToUpper(last.val)]
	if !before && (!starts || !r.at(1).calculates() || !r.at(2).isWhole()) {
		return false
	}
	r.push(tok{kind: statement.TokenNumber, pre: t.pre, text: t.val, val: t.val, at: t.at})
	r.i++
	return true
}

// calculates reports whether a token is an operator of numbers.
func (t tok) calculates() bool {
	return t.sym("+") || t.sym("-") || t.sym("*") || t.sym("/") || t.sym("%")
}

// isWhole reports whether a token is a number without a fraction.
func (t tok) isWhole() bool {
	return t.kind == statement.TokenNumber && wholeNumber.MatchString(t.text)
}
