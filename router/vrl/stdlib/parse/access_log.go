package parse

import (
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/timefmt"
	"cordwood/router/vrl/value"
)

// This file has the parsers of access logs that derive from NCSA's common log format.

// maxTries limits the number of tries to find the end of a field that may contain its own delimiter.
const maxTries = 64

const accessTime = "%d/%b/%Y:%T %z"

var timeParam = fn.Param{
	Name: "timestamp_format",
	Doc:  "The strftime pattern of the time. Times without an offset are in the time zone of the run.",
	Kind: kind.String, Optional: true, Default: value.NewString(accessTime),
}

// optionalFields returns the kind of objects that have some of the fields named.
func optionalFields(texts, ints, floats string) kind.Kind {
	list := []kind.Field{{Name: "timestamp", Kind: kind.Timestamp.OrUndefined()}}
	for _, name := range strings.Fields(texts) {
		list = append(list, kind.Field{Name: name, Kind: kind.String.OrUndefined()})
	}
	for _, name := range strings.Fields(ints) {
		list = append(list, kind.Field{Name: name, Kind: kind.Integer.OrUndefined()})
	}
	for _, name := range strings.Fields(floats) {
		list = append(list, kind.Field{Name: name, Kind: kind.Float.OrUndefined()})
	}
	return kind.ObjectOf(list...)
}

// lineParser parses a line into fields. It returns the time as text, or "-" if there is none. It returns false if
// the line does not have the format.
type lineParser func(s string, b *fields) (time string, ok bool)

// run parses a line with p and reads its time.
func (p lineParser) run(f *fn.Frame, s string, l layout, arg value.Value, failed string) (value.Value, bool) {
	if !f.Reserve(256) {
		return value.Value{}, false
	}
	b := newFields(12)
	text, ok := p(s, &b)
	if !ok {
		return f.Fail(failed)
	}
	if text != "-" {
		format, err := l.of(arg)
		if err != nil {
			return f.FailErr("invalid timestamp_format: ", err)
		}
		t, ok := stamp(f, format, text)
		if !ok {
			return t, false
		}
		b.add("timestamp", t)
	}
	return b.value(), true
}

// cutDash parses a text in brackets or quotes, or a dash, at the start of s.
func cutDash(s string, open, end byte) (text, rest string, ok bool) {
	if s == "" {
		return "", s, false
	}
	if s[0] == open {
		i := ascii.Closing(s, end)
		if i < 0 {
			return "", s, false
		}
		return s[1:i], s[i+1:], true
	}
	if s[0] == '-' && (len(s) == 1 || ascii.IsSpace(s[1])) {
		return "-", s[1:], true
	}
	return "", s, false
}

// cutNumber parses an integer or a dash at the start of s.
func cutNumber(s string) (text, rest string, ok bool) {
	s = ascii.SkipSpace(s)
	w, rest := ascii.CutWord(s)
	return w, rest, w == "-" || w != "" && ascii.Digits(w) == len(w)
}

// cutRequest parses the quoted request at the start of s. The request may contain quotes. It ends where tail
// accepts the rest of the line.
func cutRequest(s string, tail func(rest string) bool) (request string, ok bool) {
	if s == "" {
		return "", false
	}
	if s[0] == '-' {
		return "-", tail(s[1:])
	}
	if s[0] != '"' {
		return "", false
	}
	for i, tries := 1, 0; i < len(s) && tries < maxTries; tries++ {
		n := strings.IndexByte(s[i:], '"')
		if n < 0 {
			break
		}
		if i += n; tail(s[i+1:]) {
			return s[1:i], true
		}
		i++
	}
	return "", false
}

// addRequest adds a request line and its parts.
func addRequest(b *fields, request string) {
	if request == "-" {
		return
	}
	request = strings.TrimSpace(request)
	b.str("message", request)
	method, rest := ascii.CutWord(request)
	rest = ascii.SkipSpace(rest)
	i := strings.LastIndexAny(rest, " \t")
	for k := range len(method) {
		if !ascii.IsWord(method[k]) {
			return
		}
	}
	if method == "" || i < 0 {
		return
	}
	b.str("method", method)
	b.str("path", strings.TrimSpace(rest[:i]))
	b.str("protocol", rest[i+1:])
}

