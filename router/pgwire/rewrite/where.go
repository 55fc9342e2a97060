package rewrite

import "cordwood/router/query/statement"

// where describes the position after a token of the output. It is stored with each token, so that no rule has to look
// back over a long statement.
type where struct {
	// up is the index of the innermost open bracket, or -1 if none is open.
	up int
	// tables is true inside the tables of FROM. selected is true after a SELECT in the same brackets.
	tables, selected bool
	// list is true inside a select list.
	list bool
	// outer is the position before the innermost open bracket; it applies again after the closing bracket.
	outer *where
}

func (t tok) opens() bool  { return t.sym("(") || t.sym("[") || t.kind == written && t.text == "(" }
func (t tok) closes() bool { return t.sym(")") || t.sym("]") || t.kind == written && t.text == ")" }

// here returns the position of the next token.
func (r *rewriter) here() where {
	if len(r.out) == 0 {
		return where{up: -1}
	}
	return r.out[len(r.out)-1].where
}

// push appends a token to the output.
func (r *rewriter) push(t tok) {
	w := r.here()
	t.match = 0
	switch {
	case t.opens():
		outer := w
		w = where{up: len(r.out), outer: &outer}
	case t.closes() && w.up >= 0:
		t.match = w.up - len(r.out)
		if w.outer != nil {
			w = *w.outer
		}
	case t.kind == statement.TokenWord:
		w.word(t)
	}
	t.where = w
	r.out = append(r.out, t)
}

// word updates the position for a keyword.
func (w *where) word(t tok) {
	switch {
	case t.word("FROM"), t.word("JOIN"):
		w.tables, w.list = true, false
	case t.word("SELECT"), t.word("RETURNING"):
		w.tables, w.selected, w.list = false, true, true
	case t.word("WHERE"), t.word("BY"), t.word("ON"), t.word("HAVING"), t.word("VALUES"):
		w.tables, w.list = false, false
	}
}

// inTables reports whether the end of the output is inside the tables of FROM.
func (r *rewriter) inTables() bool { return r.here().tables }

// withinCall reports whether the end of the output is inside a function with FROM among its arguments.
func (r *rewriter) withinCall() bool {
	w := r.here()
	if w.selected {
		return false
	}
	if w.up < 1 {
		return w.up < 0 && r.arguing // the brackets are not part of the output
	}
	before := r.out[w.up-1]
	return before.word("trim") || before.word("substring") || before.word("extract") || before.word("overlay") ||
		before.word("position")
}
