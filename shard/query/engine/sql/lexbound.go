package sql

import (
	"strings"

	"cordwood/proto/errs"
)

// Limits on the text of a statement. They are checked before DuckDB's parser runs, because it
// cannot be interrupted, and its time grows with a power of these lengths.
const (
	maxOperatorRun = 64    // characters of an operator without a blank
	maxGroupBy     = 1_000 // commas in a GROUP BY
	maxWords       = 8_000 // words AND, OR and WHEN, each of which is part of at least one expression
	maxCommas      = 50_000
)

const operatorBytes = "+-*/<>=~!@#%^&|?`"

// boundText checks the limits of a normalized statement.
func boundText(sql string) error {
	b := textBounds{group: -1}
	for i := 0; i < len(sql); {
		if end := skipQuoted(sql, i); end > i {
			if strings.HasPrefix(sql[i:], "/*") && isOpen(sql[i:], end-i) {
				return errs.New(errs.InvalidSyntax, "syntax error: the comment that begins with /* does not end (position %d)", i)
			}
			i, b.run = end, 0
			continue
		}
		end, err := i+1, error(nil)
		if IsNameByte(sql[i]) {
			end, err = b.word(sql, i)
		} else {
			err = b.sign(sql[i], i)
		}
		if err != nil {
			return err
		}
		i = end
	}
	return nil
}

// textBounds counts what boundText limits.
type textBounds struct {
	// run is the length of the current operator. depth is how many parentheses are open.
	run, depth    int
	words, commas int
	// group is the depth of the current GROUP BY, or -1. groupCommas counts its commas.
	group, groupCommas int
}

// word counts the word that begins at i, and returns where it ends.
func (b *textBounds) word(sql string, i int) (end int, err error) {
	w, end := Word(sql, i)
	switch w {
	case "and", "or", "when":
		if b.words++; b.words > maxWords {
			return 0, errs.New(errs.Unsupported,
				"a statement with more than %d of the words AND, OR and WHEN (position %d); to compare with many values, use IN "+
					"(…)",
				maxWords, i)
		}
	case "by":
		if _, before := wordBefore(sql, i); before == "group" {
			b.group, b.groupCommas = b.depth, 0
		}
	case "order", "select", "values":
		if b.depth == b.group {
			b.group = -1
		}
	}
	b.run = 0
	return max(end, i+1), nil
}

// sign counts a character that is not part of a word.
func (b *textBounds) sign(c byte, i int) error {
	if strings.IndexByte(operatorBytes, c) >= 0 {
		if b.run++; b.run > maxOperatorRun {
			return errs.New(errs.InvalidSyntax, "syntax error: an operator of more than %d characters (position %d)",
				maxOperatorRun, i-maxOperatorRun)
		}
		return nil
	}
	b.run = 0
	switch c {
	case ',':
		if b.commas++; b.commas > maxCommas {
			return errs.New(errs.Unsupported, "a statement with more than %d commas (position %d)", maxCommas, i)
		}
		if b.group < 0 {
			return nil
		}
		if b.groupCommas++; b.groupCommas > maxGroupBy {
			return errs.New(errs.Unsupported, "a GROUP BY with more than %d commas (position %d)", maxGroupBy, i)
		}
	case '(', '[', '{':
		b.depth++
	case ')', ']', '}':
		if b.depth--; b.depth < b.group {
			b.group = -1
		}
	}
	return nil
}
