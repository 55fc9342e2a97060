// Package rewrite turns the SQL of PostgreSQL's clients into SQL of the engine, token by token. It does not parse: text
// that no rule covers stays, and the engine reports errors in it.
//
// All functions are pure and safe for concurrent use.
package rewrite

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/router/query/statement"
)

// MaxParameter is the largest number of a parameter.
const MaxParameter = 65_535

// Place is the position of a parameter in a statement.
type Place struct {
	From, To int
	// Number is the number of the parameter, from 1.
	Number int
}

// BadParameterError is a parameter with an invalid number.
type BadParameterError string

func (e BadParameterError) Error() string { return "there is no parameter " + string(e) }

// Places returns the positions of the parameters $1, $2 … in a statement, and the largest number.
func Places(text string) (list []Place, most int, err error) {
	toks := statement.Tokens(text)
	for i := 0; i+1 < len(toks); i++ {
		dollar, digits := toks[i], toks[i+1]
		if dollar.Kind != statement.TokenSymbol || dollar.Value != "$" || digits.Kind != statement.TokenNumber ||
			digits.From != dollar.To {
			continue
		}
		n, err := strconv.Atoi(digits.Value)
		if err != nil || n < 1 || n > MaxParameter {
			return nil, 0, BadParameterError("$" + digits.Value)
		}
		list, most = append(list, Place{dollar.From, digits.To, n}), max(most, n)
		i++
	}
	return list, most, nil
}

// Substitute replaces parameters by values: values[n-1] is the value of $n. It returns false, before it allocates
// memory, if the result would have more than most bytes: a parameter may occur any number of times.
func Substitute(text string, places []Place, values []string, most int) (string, bool) {
	size := len(text)
	for _, p := range places {
		size += len(values[p.Number-1]) - (p.To - p.From)
	}
	if size > most {
		return "", false
	}
	var b strings.Builder
	b.Grow(size)
	done := 0
	for _, p := range places {
		b.WriteString(text[done:p.From])
		b.WriteString(values[p.Number-1])
		done = p.To
	}
	b.WriteString(text[done:])
	return b.String(), true
}

// Piece is one statement of a text.
type Piece struct {
	// At is the offset of the statement in the text.
	At   int
	Text string
}

// MaxStatements is the maximum number of statements in one text.
const MaxStatements = 100

// Split splits a text into its statements at semicolons. Empty statements are left out.
func Split(text string) ([]Piece, error) {
	var out []Piece
	at := 0
	for {
		head, tail, more := statement.Cut(text[at:])
		end := len(text)
		if more {
			end = len(text) - len(tail)
		}
		if !more {
			head = text[at:]
		}
		if !statement.IsBlank(head) {
			if len(out) == MaxStatements {
				return nil, fmt.Errorf("a text has at most %d statements", MaxStatements)
			}
			skip := len(head) - len(strings.TrimLeft(head, " \t\r\n"))
			out = append(out, Piece{at + skip, head[skip:]})
		}
		if !more {
			return out, nil
		}
		at = end
	}
}
