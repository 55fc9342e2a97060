package parse_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/vrltest"
)

func TestParseURL(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "as browsers do",
			Source: `parse_url!(" HTTP://EXAMPLE.org:80/a/./b/../c%20d?x=%41&x=2# ")`,
			Want: `{"fragment":null,"host":"example.org","password":"","path":"/a/c%20d","port":null,"query":{"x":"2"},` +
				`"scheme":"http","username":""}`,
		},
		{Name: "address", Source: `parse_url!("http://[2001:DB8::1]:8080/").host`, Want: `"[2001:db8::1]"`},
		{
			Name:   "another scheme",
			Source: `parse_url!("redis://h:6379/0")`,
			Want: `{"fragment":null,"host":"h","password":"","path":"/0","port":6379,"query":{},"scheme":"redis",` +
				`"username":""}`,
		},
		{Name: "port of no scheme", Source: `parse_url!("redis://h", default_known_ports: true).port`, Want: `null`},
		{Name: "relative", Source: `parse_url!("/a/b")`, RunError: "unable to parse url"},
		{Name: "bad port", Source: `parse_url!("http://h:99999")`, RunError: "unable to parse url"},
		{Name: "empty", Source: `parse_url!("")`, RunError: "unable to parse url"},
	})
}

func TestParseETLD(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list.dat")
	if err := os.WriteFile(list, []byte("// rules\nacme\n*.corp\n!free.corp\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "list.json")
	if err := os.WriteFile(broken, []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "case and root",
			Source: `parse_etld!("WWW.Example.CO.UK", plus_parts: 1)`,
			Want:   `{"etld":"CO.UK","etld_plus":"Example.CO.UK","known_suffix":true}`,
		},
		{
			Name:   "more labels than there are",
			Source: `parse_etld!("a.org", plus_parts: 9223372036854775807).etld_plus`,
			Want:   `"a.org"`,
		},
		{Name: "fewer than none", Source: `parse_etld!("a.org", plus_parts: -3).etld_plus`, Want: `"org"`},
		{Name: "address", Source: `parse_etld!("10.0.0.1")`, RunError: "unable to determine eTLD for 10.0.0.1"},
		{Name: "only dots", Source: `parse_etld!("..")`, RunError: "unable to determine eTLD"},
		{
			Name: "a list", Source: `parse_etld!("a.b.acme", psl: "` + list + `")`, Grants: fn.Files,
			Want: `{"etld":"acme","etld_plus":"acme","known_suffix":true}`,
		},
		{Name: "a star", Source: `parse_etld!("a.b.corp", psl: "` + list + `").etld`, Grants: fn.Files, Want: `"b.corp"`},
		{
			Name: "an exception", Source: `parse_etld!("a.free.corp", psl: "` + list + `").etld`, Grants: fn.Files,
			Want: `"corp"`,
		},
		{Name: "no list", Source: `parse_etld!("a", psl: "/no/such/list")`, Grants: fn.Files, CompileError: "no such file"},
		{Name: "not a list", Source: `parse_etld!("a", psl: "` + broken + `")`, Grants: fn.Files, CompileError: "not a rule"},
		{Name: "no files", Source: `parse_etld!("a", psl: "` + list + `")`, RunError: "files"},
	})
}

