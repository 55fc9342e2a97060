package parse_test

import (
	"testing"
	"time"

	"cordwood/router/vrl/vrltest"
)

func TestParseCommonLog(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "a user with a blank",
			Source: `parse_common_log!(s'h - mia k [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 1').user`,
			Want:   `"mia k"`,
		},
		{
			Name:   "a path with a blank",
			Source: `parse_common_log!(s'h - - [10/Oct/2024:13:55:36 +0000] "GET /a b HTTP/1.1" 200 1').path`,
			Want:   `"/a b"`,
		},
		{
			Name:   "a request with quotes",
			Source: `parse_common_log!(s'h - - [10/Oct/2024:13:55:36 +0000] "GET /"a" HTTP/1.1" 200 1').path`,
			Want:   `"/\"a\""`,
		},
		{
			Name:   "not a request",
			Source: `parse_common_log!(s'h - - [10/Oct/2024:13:55:36 +0000] "\x16\x03" 400 -')`,
			Want:   `{"host":"h","message":"\\x16\\x03","status":400,"timestamp":"2024-10-10T13:55:36Z"}`,
		},
		{
			Name: "zone of the run", Source: `parse_common_log!(s'- - - [2024-01-02 03:04] "-" - -', "%F %R")`,
			Zone: "Asia/Tokyo", Want: `{"timestamp":"2024-01-01T18:04:00Z"}`,
		},
		{
			Name:     "more than a line",
			Source:   `parse_common_log!(s'- - - [-] "-" - - x')`,
			RunError: "failed parsing common log line",
		},
		{
			Name:     "a status that is none",
			Source:   `parse_common_log!(s'- - - [-] "-" 2x0 -')`,
			RunError: "failed parsing common log line",
		},
		{Name: "a layout that is none", Source: `parse_common_log!("", "%Q")`, CompileError: "E610"},
	})
}

func TestParseApacheLog(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "combined", Source: `parse_apache_log!(s'h i u [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 1 ` +
				`"http://r" "a \"b\""', "combined")`,
			Want: `{"agent":"a \\\"b\\\"","host":"h","identity":"i","message":"GET / ` +
				`HTTP/1.1","method":"GET","path":"/","protocol":"HTTP/1.1","referrer":"http://r","size":1,"status":200,` +
				`"timestamp":"2024-10-10T13:55:36Z","user":"u"}`,
		},
		{
			Name:     "combined, not common",
			Source:   `parse_apache_log!(s'- - - [-] "-" - -', "combined")`,
			RunError: "failed parsing combined log line",
		},
		{
			Name: "error with two messages", Source: `parse_apache_log!("[01/Mar/2024:12:00:19 +0000] [proxy:error] [pid ` +
				`7:tid 8] (70007)timeout: [client 10.1.1.1:99] AH01102: failed", "error")`,
			Want: `{"client":"10.1.1.1","message1":"(70007)timeout:","message2":"AH01102: ` +
				`failed","module":"proxy","pid":7,"port":99,"severity":"error","thread":"8","timestamp":"2024-03-01T12:00:19Z"}`,
		},
		{
			Name:   "error without a client",
			Source: `parse_apache_log!("[01/Mar/2024:12:00:19 +0000] [mpm:notice] [pid 7] AH00163: up", "error").message`,
			Want:   `"AH00163: up"`,
		},
		{Name: "not an error", Source: `parse_apache_log!("up", "error")`, RunError: "failed parsing error log line"},
		{Name: "format", Source: `parse_apache_log!("", "custom")`, CompileError: "E610"},
	})
}

