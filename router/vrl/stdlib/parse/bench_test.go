package parse_test

import (
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// BenchmarkParse measures parsers on a line each.
func BenchmarkParse(b *testing.B) {
	const nginx = `172.17.0.1 - alice [01/Apr/2024:12:02:31 +0000] "POST /not-found HTTP/1.1" 404 153 ` +
		`"http://localhost/somewhere" "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.36 (KHTML, ` +
		`like Gecko) Chrome/72.0.3626.119 Safari/537.36"`
	for _, bm := range []struct{ name, source, line string }{
		{
			"regex",
			`.r = parse_regex!(.x, r'^(?P<host>[\w\.]+) - (?P<user>[\w]+) (?P<bytes_in>[\d]+) \[(?P<timestamp>.*)\] ` +
				`"(?P<method>[\w]+) (?P<path>.*)" (?P<status>[\d]+) (?P<bytes_out>[\d]+)$')`,
			`5.86.210.12 - zieme4647 5667 [19/06/2019:17:20:49 -0400] "GET /embrace/supply-chains/dynamic/vertical" 201 20574`,
		},
		{
			"key_value", `.r = parse_key_value!(.x)`,
			`at=info method=GET path=/ host=myapp.example.org request_id=8601b555-6a83-4c12-8269-97c8e32cdb22 ` +
				`fwd="204.204.204.204" dyno=web.1 connect=1ms service=18ms status=200 bytes=13 tls_version=tls1.1 protocol=http`,
		},
		{
			"syslog", `.r = parse_syslog!(.x)`,
			`<13>1 2024-03-13T20:45:38.119Z dynamicwireless.name non 2426 ID931 [exampleSDID@32473 iut="3" ` +
				`eventSource="Application" eventID="1011"] Try to override the THX port, maybe it will reboot the neural ` +
				`interface!`,
		},
		{"nginx", `.r = parse_nginx_log!(.x, "combined")`, nginx},
		{
			"common", `.r = parse_common_log!(.x)`,
			`127.0.0.1 bob frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
		},
		{
			"grok", `.r = parse_grok!(.x, "%{HTTPD_COMMONLOG}")`,
			`127.0.0.1 bob frank [10/Oct/2000:13:55:36 -0700] "GET /apache_pb.gif HTTP/1.0" 200 2326`,
		},
		{"url", `.r = parse_url!(.x)`, `https://example.org:8080/a/b?x=1&y=2#top`},
		{
			"user_agent", `.r = parse_user_agent(string!(.x))`,
			`Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36`,
		},
	} {
		b.Run(bm.name, func(b *testing.B) {
			p, _, err := vrl.Compile(bm.source, vrl.Options{})
			if err != nil {
				b.Fatal(err)
			}
			event := value.ObjectOf(value.Field{Key: "x", Value: value.NewString(bm.line)})
			meta := value.ObjectOf()
			b.SetBytes(int64(len(bm.line)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Run(&event, &meta); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
