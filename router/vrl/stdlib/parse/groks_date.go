package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// jodaField is the meaning of a run of letters in a Joda-Time layout: a regular expression and a strptime
// specifier.
type jodaField struct{ re, spec string }

// jodaFields has the fields by letter, the longest run first. A run that is longer than the longest in the table has
// the same meaning as the longest.
var jodaFields = map[byte][]struct {
	n int
	f jodaField
}{
	'y': {{3, jodaField{`\d{4}`, "%Y"}}, {2, jodaField{`\d{2}`, "%y"}}, {1, jodaField{`\d{4}`, "%Y"}}},
	'Y': {{3, jodaField{`\d{4}`, "%Y"}}, {2, jodaField{`\d{2}`, "%y"}}, {1, jodaField{`\d{4}`, "%Y"}}},
	'x': {{1, jodaField{`\d{4}`, "%G"}}},
	'c': {{1, jodaField{`\d{2}`, "%C"}}},
	'w': {{1, jodaField{`\d{1,2}`, "%V"}}},
	'e': {{1, jodaField{`\d`, "%u"}}},
	'E': {{4, jodaField{`[A-Za-z]+`, "%A"}}, {1, jodaField{`[A-Za-z]+`, "%a"}}},
	'D': {{1, jodaField{`\d{1,3}`, "%j"}}},
	'M': {
		{4, jodaField{`[A-Za-z]+`, "%B"}},
		{3, jodaField{`[A-Za-z]{3}`, "%b"}},
		{2, jodaField{`\d{2}`, "%m"}},
		{1, jodaField{`\d{1,2}`, "%m"}},
	},
	'd': {{2, jodaField{`\d{2}`, "%d"}}, {1, jodaField{`[\d ]?\d`, "%e"}}},
	'a': {{1, jodaField{`[aApP][mM]`, "%p"}}},
	'h': {{2, jodaField{`\d{2}`, "%I"}}, {1, jodaField{`\d{1,2}`, "%I"}}},
	'K': {{1, jodaField{`\d{1,2}`, "%I"}}},
	'H': {{2, jodaField{`\d{2}`, "%H"}}, {1, jodaField{`\d{1,2}`, "%H"}}},
	'k': {{1, jodaField{`\d{1,2}`, "%H"}}},
	'm': {{2, jodaField{`\d{2}`, "%M"}}, {1, jodaField{`\d{1,2}`, "%M"}}},
	's': {{2, jodaField{`\d{2}`, "%S"}}, {1, jodaField{`\d{1,2}`, "%S"}}},
	'z': {{1, jodaField{`[A-Za-z_/+:0-9-]+`, "%Z"}}},
	'Z': {
		{3, jodaField{`[A-Za-z_/]+`, "%Z"}},
		{2, jodaField{`(?:Z|[+-]\d\d:\d\d)`, "%:z"}},
		{1, jodaField{`(?:Z|[+-]\d\d:?\d\d)`, "%z"}},
	},
}

// jodaLayout translates a layout.
func jodaLayout(s string) (re, layout string, err error) {
	var r, l strings.Builder
	literal := func(text string) {
		r.WriteString(regexp.QuoteMeta(text))
		l.WriteString(strings.ReplaceAll(text, "%", "%%"))
	}
	for s != "" {
		c := s[0]
		if c == '\'' {
			text, rest, ok := strings.Cut(s[1:], "'")
			if !ok {
				return "", "", fmt.Errorf("a quote without end in the layout")
			}
			if text == "" {
				text = "'"
			}
			literal(text)
			s = rest
			continue
		}
		n := 1
		for n < len(s) && s[n] == c {
			n++
		}
		switch {
		case c == 'S':
			r.WriteString(`\d{1,9}`)
			l.WriteString(fractionMark)
		case jodaFields[c] != nil:
			f := jodaFields[c][0].f
			for _, x := range jodaFields[c] {
				if n >= x.n {
					f = x.f
					break
				}
			}
			r.WriteString(f.re)
			l.WriteString(f.spec)
		case c|0x20 >= 'a' && c|0x20 <= 'z' && c != 'T':
			return "", "", fmt.Errorf("unknown letter %q in the layout", c)
		default:
			literal(s[:n])
		}
		s = s[n:]
	}
	layout = l.String()
	// A fraction is read with the dot or comma in front of it.
	layout = strings.ReplaceAll(layout, "."+fractionMark, "%.f")
	layout = strings.ReplaceAll(layout, ","+fractionMark, "%.f")
	if strings.Contains(layout, fractionMark) {
		layout = strings.ReplaceAll(layout, fractionMark, "%.f")
	}
	return r.String(), layout, nil
}