func TestParseNginxLog(t *testing.T) {
	const upstream = `s'10.1.1.1 - - [18/Mar/2024:15:00:00 +0000] "GET / HTTP/2.0" 200 12 "" "a" 462 0.05 [up-80] [] ` +
		`10.0.0.1:80, 10.0.0.2:80 19 0.049 200 75'`
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "several upstreams",
			Source: `parse_nginx_log!(` + upstream + `, "ingress_upstreaminfo").upstream_addr`,
			Want:   `"10.0.0.1:80, 10.0.0.2:80"`,
		},
		{
			Name: "request with quotes",
			Source: `parse_nginx_log!(s'10.1.1.1 - - [18/Mar/2024:15:00:00 +0000] "GET /"x" HTTP/2.0" 200 12 "-" "a"', ` +
				`"combined").request`,
			Want: `"GET /\"x\" HTTP/2.0"`,
		},
		{
			Name:     "no status",
			Source:   `parse_nginx_log!(s'10.1.1.1 - - [18/Mar/2024:15:00:00 +0000] "GET / HTTP/2.0" - 12 "-" "a"', "combined")`,
			RunError: "failed parsing log line",
		},
		{
			Name:     "a time that is none",
			Source:   `parse_nginx_log!(s'10.1.1.1 - - [yesterday] "GET / HTTP/2.0" 200 12 "-" "a"', "combined")`,
			RunError: "failed parsing timestamp yesterday using format %d/%b/%Y:%T %z",
		},
		{
			Name:   "error without details",
			Source: `parse_nginx_log!("2024/04/01 13:02:31 [emerg] 7#8: no port, none at all", "error")`,
			Want:   `{"message":"no port, none at all","pid":7,"severity":"emerg","tid":8,"timestamp":"2024-04-01T13:02:31Z"}`,
		},
		{
			Name: "error with a subrequest",
			Source: `parse_nginx_log!(s'2024/04/01 13:02:31 [error] 7#8: *9 down, client: 10.1.1.1, server: s, request: ` +
				`"GET / HTTP/1.1", subrequest: "/auth", host: "h"', "error").subrequest`,
			Want: `"/auth"`,
		},
		{
			Name: "error in a zone", Source: `parse_nginx_log!("2024/04/01 13:02:31 [emerg] 7#8: x", "error").timestamp`,
			Zone: "Asia/Tokyo", Want: `"2024-04-01T04:02:31Z"`,
		},
		{Name: "not an error", Source: `parse_nginx_log!("x", "error")`, RunError: "failed parsing log line"},
	})
}

func TestParseSyslog(t *testing.T) {
	january := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "nothing known", Source: `parse_syslog!("<14>1 - - - - - -")`,
			Want: `{"facility":"user","message":"","severity":"info","version":1}`,
		},
		{
			Name:   "several elements",
			Source: `parse_syslog!(s'<14>1 2024-01-02T03:04:05+01:00 h a x9 - [a b="c" d="e\]"][f] text')`,
			Want: `{"a":{"b":"c","d":"e]"},"appname":"a","f":{},"facility":"user","hostname":"h","message":"text",` +
				`"procid":"x9","severity":"info","timestamp":"2024-01-02T02:04:05Z","version":1}`,
		},
		{
			Name:   "an element that takes a name",
			Source: `parse_syslog!(s'<14>1 - - - - - [message a="b"] text').message`,
			Want:   `"text"`,
		},
		{Name: "data that is none", Source: `parse_syslog!(s'<14>1 - - - - - [x text').message`, Want: `"[x text"`},
		{Name: "mark of UTF-8", Source: `parse_syslog!("<14>1 - - - - - - \u{feff}text").message`, Want: `"text"`},
		{
			Name: "old, in December", Source: `parse_syslog!("<13>Dec 31 23:59:59 h app[7]: text")`, Now: january,
			Want: `{"appname":"app","facility":"user","hostname":"h","message":"text","procid":7,"severity":"notice",` +
				`"timestamp":"2025-12-31T23:59:59Z"}`,
		},
		{
			Name: "old, this year", Source: `parse_syslog!("Jan  1 23:59:59 h app: text")`, Now: january,
			Want: `{"appname":"app","hostname":"h","message":"text","timestamp":"2026-01-01T23:59:59Z"}`,
		},
		{
			Name: "old, in a zone", Source: `parse_syslog!("Jan  1 09:00:00 h app: text").timestamp`, Now: january,
			Zone: "Asia/Tokyo", Want: `"2026-01-01T00:00:00Z"`,
		},
		{
			Name:   "old, with a year",
			Source: `parse_syslog!("<13>Jan 1 2024 23:59:59 h app: text").timestamp`,
			Want:   `"2024-01-01T23:59:59Z"`,
		},
		{
			Name:   "old, with an ISO time",
			Source: `parse_syslog!("<13>2024-01-01T23:59:59.5+01:00 h app: text")`,
			Want: `{"appname":"app","facility":"user","hostname":"h","message":"text","severity":"notice",` +
				`"timestamp":"2024-01-01T22:59:59.500Z"}`,
		},
		{Name: "no tag", Source: `parse_syslog!("<13>Jan 1 2024 23:59:59 h some words").message`, Want: `"some words"`},
		{
			Name:   "priority only",
			Source: `parse_syslog!("<13>text")`,
			Want:   `{"facility":"user","message":"text","severity":"notice"}`,
		},
		{Name: "a number is not a time", Source: `parse_syslog!("<13>404 errors today").message`, Want: `"404 errors today"`},
		{Name: "words that are not a time", Source: `parse_syslog!("<13>one 1 day more").message`, Want: `"one 1 day more"`},
		{Name: "neither", Source: `parse_syslog!("text")`, RunError: "unable to parse input as valid syslog message"},
		{Name: "priority that is none", Source: `parse_syslog!("<x>text")`, RunError: "unable to parse"},
		{Name: "absent is null", Source: `parse_syslog!("<13>text").hostname`, Want: `null`},
	})
}