// cutUser parses the user and the time in brackets at the start of s. The user may contain spaces.
func cutUser(s string) (user, time, rest string, ok bool) {
	for i, tries := 0, 0; i < len(s) && tries < maxTries; i++ {
		if !ascii.IsSpace(s[i]) || i == 0 || ascii.IsSpace(s[i-1]) {
			continue
		}
		tries++
		time, rest, ok = cutDash(ascii.SkipSpace(s[i:]), '[', ']')
		if !ok {
			continue
		}
		if next := ascii.SkipSpace(rest); next != "" && (next[0] == '"' || next[0] == '-') {
			return s[:i], time, next, true
		}
	}
	return "", "", s, false
}

// apacheAccess parses a line in the common format. If combined is set, it also parses the additional fields of the
// combined format.
func apacheAccess(s string, b *fields, combined bool) (string, bool) {
	s = strings.TrimSpace(s)
	host, s := ascii.CutWord(s)
	identity, s := ascii.CutWord(ascii.SkipSpace(s))
	user, time, s, ok := cutUser(ascii.SkipSpace(s))
	if !ok {
		return "", false
	}
	var status, size, referrer, agent string
	request, ok := cutRequest(s, func(rest string) (ok bool) {
		if status, rest, ok = cutNumber(rest); !ok {
			return false
		}
		if size, rest, ok = cutNumber(rest); !ok {
			return false
		}
		if combined {
			if referrer, rest, ok = cutDash(ascii.SkipSpace(rest), '"', '"'); !ok {
				return false
			}
			if agent, rest, ok = cutDash(ascii.SkipSpace(rest), '"', '"'); !ok {
				return false
			}
		}
		return ascii.SkipSpace(rest) == ""
	})
	if !ok {
		return "", false
	}
	if combined {
		b.text("agent", agent)
		b.text("referrer", referrer)
	}
	b.text("host", host)
	b.text("identity", identity)
	addRequest(b, request)
	if size != "-" && !b.integer("size", size) || status != "-" && !b.integer("status", status) {
		return "", false
	}
	b.text("user", user)
	return time, true
}

func apacheCommon(s string, b *fields) (string, bool) { return apacheAccess(s, b, false) }

func apacheCombined(s string, b *fields) (string, bool) { return apacheAccess(s, b, true) }

// apacheError parses a line of Apache's error log. In the newer format, a part of the message is before the client.
func apacheError(s string, b *fields) (string, bool) {
	s = strings.TrimSpace(s)
	time, s, ok := cutDash(s, '[', ']')
	if !ok {
		return "", false
	}
	module, s, ok := cutDash(ascii.SkipSpace(s), '[', ']')
	if !ok {
		return "", false
	}
	if module != "-" {
		name, severity, found := strings.Cut(module, ":")
		if !found {
			return "", false
		}
		if name != "" {
			b.text("module", name)
		}
		b.text("severity", severity)
	}
	process, s, ok := cutDash(ascii.SkipSpace(s), '[', ']')
	if !ok || !apacheProcess(process, b) {
		return "", false
	}
	s = ascii.SkipSpace(s)
	if client, rest, ok := cutDash(s, '[', ']'); ok && apacheClient(client, b) {
		if rest = ascii.SkipSpace(rest); rest != "" {
			b.text("message", rest)
		}
		return time, true
	}
	before, after, found := strings.Cut(s, " [client ")
	if found {
		if client, message, closed := strings.Cut(after, "]"); closed && apacheClient("client "+client, b) {
			b.text("message1", strings.TrimSpace(before))
			b.text("message2", strings.TrimSpace(message))
			return time, true
		}
	}
	b.text("message", s)
	return time, true
}

// apacheProcess adds process and thread from a text such as "pid 7:tid 8".
func apacheProcess(s string, b *fields) bool {
	if s == "-" {
		return true
	}
	s, ok := strings.CutPrefix(s, "pid ")
	pid, thread, found := strings.Cut(s, ":")
	if !ok || pid != "-" && !b.integer("pid", pid) {
		return false
	}
	if found {
		b.text("thread", strings.TrimPrefix(thread, "tid "))
	}
	return true
}

// apacheClient adds address and port from a text such as "client 10.1.1.1:80".
func apacheClient(s string, b *fields) bool {
	if s == "-" {
		return true
	}
	s, ok := strings.CutPrefix(s, "client ")
	if !ok {
		return false
	}
	i := strings.LastIndexByte(s, ':')
	if i >= 0 && ascii.Digits(s[i+1:]) == len(s)-i-1 && b.integer("port", s[i+1:]) {
		s = s[:i]
	}
	b.text("client", s)
	return true
}

const commonFailed = "failed parsing common log line"

