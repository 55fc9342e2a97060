package parse

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

var syslogFacilities = [...]string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
	"ntp", "audit", "alert", "clockd", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
}

var syslogSeverities = [...]string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}

const syslogFailed = "unable to parse input as valid syslog message"

// isoLayouts are the layouts of times with a year; monthLayout is that of those without,
// with the year in front.
var (
	isoLayout      = mustLayout("%+")
	localLayout    = mustLayout("%Y-%m-%dT%H:%M:%S%.f")
	monthLayout    = mustLayout("%Y %b %e %H:%M:%S%.f")
	yearLastLayout = mustLayout("%b %e %Y %H:%M:%S%.f")
)

// parseSyslogLine parses a message of RFC 5424 or, more freely, of RFC 3164.
func parseSyslogLine(f *fn.Frame, v value.Value) (value.Value, bool) {
	s := strings.TrimSpace(v.Text())
	if !f.Reserve(256 + len(s)) {
		return value.Value{}, false
	}
	b := newFields(12)
	rest, priority := syslogPriority(s, &b)
	if priority && syslog5424(f, rest, &b) {
		return b.value(), true
	}
	if !syslog3164(f, ascii.SkipSpace(rest), &b, priority) {
		return f.Fail(syslogFailed)
	}
	return b.value(), true
}

// syslogPriority cuts the priority off s.
func syslogPriority(s string, b *fields) (rest string, ok bool) {
	if s == "" || s[0] != '<' {
		return s, false
	}
	n := ascii.Digits(s[1:])
	if n == 0 || n > 3 || n+1 >= len(s) || s[n+1] != '>' {
		return s, false
	}
	pri, _ := strconv.Atoi(s[1 : n+1])
	if pri/8 < len(syslogFacilities) {
		b.str("facility", syslogFacilities[pri/8])
	}
	b.str("severity", syslogSeverities[pri%8])
	return s[n+2:], true
}

// cutField cuts a field of the header off s, which a blank must follow unless s ends.
func cutField(s string) (text, rest string, ok bool) {
	i := strings.IndexByte(s, ' ')
	if i < 0 {
		return s, "", s != ""
	}
	return s[:i], s[i+1:], i > 0
}

// syslog5424 parses what follows the priority. If it returns false it has added nothing.
func syslog5424(f *fn.Frame, s string, b *fields) bool {
	version, s, ok := cutField(s)
	if !ok || len(version) > 3 || ascii.Digits(version) != len(version) {
		return false
	}
	when, s, ok := cutField(s)
	if !ok {
		return false
	}
	var t value.Value
	if when != "-" {
		if t, ok = isoTime(f, when); !ok {
			return false
		}
	}
	var part [4]string // host, application, process, message id
	for i := range part {
		if part[i], s, ok = cutField(s); !ok {
			return false
		}
	}
	if t.Kind() == value.Timestamp {
		b.add("timestamp", t)
	}
	b.integer("version", version)
	b.text("hostname", part[0])
	b.text("appname", part[1])
	if part[2] != "-" && !b.integer("procid", part[2]) {
		b.str("procid", part[2])
	}
	b.text("msgid", part[3])
	return syslogMessage(f, s, b)
}

// syslogMessage adds the structured data and the message that s consists of.
func syslogMessage(f *fn.Frame, s string, b *fields) bool {
	if rest, ok := strings.CutPrefix(s, "-"); ok && (rest == "" || rest[0] == ' ') {
		s = ascii.SkipSpace(rest)
		// Some senders put a dash for nothing and data after it.
		if !strings.HasPrefix(s, "[") {
			b.str("message", syslogText(s))
			return true
		}
	}
	for strings.HasPrefix(s, "[") {
		id, data, rest, ok := structuredData(f, s)
		if !ok {
			break
		}
		if id != "" && !syslogFieldNames[id] {
			b.add(id, data)
		}
		s = rest
	}
	b.str("message", syslogText(ascii.SkipSpace(s)))
	return true
}

// syslogText returns a message without the mark that says it is UTF-8.
func syslogText(s string) string { return strings.TrimPrefix(s, "\ufeff") }

