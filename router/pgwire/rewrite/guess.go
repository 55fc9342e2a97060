package rewrite

import (
	"strings"

	"cordwood/router/query/statement"
)

// AnyText is a statement in which x = ANY($n) is written x = $n, so that the type of the elements can be found out.
type AnyText struct {
	Text string
	// Any has the parameters that are arrays.
	Any map[int]bool
}

// AnyOfParameter returns the text of a statement with parameters for its description.
func AnyOfParameter(text string, places []Place) AnyText {
	out := AnyText{Text: text, Any: map[int]bool{}}
	if len(places) == 0 {
		return out
	}
	toks := statement.Tokens(text)
	var b strings.Builder
	done := 0
	for i := 0; i+4 < len(toks); i++ {
		t := toks[i]
		if t.Kind != statement.TokenWord || !strings.EqualFold(t.Value, "ANY") && !strings.EqualFold(t.Value, "ALL") ||
			toks[i+1].Value != "(" || toks[i+2].Value != "$" || toks[i+4].Value != ")" {
			continue
		}
		for _, p := range places {
			if p.From == toks[i+2].From {
				out.Any[p.Number] = true
				b.WriteString(text[done:t.From])
				done = t.To
			}
		}
	}
	b.WriteString(text[done:])
	out.Text = b.String()
	return out
}

// The OIDs that Guess returns.
const (
	oidBool   = 16
	oidInt8   = 20
	oidInt4   = 23
	oidText   = 25
	oidFloat8 = 701
)

// Guess returns the OID of the type of a parameter of which the engine does not say what it is: by what stands beside
// it, as PostgreSQL does, and otherwise text.
func Guess(text string, places []Place, n int) uint32 {
	toks := statement.Tokens(text)
	for _, p := range places {
		if p.Number != n {
			continue
		}
		for i, t := range toks {
			if t.From != p.From {
				continue
			}
			if oid := beside(toks, i); oid != oidText {
				return oid
			}
		}
	}
	return oidText
}

// beside looks at the tokens beside the parameter whose $ is token i.
func beside(toks []statement.Token, i int) uint32 {
	at := func(k int) statement.Token {
		if k < 0 || k >= len(toks) {
			return statement.Token{Kind: statement.TokenComment}
		}
		return toks[k]
	}
	before, after := at(i-1), at(i+2)
	if before.Kind == statement.TokenWord {
		switch strings.ToUpper(before.Value) {
		case "NOT", "WHERE", "AND", "OR", "HAVING", "WHEN":
			if after.Kind == statement.TokenComment || after.Kind == statement.TokenWord || after.Value == ")" {
				return oidBool
			}
		case "LIMIT", "OFFSET":
			return oidInt8
		}
	}
	if isArithmetic(after) && at(i+4).Value != ">" {
		return numberType(at(i + 3))
	}
	if isArithmetic(before) {
		return numberType(at(i - 2))
	}
	return oidText
}

func isArithmetic(t statement.Token) bool {
	return t.Kind == statement.TokenSymbol && strings.Contains("+-*/%", t.Value)
}

// numberType returns the type of a parameter beside a number.
func numberType(t statement.Token) uint32 {
	switch {
	case t.Kind == statement.TokenNumber && strings.ContainsAny(t.Value, ".eE"):
		return oidFloat8
	case t.Kind == statement.TokenNumber:
		return oidInt4
	}
	return oidText
}
