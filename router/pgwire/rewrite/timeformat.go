package rewrite

import (
	"fmt"
	"strings"
)

// timeField is a pattern of to_char for times. Fields that strftime has are written as its pattern; the others are an
// expression with %1 for the time.
type timeField struct {
	name, strftime, expression string
	// number is true if the value is a number, which FM writes without leading zeros, and padded if it is a word, which
	// is filled up to nine characters without FM.
	number, padded bool
}

const (
	yearOf    = "CAST(date_part('year', %1) AS BIGINT)"
	isoYearOf = "CAST(date_part('isoyear', %1) AS BIGINT)"
	isMorning = "date_part('hour', %1) < 12"
	romans    = "['I', 'II', 'III', 'IV', 'V', 'VI', 'VII', 'VIII', 'IX', 'X', 'XI', 'XII'][date_part('month', %1)]"
)

// filled returns an expression for a number with leading zeros.
func filled(number string, digits int) string {
	return fmt.Sprintf("lpad(CAST(%s AS VARCHAR), %d, '0')", number, digits)
}

// timeFields are PostgreSQL's patterns, each before the shorter ones that it begins with.
var timeFields = func() []timeField {
	var all []timeField
	add := func(names string, f timeField) {
		for name := range strings.FieldsSeq(names) {
			f.name = name
			all = append(all, f)
		}
	}
	number := func(names, strftime, expression string) {
		add(names, timeField{strftime: strftime, expression: expression, number: true})
	}
	expression := func(names, text string) { add(names, timeField{expression: text}) }
	word := func(names, text string) { add(names, timeField{expression: text, padded: true}) }
	name := func(pattern, function string) string { return function + "(strftime(%1, '" + pattern + "'))" }
	either := func(first, second string) string {
		return "CASE WHEN " + isMorning + " THEN '" + first + "' ELSE '" + second + "' END"
	}
	era := func(after, before string) string {
		return "CASE WHEN date_part('year', %1) > 0 THEN '" + after + "' ELSE '" + before + "' END"
	}
	number("HH24 hh24", "%H", "")
	number("HH12 hh12 HH hh", "%I", "")
	number("MI mi", "%M", "")
	number("SSSSS SSSS sssss ssss", "", "CAST(date_part('hour', %1) * 3600 + date_part('minute', %1) * 60 + "+
		"date_part('second', %1) AS BIGINT)")
	number("SS ss", "%S", "")
	number("MS ms", "%g", "")
	number("US us", "%f", "")
	for n := 1; n <= 6; n++ {
		expression(fmt.Sprintf("FF%d ff%[1]d", n), fmt.Sprintf("left(strftime(%%1, '%%f'), %d)", n))
	}
	number("Y,YYY y,yyy", "", yearOf+" // 1000 || ',' || "+filled(yearOf+" % 1000", 3))
	number("YYYY yyyy", "%Y", "")
	number("YYY yyy", "", filled(yearOf+" % 1000", 3))
	number("YY yy", "%y", "")
	number("Y y", "", yearOf+" % 10")
	number("IYYY iyyy", "%G", "")
	number("IYY iyy", "", filled(isoYearOf+" % 1000", 3))
	number("IY iy", "", filled(isoYearOf+" % 100", 2))
	number("IDDD iddd", "", filled("(date_part('week', %1) - 1) * 7 + date_part('isodow', %1)", 3))
	number("ID id", "", "date_part('isodow', %1)")
	number("IW iw", "%V", "")
	number("I i", "", isoYearOf+" % 10")
	word("MONTH", name("%B", "upper"))
	word("Month", name("%B", ""))
	word("month", name("%B", "lower"))
	expression("MON", name("%b", "upper"))
	add("Mon", timeField{strftime: "%b"})
	expression("mon", name("%b", "lower"))
	number("MM mm", "%m", "")
	word("DAY", name("%A", "upper"))
	word("Day", name("%A", ""))
	word("day", name("%A", "lower"))
	expression("DY", name("%a", "upper"))
	add("Dy", timeField{strftime: "%a"})
	expression("dy", name("%a", "lower"))
	number("DDD ddd", "%j", "")
	number("DD dd", "%d", "")
	number("D d", "", "date_part('dow', %1) + 1")
	number("WW ww", "", filled("(date_part('doy', %1) - 1) // 7 + 1", 2))
	number("W w", "", "(date_part('day', %1) - 1) // 7 + 1")
	number("CC cc", "", filled("CAST(ceil(date_part('year', %1) / 100) AS BIGINT)", 2))
	number("J j", "", "CAST(floor(date_part('julian', %1)) AS BIGINT)")
	number("Q q", "", "date_part('quarter', %1)")
	expression("RM", "rpad("+romans+", 4, ' ')")
	expression("rm", "rpad(lower("+romans+"), 4, ' ')")
	add("AM PM", timeField{strftime: "%p"})
	expression("am pm", either("am", "pm"))
	expression("A.M. P.M.", either("A.M.", "P.M."))
	expression("a.m. p.m.", either("a.m.", "p.m."))
	expression("AD BC", era("AD", "BC"))
	expression("ad bc", era("ad", "bc"))
	expression("A.D. B.C.", era("A.D.", "B.C."))
	expression("a.d. b.c.", era("a.d.", "b.c."))
	add("TZH tzh OF of", timeField{strftime: "+00"})
	add("TZM tzm", timeField{strftime: "00"})
	add("TZ", timeField{strftime: "UTC"})
	add("tz", timeField{strftime: "utc"})
	return all
}()