func TestParseXML(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "empty", Source: `parse_xml!("<a/>")`, Want: `{"a":{}}`},
		{Name: "mixed", Source: `parse_xml!("<a>x<b>1</b>y</a>")`, Want: `{"a":{"b":1,"text":["x","y"]}}`},
		{
			Name:   "scalars",
			Source: `parse_xml!("<a><b>-1.5e3</b><b>0x10</b><b>1_0</b><b>+7</b><b> 1</b></a>")`,
			Want:   `{"a":{"b":[-1500.0,"0x10","1_0",7," 1"]}}`,
		},
		{Name: "CDATA and entities", Source: `parse_xml!("<a>x<![CDATA[<y>]]>&amp;&#33;</a>")`, Want: `{"a":"x<y>&!"}`},
		{Name: "namespaces", Source: `parse_xml!(s'<n:a xmlns:n="u" n:k="v"/>')`, Want: `{"a":{"@k":"v"}}`},
		{
			Name:   "options",
			Source: `parse_xml!(s'<a k="1">true</a>', attr_prefix: "_", text_key: "t", parse_bool: false)`,
			Want:   `{"a":{"_k":"1","t":"true"}}`,
		},
		{Name: "not closed", Source: `parse_xml!("<a><b></a>")`, RunError: "closed by </a>"},
		{Name: "no end", Source: `parse_xml!("<a>")`, RunError: "not closed"},
		{Name: "two roots", Source: `parse_xml!("<a/><b/>")`, RunError: "second root"},
		{
			Name:     "an entity of its own",
			Source:   `parse_xml!(s'<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>')`,
			RunError: "unable to parse xml",
		},
		{Name: "nothing", Source: `parse_xml!("")`, RunError: "no element"},
		{
			Name: "too deep", Source: `parse_xml!(string!(.x))`, Event: `{"x":"` + strings.Repeat("<a>", 200) + `"}`,
			RunError: "nested more than 128",
		},
	})
}

func TestParseYAML(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "scalars",
			Source: `parse_yaml!("[1, -2.5, 0x1F, 0o17, 017, yes, 'true', ~, 1e3, .inf, 2024-01-02, 1:30]")`,
			Want:   `[1,-2.5,31,15,"017","yes","true",null,1000.0,null,"2024-01-02","1:30"]`,
		},
		{Name: "keys", Source: `parse_yaml!("1: a\ntrue: b\n~: c\n")`, Want: `{"1":"a","true":"b","~":"c"}`},
		{Name: "blocks", Source: `parse_yaml!("a: |\n  x\n  y\nb: >\n  x\n  y\n")`, Want: `{"a":"x\ny\n","b":"x y\n"}`},
		{Name: "alias", Source: `parse_yaml!("a: &x [1]\nb: *x\n")`, Want: `{"a":[1],"b":[1]}`},
		{Name: "nothing", Source: `parse_yaml!("")`, Want: `null`},
		{Name: "a key that is a list", Source: `parse_yaml!("? [1]\n: 2\n")`, RunError: "key is not a scalar"},
		{
			Name: "too deep", Source: `parse_yaml!(string!(.x))`,
			Event:    `{"x":"` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `"}`,
			RunError: "nested more than 128",
		},
		{
			Name: "aliases of aliases", Source: `parse_yaml(string!(.x)) ?? 1`,
			Event: `{"x":"a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: ` +
				`&c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: ` +
				`&e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"}`,
			RunError: "budget",
		},
	})
}

func TestParseCBOR(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "integers", Source: `parse_cbor!(decode_base16!("84001818381b3903e7"))`, Want: `[0,24,-28,-1000]`},
		{
			Name:   "large integers",
			Source: `parse_cbor!(decode_base16!("821bffffffffffffffff3bffffffffffffffff"))`,
			Want:   `[1.8446744073709552e19,-1.8446744073709552e19]`,
		},
		{
			Name:   "floats",
			Source: `parse_cbor!(decode_base16!("84f93c00fa40490fdbfb3ff8000000000000f90001"))`,
			Want:   `[1.0,3.1415927410125732,1.5,5.960464477539063e-8]`,
		},
		{Name: "no number", Source: `parse_cbor!(decode_base16!("f97e00"))`, Want: `null`},
		{
			Name:   "without a length",
			Source: `parse_cbor!(decode_base16!("bf61617f61626163ff61629f01ffff"))`,
			Want:   `{"a":"bc","b":[1]}`,
		},
		{Name: "tag and undefined", Source: `parse_cbor!(decode_base16!("82c11a514b67b0f7"))`, Want: `[1363896240,null]`},
		{Name: "a key that is a number", Source: `parse_cbor!(decode_base16!("a10102"))`, RunError: "a key is integer"},
		{Name: "a length beyond the end", Source: `parse_cbor!(decode_base16!("9affffffff"))`, RunError: "ends inside"},
		{Name: "nothing", Source: `parse_cbor!("")`, RunError: "ends inside"},
		{Name: "a break", Source: `parse_cbor!(decode_base16!("ff"))`, RunError: "break"},
		{
			Name: "too deep", Source: `parse_cbor!(decode_base16!(string!(.x)))`,
			Event: `{"x":"` + strings.Repeat("81", 200) + `"}`, RunError: "nested more than 128",
		},
	})
}

