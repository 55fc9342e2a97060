package rewrite

import (
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// spokenDays are PostgreSQL's words for days, as dates and as timestamps of the engine.
var spokenDays = map[string]struct{ date, moment string }{
	"now":       {"CAST(now() AS DATE)", "now()"},
	"today":     {"CAST(now() AS DATE)", "date_trunc('day', now())"},
	"yesterday": {"(CAST(now() AS DATE) - 1)", "(date_trunc('day', now()) - INTERVAL '1 day')"},
	"tomorrow":  {"(CAST(now() AS DATE) + 1)", "(date_trunc('day', now()) + INTERVAL '1 day')"},
}

// halfOfDay matches a time of day with AM or PM.
var halfOfDay = lazyregexp.New(`(?i)[0-9] ?[ap]m *$`)

// spoken returns the expression for a word such as 'today' that is cast to a type.
func (t castType) spoken(text string) (string, bool) {
	day, known := spokenDays[strings.ToLower(strings.TrimSpace(text))]
	switch {
	case !known || t.array:
		return "", false
	case t.name == "date":
		return day.date, true
	case t.isMoment():
		return day.moment, true
	}
	return "", false
}

// timeLiteral writes a text that is cast to a time, a date, an interval or a boolean. It reports false and writes
// nothing if the type is another one, or if the engine reads the text as PostgreSQL does.
func (r *rewriter) timeLiteral(text tok, t castType) bool {
	if t.array {
		return false
	}
	if expression, ok := t.spoken(text.val); ok {
		r.raw(text, expression)
		return true
	}
	var typ *value.Type
	switch t.name {
	case "date":
		typ = value.Date
	case "time":
		if strings.EqualFold(strings.TrimSpace(text.val), "allballs") {
			r.raw(text, "TIME '00:00:00'")
			return true
		}
		if !halfOfDay.MatchString(text.val) {
			return false
		}
		typ = value.Time
	case "timetz":
		typ = value.TimeTZ
	case "bool", "boolean":
		typ = value.Bool
	case "interval":
		if plainInterval(text.val) {
			return false
		}
		typ = value.Interval
	default:
		return false
	}
	literal, err := value.Literal(typ, value.FormatText, []byte(text.val))
	if t.name == "interval" && err == nil {
		literal, err = value.IntervalText(text.val)
		literal = "INTERVAL " + quote(literal)
	}
	return r.checked(text, literal, err)
}

// plainInterval reports whether an interval has only whole numbers with units, which the engine reads as PostgreSQL
// does. It is then left as it is, because the engine counts buckets of time only by such literals.
func plainInterval(text string) bool {
	words := strings.Fields(text)
	if len(words) == 0 || len(words)%2 != 0 {
		return false
	}
	for i := 0; i < len(words); i += 2 {
		digits := strings.TrimLeft(words[i], "+-")
		if strings.Trim(digits, "0123456789") != "" || digits == "" || !engineUnits[strings.ToLower(words[i+1])] {
			return false
		}
	}
	return true
}

// engineUnits are the units of intervals that the engine and PostgreSQL call the same.
var engineUnits = func() map[string]bool {
	m := map[string]bool{}
	for unit := range strings.FieldsSeq("year month mon day week hour minute min second sec millisecond microsecond") {
		m[unit], m[unit+"s"] = true, true
	}
	return m
}()

// typedTime rewrites DATE '…', TIME '…', INTERVAL '…' and BOOLEAN '…'.
func (r *rewriter) typedTime() bool {
	t, ok := r.readType(0)
	if !ok || r.at(t.size).kind != statement.TokenText || isMarker(r.at(t.size).val) {
		return false
	}
	first, text := r.at(0), r.at(t.size)
	if next := r.at(t.size + 1); t.name == "interval" && next.kind == statement.TokenWord &&
		engineUnits[strings.ToLower(next.val)] {
		return false // INTERVAL '1' DAY
	}
	text.pre = first.pre
	if !r.timeLiteral(text, t) {
		return false
	}
	r.i += t.size + 1
	return true
}

// dateTrunc rewrites date_trunc in a time zone. The engine's centuries begin a year before PostgreSQL's.
func dateTrunc(_ *rewriter, args []string) (string, bool) {
	unit := ""
	if len(args) > 1 {
		unit, _ = literalOf(args[0])
		unit = strings.ToLower(unit)
	}
	late := (unit == "century" || unit == "millennium") && !isInterval(args[1])
	truncated := func(x string) string {
		if late {
			return "(date_trunc(" + args[0] + ", " + x + " - INTERVAL '1 year') + INTERVAL '1 year')"
		}
		return "date_trunc(" + args[0] + ", " + x + ")"
	}
	switch {
	case len(args) == 2 && late:
		return truncated("(" + args[1] + ")"), true
	case len(args) != 3:
		return "", false
	}
	local := "timezone(" + args[2] + ", timezone('UTC', CAST(" + args[1] + " AS TIMESTAMP)))"
	return "timezone('UTC', timezone(" + args[2] + ", " + truncated(local) + "))", true
}

// isInterval reports whether an expression is certainly an interval.
func isInterval(text string) bool {
	text = strings.ToUpper(strings.TrimSpace(text))
	return strings.HasPrefix(text, "INTERVAL") || strings.HasPrefix(text, "(INTERVAL") ||
		strings.HasSuffix(text, "::INTERVAL") || strings.HasPrefix(text, "MAKE_INTERVAL")
}

// extract rewrites extract(second FROM x) and extract(milliseconds FROM x): in the engine, they have no fraction.
func extract(_ *rewriter, args []string) (string, bool) {
	if len(args) != 1 {
		return "", false
	}
	toks := statement.Tokens(args[0])
	if len(toks) < 3 || !strings.EqualFold(toks[1].Value, "FROM") {
		return "", false
	}
	micros := "extract(microseconds FROM " + args[0][toks[2].From:] + ")"
	switch strings.ToLower(toks[0].Value) {
	case "second", "seconds":
		return "(" + micros + " * 0.000001)", true
	case "millisecond", "milliseconds":
		return "(" + micros + " * 0.001)", true
	}
	return "", false
}

// datePart rewrites date_part, whose result is a float in PostgreSQL.
func datePart(_ *rewriter, args []string) (string, bool) {
	if len(args) != 2 {
		return "", false
	}
	part, ok := literalOf(args[0])
	micros := "(date_part('microseconds', " + args[1] + ")"
	switch strings.ToLower(part) {
	case "second", "seconds":
		return micros + " / 1e6)", ok
	case "millisecond", "milliseconds":
		return micros + " / 1e3)", ok
	}
	return "CAST(date_part(" + args[0] + ", " + args[1] + ") AS DOUBLE)", true
}

// overlaps rewrites (a, b) OVERLAPS (c, d), whose first operand is at the end of the output.
func (r *rewriter) overlaps() bool {
	end := r.closingBracket(1)
	n := len(r.out)
	if !r.at(1).sym("(") || end < 0 || n == 0 || !r.last().sym(")") || r.last().match == 0 {
		return false
	}
	from := n - 1 + r.last().match
	first := periodOf(r.out[from+1 : n-1])
	second := r.arguments(2, end)
	if len(first) != 2 || len(second) != 2 {
		return false
	}
	head := r.out[from]
	r.out = r.out[:from]
	start1, end1 := bounds(first)
	start2, end2 := bounds(second)
	r.raw(head, "(CASE WHEN "+start1+" = "+start2+" THEN TRUE WHEN "+start1+" > "+start2+" THEN "+start1+" < "+end2+
		" ELSE "+start2+" < "+end1+" END)")
	r.i += end + 1
	return true
}

// periodOf returns the expressions of a row that is in the output.
func periodOf(toks []tok) (list []string) {
	depth, from := 0, 0
	for i := 0; i <= len(toks); i++ {
		switch {
		case i < len(toks) && toks[i].opens():
			depth++
		case i < len(toks) && toks[i].closes():
			depth--
		case i == len(toks) || depth == 0 && toks[i].sym(","):
			if i > from {
				list = append(list, joined(toks[from:i]))
			}
			from = i + 1
		}
	}
	return list
}

// bounds returns the beginning and the end of a period. The second expression may be its length.
func bounds(period []string) (start, end string) {
	a, b := "("+period[0]+")", "("+period[1]+")"
	if isInterval(period[1]) {
		b = "(" + a + " + " + b + ")"
	}
	return "least(" + a + ", " + b + ")", "greatest(" + a + ", " + b + ")"
}

// seriesOfTimes rewrites generate_series(from, to, 'step') with a text for the step, which is an interval in
// PostgreSQL. Texts for the ends are then times.
func seriesOfTimes(args []string) []string {
	if len(args) != 3 {
		return args
	}
	step, ok := textOf(args[2])
	if ok {
		if step, ok = intervalOf(step); !ok {
			return args
		}
	} else if step = args[2]; !isInterval(step) {
		return args
	}
	return []string{momentOf(args[0]), momentOf(args[1]), step}
}

// dateBin rewrites date_bin. Texts for the width and the times are an interval and times in PostgreSQL.
func dateBin(_ *rewriter, args []string) (string, bool) {
	if len(args) != 3 {
		return "", false
	}
	width := "(" + args[0] + ")"
	if text, ok := textOf(args[0]); ok {
		if literal, ok := intervalOf(text); ok {
			width = literal
		}
	}
	return "time_bucket(" + width + ", (" + momentOf(args[1]) + "), (" + momentOf(args[2]) + "))", true
}

// intervalOf returns the literal of an interval.
func intervalOf(text string) (literal string, ok bool) {
	if plainInterval(text) {
		return "INTERVAL " + quote(text), true
	}
	text, err := value.IntervalText(text)
	return "INTERVAL " + quote(text), err == nil
}

// textOf returns the text of an argument that is a text without a type.
func textOf(arg string) (string, bool) {
	if !strings.HasPrefix(strings.TrimSpace(arg), "'") {
		return "", false
	}
	return literalOf(arg)
}

// momentOf returns the literal of a time if an argument is a text without a type, and otherwise the argument.
func momentOf(arg string) string {
	text, ok := textOf(arg)
	if !ok {
		return arg
	}
	if day, ok := spokenDays[strings.ToLower(strings.TrimSpace(text))]; ok {
		return day.moment
	}
	literal, err := value.MomentLiteral(text)
	if err != nil {
		return arg
	}
	_, literal, _ = strings.Cut(literal, " ")
	return "TIMESTAMP " + literal
}
