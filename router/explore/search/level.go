package search

import (
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
)

// levelCondition compiles the values of a condition on the level that are names of levels; yes is empty if there are
// none. others are the values that are compared with the text or number of the column, such as a level of its own.
func levelCondition(t target, f field) (yes string, others []value, err error) {
	var names []string
	for _, v := range f.values {
		list, ok := levelsOf(v)
		switch {
		case ok:
			names = append(names, list...)
		case t.compares(v):
			others = append(others, v)
		default:
			return "", nil, noLevel(v)
		}
	}
	switch {
	case len(names) > 0:
		return t.levels.Condition(names, Ident), others, nil
	case len(others) == 0:
		return "", nil, wrong(f.span, "no level is in this range; the levels are, from the worst, %s",
			strings.Join(roles.Names, ", "))
	}
	return "", others, nil
}

// compares reports whether a value that names no level can be compared with the level of a row. A text may be a level
// that only this table has, but then nobody knows which levels are worse.
func (t target) compares(v value) bool {
	switch v.form {
	case compare:
		return isNumber(v.lower)
	case between:
		return isNumber(v.lower) && isNumber(v.upper)
	case plain, quoted:
		return t.typ == schema.String || isNumber(v.text)
	}
	return true
}

// levelsOf returns the levels that match a value.
func levelsOf(v value) ([]string, bool) {
	switch v.form {
	case plain, quoted:
		level, ok := roles.Parse(v.text)
		return []string{level}, ok
	case compare:
		at, ok := rank(v.lower)
		if !ok {
			return nil, false
		}
		switch v.op { // the worst level is first
		case ">":
			return roles.Names[:at], true
		case ">=":
			return roles.Names[:at+1], true
		case "<":
			return roles.Names[at+1:], true
		}
		return roles.Names[at:], true
	case between:
		a, ok := rank(v.lower)
		b, also := rank(v.upper)
		if !ok || !also {
			return nil, false
		}
		return roles.Names[min(a, b) : max(a, b)+1], true
	}
	return nil, false
}

// rank returns the place of a level, from the worst. The level other has none.
func rank(word string) (int, bool) {
	level, ok := roles.Parse(word)
	at := slices.Index(roles.Names, level)
	return at, ok && at >= 0
}

// noLevel returns the error for a value that compares with a level that does not exist.
func noLevel(v value) error {
	word, before, after := v.text, "", ""
	switch v.form {
	case compare:
		word, before = v.lower, v.op
	case between:
		word, after = v.lower, ".."+v.upper
		if _, ok := rank(v.lower); ok {
			word, before, after = v.upper, v.lower+"..", ""
		}
	}
	msg := "there is no level " + excerpt(word)
	if strings.EqualFold(word, roles.Other) {
		msg = "the level other is neither better nor worse than another"
	}
	// The whole value is named, since a client replaces all of it.
	var near []string
	for _, name := range nearest.Names(word, roles.Words(), 1) {
		near = append(near, before+name+excerpt(after))
		msg += "; did you mean " + near[0] + "?"
	}
	return report(errs.InvalidSyntax, v.span, near, msg+" (levels, from the worst: "+strings.Join(roles.Names, ", ")+")")
}

// nullness returns an SQL expression that is null if a condition on t is null.
func nullness(t target, yes string) string {
	if t.levels.Number == nil {
		return t.expr
	}
	return "(" + yes + ")"
}
