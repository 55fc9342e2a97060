package engine

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// maxIntegers limits the conditions of a statement in which integers are converted to times.
const maxIntegers = 64

const (
	integerTypes = `(?:TINYINT|SMALLINT|INTEGER|BIGINT|INTEGER_LITERAL)`
	timeTypes    = `TIMESTAMP(?:_S|_MS|_NS)?`
)

// integerBeside matches DuckDB's error about integers and times in one condition.
var integerBeside = lazyregexp.New(`^Cannot (?:compare|mix) values of type (` + timeTypes + `) and (?:type )?` +
	integerTypes + `\b|` +
	`^Cannot (?:compare|mix) values of type ` + integerTypes + ` and (?:type )?(` + timeTypes + `) |` +
	`^Unimplemented type for cast \(` + integerTypes + ` -> (` + timeTypes + `)\)`)

var timeOfInteger = map[string]string{
	"TIMESTAMP": "cordwood_time_us(", "TIMESTAMP_S": "cordwood_time_s(", "TIMESTAMP_MS": "cordwood_time_ms(",
	"TIMESTAMP_NS": "cordwood_time_ns(",
}

var wholeNumber = lazyregexp.New(`^-?\s*[0-9][0-9_]*`)

// integersAsTimes returns the edits that convert the integers named in err to times. It returns
// none if err is about something else.
func (r *run) integersAsTimes(err error) (edits []sql.Edit) {
	e := (*sql.EngineError)(nil)
	if len(r.st.Integers) == 0 || !errors.As(err, &e) {
		return nil
	}
	m := integerBeside.FindStringSubmatch(e.Message)
	if m == nil {
		return nil
	}
	kind, at := m[1]+m[2]+m[3], -1
	if position, err := strconv.Atoi(e.Position); err == nil {
		at = sql.PositionBefore(r.text.Edits, position-r.text.Prefix)
	}
	for _, c := range r.st.Integers {
		switch {
		case at >= 0 && c.At != at && !slices.Contains(c.Literals, at):
			continue
		case at < 0 && (c.At >= 0 || !r.hasTime(c.Column, kind) ||
			slices.ContainsFunc(r.times, func(e sql.Edit) bool { return e.From == c.Literals[0] })):
			continue
		}
		for _, from := range c.Literals {
			if length := len(wholeNumber.FindString(r.st.SQL[from:])); length > 0 {
				edits = append(edits, sql.Edit{From: from, To: from, Text: timeOfInteger[kind]}, sql.Edit{
					From: from + length,
					To:   from + length, Text: ")",
				})
			}
		}
	}
	return edits
}

// integersBesideTimes returns edits without effect at the integers that are compared with the tables' time columns.
// If a statement is only described, it does not fail at these integers, and they are not converted. With the edits, the
// columns have the same names as when the statement runs.
func (r *run) integersBesideTimes() (edits []sql.Edit) {
	for _, c := range r.st.Integers {
		for kind := range timeOfInteger {
			if r.hasTime(c.Column, kind) {
				for _, at := range c.Literals {
					edits = append(edits, sql.Edit{From: at, To: at})
				}
				break
			}
		}
	}
	return edits
}

// hasTime reports whether a table of the statement has a column with this name and type.
func (r *run) hasTime(column, kind string) bool {
	for _, v := range r.Views {
		for i, name := range v.Names {
			if strings.EqualFold(name, column) && plan.EngineTypes[v.Columns[i].Type].SQL == kind {
				return true
			}
		}
	}
	return false
}