func TestParseInfluxDB(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "escapes and lines",
			Source: `map_values(parse_influxdb!("a\\ b,k\\,1=v\\=1 x\\ y=1\n# no\n\nc z=t 5")) -> |m| { m.name }`,
			Want:   `["a b_x y","c_z"]`,
		},
		{Name: "tags", Source: `parse_influxdb!("a,k\\,1=v\\=1 x=1")[0].tags`, Want: `{"k,1":"v=1"}`},
		{Name: "time", Source: `parse_influxdb!("a x=1u -1")[0].timestamp`, Want: `"1969-12-31T23:59:59.999999999Z"`},
		{Name: "nothing", Source: `parse_influxdb!("")`, Want: `[]`},
		{Name: "string", Source: `parse_influxdb!("a x=\"b\"")`, RunError: "type string are not supported"},
		{Name: "no number", Source: `parse_influxdb!("a x=b")`, RunError: "field x"},
		{Name: "no time", Source: `parse_influxdb!("a x=1 now")`, RunError: "timestamp"},
		{Name: "no tag value", Source: `parse_influxdb!("a,b= x=1")`, RunError: "tag"},
		{Name: "no measurement", Source: `parse_influxdb!(",b=1 x=1")`, RunError: "measurement"},
	})
}

func TestParseRubyHash(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "values",
			Source: `parse_ruby_hash!(s'{"a"=>-1.5, b: [1, "x", :y], 3=>nil, :"c d" => {}}')`,
			Want:   `{"3":null,"a":-1.5,"b":[1.0,"x","y"],"c d":{}}`,
		},
		{Name: "escapes", Source: `parse_ruby_hash!(s'{"a"=>"x\n\"\u00e9"}')`, Want: `{"a":"x\n\"é"}`},
		{Name: "empty", Source: `parse_ruby_hash!(" { } ")`, Want: `{}`},
		{Name: "text after", Source: `parse_ruby_hash!("{} x")`, RunError: "expected the end at byte 3"},
		{Name: "no value", Source: `parse_ruby_hash!("{:a=>}")`, RunError: "expected a value"},
		{Name: "not closed", Source: `parse_ruby_hash!("{:a=>1")`, RunError: "expected , or }"},
		{
			Name: "too deep", Source: `parse_ruby_hash!(string!(.x))`,
			Event: `{"x":"` + strings.Repeat("{:a=>", 200) + `"}`, RunError: "nested more than 128",
		},
	})
}