var syslogFieldNames = map[string]bool{
	"facility": true, "severity": true, "version": true, "timestamp": true, "hostname": true,
	"appname": true, "procid": true, "msgid": true, "message": true,
}

// structuredData cuts an element such as [id key="value"] off s.
func structuredData(f *fn.Frame, s string) (id string, data value.Value, rest string, ok bool) {
	s = s[1:]
	end := strings.IndexAny(s, " ]")
	if end < 0 {
		return "", data, s, false
	}
	id, s = s[:end], s[end:]
	var list []value.Field
	for {
		s = ascii.SkipSpace(s)
		if s == "" {
			return "", data, s, false
		}
		if s[0] == ']' {
			o := gather(list, func(_, b value.Value) value.Value { return b })
			return id, o, s[1:], true
		}
		key, after, found := strings.Cut(s, "=")
		after = ascii.SkipSpace(after)
		if !found || after == "" || after[0] != '"' || strings.ContainsAny(key, `"] `) {
			return "", data, s, false
		}
		end := ascii.Closing(after, '"')
		if end < 0 {
			return "", data, s, false
		}
		list = append(list, value.Field{Key: key, Value: value.NewString(unescapeData(f, after[1:end]))})
		s = after[end+1:]
	}
}

// unescapeData removes the backslashes that protect quotes, brackets and backslashes.
func unescapeData(f *fn.Frame, s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := f.Bytes(len(s))[:0]
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\' || s[i+1] == ']') {
			i++
		}
		b = append(b, s[i])
	}
	return fn.Unsafe(b)
}

// isoTime reads a time of RFC 3339; one without an offset is in the zone of the run.
func isoTime(f *fn.Frame, s string) (value.Value, bool) {
	if len(s) < 19 || s[4] != '-' {
		return value.Value{}, false
	}
	sec, nsec, ok := isoLayout.format.TryUnix(s, timefmt.ParseOptions{})
	if !ok {
		sec, nsec, ok = localLayout.format.TryUnix(s, timefmt.ParseOptions{Zone: f.Host.Zone})
	}
	return value.NewUnix(sec, uint32(nsec)), ok
}

// syslog3164 parses what follows the priority, which may be missing.
func syslog3164(f *fn.Frame, s string, b *fields, priority bool) bool {
	t, rest, timed := legacyTime(f, s)
	switch {
	case timed:
		b.add("timestamp", t)
		rest = ascii.SkipSpace(strings.TrimPrefix(rest, ":"))
		host, after := ascii.CutWord(rest)
		if host != "" && !strings.HasSuffix(host, ":") {
			b.text("hostname", host)
			rest = ascii.SkipSpace(after)
		}
	case !priority:
		return false
	}
	app, process, message, ok := syslogTag(rest)
	if ok {
		b.text("appname", app)
		if process != "" && !b.integer("procid", process) {
			b.str("procid", process)
		}
		rest = message
	}
	b.str("message", syslogText(ascii.SkipSpace(rest)))
	return true
}

// syslogTag cuts the application and process off s, as in "app[7]: ".
func syslogTag(s string) (app, process, rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] != ':' && s[i] != '[' && !ascii.IsSpace(s[i]) {
		i++
	}
	if i == 0 || i == len(s) || ascii.IsSpace(s[i]) {
		return "", "", s, false
	}
	app, rest = s[:i], s[i:]
	if rest[0] == '[' {
		end := strings.IndexByte(rest, ']')
		if end < 0 || strings.IndexByte(rest[:end], ' ') >= 0 {
			return "", "", s, false
		}
		process, rest = rest[1:end], rest[end+1:]
		rest = strings.TrimPrefix(rest, ":")
		return app, process, rest, true
	}
	// A colon inside a word, as in an address, ends no tag.
	if len(rest) > 1 && !ascii.IsSpace(rest[1]) {
		return "", "", s, false
	}
	return app, "", rest[1:], true
}

