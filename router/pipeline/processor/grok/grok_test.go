package grok

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// found returns the fields of the expression in s as name=text.
func found(expression string, definitions map[string]string, s string) string {
	p, err := Compile(expression, definitions)
	if err != nil {
		return "!" + err.Error()
	}
	m := p.Match(s, nil)
	if m == nil {
		return "no match"
	}
	var list []string
	for _, f := range p.Fields() {
		if text, ok := f.Text(s, m); ok {
			list = append(list, fmt.Sprintf("%s=%s", f.Name, text))
		}
	}
	return strings.Join(list, "; ")
}

func TestCompile(t *testing.T) {
	own := map[string]string{
		"CODE":  `[A-Z]{2}\d++`,
		"PAIR":  `%{WORD:key}=%{CODE:code}`,
		"WORD":  `[a-z]+`,
		"LOOP":  `x%{POOL}`,
		"POOL":  `%{LOOP}`,
		"BOMB0": strings.Repeat("a", 4000),
		"BOMB1": strings.Repeat("%{BOMB0}", 10),
		"BOMB2": strings.Repeat("%{BOMB1}", 10),
	}
	cases := []struct{ expression, in, want string }{
		{`%{IP:client} %{WORD:method} %{NUMBER:took:float}`, `55.3.244.1 GET 0.043`, `no match`},
		{
			`%{IP:client} %{NOTSPACE:method} %{NUMBER:took:float}`, `55.3.244.1 GET 0.043`,
			`client=55.3.244.1; method=GET; took=0.043`,
		},
		{`^%{PAIR}$`, `abc=DE12`, `key=abc; code=DE12`},
		{`%{WORD}-%{WORD:b}`, `x-y`, `b=y`},
		{`(?<first.name>\w+) (?P<last>\w+)`, `a b`, `first.name=a; last=b`},
		{`%{WORD:[a][b]}`, `x`, `a.b=x`},
		{`(?:A%{INT:n}|B%{INT:n})`, `B7`, `n=7`},
		{`(a)(?>b)(?i:C)%{INT:n}`, `abc1`, `n=1`},
		{`(a)?+%{INT:n}b{1,2}+c*+`, `1bb`, `n=1`},
		{`a+?%{INT:n}`, `aa1`, `n=1`},
		{`[\]%{\h]+%{INT:n}[]x]`, `{f%]9]`, `n=9`},
		{`[[:alpha:]]%{INT:n}\h\Z`, `x1f`, `n=1`},
		{`\%{x}`, `%{x}`, ``},
		{`{%{INT:n}}`, `{7}`, `n=7`},
		{`%{DATA:a},%{GREEDYDATA:b}`, `x,y,z`, `a=x; b=y,z`},
		{`%{NOPE}`, ``, `!unknown pattern %{NOPE}`},
		{`%{INT`, ``, `!%{ without }`},
		{`%{:x}`, ``, `!%{:x} does not name a pattern`},
		{`%{INT:}`, ``, `!%{INT:} has an empty field name`},
		{`%{INT:a:date}`, ``, `!unknown type "date" in %{INT:a:date}, expected int, float, bool or string`},
		{`%{INT:a:int}%{INT:a}`, ``, `!the field "a" has two types`},
		{`%{LOOP}`, ``, `!the patterns refer to each other more than 32 deep, as at %{LOOP}`},
		{`%{BOMB2}`, ``, `!the pattern has more than 65536 bytes when its names are replaced`},
		{`(?=a)`, ``, `!look-around is not supported: (?=`},
		{`(?<!a)`, ``, `!look-around is not supported: (?<!`},
		{`(a)\1`, ``, `!back-references are not supported: \1`},
		{`(?<>a)`, ``, `!(?<> has no name`},
		{`(?<a`, ``, `!(?< without >`},
		{`(?#x)`, ``, `!comments are not supported: (?#`},
		{`\Qa`, ``, `!\Q is not supported`},
		{`[a`, ``, `!missing ] of a character class`},
		{`a\`, ``, `!a backslash at the end of the pattern`},
		{`(a`, ``, `!invalid regular expression: missing closing ): (?:a`},
		{`(?:(?:[a-z]{1,100}){1,10}x){1,900}`, ``, `!invalid regular expression: expression nests too deeply or invalid`},
	}
	for _, c := range cases {
		got := found(c.expression, own, c.in)
		if got != c.want && (!strings.HasPrefix(c.want, "!invalid regular") || !strings.HasPrefix(got, "!")) {
			t.Errorf("%s of %q\n got %s\nwant %s", c.expression, c.in, got, c.want)
		}
	}
	unknown := (*UnknownPatternError)(nil)
	if _, err := Compile(`%{PAIR}`, map[string]string{"PAIR": "%{X}"}); !errors.As(err, &unknown) || unknown.Name != "X" {
		t.Errorf("unknown pattern: %v", err)
	}
}

func TestLibrary(t *testing.T) {
	for name := range Library {
		p, err := Compile("%{"+name+"}", nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else {
			p.Match("x", nil)
		}
	}
	// Texts that a pattern must match as a whole, and texts that it must not match.
	cases := []struct {
		name    string
		yes, no []string
	}{
		{"INT", []string{"0", "-12", "+3"}, []string{"1.5", "a", ""}},
		{"NUMBER", []string{"0", "-12.5", ".5"}, []string{"1.", "1e5", "a"}},
		{"BASE16NUM", []string{"0xFF", "ff"}, []string{"0x", "fg"}},
		{"POSINT", []string{"1", "10"}, []string{"0", "01", "-1"}},
		{"NONNEGINT", []string{"0", "10"}, []string{"-1"}},
		{"WORD", []string{"a_1"}, []string{"a b", "a-b"}},
		{"QS", []string{`"a \" b"`, `'x'`, "`y`", `""`}, []string{`"a`, `"a'`, `a`}},
		{"UUID", []string{"123e4567-e89b-12d3-a456-426614174000"}, []string{"123e4567e89b12d3a456426614174000"}},
		{"MAC", []string{"aa:bb:cc:dd:ee:0f", "AA-BB-CC-DD-EE-0F", "aabb.ccdd.eeff"}, []string{"aa:bb:cc:dd:ee"}},
		{"IPV4", []string{"1.2.3.4", "255.255.255.255", "010.001.000.009"}, []string{"256.1.1.1", "1.2.3", "1.2.3.4.5"}},
		{
			"IPV6",
			[]string{
				"::", "::1", "fe80::1%eth0", "2001:db8::ff00:42:8329", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4",
				"1:2:3:4:5:6:1.2.3.4",
			},
			[]string{"12:30:45", "1:2:3:4:5:6:7", "1.2.3.4", "g::1"},
		},
		{"IPORHOST", []string{"10.0.0.1", "::1", "a-b.example.com", "localhost", "x."}, []string{"a b", "-"}},
		{"HOSTPORT", []string{"a.b:80", "1.2.3.4:8080"}, []string{"a.b"}},
		{"EMAILADDRESS", []string{"a.b+c@x.org"}, []string{"a@", "@x"}},
		{"UNIXPATH", []string{"/", "/var/log/a-b.log"}, []string{"var/log", "/a b"}},
		{"WINPATH", []string{`C:\a\b.txt`, `\\host\share`}, []string{`a\b`}},
		{"URI", []string{"http://a.b:80/c/d?e=f&g=[1]", "ftp://u:p@h/x", "file:///a"}, []string{"a.b/c", "http//x"}},
		{"URIPATHPARAM", []string{"/a/b?c=d", "/"}, []string{"a?b"}},
		{"MONTH", []string{"Jan", "january", "Mar", "May", "December", "Sept", "März", "Okt"}, []string{"Foo", "Januaryy"}},
		{"MONTHDAY", []string{"1", "01", "31"}, []string{"0", "32"}},
		{"DAY", []string{"Mon", "Sunday"}, []string{"mon", "Mond"}},
		{"YEAR", []string{"24", "2024"}, []string{"224"}},
		{"TIME", []string{"1:02:03", "23:59:60", "10:11:12.345", "10:11:12,345"}, []string{"24:00:00", "10:11"}},
		{"DATE", []string{"12/31/2024", "31.12.2024", "31-12-24"}, []string{"2024-12-31"}},
		{
			"TIMESTAMP_ISO8601",
			[]string{"2024-01-02T03:04:05.678Z", "2024-01-02 03:04:05,678", "2024-01-02T03:04+01:00", "2024-01-02T030405+0100"},
			[]string{"2024-01-02", "2024-13-02T03:04"},
		},
		{"HTTPDATE", []string{"10/Oct/2000:13:55:36 -0700"}, []string{"10/10/2000:13:55:36 -0700"}},
		{"HTTPDERROR_DATE", []string{"Sun Dec 04 04:47:44 2005"}, nil},
		{"SYSLOGTIMESTAMP", []string{"Jun 14 15:16:01", "Jun  4 15:16:01"}, []string{"Jun 14"}},
		{"DATESTAMP_RFC2822", []string{"Mon, 15 Aug 2005 15:52:01 +0000"}, nil},
		{"LOGLEVEL", []string{"INFO", "warning", "Err", "CRITICAL"}, []string{"infos"}},
		{"JAVACLASS", []string{"org.apache.Foo$Bar", "Foo"}, []string{"1a", "a..b"}},
	}
	for _, c := range cases {
		p, err := Compile(`\A(?:%{`+c.name+`})\z`, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.yes {
			if p.Match(s, nil) == nil {
				t.Errorf("%s does not match %q", c.name, s)
			}
		}
		for _, s := range c.no {
			if p.Match(s, nil) != nil {
				t.Errorf("%s matches %q", c.name, s)
			}
		}
	}
}

func TestLines(t *testing.T) {
	cases := []struct{ expression, in, want string }{
		{
			`%{COMBINEDAPACHELOG}`, `127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?b=c HTTP/1.0" 200 2326 ` +
				`"http://x.com/start.html" "Mozilla/4.08 [en]"`,
			`clientip=127.0.0.1; ident=-; auth=frank; timestamp=10/Oct/2000:13:55:36 -0700; verb=GET; request=/a.gif?b=c; ` +
				`httpversion=1.0; response=200; bytes=2326; referrer="http://x.com/start.html"; agent="Mozilla/4.08 [en]"`,
		},
		{
			`%{COMMONAPACHELOG}`, `::1 - - [10/Oct/2000:13:55:36 -0700] "\x16\x03" 400 -`,
			`clientip=::1; ident=-; auth=-; timestamp=10/Oct/2000:13:55:36 -0700; rawrequest=\x16\x03; response=400`,
		},
		{
			`%{HTTPD_ERRORLOG}`, `[Sun Dec 04 04:51:08 2005] [error] [client 10.0.0.7] Directory index forbidden`,
			`timestamp=Sun Dec 04 04:51:08 2005; loglevel=error; clientip=10.0.0.7; message=Directory index forbidden`,
		},
		{
			`%{HTTPD_ERRORLOG}`,
			`[Thu Jun 27 08:18:09.123456 2024] [core:error] [pid 17:tid 99] [client 10.0.0.7:5000] AH00126: Invalid URI`,
			`timestamp=Thu Jun 27 08:18:09.123456 2024; loglevel=error; clientip=10.0.0.7; message=Invalid URI; module=core; ` +
				`pid=17; tid=99; clientport=5000; errorcode=AH00126`,
		},
		{
			`%{SYSLOGLINE}`, `Jun  9 06:06:20 combo sshd(pam_unix)[19939]: authentication failure; user=root`,
			`timestamp=Jun  9 06:06:20; logsource=combo; program=sshd(pam_unix); pid=19939; ` +
				`message=authentication failure; user=root`,
		},
		{
			`%{SYSLOG5424LINE}`,
			`<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 [a b="c"][d e="\]"] hello`,
			`syslog5424_pri=165; syslog5424_ver=1; syslog5424_ts=2003-10-11T22:14:15.003Z; ` +
				`syslog5424_host=mymachine.example.com; syslog5424_app=evntslog; syslog5424_msgid=ID47; ` +
				`syslog5424_sd=[a b="c"][d e="\]"]; syslog5424_msg=hello`,
		},
		{
			`%{JAVASTACKTRACEPART}`, `	at org.x.Foo.<init>(Foo.java:17)`,
			`class=org.x.Foo; method=<init>; file=Foo.java; line=17`,
		},
		{
			`^%{TIMESTAMP_ISO8601:time} - %{LOGLEVEL:level}\s+\[%{DATA:thread}:%{JAVACLASS:class}@%{INT:line:int}\] - ` +
				`%{GREEDYDATA:msg}`,
			`2015-07-29 17:41:44,747 - INFO  [QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181:FastLeaderElection@774] - Notification ` +
				`time out: 3200`,
			`time=2015-07-29 17:41:44,747; level=INFO; thread=QuorumPeer[myid=1]/0:0:0:0:0:0:0:0:2181; ` +
				`class=FastLeaderElection; line=774; msg=Notification time out: 3200`,
		},
		{
			`%{HAPROXYHTTP}`, `Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in ` +
				`static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1"`,
			`syslog_timestamp=Feb  6 12:14:14; syslog_server=localhost; program=haproxy; pid=14389; client_ip=10.0.1.2; ` +
				`client_port=33317; accept_date=06/Feb/2009:12:14:14.655; frontend_name=http-in; backend_name=static; ` +
				`server_name=srv1; time_request=10; time_queue=0; time_backend_connect=30; time_backend_response=69; ` +
				`time_duration=109; http_status_code=200; bytes_read=2750; captured_request_cookie=-; ` +
				`captured_response_cookie=-; termination_state=----; actconn=1; feconn=1; beconn=1; srvconn=1; retries=0; ` +
				`srv_queue=0; backend_queue=0; captured_request_headers=1wt.eu; captured_response_headers=; http_verb=GET; ` +
				`http_request=/index.html; http_version=1.1`,
		},
	}
	for _, c := range cases {
		if got := found(c.expression, nil, c.in); got != c.want {
			t.Errorf("%s of %s\n got %s\nwant %s", c.expression, c.in, got, c.want)
		}
	}
}

func FuzzCompile(f *testing.F) {
	f.Add(`^%{IP:a} (?<b>[\]x]+)%{C:d:int}$`, `[A-Z]{2}++`, "1.2.3.4 xAB")
	f.Add(`%{C`, `%{C}`, "")
	f.Add(`[[:x:]%{`, `(?>`, "")
	f.Fuzz(func(t *testing.T, expression, definition, s string) {
		p, err := Compile(expression, map[string]string{"C": definition})
		if err != nil {
			return
		}
		m := p.Match(s, nil)
		if want := p.re.FindStringSubmatchIndex(s); !slices.Equal(m, want) {
			t.Errorf("%q with %q of %q: %v, want %v", expression, definition, s, m, want)
		}
		for _, f := range p.Fields() {
			if m != nil {
				f.Text(s, m)
			}
		}
	})
}
