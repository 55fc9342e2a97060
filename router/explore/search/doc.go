// Package search is the language in which people search for rows: words, "phrases", prefix*, ~regexes, field:value,
// levels, ranges, -not and OR. A search becomes an SQL condition, which is always shown.
//
//	query  = and { "OR" and }
//	and    = unary { [ "AND" ] unary }
//	unary  = [ "NOT" | "-" ] term
//	term   = "(" query ")" | text | "~" text | field op value | field op "(" value { "OR" value } ")"
//	text   = word | "phrase"                 \" and \\ in a phrase
//	field  = name | "quoted name" | "*"
//	op     = ":" | "="
//	value  = text | pre* | "~" text | ">" n | ">=" n | "<" n | "<=" n | a ".." b | "*"
//
// A word ends at white space or a parenthesis. OR, AND and NOT are operators in upper case only. NOT binds more
// tightly than AND, and AND more tightly than OR. A term is negated once; NOT (NOT a) is a double negation. An empty
// text finds every row.
//
// Parse reads a text, with no table in mind. Query.Condition then resolves its fields in the columns of a
// table. Values of the text reach SQL as literals only. A negated condition holds for every row that the
// condition itself does not find, so also for rows without a value.
//
// cases.json has texts with their results. The page's own parser, for highlighting and completion, is tested with
// the same file.
//
// All functions are pure and may be called concurrently.
package search
