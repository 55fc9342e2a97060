package parse

import (
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// albReader reads the fields of a load balancer's log line, in order.
type albReader struct {
	s  string
	b  fields
	at string // the name of the field that could not be parsed; "" if none
}

// next returns the next field of the line, with or without quotes.
func (r *albReader) next(key string) string {
	if r.at != "" {
		return "-"
	}
	s := ascii.SkipSpace(r.s)
	if s == "" {
		r.at = key
		return "-"
	}
	w, rest := "", ""
	if s[0] == '"' {
		end := ascii.Closing(s, '"')
		if end < 0 {
			r.at = key
			return "-"
		}
		w, rest = s[1:end], s[end+1:]
	} else {
		w, rest = ascii.CutWord(s)
	}
	r.s = rest
	return w
}

func (r *albReader) add(key, s string) {
	if s == "-" {
		r.b.add(key, value.Value{})
	} else {
		r.b.str(key, s)
	}
}

func (r *albReader) text(key string) { r.add(key, r.next(key)) }

func (r *albReader) integer(key string) {
	if !r.b.integer(key, r.next(key)) && r.at == "" {
		r.at = key
	}
}

func (r *albReader) float(key string) {
	if r.at != "" {
		return
	}
	rest, ok := "", false
	s := ascii.SkipSpace(r.s)
	if neg, found := strings.CutPrefix(s, "-"); found && neg != "" && ascii.IsDigit(neg[0]) {
		one := newFields(1)
		if rest, ok = cutFloat(&one, key, neg); ok {
			r.b.add(key, value.NewFloat(-one.o.PeekAt(0).Float()))
		}
	} else {
		rest, ok = cutFloat(&r.b, key, s)
	}
	if !ok {
		r.at = key
	}
	r.s = rest
}

// list adds the words of a field.
func (r *albReader) list(key string) {
	w := r.next(key)
	var list []value.Value
	if w != "-" {
		for _, x := range strings.Fields(w) {
			list = append(list, value.NewString(x))
		}
	}
	r.b.add(key, value.NewArray(list))
}

// request adds the three parts of the request line.
func (r *albReader) request() {
	w := r.next("request")
	method, rest := ascii.CutWord(w)
	rest = ascii.SkipSpace(rest)
	i := strings.LastIndexByte(rest, ' ')
	if i < 0 {
		if r.at == "" {
			r.at = "request"
		}
		return
	}
	r.add("request_method", method)
	r.add("request_url", strings.TrimSpace(rest[:i]))
	r.add("request_protocol", rest[i+1:])
}

// parseALB parses a line. The second result is the name of an invalid field.
func parseALB(s string, strict bool) (value.Value, string) {
	r := albReader{s: s, b: newFields(34)}
	for _, key := range [...]string{"type", "timestamp", "elb", "client_host", "target_host"} {
		r.text(key)
	}
	for _, key := range [...]string{"request_processing_time", "target_processing_time", "response_processing_time"} {
		r.float(key)
	}
	r.text("elb_status_code")
	r.text("target_status_code")
	r.integer("received_bytes")
	r.integer("sent_bytes")
	r.request()
	for _, key := range [...]string{
		"user_agent", "ssl_cipher", "ssl_protocol", "target_group_arn", "trace_id", "domain_name", "chosen_cert_arn",
		"matched_rule_priority", "request_creation_time", "actions_executed", "redirect_url", "error_reason",
	} {
		r.text(key)
	}
	r.list("target_port_list")
	r.list("target_status_code_list")
	r.text("classification")
	r.text("classification_reason")
	if r.at != "" {
		return value.Value{}, r.at
	}
	r.b.add("traceability_id", value.Value{})
	if ascii.SkipSpace(r.s) != "" {
		r.b.o.SetAt(r.b.o.Len()-1, value.Value{})
		if w := r.next("traceability_id"); r.at == "" && w != "-" {
			r.b.o.SetAt(r.b.o.Len()-1, value.NewString(w))
		}
	}
	if strict && ascii.SkipSpace(r.s) != "" {
		return value.Value{}, "end"
	}
	return r.b.value(), ""
}

// albKind is the kind of the object of a line.
var albKind = func() kind.Kind {
	var list []kind.Field
	add := func(k kind.Kind, names string) {
		for _, n := range strings.Fields(names) {
			list = append(list, kind.Field{Name: n, Kind: k})
		}
	}
	add(kind.String.OrNull(),
		"type timestamp elb client_host target_host elb_status_code target_status_code request_method request_url "+
			"request_protocol user_agent ssl_cipher ssl_protocol target_group_arn trace_id domain_name chosen_cert_arn "+
			"matched_rule_priority request_creation_time actions_executed redirect_url error_reason classification "+
			"classification_reason traceability_id")
	add(kind.Integer, "received_bytes sent_bytes")
	add(kind.Float.OrUndefined(), "request_processing_time target_processing_time response_processing_time")
	add(kind.ArrayAll(kind.String), "target_port_list target_status_code_list")
	return kind.ObjectOf(list...)
}()

var parseAWSALBLog = &fn.Function{
	Name:  "parse_aws_alb_log",
	Group: fn.Parse,
	Doc:   "Parses a line of the access log of an AWS application load balancer. Fields that are a dash are null.",
	Params: []fn.Param{
		fn.ValueParam("The line."),
		{
			Name: "strict_mode", Doc: "Whether fields after the known ones are an error. Otherwise they are ignored.",
			Kind: kind.Boolean, Optional: true, Default: value.NewBool(true),
		},
	},
	Returns:  albKind,
	Fallible: true,
	Errors:   []string{"a field is missing or has the wrong type", "the line continues after the last known field"},
	Examples: []fn.Example{
		{
			Title: "a line",
			Source: `parse_aws_alb_log!(s'http 2024-11-30T22:23:00Z app/lb/1 10.1.1.1:28 - 0.0 0.001 0.0 200 200 34 366 ` +
				`"GET http://a:80/ HTTP/1.1" "curl/8" - - arn:1 "Root=1" "-" "-" 0 2024-11-30T22:22:48Z "forward" ` +
				`"-" "-" "10.0.0.1:80" "200" "-" "-"').target_port_list`,
			Result: `["10.0.0.1:80"]`,
		},
		{Title: "no line", Source: `parse_aws_alb_log!("http")`, Fails: `timestamp`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, strict value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve(1024 + len(s)) {
			return value.Value{}, false
		}
		o, at := parseALB(s, strict.Bool())
		switch at {
		case "":
			return o, true
		case "end":
			return f.Fail("unable to parse AWS ALB log: the line continues after its last field; pass strict_mode: " +
				"false to ignore that")
		}
		return f.Fail("unable to parse AWS ALB log: the field " + at + " is missing or has the wrong type")
	}},
}

// vpcFields has the known fields of flow logs. The value is true for integers.
var vpcFields = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields("account_id action az_id dstaddr flow_direction instance_id interface_id " +
		"interface_type log_status " +
		"pkt_dst_aws_service pkt_dstaddr pkt_src_aws_service pkt_srcaddr region reject_reason resource_id srcaddr " +
		"sublocation_id " +
		"sublocation_type subnet_id traffic_path type vpc_id ecs_cluster_arn ecs_cluster_name ecs_container_instance_arn " +
		"ecs_container_instance_id ecs_container_id ecs_second_container_id ecs_service_name ecs_task_definition_arn " +
		"ecs_task_arn ecs_task_id") {
		m[n] = false
	}
	for _, n := range strings.Fields(
		"bytes dstport encryption_status end packets protocol srcport start tcp_flags version") {
		m[n] = true
	}
	return m
}()