// legacyTime cuts the time off s: "Jan _2 15:04:05" with or without a year or a fraction,
// or one of RFC 3339.
func legacyTime(f *fn.Frame, s string) (t value.Value, rest string, ok bool) {
	if s == "" {
		return t, s, false
	}
	if ascii.IsDigit(s[0]) {
		w, rest := ascii.CutWord(s)
		t, ok = isoTime(f, strings.TrimSuffix(w, ":"))
		return t, rest, ok
	}
	month, rest := ascii.CutWord(s)
	if len(month) != 3 {
		return t, s, false
	}
	day, rest := ascii.CutWord(ascii.SkipSpace(rest))
	clock, rest := ascii.CutWord(ascii.SkipSpace(rest))
	clock = strings.TrimSuffix(clock, ":")
	if ascii.Digits(day) != len(day) || len(day) > 2 || len(clock) > 32 {
		return t, s, false
	}
	format := monthLayout
	var text string
	if len(clock) == 4 && ascii.Digits(clock) == 4 {
		year := clock
		clock, rest = ascii.CutWord(ascii.SkipSpace(rest))
		text = month + " " + day + " " + year + " " + strings.TrimSuffix(clock, ":")
		format = yearLastLayout
	} else {
		var m time.Month
		for i := time.January; i <= time.December; i++ {
			if strings.EqualFold(i.String()[:3], month) {
				m = i
			}
		}
		text = strconv.Itoa(guessYear(f, m)) + " " + month + " " + day + " " + clock
	}
	if len(text) > 64 || !utf8.ValidString(text) {
		return t, s, false
	}
	sec, nsec, ok := format.format.TryUnix(text, timefmt.ParseOptions{Zone: f.Host.Zone})
	return value.NewUnix(sec, uint32(nsec)), rest, ok
}

var syslogKind = kind.ObjectOf(
	kind.Field{Name: "message", Kind: kind.String},
	kind.Field{Name: "hostname", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "severity", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "facility", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "appname", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "msgid", Kind: kind.String.OrUndefined()},
	kind.Field{Name: "procid", Kind: kind.Or(kind.String, kind.Integer).OrUndefined()},
	kind.Field{Name: "version", Kind: kind.Integer.OrUndefined()},
	kind.Field{Name: "timestamp", Kind: kind.Timestamp.OrUndefined()},
).WithOthers(kind.ObjectAll(kind.String))

var parseSyslog = &fn.Function{
	Name:  "parse_syslog",
	Group: fn.Parse,
	Doc: "Parses a syslog message of RFC 5424, or of RFC 3164 and its many variants. What the message does not have is " +
		"left out. Each element of structured data becomes an object under its id. A time without a year is taken to be of " +
		"this year, or of the last one if it is of December and this is January; one without an offset is in the zone of the run.",
	Params:   []fn.Param{fn.ValueParam("The message.")},
	Returns:  syslogKind,
	Fallible: true,
	Errors:   []string{"the text has neither a priority nor a time"},
	Examples: []fn.Example{
		{
			Title: "RFC 5424", Source: `parse_syslog!(s'<13>1 2024-03-13T20:45:38.119Z web1 app 2426 ID9 [req@1 path="/a"] all is well')`,
			Result: `{"appname":"app","facility":"user","hostname":"web1","message":"all is well","msgid":"ID9","procid":2426,"req@1":{"path":"/a"},"severity":"notice","timestamp":"2024-03-13T20:45:38.119Z","version":1}`,
		},
		{Title: "RFC 3164", Source: `parse_syslog!("<34>Oct 11 2024 22:14:15 web1 su[7]: no").appname`, Result: `"su"`},
		{Title: "neither", Source: `parse_syslog!("hello")`, Fails: syslogFailed},
	},
	Impl: fn.Impl{F1: parseSyslogLine},
}

var parseLinuxAuthorization = &fn.Function{
	Name:     "parse_linux_authorization",
	Group:    fn.Parse,
	Doc:      "Parses a line of `/var/log/auth.log` or `/var/log/secure`, as parse_syslog does.",
	Params:   []fn.Param{fn.ValueParam("The line.")},
	Returns:  syslogKind,
	Fallible: true,
	Errors:   []string{"the line has neither a priority nor a time"},
	Examples: []fn.Example{
		{Title: "a line", Source: `parse_linux_authorization!("Mar 23 01:49:58 web1 sshd[17]: session closed").procid`, Result: `17`},
	},
	Impl: fn.Impl{F1: parseSyslogLine},
}
