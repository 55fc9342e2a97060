package parse

import (
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// nginxLine has the parts at the start of all access logs of nginx.
type nginxLine struct {
	client, user, time, request, status, size, referer, agent string
}

// parse parses a line up to the user agent. tail reports whether the rest is valid.
func (l *nginxLine) parse(s string, tail func(rest string) bool) bool {
	s = strings.TrimSpace(s)
	l.client, s = ascii.CutWord(s)
	dash, s := ascii.CutWord(ascii.SkipSpace(s))
	if l.client == "" || dash != "-" {
		return false
	}
	var ok bool
	if l.user, l.time, s, ok = cutUser(ascii.SkipSpace(s)); !ok {
		return false
	}
	l.request, ok = cutRequest(s, func(rest string) (ok bool) {
		if l.status, rest, ok = cutNumber(rest); !ok || l.status == "-" {
			return false
		}
		if l.size, rest, ok = cutNumber(rest); !ok || l.size == "-" {
			return false
		}
		if l.referer, rest, ok = cutDash(ascii.SkipSpace(rest), '"', '"'); !ok {
			return false
		}
		if l.agent, rest, ok = cutDash(ascii.SkipSpace(rest), '"', '"'); !ok {
			return false
		}
		return tail(ascii.SkipSpace(rest))
	})
	return ok
}

func nginxCombined(s string, b *fields) (string, bool) {
	var l nginxLine
	compression := "-"
	ok := l.parse(s, func(rest string) (ok bool) {
		if compression = "-"; rest == "" {
			return true
		}
		compression, rest, ok = cutDash(rest, '"', '"')
		return ok && rest == ""
	})
	if !ok {
		return "", false
	}
	b.str("agent", l.agent)
	b.str("client", l.client)
	b.text("compression", compression)
	b.str("referer", l.referer)
	b.str("request", l.request)
	if !b.integer("size", l.size) || !b.integer("status", l.status) {
		return "", false
	}
	b.text("user", l.user)
	return l.time, true
}

func nginxMain(s string, b *fields) (string, bool) {
	var l nginxLine
	forwarded := ""
	ok := l.parse(s, func(rest string) (ok bool) {
		forwarded, rest, ok = cutDash(rest, '"', '"')
		return ok && rest == ""
	})
	if !ok || !b.integer("body_bytes_size", l.size) {
		return "", false
	}
	b.text("http_referer", l.referer)
	b.text("http_user_agent", l.agent)
	b.text("http_x_forwarded_for", forwarded)
	b.text("remote_addr", l.client)
	b.text("remote_user", l.user)
	b.text("request", l.request)
	return l.time, b.integer("status", l.status)
}

// nginxIngress parses a line of the Kubernetes ingress controller.
func nginxIngress(s string, b *fields) (string, bool) {
	var l nginxLine
	rest := ""
	if !l.parse(s, func(r string) bool { rest = r; return r != "" }) || !b.integer("body_bytes_size", l.size) {
		return "", false
	}
	b.str("http_referer", l.referer)
	b.str("http_user_agent", l.agent)
	length, rest := ascii.CutWord(rest)
	if !b.integer("request_length", length) {
		return "", false
	}
	rest, ok := cutFloat(b, "request_time", rest)
	if !ok {
		return "", false
	}
	for _, key := range [...]string{"proxy_upstream_name", "proxy_alternative_upstream_name"} {
		var name string
		if name, rest, ok = cutDash(ascii.SkipSpace(rest), '[', ']'); !ok {
			return "", false
		}
		if name != "" {
			b.text(key, name)
		}
	}
	// There may be several addresses, one for each try.
	rest = ascii.SkipSpace(rest)
	addr, rest2 := ascii.CutWord(rest)
	for strings.HasSuffix(addr, ",") && rest2 != "" {
		_, rest2 = ascii.CutWord(ascii.SkipSpace(rest2))
		addr = rest[:len(rest)-len(rest2)]
	}
	b.str("upstream_addr", addr)
	for _, key := range [...]string{"upstream_response_length", "upstream_response_time", "upstream_status"} {
		if key == "upstream_response_time" {
			if rest2, ok = cutFloat(b, key, rest2); !ok {
				return "", false
			}
			continue
		}
		var n string
		if n, rest2, ok = cutNumber(rest2); !ok || n != "-" && !b.integer(key, n) {
			return "", false
		}
	}
	id, rest2 := ascii.CutWord(ascii.SkipSpace(rest2))
	if id == "" || ascii.SkipSpace(rest2) != "" {
		return "", false
	}
	b.str("req_id", id)
	b.str("remote_addr", l.client)
	b.text("remote_user", l.user)
	b.str("request", l.request)
	return l.time, b.integer("status", l.status)
}

// nginxError parses a line of the error log: time, severity, process, message, and optional fields of the request.
func nginxError(s string, b *fields) (string, bool) {
	s = strings.TrimSpace(s)
	time, s, ok := strings.Cut(s, " [")
	if !ok {
		return "", false
	}
	severity, s, ok := strings.Cut(s, "] ")
	if !ok {
		return "", false
	}
	pid, s, ok := strings.Cut(s, "#")
	n := ascii.Digits(s)
	if !ok || n == len(s) || s[n] != ':' || !b.integer("pid", pid) || !b.integer("tid", s[:n]) {
		return "", false
	}
	b.str("severity", severity)
	s = ascii.SkipSpace(s[n+1:])
	if rest, found := strings.CutPrefix(s, "*"); found {
		if n := ascii.Digits(rest); n > 0 && n < len(rest) && ascii.IsSpace(rest[n]) && b.integer("cid", rest[:n]) {
			s = ascii.SkipSpace(rest[n:])
		}
	}
	nginxMessage(s, b)
	return time, true
}

// nginxMessage reads a message and the fields of the request, if s ends with them.
func nginxMessage(s string, b *fields) {
	tail := newFields(8)
	for i, tries := 0, 0; i < len(s) && tries < maxTries; tries++ {
		n := strings.Index(s[i:], ", ")
		if n < 0 {
			break
		}
		i += n
		tail.o.Reset()
		tail.sorted, tail.last = true, ""
		if nginxTail(s[i:], &tail) {
			b.str("message", s[:i])
			for k := range tail.o.Len() {
				b.add(tail.o.Key(k), tail.o.PeekAt(k))
			}
			return
		}
		i++
	}
	b.str("message", s)
}

// nginxDetails are the fields after the message of an error, in order. If the prefix ends with a quote, the text is
// in quotes.
var nginxDetails = []struct {
	prefix, key string
	quoted      bool
}{
	{", client: ", "client", false},
	{", server: ", "server", false},
	{", request: \"", "request", true},
	{", subrequest: \"", "subrequest", true},
	{", upstream: \"", "upstream", true},
	{", host: \"", "host", true},
	{", referrer: \"", "referer", true},
}

// nginxTail parses the fields after the message. It returns false if s contains anything else.
func nginxTail(s string, b *fields) bool {
	if rest, ok := strings.CutPrefix(s, ", excess: "); ok {
		number, rest, ok := strings.Cut(rest, " by zone \"")
		zone, rest, closed := strings.Cut(rest, "\"")
		x, err := strconv.ParseFloat(strings.TrimSuffix(number, ","), 64)
		if !ok || !closed || err != nil {
			return false
		}
		b.add("excess", value.NewFloat(x))
		b.str("zone", zone)
		s = rest
	}
	for _, d := range nginxDetails {
		rest, ok := strings.CutPrefix(s, d.prefix)
		if !ok {
			continue
		}
		end := 0
		if d.quoted {
			if end = ascii.Closing(s[len(d.prefix)-1:], '"') - 1; end < 0 { // the prefix ends with the quote
				return false
			}
			b.str(d.key, rest[:end])
			s = rest[end+1:]
			continue
		}
		if end = strings.Index(rest, ", "); end < 0 {
			end = len(rest)
		}
		b.str(d.key, rest[:end])
		s = rest[end:]
	}
	return s == ""
}

var nginxFormats = map[string]lineParser{
	"combined": nginxCombined, "error": nginxError, "ingress_upstreaminfo": nginxIngress, "main": nginxMain,
}

var parseNginxLog = &fn.Function{
	Name:  "parse_nginx_log",
	Group: fn.Parse,
	Doc:   "Parses a line of an nginx log. Most fields, such as the user, are left out if they are a dash.",
	Params: []fn.Param{
		fn.ValueParam("The line."),
		{
			Name: "format", Doc: "The format of the log.", Kind: kind.String, Constant: true,
			Enum: []fn.Enum{
				{Value: "combined", Doc: "The default access log."},
				{Value: "error", Doc: "The error log."},
				{Value: "ingress_upstreaminfo", Doc: "The default access log of the Kubernetes ingress controller."},
				{Value: "main", Doc: "The access log of the packaged configuration, with the forwarded addresses."},
			},
		},
		{
			Name: "timestamp_format", Doc: "The strftime pattern of the time. The default value is `%d/%b/%Y:%T %z`, " +
				"and `%Y/%m/%d %H:%M:%S` for the error log. Times without an offset are in the time zone of the run.",
			Kind: kind.String, Optional: true,
		},
	},
	Returns: optionalFields("client user request referer agent compression remote_addr remote_user http_referer "+
		"http_user_agent "+
		"http_x_forwarded_for proxy_upstream_name proxy_alternative_upstream_name upstream_addr req_id severity message "+
		"zone server "+
		"subrequest upstream host",
		"status size body_bytes_size request_length upstream_response_length upstream_status pid tid cid",
		"request_time upstream_response_time excess"),
	Fallible: true,
	Errors:   []string{"the line is not in the format", "the time is not in its format"},
	Examples: []fn.Example{
		{
			Title: "combined", Source: `parse_nginx_log!(s'10.1.1.1 - mia [01/Apr/2024:12:02:31 +0000] "GET /a HTTP/1.1" 404 ` +
				`153 "-" "curl/8"', "combined")`,
			Result: `{"agent":"curl/8","client":"10.1.1.1","referer":"-","request":"GET /a ` +
				`HTTP/1.1","size":153,"status":404,"timestamp":"2024-04-01T12:02:31Z","user":"mia"}`,
		},
		{
			Title: "error", Source: `parse_nginx_log!(s'2024/04/01 13:02:31 [error] 31#32: *1 no such file, client: ` +
				`10.1.1.1, server: a, request: "GET / HTTP/1.1"', "error")`,
			Result: `{"cid":1,"client":"10.1.1.1","message":"no such file","pid":31,"request":"GET / ` +
				`HTTP/1.1","server":"a","severity":"error","tid":32,"timestamp":"2024-04-01T13:02:31Z"}`,
		},
		{Title: "something else", Source: `parse_nginx_log!("hello", "main")`, Fails: `failed parsing log line`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		given, err := compileLayout(c, 2)
		return fn.Impl{F3: func(f *fn.Frame, v, format, time value.Value) (value.Value, bool) {
			p, ok := nginxFormats[format.Str()]
			if !ok {
				return f.Failf("unknown log format %v", format)
			}
			l := given
			if !time.IsDefined() {
				if l = nginxTime; format.Str() == "error" {
					l = errorTime
				}
			}
			return p.run(f, v.Text(), l, time, "failed parsing log line")
		}}, err
	},
}

var nginxTime = mustLayout(accessTime)