const vpcDefault = "version account_id interface_id srcaddr dstaddr srcport dstport protocol packets bytes start end " +
	"action log_status"

// vpcFormat returns the names in a format. The second result is an unknown name.
func vpcFormat(format string) (names []string, unknown string) {
	names = strings.Fields(format)
	for _, n := range names {
		if _, ok := vpcFields[n]; !ok {
			return nil, n
		}
	}
	return names, ""
}

func runVPC(f *fn.Frame, v value.Value, names []string) (value.Value, bool) {
	s := v.Text()
	if !f.Reserve(32*len(names) + len(s)) {
		return value.Value{}, false
	}
	b := newFields(len(names))
	for _, name := range names {
		var w string
		w, s = ascii.CutWord(ascii.SkipSpace(s))
		switch {
		case w == "":
			return f.Fail("unable to parse VPC flow log: the line ends before field " + name)
		case w == "-":
			b.add(name, value.Value{})
		case !vpcFields[name]:
			b.str(name, w)
		case !b.integer(name, w):
			return f.Fail("unable to parse VPC flow log: field " + name + " is not an integer")
		}
	}
	if ascii.SkipSpace(s) != "" {
		return f.Fail("unable to parse VPC flow log: the line has more fields than the format")
	}
	return b.value(), true
}

var parseAWSVPCFlowLog = &fn.Function{
	Name:  "parse_aws_vpc_flow_log",
	Group: fn.Parse,
	Doc:   "Parses a line of an AWS VPC flow log. Fields that are a dash are null; ports, counts and times are integers.",
	Params: []fn.Param{
		fn.ValueParam("The line."),
		{
			Name: "format",
			Doc:  "The names of the fields in order, with blanks between them. The default is the format of version 2.",
			Kind: kind.String, Optional: true,
		},
	},
	Returns:  kind.ObjectAll(kind.Or(kind.String, kind.Integer, kind.Null)),
	Fallible: true,
	Errors: []string{
		"the line has fewer or more fields than the format", "a number is invalid",
		"the format has an unknown field",
	},
	Examples: []fn.Example{
		{
			Title:  "a format",
			Source: `parse_aws_vpc_flow_log!("5 10.0.0.71 - 34210", format: "version srcaddr dstaddr srcport")`,
			Result: `{"dstaddr":null,"srcaddr":"10.0.0.71","srcport":34210,"version":5}`,
		},
		{Title: "too short", Source: `parse_aws_vpc_flow_log!("2 1")`, Fails: `interface_id`},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		format, known := c.Const(1)
		if !c.Given(1) {
			format, known = value.NewString(vpcDefault), true
		}
		if !known {
			return fn.Impl{F2: func(f *fn.Frame, v, format value.Value) (value.Value, bool) {
				names, unknown := vpcFormat(format.Str())
				if unknown != "" {
					return f.Fail("unable to parse VPC flow log: unknown field " + unknown)
				}
				return runVPC(f, v, names)
			}}, nil
		}
		names, unknown := vpcFormat(format.Str())
		if unknown != "" {
			return fn.Impl{}, c.BadArgument(1, "unknown field %q", unknown)
		}
		return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) { return runVPC(f, v, names) }}, nil
	},
}