func TestParseUserAgent(t *testing.T) {
	const ios = `"Mozilla/5.0 (iPad; CPU OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 ` +
		`Mobile/15E148 Safari/604.1"`
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "Edge",
			Source: `parse_user_agent("Mozilla/5.0 (Windows NT 6.1) Chrome/119.0 Safari/537.36 Edg/119.0.1").browser`,
			Want:   `{"family":"Edge","version":"119.0.1"}`,
		},
		{
			Name:   "Safari",
			Source: `parse_user_agent(` + ios + `)`,
			Want: `{"browser":{"family":"Safari","version":"17.2"},"device":{"category":"smartphone"},"os":{"family":"iPad",` +
				`"version":"17.2"}}`,
		},
		{
			Name:   "parts",
			Source: `parse_user_agent(` + ios + `, mode: "enriched").os`,
			Want:   `{"family":"iOS","major":"17","minor":"2","patch":null,"patch_minor":null,"version":"17.2"}`,
		},
		{
			Name:   "crawler",
			Source: `parse_user_agent("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)")`,
			Want: `{"browser":{"family":"Googlebot","version":"2.1"},"device":{"category":"crawler"},"os":{"family":null,` +
				`"version":null}}`,
		},
		{
			Name:   "Internet Explorer 11",
			Source: `parse_user_agent("Mozilla/5.0 (Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko").browser.version`,
			Want:   `"11.0"`,
		},
		{
			Name:   "Mac",
			Source: `parse_user_agent("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/120.0").os`,
			Want:   `{"family":"Mac OSX","version":"10.15.7"}`,
		},
		{
			Name: "Android with a language",
			Source: `parse_user_agent("Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; GT-I9100 Build/IML74K)", mode: ` +
				`"enriched").device`,
			Want: `{"brand":"Samsung","category":"smartphone","family":"GT-I9100","model":"GT-I9100"}`,
		},
		{Name: "nothing", Source: `parse_user_agent("").browser.family`, Want: `null`},
		{Name: "mode", Source: `parse_user_agent("", mode: "slow")`, CompileError: "E610"},
	})
}

func TestParseGrok(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "the last counts", Source: `parse_grok!("1 2", "%{INT:n} %{INT:n}")`, Want: `{"n":"2"}`},
		{Name: "anywhere", Source: `parse_grok!("say 7!", "%{INT:n}")`, Want: `{"n":"7"}`},
		{Name: "unknown", Source: `parse_grok!("", "%{NOSUCH:n}")`, CompileError: `"NOSUCH" could not be found`},
		{Name: "not constant", Source: `parse_grok!("", string!(.p))`, CompileError: "E610"},
		{
			Name: "no time left", Source: `parse_grok!(string!(.x), "^(?=a)(a+)+$")`,
			Event: `{"x":"` + strings.Repeat("a", 50) + `b"}`, RunError: "takes too long",
		},
	})
}

