package rewrite

import (
	"strings"

	"cordwood/router/query/statement"
)

// tok is a token with the spaces and comments before it.
type tok struct {
	kind      statement.TokenKind
	pre, text string
	val       string
	at        int
	// match is the distance to the other bracket of a pair: positive for an opening bracket, negative for a closing
	// one, and 0 for other tokens and unmatched brackets.
	match int
	// where describes the position after a token that was written.
	where
}

func (t tok) word(kw string) bool {
	return t.kind == statement.TokenWord && strings.EqualFold(t.val, kw)
}

func (t tok) sym(s string) bool { return t.kind == statement.TokenSymbol && t.val == s }

func (t tok) isName() bool { return t.kind == statement.TokenWord || t.kind == statement.TokenName }

func tokens(text string) []tok {
	list := statement.Tokens(text)
	out := make([]tok, 0, len(list))
	end := 0
	for _, t := range list {
		if t.Kind == statement.TokenComment {
			continue // it becomes part of the space before the next token
		}
		out = append(out, tok{kind: t.Kind, pre: text[end:t.From], text: text[t.From:t.To], val: t.Value, at: t.From})
		end = t.To
	}
	matchBrackets(out)
	return out
}

// matchBrackets sets match in each bracket of a pair.
func matchBrackets(toks []tok) {
	var open []int
	for i := range toks {
		switch t := &toks[i]; {
		case t.opens():
			open = append(open, i)
		case t.closes() && len(open) > 0:
			from := open[len(open)-1]
			open = open[:len(open)-1]
			toks[from].match, t.match = i-from, from-i
		}
	}
}

// tooDeep returns the place of the first bracket that is nested too deep, or -1.
func tooDeep(toks []tok) int {
	depth := 0
	for _, t := range toks {
		switch {
		case t.opens():
			if depth++; depth > maxNesting {
				return t.at
			}
		case t.closes():
			depth = max(depth-1, 0)
		}
	}
	return -1
}

// startsWith reports whether toks begin with these key words.
func startsWith(toks []tok, words []string) bool {
	if len(toks) < len(words) {
		return false
	}
	for i, w := range words {
		if !toks[i].word(w) {
			return false
		}
	}
	return true
}
