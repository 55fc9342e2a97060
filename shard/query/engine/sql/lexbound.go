package sql

import (
	"strings"

	"cordwood/proto/errs"
)

// Bounds on the text of a statement, which hold before the engine's parser sees it: the parser cannot be
// interrupted, and takes a power of the length of these.
const (
	maxOperatorRun = 64    // characters of an operator without a blank
	maxGroupBy     = 1_000 // commas in a GROUP BY
	maxWords       = 8_000 // of AND, OR and WHEN, each of which is at least one expression
	maxCommas      = 50_000
)

const operatorBytes = "+-*/<>=~!@#%^&|?`"

// boundText checks the bounds of a normalized statement.
func boundText(sql string) error {
	run, depth := 0, 0
	words, all := 0, 0
	group, commas := -1, 0 // the depth of parentheses of the GROUP BY at hand, and its commas
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			if strings.HasPrefix(sql[i:], "/*") && isOpen(sql[i:], end-i) {
				return errs.New(errs.InvalidSyntax, "syntax error: the comment that begins with /* does not end (position %d)", i)
			}
			i, run = end, 0
			continue
		}
		c := sql[i]
		if IsNameByte(c) {
			w, end := Word(sql, i)
			switch w {
			case "and", "or", "when":
				if words++; words > maxWords {
					return errs.New(errs.Unsupported, "a statement with more than %d of the words AND, OR and WHEN (position %d); compare with many values by IN (…)", maxWords, i)
				}
			case "by":
				if _, before := wordBefore(sql, i); before == "group" {
					group, commas = depth, 0
				}
			case "order", "select", "values":
				if depth == group {
					group = -1
				}
			}
			i, run = max(end, i+1), 0
			continue
		}
		if c == ',' {
			if all++; all > maxCommas {
				return errs.New(errs.Unsupported, "a statement with more than %d commas (position %d)", maxCommas, i)
			}
		}
		switch {
		case strings.IndexByte(operatorBytes, c) >= 0:
			if run++; run > maxOperatorRun {
				return errs.New(errs.InvalidSyntax, "syntax error: an operator of more than %d characters (position %d)", maxOperatorRun, i-maxOperatorRun)
			}
			i++
			continue
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			if depth--; depth < group {
				group = -1
			}
		case c == ',' && group >= 0:
			if commas++; commas > maxGroupBy {
				return errs.New(errs.Unsupported, "a GROUP BY with more than %d commas (position %d)", maxGroupBy, i)
			}
		}
		i, run = i+1, 0
	}
	return nil
}
