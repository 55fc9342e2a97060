package rewrite

import (
	"strings"

	"cordwood/router/pgwire/value"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// AnyText is a statement with x = $n in place of x = ANY($n), so that the type of the elements can be determined.
type AnyText struct {
	Text string
	// Any has the numbers of the parameters that are arrays.
	Any map[int]bool
}

// AnyOfParameter returns the text with which a statement can be described.
func AnyOfParameter(text string, places []Place) AnyText {
	out := AnyText{Text: text, Any: map[int]bool{}}
	if len(places) == 0 {
		return out
	}
	toks := statement.Tokens(text)
	var b strings.Builder
	done, next := 0, 0 // next is the first place at or after the token
	for i := 0; i+4 < len(toks); i++ {
		t := toks[i]
		if t.Kind != statement.TokenWord || !strings.EqualFold(t.Value, "ANY") && !strings.EqualFold(t.Value, "ALL") ||
			toks[i+1].Value != "(" || toks[i+2].Value != "$" || toks[i+4].Value != ")" {
			continue
		}
		for next < len(places) && places[next].From < toks[i+2].From {
			next++
		}
		if next < len(places) && places[next].From == toks[i+2].From {
			out.Any[places[next].Number] = true
			b.WriteString(text[done:t.From])
			done = t.To
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

// Guess returns the OIDs of the types of parameters 1 to n if the engine does not report the types. Like PostgreSQL, it
// uses the tokens next to a parameter. The default is text.
func Guess(text string, places []Place, n int) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = oidText
	}
	toks := statement.Tokens(text)
	next := 0
	for i, t := range toks {
		if next < len(places) && t.From == places[next].From {
			if at := places[next].Number - 1; at < n && out[at] == oidText {
				out[at] = beside(toks, i)
			}
			next++
		}
	}
	return out
}

// beside returns the type that follows from the tokens next to the parameter whose $ is token i.
func beside(toks []statement.Token, i int) uint32 {
	at := func(k int) statement.Token {
		if k < 0 || k >= len(toks) {
			return statement.Token{Kind: statement.TokenComment}
		}
		return toks[k]
	}
	before, after := at(i-1), at(i+2)
	if oid := castBehind(toks, i+2); oid != 0 && value.ByOID(oid) != nil {
		return oid
	}
	if before.Kind == statement.TokenWord {
		switch strings.ToUpper(before.Value) {
		case "NOT", "WHERE", "AND", "OR", "HAVING", "WHEN":
			if after.Kind == statement.TokenComment || after.Kind == statement.TokenWord || after.Value == ")" {
				return oidBool
			}
		case "LIMIT", "OFFSET":
			return oidInt8
		case "FIRST", "NEXT":
			if strings.EqualFold(at(i-2).Value, "FETCH") {
				return oidInt8
			}
		}
	}
	if isArithmetic(after) && at(i+4).Value != ">" {
		return numberType(at(i + 3))
	}
	if isArithmetic(before) {
		return numberType(at(i - 2))
	}
	if oid := argumentOID(toks, i); oid != 0 {
		return oid
	}
	return oidText
}

func isArithmetic(t statement.Token) bool {
	return t.Kind == statement.TokenSymbol && strings.Contains("+-*/%", t.Value)
}

// numberType returns the type of a parameter next to a number.
func numberType(t statement.Token) uint32 {
	switch {
	case t.Kind == statement.TokenNumber && strings.ContainsAny(t.Value, ".eE"):
		return oidNumeric
	case t.Kind == statement.TokenNumber:
		return oidInt4
	}
	return oidText
}

// Documents returns the OIDs of json, jsonb and oid for the parameters 1 to n that are cast to these types or to arrays
// of them, text[] for paths of documents, and 0 for the others. The engine treats these types as texts and numbers.
func Documents(text string, places []Place, n int) []uint32 {
	out := make([]uint32, n)
	toks := statement.Tokens(text)
	next := 0
	for i := 0; i < len(toks) && next < len(places); i++ {
		if toks[i].From != places[next].From {
			continue
		}
		at := places[next].Number - 1
		next++
		switch oid := castBehind(toks, i+2); {
		case at >= n:
		case i > 2 && toks[i-1].Value == ">" && (toks[i-2].Value == "#" || toks[i-2].Value == ">" && toks[i-3].Value == "#"):
			out[at] = value.Text.Array // a path
		case oid == value.JSON.OID, oid == value.JSONB.OID, oid == value.OID.OID, oid == value.OID.Array:
			out[at] = oid
		}
	}
	return out
}

// castBehind returns the OID of the type of the cast whose :: or AS is token i. It returns 0 if there is no cast, or if
// the type has no OID here.
func castBehind(toks []statement.Token, i int) uint32 {
	if i+1 >= len(toks) || toks[i].Value != "::" && !strings.EqualFold(toks[i].Value, "AS") {
		return 0
	}
	i++
	if i+2 < len(toks) && strings.EqualFold(toks[i].Value, pgcatalog.Database) {
		i += 2
	}
	name := strings.ToLower(toks[i].Value)
	t := value.ByOID(uint32(pgcatalog.TypeByName(name)))
	switch {
	case t == nil, strings.HasPrefix(name, "reg"): // the value of those is a name
		return 0
	case i+1 < len(toks) && toks[i+1].Value == "[":
		return t.Array
	}
	return t.OID
}