func TestParseGoogleLogs(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "klog", Source: `parse_klog!("E1231 23:59:59.000001   7 a.go:12] text ]: more ")`,
			Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
			Want: `{"file":"a.go","id":7,"level":"error","line":12,"message":"text ]: ` +
				`more","timestamp":"2025-12-31T23:59:59.000001Z"}`,
		},
		{
			Name:     "klog without a line",
			Source:   `parse_klog!("I0102 03:04:05.000001 7 a.go] text")`,
			RunError: "failed parsing klog message",
		},
		{
			Name: "glog in a zone", Source: `parse_glog!("F20240102 03:04:05.000001 7 a.cc:1] text").timestamp`,
			Zone: "Asia/Tokyo", Want: `"2024-01-01T18:04:05.000001Z"`,
		},
		{
			Name:     "glog level",
			Source:   `parse_glog!("Q20240102 03:04:05.000001 7 a.cc:1] text")`,
			RunError: `unrecognized log level "Q"`,
		},
		{
			Name:     "glog day",
			Source:   `parse_glog!("I20240231 03:04:05.000001 7 a.cc:1] text")`,
			RunError: "failed parsing timestamp",
		},
	})
}

func TestParseAWS(t *testing.T) {
	const alb = `http 2024-11-30T22:23:00Z app/lb/1 10.1.1.1:28 - -1 -1 -1 400 - 34 366 "- http://a:80- -" "-" - - - ` +
		`"-" "-" "-" - 2024-11-30T22:22:48Z "-" "-" "-" "10.0.0.1:80 10.0.0.2:80" "-" "-" "-"`
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "load balancer, ports",
			Source: `parse_aws_alb_log!(s'` + alb + `').target_port_list`,
			Want:   `["10.0.0.1:80","10.0.0.2:80"]`,
		},
		{Name: "load balancer, time", Source: `parse_aws_alb_log!(s'` + alb + `').request_processing_time`, Want: `-1.0`},
		{Name: "load balancer, trace", Source: `parse_aws_alb_log!(s'` + alb + ` TID_1').traceability_id`, Want: `"TID_1"`},
		{
			Name:     "load balancer, too long",
			Source:   `parse_aws_alb_log!(s'` + alb + ` TID_1 x')`,
			RunError: "strict_mode: false",
		},
		{
			Name:   "load balancer, long",
			Source: `parse_aws_alb_log!(s'` + alb + ` TID_1 x', strict_mode: false).traceability_id`,
			Want:   `"TID_1"`,
		},
		{
			Name:     "load balancer, no number",
			Source:   `parse_aws_alb_log!("http t e c h x")`,
			RunError: "request_processing_time",
		},
		{Name: "flow log", Source: `parse_aws_vpc_flow_log!("2 -", "version bytes")`, Want: `{"bytes":null,"version":2}`},
		{
			Name:     "flow log, no number",
			Source:   `parse_aws_vpc_flow_log!("x", "version")`,
			RunError: "field version is not an integer",
		},
		{Name: "flow log, too long", Source: `parse_aws_vpc_flow_log!("2 3", "version")`, RunError: "more fields"},
		{Name: "flow log, unknown field", Source: `parse_aws_vpc_flow_log!("2", "length")`, CompileError: "length"},
		{
			Name: "flow log, format of the event", Source: `parse_aws_vpc_flow_log!("2", string!(.f))`,
			Event: `{"f":"version"}`, Want: `{"version":2}`,
		},
		{
			Name:     "subscription, no object",
			Source:   `parse_aws_cloudwatch_log_subscription_message!("7")`,
			RunError: "unable to parse",
		},
		{
			Name: "subscription, no events",
			Source: `parse_aws_cloudwatch_log_subscription_message!(s'{"owner":"1","messageType":"m","logGroup":"g",` +
				`"logStream":"s","subscriptionFilters":[]}')`,
			RunError: "logEvents",
		},
		{
			Name:   "subscription, types",
			Source: `m = parse_aws_cloudwatch_log_subscription_message!(.m); upcase(m.owner)`,
			Event: `{"m":"{\"owner\":\"a\",\"messageType\":\"m\",\"logGroup\":\"g\",\"logStream\":\"s\",` +
				`\"subscriptionFilters\":[],\"logEvents\":[]}"}`,
			Want: `"A"`,
		},
	})
}