// formatted collects the parts of a text: patterns for strftime as long as possible, and expressions.
type formatted struct {
	parts   []string
	pattern strings.Builder
}

func (f *formatted) literal(text string) { f.pattern.WriteString(strings.ReplaceAll(text, "%", "%%")) }

func (f *formatted) expression(text string) {
	f.flush()
	f.parts = append(f.parts, "("+text+")")
}

func (f *formatted) flush() {
	if f.pattern.Len() > 0 {
		f.parts = append(f.parts, "strftime(%1, "+quote(f.pattern.String())+")")
		f.pattern.Reset()
	}
}

// timeText returns an expression for to_char of a time, with %1 for the time. It reports false if the pattern has a
// modifier that is not supported.
func timeText(pattern string) (string, bool) {
	var f formatted
	for i := 0; i < len(pattern); {
		if n, text := quoted(pattern[i:]); n > 0 {
			f.literal(text)
			i += n
			continue
		}
		bare, names := false, false
		for i+1 < len(pattern) {
			switch strings.ToUpper(pattern[i : i+2]) {
			case "FM":
				bare = true
			case "TM":
				names = true
			case "FX":
			default:
				goto field
			}
			i += 2
		}
	field:
		field, ok := fieldAt(pattern[i:])
		if !ok {
			if bare || names {
				continue // at the end, or before a literal
			}
			f.literal(pattern[i : i+1])
			i++
			continue
		}
		i += len(field.name)
		suffix := pattern[i:min(i+2, len(pattern))]
		if strings.EqualFold(suffix, "SP") {
			return "", false
		}
		ordinal := field.number && (suffix == "TH" || suffix == "th")
		if ordinal {
			i += 2
		}
		f.field(field, bare || names, ordinal, suffix == "TH")
	}
	f.flush()
	if len(f.parts) == 0 {
		return "left(CAST(%1 AS VARCHAR), 0)", true
	}
	return strings.Join(f.parts, " || "), true
}

// field writes a field. bare is true without zeros or spaces, and ordinal with th behind the number.
func (f *formatted) field(field timeField, bare, ordinal, upper bool) {
	text := field.expression
	if text == "" && !ordinal && (!bare || !field.number) {
		f.pattern.WriteString(field.strftime)
		return
	}
	if text == "" {
		text = "strftime(%1, '" + field.strftime + "')"
	}
	whole := "CAST(" + text + " AS BIGINT)"
	switch {
	case field.padded && !bare:
		text = "rpad(" + text + ", 9, ' ')"
	case field.number && bare && !strings.Contains(field.name, ","):
		text = "CAST(" + whole + " AS VARCHAR)"
	case bare && strings.EqualFold(field.name, "RM"):
		text = "rtrim(" + text + ")"
	case field.number:
		text = "CAST(" + text + " AS VARCHAR)"
	}
	if ordinal {
		ending := "CASE WHEN " + whole + " % 100 BETWEEN 11 AND 13 THEN 'th' WHEN " + whole + " % 10 = 1 THEN 'st' WHEN " +
			whole + " % 10 = 2 THEN 'nd' WHEN " + whole + " % 10 = 3 THEN 'rd' ELSE 'th' END"
		if upper {
			ending = "upper(" + ending + ")"
		}
		text += " || " + ending
	}
	f.expression(text)
}

// quoted returns the length of a literal that a pattern begins with, and its text: in quotes, or after a backslash
// before a quote.
func quoted(pattern string) (n int, text string) {
	if strings.HasPrefix(pattern, `\"`) {
		return 2, `"`
	}
	if pattern[0] != '"' {
		return 0, ""
	}
	var b strings.Builder
	i := 1
	for ; i < len(pattern) && pattern[i] != '"'; i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return min(i+1, len(pattern)), b.String()
}

// fieldAt returns the field that a pattern begins with.
func fieldAt(pattern string) (timeField, bool) {
	for _, f := range timeFields {
		if strings.HasPrefix(pattern, f.name) {
			return f, true
		}
	}
	return timeField{}, false
}