var parseCommonLog = &fn.Function{
	Name:  "parse_common_log",
	Group: fn.Parse,
	Doc: "Parses a line in the common log format of NCSA. Fields that are a dash are left out; a request that is not " +
		"a method, a path and a protocol is stored only in `message`.",
	Params:   []fn.Param{fn.ValueParam("The line."), timeParam},
	Returns:  optionalFields("host identity user message method path protocol", "status size", ""),
	Fallible: true,
	Errors:   []string{"the line is not in the format", "the time is not in its format"},
	Examples: []fn.Example{
		{
			Title: "a line", Source: `parse_common_log!(s'10.1.1.1 - mia [10/Oct/2024:13:55:36 +0200] "GET /a ` +
				`HTTP/1.1" 200 17')`,
			Result: `{"host":"10.1.1.1","message":"GET /a HTTP/1.1","method":"GET","path":"/a","protocol":"HTTP/1.1",` +
				`"size":17,"status":200,"timestamp":"2024-10-10T11:55:36Z","user":"mia"}`,
		},
		{Title: "something else", Source: `parse_common_log!("hello")`, Fails: commonFailed},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		l, err := compileLayout(c, 1)
		return fn.Impl{F2: func(f *fn.Frame, v, format value.Value) (value.Value, bool) {
			return lineParser(apacheCommon).run(f, v.Text(), l, format, commonFailed)
		}}, err
	},
}

var apacheFormats = map[string]struct {
	parse  lineParser
	failed string
}{
	"common":   {apacheCommon, commonFailed},
	"combined": {apacheCombined, "failed parsing combined log line"},
	"error":    {apacheError, "failed parsing error log line"},
}

var parseApacheLog = &fn.Function{
	Name:  "parse_apache_log",
	Group: fn.Parse,
	Doc:   "Parses a line of an Apache httpd log. Fields that are a dash are left out.",
	Params: []fn.Param{
		fn.ValueParam("The line."),
		{
			Name: "format", Doc: "The format of the log.", Kind: kind.String, Constant: true,
			Enum: []fn.Enum{
				{Value: "common", Doc: "the access log in common format"},
				{Value: "combined", Doc: "the access log with referrer and agent"},
				{Value: "error", Doc: "the error log"},
			},
		},
		timeParam,
	},
	Returns: optionalFields("host identity user message method path protocol referrer agent module severity thread "+
		"client message1 message2",
		"status size pid port", ""),
	Fallible: true,
	Errors:   []string{"the line is not in the format", "the time is not in its format"},
	Examples: []fn.Example{
		{
			Title: "combined", Source: `parse_apache_log!(s'10.1.1.1 - - [10/Oct/2024:13:55:36 +0000] "GET /a HTTP/1.1" 200 ` +
				`17 "-" "curl/8"', format: "combined")`,
			Result: `{"agent":"curl/8","host":"10.1.1.1","message":"GET /a ` +
				`HTTP/1.1","method":"GET","path":"/a","protocol":"HTTP/1.1","size":17,"status":200,` +
				`"timestamp":"2024-10-10T13:55:36Z"}`,
		},
		{
			Title: "error", Source: `parse_apache_log!("[01/Mar/2024:12:00:19 +0000] [core:error] [pid 7:tid 8] [client ` +
				`10.1.1.1:99] no such file", "error")`,
			Result: `{"client":"10.1.1.1","message":"no such file","module":"core","pid":7,"port":99,"severity":"error",` +
				`"thread":"8","timestamp":"2024-03-01T12:00:19Z"}`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		l, err := compileLayout(c, 2)
		return fn.Impl{F3: func(f *fn.Frame, v, format, time value.Value) (value.Value, bool) {
			p, ok := apacheFormats[format.Str()]
			if !ok {
				return f.Failf("unknown log format %v", format)
			}
			return p.parse.run(f, v.Text(), l, time, p.failed)
		}}, err
	},
}

// errorTime is the format of times in nginx's error log.
var errorTime = mustLayout("%Y/%m/%d %H:%M:%S")

func mustLayout(text string) layout {
	f, err := timefmt.Compile(text)
	if err != nil {
		panic(err)
	}
	return layout{f}
}

// cutFloat adds the decimal number at the start of s. A dash adds nothing.
func cutFloat(b *fields, key, s string) (rest string, ok bool) {
	w, rest := ascii.CutWord(ascii.SkipSpace(s))
	if w == "-" {
		return rest, true
	}
	x, err := strconv.ParseFloat(w, 64)
	if err != nil || !ascii.IsDigit(w[0]) {
		return rest, false
	}
	b.add(key, value.NewFloat(x))
	return rest, true
}