func TestParseCEF(t *testing.T) {
	const head = `CEF:0|v|p|1|c|n|5|`
	vrltest.Run(t, []vrltest.Case{
		{Name: "values with blanks", Source: `parse_cef!("` + head + `msg=a b  c src=1").msg`, Want: `"a b  c"`},
		{Name: "escapes", Source: `parse_cef!(s'CEF:0|a\|b|p\\|1|c|n|5|msg=a\=b\nc\\d').msg`, Want: `"a=b\nc\\d"`},
		{Name: "escapes of the header", Source: `parse_cef!(s'CEF:0|a\|b|p|1|c|n|5|').deviceVendor`, Want: `"a|b"`},
		{
			Name:     "an equals sign, strict",
			Source:   `parse_cef!("` + head + `u=a?b=c d=1")`,
			RunError: "Could not parse whole line",
		},
		{Name: "an equals sign", Source: `parse_cef!("` + head + `u=a?b=c d=1", strict: false).u`, Want: `"a?b=c"`},
		{Name: "no key", Source: `parse_cef!("` + head + `text")`, RunError: "Could not parse whole line"},
		{
			Name:   "labels, any order",
			Source: `parse_cef!("` + head + `cs1Label=rule cs1=7 cn2=8 cn2Label=n", translate_custom_fields: true)`,
			Want: `{"cefVersion":"0","deviceEventClassId":"c","deviceProduct":"p","deviceVendor":"v","deviceVersion":"1",` +
				`"n":"8","name":"n","rule":"7","severity":"5"}`,
		},
		{
			Name:     "no label",
			Source:   `parse_cef!("` + head + `cs1=7", translate_custom_fields: true)`,
			RunError: "missing label or value",
		},
		{Name: "another text", Source: `parse_cef!("hello")`, RunError: "CEF:"},
	})
}
