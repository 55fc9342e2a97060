package roles

import (
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/schema"
)

// Scheme is how a column expresses the level.
type Scheme string

// The schemes.
const (
	// Text: words such as error or WARN.
	Text Scheme = "text"
	// OTel: the numbers 1 to 24 of OpenTelemetry, four for each level.
	OTel Scheme = "otel"
	// Tens: 10 to 60 by tens, like bunyan and pino.
	Tens Scheme = "tens"
	// Syslog: 0 to 7; lower numbers are worse.
	Syslog Scheme = "syslog"
	// Status: HTTP status codes; 5xx is an error, 4xx a warning.
	Status Scheme = "status"
)

// Names are the levels, with the worst first. All other values have the level Other.
var Names = []string{"fatal", "error", "warn", "info", "debug", "trace"}

// Other is the level of values that are not in Names.
const Other = "other"

// words has the spellings of each level, in lower case.
var words = map[string][]string{
	"fatal": {"fatal", "crit", "critical", "emerg", "emergency", "alert", "panic"},
	"error": {"error", "err", "severe"},
	"warn":  {"warn", "warning"},
	"info":  {"info", "notice", "information", "informational"},
	"debug": {"debug"},
	"trace": {"trace", "verbose"},
}

// A span is a range of numbers, both ends included.
type span struct{ lo, hi int }

var numbers = map[Scheme]map[string]span{
	OTel: {
		"trace": {1, 4}, "debug": {5, 8}, "info": {9, 12}, "warn": {13, 16}, "error": {17, 20}, "fatal": {21, 24},
	},
	Tens: {
		"trace": {10, 19}, "debug": {20, 29}, "info": {30, 39}, "warn": {40, 49}, "error": {50, 59}, "fatal": {60, 69},
	},
	Syslog: {"fatal": {0, 2}, "error": {3, 3}, "warn": {4, 4}, "info": {5, 6}, "debug": {7, 7}},
	Status: {"error": {500, 599}, "warn": {400, 499}},
}

// Levels describes how a table expresses the level of its rows.
type Levels struct {
	Column *schema.Column
	Scheme Scheme
	// Number is a column of OpenTelemetry numbers, which are used where Column, which has words, is null or empty. It
	// is nil if there is none.
	Number *schema.Column
}

// levelsOf returns how the columns, by their names in lower case, express the level. chosen is the column that a user
// chose; nil: none.
func levelsOf(byName map[string]*schema.Column, chosen *schema.Column) *Levels {
	if chosen != nil {
		if l := levelsIn(chosen, strings.ToLower(chosen.Name), byName); l != nil {
			return l
		}
	}
	for _, name := range levelNames {
		if l := levelsIn(byName[name], name, byName); l != nil {
			return l
		}
	}
	for _, name := range levelNames {
		if l := levelsIn(capture(byName, name), name, byName); l != nil {
			return l
		}
	}
	if col := first(byName, statusNames, func(c *schema.Column) bool { return c.Type.IsInteger() }); col != nil {
		return &Levels{Column: col, Scheme: Status}
	}
	return nil
}

// levelsIn returns how a column expresses the level; nil: its type does not fit. name is its usual name, in lower case.
func levelsIn(col *schema.Column, name string, byName map[string]*schema.Column) *Levels {
	if col == nil {
		return nil
	}
	if col.Type.IsInteger() {
		return &Levels{Column: col, Scheme: schemeOf(name)}
	}
	if !isText(col) {
		return nil
	}
	l := &Levels{Column: col, Scheme: Text}
	if number := byName["severity_number"]; name == "severity_text" && number != nil && number.Type.IsInteger() {
		l.Number = number
	}
	return l
}

// schemeOf returns the scheme of a column of numbers with this name.
func schemeOf(name string) Scheme {
	switch name {
	case "severity_number":
		return OTel
	case "status", "http.status_code":
		return Status
	case "level":
		return Tens
	}
	return Syslog
}