const fractionMark = "\x00"

// dateMatcher returns the expression of date("layout"[, "zone"]), whose text becomes
// milliseconds since 1970.
func dateMatcher(c *call) (string, groksFilter, error) {
	if len(c.args) < 1 || len(c.args) > 2 {
		return "", nil, fmt.Errorf("date takes a layout and optionally a zone")
	}
	joda := c.args[0].text
	re, layout, err := jodaLayout(joda)
	if err != nil {
		return "", nil, fmt.Errorf("invalid date layout %q: %w", joda, err)
	}
	front, format := missingParts(layout)
	compiled, err := timefmt.Compile(format + layout)
	if err != nil {
		return "", nil, fmt.Errorf("invalid date layout %q: %w", joda, err)
	}
	zone := time.UTC
	if len(c.args) == 2 {
		if zone, err = groksZone(c.args[1].text); err != nil {
			return "", nil, err
		}
	}
	utc := "" // what the layout expects in place of Z
	switch {
	case !strings.Contains(layout, "z") || !compiled.HasOffset():
	case strings.Contains(layout, "%:z"):
		utc = "+00:00"
	default:
		utc = "+0000"
	}
	comma := strings.Contains(joda, ",S")
	return re, textFilter(func(_ *fn.Frame, s string) (value.Value, bool) {
		if strings.HasSuffix(s, "Z") && utc != "" {
			s = s[:len(s)-1] + utc
		}
		if comma {
			if i := strings.LastIndexByte(s, ','); i >= 0 {
				s = s[:i] + "." + s[i+1:]
			}
		}
		sec, nsec, ok := compiled.TryUnix(front+s, timefmt.ParseOptions{Zone: zone})
		if !ok {
			return value.Value{}, false
		}
		return value.NewInt(sec*1000 + int64(nsec)/1e6), true
	}), nil
}

// missingParts returns the parts of a date that the layout lacks, each with its smallest value, as a text and as a
// format. The text is put before the text to parse, and the format before its layout.
func missingParts(layout string) (text, format string) {
	for _, part := range [...]struct {
		text, spec string
		specs      []string // any of these gives the part
	}{
		{"1970", "%Y", []string{"%Y", "%y", "%G", "%C"}},
		{"1", "%m", []string{"%m", "%b", "%B", "%j", "%V"}},
		{"1", "%d", []string{"%d", "%e", "%j", "%V"}},
		{"00", "%H", []string{"%H", "%I"}},
		{"00", "%M", []string{"%M"}},
	} {
		if !slices.ContainsFunc(part.specs, func(s string) bool { return strings.Contains(layout, s) }) {
			text += part.text + " "
			format += part.spec + " "
		}
	}
	return text, format
}

// groksZone returns a zone by its name or offset, for example "UTC+5" or "+05:30".
func groksZone(s string) (*time.Location, error) {
	t := strings.TrimPrefix(strings.TrimPrefix(s, "UTC"), "GMT")
	if t == "" || t == "Z" {
		return time.UTC, nil
	}
	if t[0] == '+' || t[0] == '-' {
		offset, ok := groksOffset(t[1:])
		if !ok {
			return nil, fmt.Errorf("unknown time zone %q", s)
		}
		if t[0] == '-' {
			offset = -offset
		}
		return time.FixedZone(s, offset), nil
	}
	z := timefmt.Zone(s)
	if z == nil {
		return nil, fmt.Errorf("unknown time zone %q", s)
	}
	return z, nil
}

// groksOffset returns the seconds of an offset without its sign: "5", "0530" or "05:30".
func groksOffset(s string) (seconds int, ok bool) {
	hours, minutes, found := strings.Cut(s, ":")
	if !found && len(hours) == 4 {
		hours, minutes = hours[:2], hours[2:]
	}
	h, err := strconv.Atoi(hours)
	m := 0
	if err == nil && minutes != "" {
		m, err = strconv.Atoi(minutes)
	}
	return h*3600 + m*60, err == nil && h >= 0 && h <= 24 && m >= 0 && m <= 59
}