func TestParseGroks(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "numbers",
			Source: `parse_groks!("7 -1 1.5 2.0 1e3", ["%{integer:a} %{integer:b} %{number:c} %{number:d} %{numberExt:e}"])`,
			Want:   `{"a":7,"b":-1,"c":1.5,"d":2,"e":1000}`,
		},
		{
			Name:   "numbers as text",
			Source: `parse_groks!("7 1.5", ["%{integerStr:a} %{numberStr:b}"])`,
			Want:   `{"a":"7","b":"1.5"}`,
		},
		{
			Name:   "the whole text",
			Source: `parse_groks!("7 x", ["%{integer:a}", "%{integer:b} %{word:c}"])`,
			Want:   `{"b":7,"c":"x"}`,
		},
		{
			Name:   "repeated",
			Source: `parse_groks!("1 2 3", ["%{integer:a} %{integer:a} %{integer:a}"])`,
			Want:   `{"a":[1,2,3]}`,
		},
		{Name: "empty and null", Source: `parse_groks!("- ", ["%{notSpace:a:nullIf(\"-\")} %{data:b}"])`, Want: `{}`},
		{
			Name:   "json into the result",
			Source: `parse_groks!(s'x {"a":{"b":1}}', ["%{word:w} %{data::json}"])`,
			Want:   `{"a":{"b":1},"w":"x"}`,
		},
		{Name: "json that is none", Source: `parse_groks!("x {", ["%{word:w} %{data:j:json}"])`, Want: `{"w":"x"}`},
		{
			Name:   "boolean",
			Source: `parse_groks!("YES no", [s'%{boolean("yes","no"):a} %{boolean("yes","no"):b}'])`,
			Want:   `{"a":true,"b":false}`,
		},
		{
			Name:   "case",
			Source: `parse_groks!("Ab Cd", ["%{word:a:lowercase} %{word:b:uppercase}"])`,
			Want:   `{"a":"ab","b":"CD"}`,
		},
		{
			Name:   "array",
			Source: `parse_groks!("[1,2] x-y", [s'%{data:a:array("[]", ",", integer)} %{data:b:array("", "-")}'])`,
			Want:   `{"a":[1,2],"b":["x","y"]}`,
		},
		{
			Name:   "key-value",
			Source: `parse_groks!("user=mia id=17 when=1/2 q=\"a b\" ok=true", ["%{data::keyvalue}"])`,
			Want:   `{"id":17,"ok":true,"q":"a b","user":"mia"}`,
		},
		{
			Name:   "key-value with a separator",
			Source: `parse_groks!("user: mia|id: 17", [s'%{data::keyvalue(": ", "", "", "|")}'])`,
			Want:   `{"id":17,"user":"mia"}`,
		},
		{
			Name:   "query",
			Source: `parse_groks!("?a=1&b=2&a=3", ["%{data:q:querystring}"])`,
			Want:   `{"q":{"a":["1","3"],"b":"2"}}`,
		},
		{Name: "URI component", Source: `parse_groks!("a%20b", ["%{data:u:decodeuricomponent}"])`, Want: `{"u":"a b"}`},
		{
			Name:   "xml and ruby",
			Source: `parse_groks!(s'<a><b>x</b></a> {:c=>1}', ["%{notSpace:x:xml} %{data:r:rubyhash}"])`,
			Want:   `{"r":{"c":1.0},"x":{"a":{"b":"x"}}}`,
		},
		{
			Name: "dates",
			Source: `parse_groks!("2024-01-02T03:04:05.678Z|02/Jan/2024:03:04:05 +0100", ` +
				`[s'%{date("yyyy-MM-dd''T''HH:mm:ss.SSSZ"):a}\|%{date("dd/MMM/yyyy:HH:mm:ss Z"):b}'])`,
			CompileError: "E2",
		},
		{
			Name:   "date with an offset",
			Source: `parse_groks!("02/Jan/2024:03:04:05 +0100", [s'%{date("dd/MMM/yyyy:HH:mm:ss Z"):b}'])`,
			Want:   `{"b":1704161045000}`,
		},
		{
			Name:   "date with a fraction",
			Source: `parse_groks!("2024-01-02 03:04:05,678", [s'%{date("yyyy-MM-dd HH:mm:ss,SSS"):a}'])`,
			Want:   `{"a":1704164645678}`,
		},
		{
			Name:   "date in a zone",
			Source: `parse_groks!("2024-01-02 03:04:05", [s'%{date("yyyy-MM-dd HH:mm:ss", "Europe/Berlin"):a}'])`,
			Want:   `{"a":1704161045000}`,
		},
		{
			Name:   "date at an offset",
			Source: `parse_groks!("2024-01-02 03:04:05", [s'%{date("yyyy-MM-dd HH:mm:ss", "UTC+1"):a}'])`,
			Want:   `{"a":1704161045000}`,
		},
		{
			Name:   "alias in alias",
			Source: `parse_groks!("a=1", ["%{pair}"], aliases: {"pair": "%{key}=%{integer:v}", "key": "%{word:k}"})`,
			Want:   `{"k":"a","v":1}`,
		},
		{
			Name:         "alias in a circle",
			Source:       `parse_groks!("", ["%{a}"], aliases: {"a": "%{b}", "b": "%{a}"})`,
			CompileError: "circular",
		},
		{Name: "unknown filter", Source: `parse_groks!("", ["%{data:a:sort}"])`, CompileError: "unknown filter 'sort'"},
		{Name: "unknown matcher", Source: `parse_groks!("", ["%{nosuch:a}"])`, CompileError: "nosuch"},
		{Name: "not constant", Source: `parse_groks!("", array!(.p))`, CompileError: "E610"},
		{
			Name:         "an alias that is a number",
			Source:       `parse_groks!("", ["a"], aliases: {"a": 1})`,
			CompileError: "not a string",
		},
		{Name: "no files", Source: `parse_groks!("", ["a"], alias_sources: ["a.json"])`, RunError: "files"},
	})
}

func TestParseGroksAliasSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "aliases.json")
	if err := os.WriteFile(path, []byte(`{"pair": "%{word:k}=%{integer:v}"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `parse_groks!("a=1", ["%{pair}"], alias_sources: ["` + path + `"])`,
			Grants: fn.Files,
			Want:   `{"k":"a","v":1}`,
		},
		{
			Source:       `parse_groks!("a=1", ["%{pair}"], alias_sources: ["` + path + `x"])`,
			Grants:       fn.Files,
			CompileError: "unable to read alias source",
		},
	})
}

// descriptors writes a file with the type acme.Person and returns its path.
func descriptors(t *testing.T) string {
	t.Helper()
	field := func(name string, n int32, kind descriptorpb.FieldDescriptorProto_Type,
		label descriptorpb.FieldDescriptorProto_Label, of string,
	) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(n), Type: kind.Enum(), Label: label.Enum(),
		}
		if of != "" {
			f.TypeName = proto.String(of)
		}
		return f
	}
	const (
		one  = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL
		many = descriptorpb.FieldDescriptorProto_LABEL_REPEATED
	)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("person.proto"), Package: proto.String("acme"), Syntax: proto.String("proto3"),
		EnumType: []*descriptorpb.EnumDescriptorProto{{
			Name: proto.String("Kind"),
			Value: []*descriptorpb.EnumValueDescriptorProto{
				{Name: proto.String("NONE"), Number: proto.Int32(0)}, {Name: proto.String("HOME"), Number: proto.Int32(1)},
			},
		}},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("Person"),
			Field: []*descriptorpb.FieldDescriptorProto{
				field("name", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, one, ""),
				field("id", 2, descriptorpb.FieldDescriptorProto_TYPE_SINT64, one, ""),
				field("kind", 3, descriptorpb.FieldDescriptorProto_TYPE_ENUM, one, ".acme.Kind"),
				field("friends", 4, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, many, ".acme.Person"),
				field("score", 5, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, one, ""),
				field("ok", 6, descriptorpb.FieldDescriptorProto_TYPE_BOOL, one, ""),
				field("raw", 7, descriptorpb.FieldDescriptorProto_TYPE_BYTES, one, ""),
				field("big", 8, descriptorpb.FieldDescriptorProto_TYPE_UINT64, many, ""),
			},
		}},
	}}}
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "person.desc")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestParseProto(t *testing.T) {
	path := descriptors(t)
	vrltest.Run(t, []vrltest.Case{
		{
			Name: "fields",
			Source: `parse_proto!(decode_base16!("0a036d69611003180122040a026b6b29000000000000f83f3001420107"), "` + path +
				`", "acme.Person")`,
			Grants: fn.Files,
			Want:   `{"big":[7],"friends":[{"name":"kk"}],"id":-2,"kind":"HOME","name":"mia","ok":true,"score":1.5}`,
		},
		{
			Name: "an unknown value", Source: `parse_proto!(decode_base16!("1809"), "` + path + `", "acme.Person")`,
			Grants: fn.Files, Want: `{"kind":9}`,
		},
		{
			Name: "not a message", Source: `parse_proto!("\n\u{7f}", "` + path + `", "acme.Person")`, Grants: fn.Files,
			RunError: "unable to parse protobuf",
		},
		{
			Name: "no such type", Source: `parse_proto!("", "` + path + `", "acme.Dog")`, Grants: fn.Files,
			CompileError: "acme.Dog",
		},
		{
			Name: "no such file", Source: `parse_proto!("", "` + path + `x", "acme.Person")`, Grants: fn.Files,
			CompileError: "unable to read descriptor file",
		},
		{Name: "no files", Source: `parse_proto!("", "` + path + `", "acme.Person")`, RunError: "files"},
	})
}
