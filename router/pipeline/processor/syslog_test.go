package processor

import (
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestSyslog(t *testing.T) {
	run(t, "syslog", []runCase{
		{
			"RFC 5424", `field: m`, `{"m":"<165>1 2003-10-11T22:14:15.003Z host.example.com evntslog 17 ID47 [ex@1 iut=\"3\" ` +
				`src=\"a \\\"b\\\\ \\]\"][y] An event"}`,
			`{"appname":"evntslog","facility":"local4","hostname":"host.example.com","m":"<165>1 2003-10-11T22:14:15.003Z ` +
				`host.example.com evntslog 17 ID47 [ex@1 iut=\"3\" src=\"a \\\"b\\\\ \\]\"][y] An event","message":"An ` +
				`event","msgid":"ID47","procid":"17","severity":"notice","structured_data":{"ex@1":{"iut":"3","src":"a \"b\\ ` +
				`]"},"y":{}},"timestamp":"2003-10-11T22:14:15.003Z","version":1}`,
		},
		{
			"RFC 5424, all missing", `field: message`, `{"message":"<0>1 - - - - - -"}`,
			`{"facility":"kern","message":"","severity":"emerg","version":1}`,
		},
		{
			"RFC 5424, byte order mark", `field: message`,
			`{"message":"<14>1 2003-10-11T22:14:15-07:00 h a - - - \ufeffhä\n"}`,
			`{"appname":"a","facility":"user","hostname":"h","message":"hä","severity":"info",` +
				`"timestamp":"2003-10-12T05:14:15Z","version":1}`,
		},
		{
			"RFC 3164", `{field: message, year: 2003}`,
			`{"message":"<34>Oct 11 22:14:15 mymachine su[17]: 'su root' failed"}`,
			`{"appname":"su","facility":"auth","hostname":"mymachine","message":"'su root' ` +
				`failed","procid":"17","severity":"crit","timestamp":"2003-10-11T22:14:15Z"}`,
		},
		{
			"from a file", `{field: message, year: 2005}`,
			`{"message":"Jun  9 06:06:20 combo sshd(pam_unix)[19939]: authentication failure; user=root"}`,
			`{"appname":"sshd(pam_unix)","hostname":"combo","message":"authentication failure; ` +
				`user=root","procid":"19939","timestamp":"2005-06-09T06:06:20Z"}`,
		},
		{
			"without tag", `{field: message, year: 2005}`,
			`{"message":"Jun 09 06:06:20 combo last message repeated 2 times"}`,
			`{"hostname":"combo","message":"last message repeated 2 times","timestamp":"2005-06-09T06:06:20Z"}`,
		},
		{
			"tag with a version", `{field: message, year: 2005}`,
			`{"message":"Jun 19 04:08:57 combo syslogd 1.4.1: restart."}`,
			`{"hostname":"combo","message":"syslogd 1.4.1: restart.","timestamp":"2005-06-19T04:08:57Z"}`,
		},
		{
			"without host", `{field: message, year: 2005}`, `{"message":"<13>Jun 19 04:08:57 kernel: x: y"}`,
			`{"appname":"kernel","facility":"user","message":"x: y","severity":"notice","timestamp":"2005-06-19T04:08:57Z"}`,
		},
		{
			"without host, with procid", `{field: message, year: 2005}`, `{"message":"Jun 19 04:08:57 su[3]: x"}`,
			`{"appname":"su","message":"x","procid":"3","timestamp":"2005-06-19T04:08:57Z"}`,
		},
		{
			"host alone", `{field: message, year: 2005}`, `{"message":"Jun 19 04:08:57 h"}`,
			`{"hostname":"h","message":"","timestamp":"2005-06-19T04:08:57Z"}`,
		},
		{
			"with year and fraction", `field: message`, `{"message":"<189>Apr 1 2021 14:05:06.25: h %SYS-5: x"}`,
			`{"appname":"%SYS-5","facility":"local7","hostname":"h","message":"x","severity":"notice",` +
				`"timestamp":"2021-04-01T14:05:06.250Z"}`,
		},
		{
			"time of RFC 3339", `field: message`, `{"message":"2024-01-02T03:04:05.123456+01:00 h cron[7]: x"}`,
			`{"appname":"cron","hostname":"h","message":"x","procid":"7","timestamp":"2024-01-02T02:04:05.123456Z"}`,
		},
		{
			"time without offset", `{field: message, timezone: Europe/Berlin}`,
			`{"message":"<13>2024-07-02 03:04:05 h cron: x"}`,
			`{"appname":"cron","facility":"user","hostname":"h","message":"x","severity":"notice",` +
				`"timestamp":"2024-07-02T01:04:05Z"}`,
		},
		{
			"in a zone", `{field: message, timezone: America/New_York, year: 2024}`,
			`{"message":"Jan  1 00:00:00 h a: x"}`,
			`{"appname":"a","hostname":"h","message":"x","timestamp":"2024-01-01T05:00:00Z"}`,
		},
		{
			"offset does not need the zone", `{field: message, timezone: America/New_York}`,
			`{"message":"2024-01-02T03:04:05Z h a: x"}`,
			`{"appname":"a","hostname":"h","message":"x","timestamp":"2024-01-02T03:04:05Z"}`,
		},
		{
			"priority alone", `field: message`, `{"message":"<13>hello: world"}`,
			`{"facility":"user","message":"hello: world","severity":"notice"}`,
		},
		{
			"prefix", `{field: m, prefix: s_}`, `{"m":"<13>x"}`,
			`{"m":"<13>x","s_facility":"user","s_message":"x","s_severity":"notice"}`,
		},
		{
			"renamed", `{field: "m, log"}`, `{"m":"<13>x"}`,
			`{"log":{"facility":"user","message":"x","severity":"notice"},"m":"<13>x"}`,
		},
		{
			"renamed as a map", `{fields: [{key: m, rename_to: log}]}`, `{"m":"<13>x"}`,
			`{"log":{"facility":"user","message":"x","severity":"notice"},"m":"<13>x"}`,
		},
		{
			"only RFC 5424", `{field: m, format: rfc5424}`, `{"m":"<34>Oct 11 22:14:15 h su: x"}`,
			`!Processor syslog: expected a priority and a version, as in <34>1: "<34>Oct 11 22:14:15 h su: ` +
				`x" (field "m", processors[0])`,
		},
		{
			"only RFC 3164", `{field: message, format: RFC3164}`, `{"message":"<34>1 - - - - - -"}`,
			`{"facility":"auth","message":"1 - - - - - -","severity":"crit"}`,
		},
		{"no syslog", `field: m`, `{"m":"hello"}`, `!expected a priority or a time, as in <34>Oct 11 22:14:15: "hello"`},
		{"empty", `field: m`, `{"m":""}`, `!expected a priority or a time`},
		{"bad priority", `field: m`, `{"m":"<x>1 - - - - - -"}`, `!the priority is not a number in < and >`},
		{"priority too large", `field: m`, `{"m":"<192>x"}`, `!the priority is above 191`},
		{"bad time", `field: m`, `{"m":"<1>1 yesterday h a - - - x"}`, `!the time is not in the format of RFC 3339`},
		{"no such day", `{field: m, year: 2023}`, `{"m":"Feb 29 00:00:00 h a: x"}`, `!expected a priority or a time`},
		{"header too short", `field: m`, `{"m":"<1>1 - h a"}`, `!the header has too few parts`},
		{"no structured data", `field: m`, `{"m":"<1>1 - h a p i text"}`, `!the structured data is missing`},
		{"structured data not closed", `field: m`, `{"m":"<1>1 - h a p i [x a=\"1"}`, `!the structured data is malformed`},
		{"structured data without id", `field: m`, `{"m":"<1>1 - h a p i [] x"}`, `!the structured data is malformed`},
		{
			"structured data without quotes", `field: m`, `{"m":"<1>1 - h a p i [x a=1] x"}`,
			`!the structured data is malformed`,
		},
		{
			"no space after structured data", `field: m`, `{"m":"<1>1 - h a p i [x]y"}`,
			`!expected a space after the structured data`,
		},
		{"missing", `field: m`, `{}`, `!missing field (field "m", processors[0])`},
		{"missing ignored", `{field: m, ignore_missing: true}`, `{"m":null}`, `{"m":null}`},
		{"wrong type", `field: m`, `{"m":7}`, `!expected a string, found an integer`},
		{"unknown format", `{field: m, format: rfc5425}`, ``, `!did you mean "rfc5424"?`},
		{"unknown zone", `{field: m, timezone: Mars/Base}`, ``, `!syslog.timezone: unknown time zone "Mars/Base"`},
		{"bad year", `{field: m, year: 24}`, ``, `!syslog.year: expected a year from 1970 to 2261, found 24`},
		{"unknown option", `{field: m, zone: UTC}`, ``, `!unknown key "zone"`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzSyslog(f *testing.F) {
	var names Names
	step, err := compileOne("syslog", `{field: m}`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`<165>1 2003-10-11T22:14:15.003Z h a 17 ID47 [ex@1 iut="3" src="a \"b\\ \]"][y] An event`)
	f.Add(`<34>Oct 11 22:14:15 mymachine su[17]: failed`)
	f.Add(`2024-01-02T03:04:05,123+01:00 h cron[7]: x`)
	f.Fuzz(func(t *testing.T, s string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "m", Value: value.NewString(s)})
		if err := step.Apply(rec); err != nil {
			return
		}
		text, _ := rec.Value.Object().Get("message")
		if !strings.Contains(s, text.Str()) {
			t.Errorf("%q: message %q", s, text.Str())
		}
	})
}

func BenchmarkSyslogRFC5424(b *testing.B) {
	bench(b, "syslog", `{field: message}`, `{"message":"<165>1 2003-10-11T22:14:15.003Z host.example.com evntslog 17 `+
		`ID47 [ex@1 iut=\"3\" src=\"a\"] An event of an application"}`)
}

func BenchmarkSyslogRFC3164(b *testing.B) {
	bench(b, "syslog", `{field: message}`,
		`{"message":"<34>Oct 11 22:14:15 mymachine sshd[1234]: Failed password for root from 10.0.0.1 port 22 ssh2"}`)
}
