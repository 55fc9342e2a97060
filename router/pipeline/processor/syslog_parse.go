package processor

import (
	"strings"
	"time"

	"cordwood/router/vrl/value"
)

// syslogParser reads messages. It is immutable.
type syslogParser struct {
	only5424, only3164 bool
	zone               *time.Location
	year               int // of times without one; 0: found from now
	now                func() time.Time
}

// parse reads a message. What is wrong with it is the problem; "" if nothing is.
func (p *syslogParser) parse(rec *Record, s string) (m syslogMessage, problem string) {
	m.time, m.data = value.None, value.None
	s = strings.TrimRight(s, "\r\n\x00")
	rest := s
	m.priority = -1
	if strings.HasPrefix(s, "<") {
		n := digitsOf(s[1:])
		if n == 0 || n > 3 || len(s) <= 1+n || s[1+n] != '>' {
			return m, "the priority is no number in < and >"
		}
		m.priority = number(s[1 : 1+n])
		if m.priority > 191 {
			return m, "the priority is above 191"
		}
		rest = s[n+2:]
		if n := digitsOf(rest); !p.only3164 && n > 0 && n <= 3 && rest[0] != '0' && len(rest) > n && rest[n] == ' ' {
			m.version = number(rest[:n])
			return m, p.parse5424(rec, &m, rest[n+1:])
		}
	}
	if p.only5424 {
		return m, "expected a priority and a version, as in <34>1"
	}
	return m, p.parse3164(&m, rest)
}

// parse5424 reads what follows the version.
func (p *syslogParser) parse5424(rec *Record, m *syslogMessage, s string) (problem string) {
	at, s, _ := strings.Cut(s, " ")
	if at != "-" {
		t, err := time.Parse(time.RFC3339, at)
		if err != nil {
			return "the time is none of RFC 3339"
		}
		m.time = value.NewTimestamp(t)
	}
	for _, part := range [...]*string{&m.host, &m.app, &m.proc, &m.msgID} {
		text, after, _ := strings.Cut(s, " ")
		if text == "" {
			return "the header has too few parts"
		}
		if text != "-" {
			*part = text
		}
		s = after
	}
	switch {
	case strings.HasPrefix(s, "["):
		if m.data, s = structuredData(rec, s); !m.data.IsDefined() {
			return "the structured data is malformed"
		}
	case s == "-" || strings.HasPrefix(s, "- "):
		s = s[1:]
	default:
		return "the structured data is missing, which - stands for if there is none"
	}
	if s != "" && s[0] != ' ' {
		return "expected a space after the structured data"
	}
	s = strings.TrimPrefix(s, " ")
	m.text = strings.TrimPrefix(s, "\ufeff")
	return ""
}

// structuredData reads elements, [id name="value" …], and returns what follows them; the
// value is None if they are malformed.
func structuredData(rec *Record, s string) (value.Value, string) {
	elements := value.MakeFields(1)
	for strings.HasPrefix(s, "[") {
		n := strings.IndexAny(s, " ]")
		if n < 2 {
			return value.None, s
		}
		id := s[1:n]
		s = s[n:]
		params := &value.Fields{}
		for {
			s = strings.TrimLeft(s, " ")
			if strings.HasPrefix(s, "]") {
				s = s[1:]
				break
			}
			name, after, ok := strings.Cut(s, `="`)
			if !ok || name == "" || strings.ContainsAny(name, ` "]=`) {
				return value.None, s
			}
			text, n := paramValue(rec, after)
			if n < 0 {
				return value.None, s
			}
			params.Add(name, value.NewString(text))
			s = after[n:]
		}
		params.Sort()
		elements.Add(id, params.Value())
	}
	elements.Sort()
	return elements.Value(), s
}

// paramValue reads a value up to its closing quotation mark, in which a backslash stands
// before ", \ and ]. It returns how much it has read, -1 if the mark is missing.
func paramValue(rec *Record, s string) (string, int) {
	escaped := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			if !escaped {
				return s[:i], i + 1
			}
			rec.Scratch = unescapeMarks(rec.Scratch[:0], s[:i])
			return rec.TextOf(rec.Scratch), i + 1
		}
	}
	return "", -1
}

// parse3164 reads what follows the priority, if there is one.
func (p *syslogParser) parse3164(m *syslogMessage, s string) (problem string) {
	t, n := p.time3164(s)
	if n == 0 {
		if m.priority < 0 {
			return "expected a priority or a time, as in <34>Oct 11 22:14:15"
		}
		m.text = s
		return ""
	}
	m.time = value.NewTimestamp(t)
	s = trimSpaceLeft(strings.TrimPrefix(s[n:], ":"))
	// A first word that ends as a tag does is one, and there is no host.
	if word, after, ok := strings.Cut(s, " "); ok && !strings.HasSuffix(word, ":") && !strings.HasSuffix(word, "]") {
		m.host = word
		s = trimSpaceLeft(after)
	} else if !ok && word != "" && !strings.HasSuffix(word, ":") {
		m.host, s = word, ""
	}
	m.app, m.proc, m.text = tag3164(s)
	return ""
}

// tag3164 splits app[proc]: text, of which [proc] may be missing. Without a tag all is text.
func tag3164(s string) (app, proc, text string) {
	i := strings.IndexAny(s, "[: ")
	if i <= 0 || s[i] == ' ' {
		return "", "", s
	}
	app, text = s[:i], s[i:]
	if text[0] == '[' {
		end := strings.IndexByte(text, ']')
		if end < 0 || strings.IndexByte(text[:end], ' ') >= 0 {
			return "", "", s
		}
		proc, text = text[1:end], text[end+1:]
	}
	if text != "" && text[0] != ':' && (proc == "" || text[0] != ' ') {
		return "", "", s
	}
	return app, proc, strings.TrimPrefix(strings.TrimPrefix(text, ":"), " ")
}

