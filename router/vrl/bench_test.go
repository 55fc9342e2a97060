package vrl_test

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// access is a program with twelve operations on records of an access log.
const access = `
if .path == "/healthz" { return null }
.time = parse_timestamp!(.time, format: "%+")
.upstream_addr = .upstream.addr
.upstream_ms = float!(.upstream.response_time) * 1000.0
.latency_ms = float!(.request_time) * 1000.0
.country = .geo.country
status = int!(.status)
.status_class = to_string(floor(to_float(status) / 100.0)) + "xx"
.level = if status >= 500 { "error" } else if status >= 400 { "warn" } else { "info" }
.path = split(string!(.path), "?", limit: 2)[0]
.method = downcase(string!(.method))
if .referer != "-" {
  .referer_host = split(replace(string!(.referer), "https://", "", count: 1), "/", limit: 2)[0]
}
del(.upstream)
del(.geo)
del(.referer)
.
`

// accessRecords returns records of an access log.
func accessRecords(n int) []string {
	list := make([]string, n)
	for i := range list {
		referer := "-"
		if i%3 == 0 {
			referer = fmt.Sprintf("https://shop%d.example.com/cart/%d", i%7, i)
		}
		list[i] = fmt.Sprintf(`{"time":"2025-03-%02dT10:%02d:07.%03dZ","remote_addr":"10.1.%d.%d","method":"GET",`+
			`"path":"/api/v1/items/%d?page=%d","status":%d,"bytes":%d,"request_time":0.%03d,"referer":%q,`+
			`"user_agent":"Mozilla/5.0 (X11; Linux x86_64)","host":"www.example.com","upstream":{"addr":"10.0.0.%d:8080",`+
			`"response_time":0.%03d},"geo":{"country":"DE","city":"Berlin"}}`,
			1+i%28, i%60, i%1000, i%256, i%199, i, i%9, []int{200, 200, 404, 503}[i%4], 100+i, i%1000, referer, i%250, i%997)
	}
	return list
}

func BenchmarkAccessLog(b *testing.B) {
	p, _, err := vrl.Compile(access, vrl.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var events []value.Value
	for _, s := range accessRecords(256) {
		v, err := value.ParseJSON(s, value.JSONOptions{})
		if err != nil {
			b.Fatal(err)
		}
		events = append(events, v.Freeze())
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		// A frozen event is copied when it changes, so the measured time includes one copy of its fields.
		e := events[i&255]
		if _, err := p.Run(&e, nil); err != nil {
			b.Fatal(err)
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkDecode(b *testing.B) {
	records := accessRecords(256)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := value.ParseJSON(records[i&255], value.JSONOptions{}); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// longProgram returns a program of n lines with branches, fields and variables.
func longProgram(n int) string {
	var b strings.Builder
	for i := range n / 4 {
		fmt.Fprintf(&b, "if .kind == \"k%d\" {\n  .out.f%d = to_int(.a) ?? %d\n  v%d = .b\n}\n", i, i, i, i%50)
	}
	return b.String() + ".\n"
}

func BenchmarkCompile1000Lines(b *testing.B) {
	source := longProgram(1000)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := vrl.Compile(source, vrl.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAccessLog(t *testing.T) {
	p, _, err := vrl.Compile(access, vrl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Result().Has(kind.ObjectBit|kind.NullBit) || p.Result().Has(kind.RegexBit) {
		t.Errorf("result %s", p.Result())
	}
	e, err := value.ParseJSON(accessRecords(1)[0], value.JSONOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Run(&e, nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"bytes":100,"country":"DE","host":"www.example.com","latency_ms":0.0,"level":"info","method":"get",` +
		`"path":"/api/v1/items/0",` +
		`"referer_host":"shop0.example.com","remote_addr":"10.1.0.0","request_time":0.0,"status":200,"status_class":"2xx",` +
		`"time":"2025-03-01T10:00:07Z","upstream_addr":"10.0.0.0:8080","upstream_ms":0.0,"user_agent":"Mozilla/5.0 (X11; ` +
		`Linux x86_64)"}`
	if got := string(value.AppendJSON(nil, v)); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// BenchmarkFunctions runs the functions that take most of the time in programs for logs.
func BenchmarkFunctions(b *testing.B) {
	line := `10.1.2.3 - frank [10/Oct/2024:13:55:36 +0200] "GET /apache_pb.gif?x=1 HTTP/1.1" 200 2326 ` +
		`"https://example.com/start" "Mozilla/5.0 (X11; Linux x86_64)"`
	for _, c := range []struct{ name, source, message string }{
		{
			"parse_regex",
			`. = parse_regex!(.m, r'^(?P<ip>\S+) \S+ (?P<user>\S+) \[(?P<time>[^\]]+)\] "(?P<method>\S+) (?P<path>\S+) [^"]*" ` +
				`(?P<status>\d+) (?P<size>\d+)')`,
			line,
		},
		{"parse_nginx_log", `. = parse_nginx_log!(.m, "combined")`, line},
		{"parse_json", `. = parse_json!(.m)`, accessRecords(2)[1] + strings.Repeat(" ", 80)},
		{
			"parse_key_value", `. = parse_key_value!(.m)`,
			`time=2024-10-10T13:55:36Z level=info msg="request done" method=GET path=/a/b status=200 took=12ms user=frank`,
		},
		{
			"parse_syslog", `. = parse_syslog!(.m)`,
			`<34>1 2024-10-10T13:55:36.003Z mymachine.example.com su 1234 ID47 [ex@1 a="b" c="d"] 'su root' failed for ` +
				`lonvick on /dev/pts/8`,
		},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, _, err := vrl.Compile(c.source, vrl.Options{})
			if err != nil {
				b.Fatal(err)
			}
			message := value.NewString(c.message)
			b.ReportAllocs()
			for b.Loop() {
				o := value.MakeFields(1)
				o.Set("m", message)
				e := o.Value()
				if _, err := p.Run(&e, nil); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
