package engine

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The engine compares no number with a time. Here a literal integer beside a column of times is a moment, in
// the unit of the column. Only the engine knows the types of all columns, of queries in FROM too, so it is asked
// first, and its error says which literals are meant.

// maxIntegers bounds the conditions of a statement in which integers are made times.
const maxIntegers = 64

// integerCondition is a comparison, BETWEEN or IN of a column and literal integers.
type integerCondition struct {
	at       int    // its position; -1 for NOT BETWEEN, which the engine gives none
	column   string // the last part of its name
	literals []int  // their positions
}

const (
	integerTypes = `(?:TINYINT|SMALLINT|INTEGER|BIGINT|INTEGER_LITERAL)`
	timeTypes    = `TIMESTAMP(?:_S|_MS|_NS)?`
)

// integerBeside matches what the engine says of integers and times in one condition.
var integerBeside = regexp.MustCompile(`^Cannot (?:compare|mix) values of type (` + timeTypes + `) and (?:type )?` + integerTypes + `\b|` +
	`^Cannot (?:compare|mix) values of type ` + integerTypes + ` and (?:type )?(` + timeTypes + `) |` +
	`^Unimplemented type for cast \(` + integerTypes + ` -> (` + timeTypes + `)\)`)

var timeOfInteger = map[string]string{
	"TIMESTAMP": "cordwood_time_us(", "TIMESTAMP_S": "cordwood_time_s(", "TIMESTAMP_MS": "cordwood_time_ms(", "TIMESTAMP_NS": "cordwood_time_ns(",
}

// integers notes a condition that may be of this kind. operands are the column, or what stands in its place, and
// what it is compared with.
func (w *walker) integers(n node, operands ...any) {
	at, ok := position(n)
	if !ok {
		at = -1
	}
	c := integerCondition{at: at}
	for _, v := range operands {
		operand, _ := v.(node)
		switch from, known := position(operand); {
		case text(operand, "class") == "COLUMN_REF":
			if path, _ := operand["column_names"].([]any); len(path) > 0 {
				c.column, _ = path[len(path)-1].(string)
			}
		case known && text(operand, "class") == "CONSTANT" && isWhole(operand):
			c.literals = append(c.literals, from)
		}
	}
	// Of a call of date_trunc, say, nobody would expect that it is in microseconds whatever its argument is.
	if c.column != "" && len(c.literals) > 0 {
		w.st.integers = append(w.st.integers, c)
	}
}

var wholeNumber = regexp.MustCompile(`^-?\s*[0-9][0-9_]*`)

// integersAsTimes returns the edits that make times of the integers that err is about; none if it is about
// something else.
func (r *run) integersAsTimes(err error) (edits []edit) {
	e := (*duckError)(nil)
	if len(r.st.integers) == 0 || !errors.As(err, &e) {
		return nil
	}
	m := integerBeside.FindStringSubmatch(e.Message)
	if m == nil {
		return nil
	}
	kind, at := m[1]+m[2]+m[3], -1
	if position, err := strconv.Atoi(e.Position); err == nil {
		at = positionBefore(r.text.edits, position-r.text.prefix)
	}
	for _, c := range r.st.integers {
		switch {
		case at >= 0 && c.at != at && !slices.Contains(c.literals, at):
			continue
		case at < 0 && (c.at >= 0 || !r.hasTime(c.column, kind) || slices.ContainsFunc(r.times, func(e edit) bool { return e.from == c.literals[0] })):
			continue
		}
		for _, from := range c.literals {
			if length := len(wholeNumber.FindString(r.st.sql[from:])); length > 0 {
				edits = append(edits, edit{from: from, to: from, text: timeOfInteger[kind]}, edit{from: from + length, to: from + length, text: ")"})
			}
		}
	}
	return edits
}

// hasTime tells whether a table of the statement has a column of that name and type.
func (r *run) hasTime(column, kind string) bool {
	for _, v := range r.views {
		for i, name := range v.names {
			if strings.EqualFold(name, column) && duckTypes[v.columns[i].Type].sql == kind {
				return true
			}
		}
	}
	return false
}