// Parse returns the level for a word, ignoring case.
func Parse(word string) (level string, ok bool) {
	word = strings.ToLower(word)
	if word == Other {
		return Other, true
	}
	for _, name := range Names {
		if slices.Contains(words[name], word) {
			return name, true
		}
	}
	return "", false
}

// OfNumber returns the level of a number in a scheme, or empty if it has none.
func OfNumber(scheme Scheme, n int) string {
	for _, name := range Names {
		if s, ok := numbers[scheme][name]; ok && n >= s.lo && n <= s.hi {
			return name
		}
	}
	return ""
}

// Words returns the words of all levels, in lower case, the words of the worst level first.
func Words() []string {
	var out []string
	for _, name := range Names {
		out = append(out, words[name]...)
	}
	return out
}

// Condition returns an SQL condition that is true for the rows whose level is one of levels, and false or null
// for all other rows. ident quotes the name of a column for SQL.
func (l *Levels) Condition(levels []string, ident func(string) string) string {
	if l.Scheme != Text {
		return orAll(spans(l.Scheme, ident(l.Column.Name), levels))
	}
	text := ident(l.Column.Name)
	conditions := wordsIn(text, levels)
	if l.Number == nil {
		return orAll(conditions)
	}
	number := spans(OTel, ident(l.Number.Name), levels)
	if len(number) == 0 {
		return orAll(conditions)
	}
	unsaid := "(" + text + " IS NULL OR " + text + " = '')"
	return orAll(append(conditions, "("+unsaid+" AND "+orAll(number)+")"))
}

// Expression returns the SQL expression for the level of a row: one of Names or Other, or null if the row has no
// level.
func (l *Levels) Expression(ident func(string) string) string {
	var b strings.Builder
	b.WriteString("CASE")
	for _, name := range Names {
		if l.Scheme != Text && numbers[l.Scheme][name] == (span{}) {
			continue
		}
		b.WriteString(" WHEN " + l.Condition([]string{name}, ident) + " THEN '" + name + "'")
	}
	b.WriteString(" WHEN " + l.given(ident) + " THEN '" + Other + "' END")
	return b.String()
}

// given returns an SQL condition for the rows that have a level.
func (l *Levels) given(ident func(string) string) string {
	said := ident(l.Column.Name) + " IS NOT NULL"
	if l.Number != nil {
		said = "(" + said + " OR " + ident(l.Number.Name) + " IS NOT NULL)"
	}
	return said
}

func wordsIn(text string, levels []string) []string {
	var list, known []string
	other := false
	for _, name := range levels {
		if name == Other {
			other = true
		}
		list = append(list, words[name]...)
	}
	var out []string
	if len(list) > 0 {
		out = append(out, "lower("+text+") IN "+literals(list))
	}
	if other {
		for _, name := range Names {
			known = append(known, words[name]...)
		}
		out = append(out, "lower("+text+") NOT IN "+literals(known))
	}
	return out
}

// spans returns conditions for the levels on a column of numbers. Numbers outside all spans of the scheme have the
// level Other.
func spans(scheme Scheme, number string, levels []string) []string {
	of := numbers[scheme]
	var out []string
	for _, name := range levels {
		if s, ok := of[name]; ok {
			out = append(out, within(number, s))
		}
		if name != Other {
			continue
		}
		var none []string
		for _, known := range Names {
			if s, ok := of[known]; ok {
				none = append(none, "NOT "+within(number, s))
			}
		}
		out = append(out, "("+strings.Join(none, " AND ")+")")
	}
	return out
}

func within(number string, s span) string {
	if s.lo == s.hi {
		return number + " = " + strconv.Itoa(s.lo)
	}
	return number + " BETWEEN " + strconv.Itoa(s.lo) + " AND " + strconv.Itoa(s.hi)
}

func literals(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = schema.QuoteLiteral(s)
	}
	return "(" + strings.Join(quoted, ",") + ")"
}

func orAll(conditions []string) string {
	switch len(conditions) {
	case 0:
		return "FALSE"
	case 1:
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}
