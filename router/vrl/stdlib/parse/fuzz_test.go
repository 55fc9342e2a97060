package parse_test

import (
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/value"
)

// parsers are programs that parse the bytes in .x. None may panic, and results must be expressible as JSON.
var parsers = []string{
	`parse_key_value(.x) ?? {}`,
	`parse_key_value(.x, key_value_delimiter: ":", field_delimiter: ",", whitespace: "strict", accept_standalone_key: ` +
		`false) ?? {}`,
	`parse_syslog(.x) ?? {}`,
	`parse_common_log(.x) ?? {}`,
	`parse_apache_log(.x, "combined") ?? {}`,
	`parse_apache_log(.x, "error") ?? {}`,
	`parse_nginx_log(.x, "combined") ?? {}`,
	`parse_nginx_log(.x, "main") ?? {}`,
	`parse_nginx_log(.x, "error") ?? {}`,
	`parse_nginx_log(.x, "ingress_upstreaminfo") ?? {}`,
	`parse_klog(.x) ?? {}`,
	`parse_glog(.x) ?? {}`,
	`parse_aws_alb_log(.x, strict_mode: false) ?? {}`,
	`parse_aws_vpc_flow_log(.x) ?? {}`,
	`parse_aws_cloudwatch_log_subscription_message(.x) ?? {}`,
	`parse_cef(.x, translate_custom_fields: true, strict: false) ?? {}`,
	`parse_csv(.x) ?? []`,
	`parse_tokens(.x)`,
	`parse_query_string(.x)`,
	`parse_int(.x) ?? 0`,
	`parse_duration(.x, "s") ?? 0.0`,
	`parse_bytes(.x, "B") ?? 0.0`,
	`parse_timestamp(.x, "%F %T%.f %z") ?? now()`,
	`parse_url(.x) ?? {}`,
	`parse_etld(.x, plus_parts: 1) ?? {}`,
	`parse_xml(.x) ?? {}`,
	`parse_xml(.x, trim: false, always_use_text_key: true) ?? {}`,
	`parse_yaml(.x) ?? {}`,
	`parse_cbor(.x) ?? {}`,
	`parse_influxdb(.x) ?? []`,
	`parse_ruby_hash(.x) ?? {}`,
	`parse_user_agent(.x, mode: "enriched")`,
	`parse_grok(.x, "%{COMBINEDAPACHELOG}") ?? {}`,
	`parse_groks(.x, ["%{date(\"yyyy-MM-dd HH:mm:ss,SSS\"):a}", "%{data::keyvalue}", "%{data:x:json}", ` +
		`"%{data:x:array}"]) ?? {}`,
	`parse_regex(.x, r'(?P<a>\w+)\s(?P<b>.*)') ?? {}`,
	`parse_regex_all(.x, r'(?P<a>\d?)', numeric_groups: true) ?? []`,
}

func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"", "-", `a=1 "b c"='d'`, "<13>1 2024-01-02T03:04:05Z h a 7 m [x y=\"z\"] text", "<13>Jan  2 03:04:05 h a[7]: text",
		`10.1.1.1 - u [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 1 "-" "a"`,
		`2024/04/01 13:02:31 [error] 31#32: *1 x, excess: 1.5 by zone "z", client: c, server: s, request: "r"`,
		"I0505 17:59:40.692994   28133 klog.go:70] hello", "CEF:0|a|b|c|d|e|f|cs1=1 cs1Label=x", `a,"b ""c"",d`,
		"https://u:p@h.org:1/a?b=c#d", "1h 30m", "<a b=\"c\">d<e/></a>", "a: [1, {b: c}]\nd: |\n  e\n",
		"\xa1\x61\x61\x18\x2a",
		"cpu,h=a x=1i 5", `{ "a" => 1, :b => [nil] }`, "Mozilla/5.0 (Linux; Android 14; SM-S911B) Chrome/120.0",
	} {
		f.Add([]byte(s))
	}
	var programs []*vrl.Program
	for _, s := range parsers {
		p, _, err := vrl.Compile("x = string(.x) ?? \"\"\n.x = x\n"+s, vrl.Options{})
		if err != nil {
			f.Fatalf("%s: %v", s, err)
		}
		programs = append(programs, p)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			return
		}
		for i, p := range programs {
			event := value.ObjectOf(value.Field{Key: "x", Value: value.NewBytes(append([]byte(nil), data...))})
			meta := value.ObjectOf()
			v, err := p.Run(&event, &meta)
			if err != nil {
				t.Fatalf("%s on %q: %v", parsers[i], data, err)
			}
			if out := value.AppendJSON(nil, v); len(out) == 0 {
				t.Fatalf("%s on %q: no result", parsers[i], data)
			}
		}
	})
}
