package rewrite

import "cordwood/router/query/statement"

// rowComparison rewrites (a, b) > (c, d) as (a > c OR (a = c AND b > d)). PostgreSQL gives each literal the type of the
// value that it is compared with. The engine gives it a type of its own in a record, and then refuses to compare the
// records. Conditions on the first column exclude segments as well.
func (r *rewriter) rowComparison() bool {
	end := r.closingBracket(0)
	if end < 0 || r.last().calls() || r.last().word("IN") || r.last().word("VALUES") {
		return false
	}
	op := ""
	k := end + 1
	for ; r.at(k).sym("<") || r.at(k).sym(">") || r.at(k).sym("="); k++ {
		op += r.at(k).text
	}
	last := r.closingBracket(k)
	if !r.at(k).sym("(") || last < 0 {
		return false
	}
	left, right := r.elements(0, end), r.elements(k, last)
	if len(left) < 2 || len(left) != len(right) {
		return false
	}
	strict, equal := op, ""
	switch op {
	case "<", ">":
	case "<=", ">=":
		strict = op[:1]
	case "=":
		equal = "AND"
	case "<>":
		equal = "OR"
	default:
		return false
	}
	n := len(left) - 1
	expr := pair(left[n], op, right[n])
	for i := n - 1; i >= 0; i-- {
		if equal != "" {
			expr = both(pair(left[i], op, right[i]), equal, expr)
			continue
		}
		expr = both(pair(left[i], strict, right[i]), "OR", inBrackets(both(pair(left[i], "=", right[i]), "AND", expr)))
	}
	expr = inBrackets(expr)
	expr[0].pre = r.at(0).pre
	if r.bytes += len(joined(expr)); r.bytes > maxWritten { // elements may be comparisons of rows
		r.err = tooComplex()
		return true
	}
	for _, t := range r.all(expr) {
		r.push(t)
	}
	r.i += last + 1
	return true
}

// elements returns the expressions between the brackets that are from and end tokens ahead. It returns nothing for a
// query.
func (r *rewriter) elements(from, end int) (list [][]tok) {
	if t := r.at(from + 1); t.word("SELECT") || t.word("WITH") || t.word("VALUES") {
		return nil
	}
	begin := from + 1
	for n := begin; n <= end; n++ {
		switch t := r.at(n); {
		case t.match > 0:
			n += t.match
		case n == end, t.sym(","):
			if n == begin {
				return nil
			}
			list = append(list, r.in[r.i+begin:r.i+n])
			begin = n + 1
		}
	}
	return list
}

func symbols(text string) (list []tok) {
	for _, c := range text {
		list = append(list, tok{kind: statement.TokenSymbol, text: string(c), val: string(c)})
	}
	list[0].pre = " "
	return list
}

// inBrackets returns an expression in brackets.
func inBrackets(expr []tok) []tok {
	list := append(append(symbols("("), expr...), symbols(")")...)
	list[0].match, list[len(list)-1].match = len(list)-1, 1-len(list)
	list[len(list)-1].pre = ""
	list[0].at, list[len(list)-1].at = expr[0].at, expr[len(expr)-1].at
	return list
}

// both joins two conditions.
func both(left []tok, word string, right []tok) []tok {
	list := append([]tok{}, left...)
	list = append(list, tok{kind: statement.TokenWord, pre: " ", text: word, val: word, at: right[0].at})
	return append(list, right...)
}

// pair compares two elements.
func pair(left []tok, op string, right []tok) []tok {
	list := append([]tok{}, operandOf(left)...)
	for _, t := range symbols(op) {
		t.at = right[0].at
		list = append(list, t)
	}
	return append(list, operandOf(right)...)
}

// operandOf returns an element as an operand of a comparison.
func operandOf(element []tok) []tok {
	for n := 0; n < len(element); n++ {
		t := element[n]
		if n += max(t.match, 0); isOperatorWord(t) || t.word("CASE") || t.sym("<") || t.sym(">") || t.sym("=") {
			return inBrackets(element)
		}
	}
	element = append([]tok{}, element...)
	element[0].pre = " "
	return element
}