// time3164 reads the time at the start of s, and returns its length; 0 if there is none.
func (p *syslogParser) time3164(s string) (time.Time, int) {
	if digitsOf(s) == 4 {
		return p.timeISO(s)
	}
	d := clock{rest: s}
	month := d.month()
	d.spaces()
	day := d.number(1, 2)
	d.spaces()
	year := 0
	if digitsOf(d.rest) == 4 {
		year = d.number(4, 4)
		d.spaces()
	}
	d.time()
	if d.failed || day == 0 {
		return time.Time{}, 0
	}
	t, ok := p.date(year, month, day, &d)
	if !ok {
		return time.Time{}, 0
	}
	return t, len(s) - len(d.rest)
}

// date is the instant of a day and a clock. A year of 0 is to be found.
func (p *syslogParser) date(year int, month time.Month, day int, d *clock) (time.Time, bool) {
	if year == 0 {
		year = p.year
	}
	if year != 0 {
		t := time.Date(year, month, day, d.hour, d.minute, d.second, d.nanos, p.zone)
		return t, t.Day() == day || d.second == 60
	}
	latest := p.now().Add(24 * time.Hour)
	for year, last := latest.Year()+1, latest.Year()-8; year >= last; year-- { // eight years have a leap day
		t := time.Date(year, month, day, d.hour, d.minute, d.second, d.nanos, p.zone)
		if !t.After(latest) && (t.Day() == day || d.second == 60) {
			return t, true
		}
	}
	return time.Time{}, false
}

// timeISO reads a time of RFC 3339, or one with a space for the T or without an offset.
func (p *syslogParser) timeISO(s string) (time.Time, int) {
	d := clock{rest: s}
	year := d.number(4, 4)
	d.take('-')
	month := d.number(2, 2)
	d.take('-')
	day := d.number(2, 2)
	if !strings.HasPrefix(d.rest, "T") && !strings.HasPrefix(d.rest, " ") {
		return time.Time{}, 0
	}
	d.rest = d.rest[1:]
	d.time()
	if d.failed || year == 0 || month < 1 || month > 12 || day == 0 {
		return time.Time{}, 0
	}
	t, ok := p.date(year, time.Month(month), day, &d)
	switch {
	case strings.HasPrefix(d.rest, "Z"):
		d.rest = d.rest[1:]
		t = time.Date(year, time.Month(month), day, d.hour, d.minute, d.second, d.nanos, time.UTC)
	case strings.HasPrefix(d.rest, "+"), strings.HasPrefix(d.rest, "-"):
		sign := time.Minute
		if d.rest[0] == '-' {
			sign = -time.Minute
		}
		d.rest = d.rest[1:]
		hours := d.number(2, 2)
		d.rest = strings.TrimPrefix(d.rest, ":")
		minutes := d.number(2, 2)
		t = time.Date(year, time.Month(month), day, d.hour, d.minute, d.second, d.nanos, time.UTC).
			Add(-sign * time.Duration(60*hours+minutes))
	}
	if !ok || d.failed {
		return time.Time{}, 0
	}
	return t, len(s) - len(d.rest)
}

// clock reads the parts of a time, one after the other.
type clock struct {
	rest                        string
	failed                      bool
	hour, minute, second, nanos int
}

func (d *clock) take(c byte) {
	if d.rest == "" || d.rest[0] != c {
		d.failed = true
		return
	}
	d.rest = d.rest[1:]
}

func (d *clock) spaces() {
	before := d.rest
	d.rest = strings.TrimLeft(d.rest, " ")
	d.failed = d.failed || before == d.rest
}

func (d *clock) number(least, most int) int {
	n := digitsOf(d.rest)
	if n < least || n > most {
		d.failed = true
		return 0
	}
	v := number(d.rest[:n])
	d.rest = d.rest[n:]
	return v
}

func (d *clock) month() time.Month {
	const months = "JanFebMarAprMayJunJulAugSepOctNovDec"
	if len(d.rest) >= 3 {
		if i := strings.Index(months, d.rest[:3]); i >= 0 && i%3 == 0 {
			d.rest = d.rest[3:]
			return time.Month(i/3 + 1)
		}
	}
	d.failed = true
	return 0
}

// time reads hh:mm:ss with an optional fraction.
func (d *clock) time() {
	d.hour = d.number(1, 2)
	d.take(':')
	d.minute = d.number(2, 2)
	d.take(':')
	d.second = d.number(2, 2)
	if d.hour > 23 || d.minute > 59 || d.second > 60 {
		d.failed = true
	}
	if len(d.rest) > 1 && (d.rest[0] == '.' || d.rest[0] == ',') {
		n := digitsOf(d.rest[1:])
		for i := range min(n, 9) {
			d.nanos = d.nanos*10 + int(d.rest[1+i]-'0')
		}
		for range 9 - min(n, 9) {
			d.nanos *= 10
		}
		if n > 0 {
			d.rest = d.rest[1+n:]
		}
	}
}

// digitsOf is the number of digits that s starts with.
func digitsOf(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// number is the number that a few digits are.
func number(digits string) int {
	n := 0
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}
