package parse_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestParseRegex(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "named", Source: `parse_regex!("a=1", r'(?P<k>\w)=(?P<v>\d)')`, Want: `{"k":"a","v":"1"}`},
		{Name: "optional group", Source: `parse_regex!("a", r'(?P<k>a)(?P<v>b)?')`, Want: `{"k":"a","v":null}`},
		{
			Name:   "numbers move up",
			Source: `parse_regex!("ac", r'(a)(b)?(c)', numeric_groups: true)`,
			Want:   `{"0":"ac","1":"a","2":"c"}`,
		},
		{
			Name:   "ten groups",
			Source: `parse_regex!("abcdefghij", r'(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)', numeric_groups: true)."10"`,
			Want:   `"j"`,
		},
		{Name: "dotted names", Source: `parse_regex!("x", r'(?P<a.b>x)')`, Want: `{"a.b":"x"}`},
		{Name: "pattern in a variable", Source: `p = r'(?P<a>x)'; parse_regex!("x", p).a`, Want: `"x"`},
		{
			Name: "pattern from the event", Source: `parse_regex!("x", to_regex!(.p))`, Event: `{"p":"(?P<a>x)"}`,
			Want: `{"a":"x"}`,
		},
		{Name: "a certain group is a string", Source: `upcase(parse_regex!("x", r'(?P<a>x)').a)`, Want: `"X"`},
		{Name: "an optional one may be null", Source: `upcase(parse_regex!("x", r'(?P<a>x)?').a)`, CompileError: "E110"},
		{Name: "no match", Source: `parse_regex!("b", r'a')`, RunError: "could not find any pattern matches"},
		{Name: "unhandled", Source: `parse_regex("b", r'a')`, CompileError: "E100"},
		{Name: "no text", Source: `parse_regex!(7, r'a')`, CompileError: "E110"},
	})
}

func TestParseRegexAll(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "all",
			Source: `parse_regex_all!("a1b2", r'(?P<k>[a-z])(?P<v>\d)')`,
			Want:   `[{"k":"a","v":"1"},{"k":"b","v":"2"}]`,
		},
		{Name: "none", Source: `parse_regex_all!("", r'a')`, Want: `[]`},
		{Name: "empty matches", Source: `length(parse_regex_all!("ab", r''))`, Want: `3`},
		{
			Name: "not a string", Source: `parse_regex_all!(.a, r'a')`, Event: `{"a":1}`,
			RunError: "expected string, got integer",
		},
	})
}

func TestParseKeyValue(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "pairs", Source: `parse_key_value!("a=1  b=2\tc=3")`, Want: `{"a":"1","b":"2","c":"3"}`},
		{Name: "quotes", Source: `parse_key_value!(s'"a b"="c d" e=''f g'' ')`, CompileError: "E20"},
		{Name: "single quotes", Source: `parse_key_value!("a='b c' d=1")`, Want: `{"a":"b c","d":"1"}`},
		{Name: "escapes", Source: `parse_key_value!(s'a="x\"y\\z\n\t"')`, Want: `{"a":"x\"y\\z\n\\t"}`},
		{Name: "a quote that does not close", Source: `parse_key_value!("a=\"b c=d")`, Want: `{"a":"\"b","c":"d"}`},
		{Name: "a quote in a word", Source: `parse_key_value!("a=b\"c")`, Want: `{"a":"b\"c"}`},
		{Name: "standalone", Source: `parse_key_value!("a b=1 c")`, Want: `{"a":true,"b":"1","c":true}`},
		{
			Name:     "no standalone",
			Source:   `parse_key_value!("a=1 b", accept_standalone_key: false)`,
			RunError: "could not parse whole line",
		},
		{Name: "repeated", Source: `parse_key_value!("a=1 b=2 a=3 a=4")`, Want: `{"a":["1","3","4"],"b":"2"}`},
		{Name: "repeated and standalone", Source: `parse_key_value!("a a=1 a b=1 b")`, Want: `{"a":"1","b":"1"}`},
		{Name: "empty value, lenient", Source: `parse_key_value!("a= b=1")`, Want: `{"a":"b=1"}`},
		{Name: "empty value, strict", Source: `parse_key_value!("a= b=1", whitespace: "strict")`, Want: `{"a":"","b":"1"}`},
		{Name: "empty value at the end", Source: `parse_key_value!("b=1 a=")`, Want: `{"a":"","b":"1"}`},
		{Name: "blanks around", Source: `parse_key_value!("  a = 1   b =2  ")`, Want: `{"a":"1","b":"2"}`},
		{
			Name:   "long delimiters",
			Source: `parse_key_value!("a=>1 ; b=>2", key_value_delimiter: "=>", field_delimiter: ";")`,
			Want:   `{"a":"1","b":"2"}`,
		},
		{Name: "delimiter at the end", Source: `parse_key_value!("a=1,", field_delimiter: ",")`, RunError: "could not parse"},
		{
			Name:   "delimiters of the event",
			Source: `parse_key_value!("a:1;b:2", key_value_delimiter: string!(.k), field_delimiter: string!(.f))`,
			Event:  `{"k":":","f":";"}`, Want: `{"a":"1","b":"2"}`,
		},
		{Name: "empty delimiter", Source: `parse_key_value!("a", key_value_delimiter: "")`, RunError: "must not be empty"},
		{Name: "empty", Source: `parse_key_value!("")`, RunError: "could not parse"},
		{Name: "mode", Source: `parse_key_value!("a", whitespace: "loose")`, CompileError: "E610"},
		{Name: "not ASCII", Source: `parse_key_value!("clé=été")`, Want: `{"clé":"été"}`},
	})
}

func TestParseLogfmt(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `parse_logfmt!("at=info msg=\"a b\" dry")`, Want: `{"at":"info","dry":true,"msg":"a b"}`},
		{Source: `parse_logfmt!("=")`, Want: `{"=":true}`},
	})
}

func TestParseTokens(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "words", Source: `parse_tokens("a  b\tc ")`, Want: `["a","b","c"]`},
		{Name: "nothing", Source: `parse_tokens("")`, Want: `[]`},
		{Name: "null", Source: `parse_tokens("- \"\" [] \"-\"")`, Want: `[null,null,null,null]`},
		{Name: "a blank at the start", Source: `parse_tokens(" a  b ")`, Want: `[" a  b "]`},
		{Name: "a line end", Source: `parse_tokens("a\nb c")`, Want: `["a\nb","c"]`},
		{Name: "a bracket that does not close", Source: `parse_tokens("x [a b")`, Want: `["x","[a b"]`},
		{Name: "a quote that does not close", Source: `parse_tokens("\"a b")`, Want: `["\"a b"]`},
		{Name: "no blank between tokens", Source: `parse_tokens("a\"b c\"d[e]")`, Want: `["a","b c","d","e"]`},
		{Name: "escapes", Source: `parse_tokens(s'"a \" b" [c \] d]')`, Want: `["a \\\" b","c \\] d"]`},
		{Name: "another escape", Source: `parse_tokens(s'a "b \n c" d')`, Want: `["a","\"b \\n c\" d"]`},
	})
}

func TestParseCSV(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "empty fields", Source: `parse_csv!(",a,")`, Want: `["","a",""]`},
		{Name: "line end in quotes", Source: `parse_csv!("\"a\nb\",c\nd")`, Want: `["a\nb","c"]`},
		{Name: "text after quotes", Source: `parse_csv!("\"a\"b,c")`, Want: `["ab","c"]`},
		{Name: "quote inside", Source: `parse_csv!("a\"b,c")`, Want: `["a\"b","c"]`},
		{Name: "quote not closed", Source: `parse_csv!("\"a,b")`, Want: `["a,b"]`},
		{Name: "empty quotes", Source: `parse_csv!("\"\",\"\"")`, Want: `["",""]`},
		{Name: "carriage return", Source: `parse_csv!("a,b\r\nc")`, Want: `["a","b"]`},
		{Name: "lines before", Source: `parse_csv!("\n\na,b")`, Want: `["a","b"]`},
		{Name: "delimiter", Source: `parse_csv!("a", delimiter: "é")`, RunError: "single character"},
	})
}

func TestParseQueryString(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "order and repeats", Source: `parse_query_string("b=1&a=2&b=3")`, Want: `{"a":"2","b":["1","3"]}`},
		{Name: "escapes", Source: `parse_query_string("a=%41%2&b=%zz&c=%C3%A9")`, Want: `{"a":"A%2","b":"%zz","c":"é"}`},
		{Name: "ill-formed", Source: `parse_query_string("a=%ff")`, Want: `{"a":"\ufffd"}`},
		{Name: "two equals signs", Source: `parse_query_string("a=b=c&&")`, Want: `{"a":"b=c"}`},
		{Name: "type", Source: `parse_query_string(1)`, CompileError: "E110"},
	})
}

func TestParseInt(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `parse_int!("-0b11")`, Want: `-3`},
		{Source: `parse_int!("017")`, Want: `15`},
		{Source: `parse_int!("+5")`, Want: `5`},
		{Source: `parse_int!("9223372036854775807")`, Want: `9223372036854775807`},
		{Source: `parse_int!("9223372036854775808")`, RunError: "could not parse integer"},
		{Source: `parse_int!("")`, RunError: "could not parse integer"},
		{Source: `parse_int!("1_000")`, RunError: "could not parse integer"},
		{Source: `parse_int!("0x")`, RunError: "could not parse integer"},
		{Source: `parse_int!("1", 1)`, RunError: "invalid base 1"},
		{Source: `parse_int!("1", 37)`, RunError: "invalid base 37"},
	})
}

func TestParseDuration(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `parse_duration!("1.5h", "m")`, Want: `90.0`},
		{Source: `parse_duration!("1d 2h 3m 4s", "s")`, Want: `93784.0`},
		{Source: `parse_duration!("1μs", "ns")`, Want: `1000.0`},
		{Source: `parse_duration!("0.1s", "ms")`, Want: `100.0`},
		{Source: `parse_duration!("1m1ms", "ms")`, Want: `60001.0`},
		{Source: `parse_duration!("", "s")`, RunError: "unable to parse duration: ''"},
		{Source: `parse_duration!("-1s", "s")`, RunError: "unable to parse duration"},
		{Source: `parse_duration!("1y", "s")`, RunError: "unable to parse duration"},
		{Source: `parse_duration!("1s", "y")`, RunError: "unknown unit format: 'y'"},
		{
			Source:   `parse_duration!("11111111111111111111111111111111111111111111111111111111111111111s", "s")`,
			RunError: "unable to parse duration",
		},
	})
}

func TestParseBytes(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `parse_bytes!("1.5 MiB", "KiB")`, Want: `1536.0`},
		{Source: `parse_bytes!("1kB", "B", base: "10")`, Want: `1000.0`},
		{Source: `parse_bytes!("1KiB", "B", base: "10")`, RunError: "unable to parse bytes"},
		{Source: `parse_bytes!("1", "B")`, RunError: "unable to parse bytes"},
		{Source: `parse_bytes!("1kB", "")`, RunError: "unknown unit format: ''"},
		{Source: `parse_bytes!("1kB", "B", base: "3")`, CompileError: "E610"},
	})
}

func TestParseTimestamp(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "a timestamp passes",
			Source: `parse_timestamp!(t'2024-01-02T03:04:05Z', "%F")`,
			Want:   `"2024-01-02T03:04:05Z"`,
		},
		{
			Name: "zone of the run", Source: `parse_timestamp!("2024-01-02 03:04", "%F %R")`, Zone: "Asia/Tokyo",
			Want: `"2024-01-01T18:04:00Z"`,
		},
		{
			Name:   "zone in the text",
			Source: `parse_timestamp!("2024-01-02 03:04 +0100", "%F %R %z", timezone: "Asia/Tokyo")`,
			Want:   `"2024-01-02T02:04:00Z"`,
		},
		{Name: "no time", Source: `parse_timestamp!("2024-01-02", "%F")`, RunError: "not enough"},
		{
			Name:     "twice",
			Source:   `parse_timestamp!("2024-10-27 02:30", "%F %R", timezone: "Europe/Berlin")`,
			RunError: "Invalid timestamp",
		},
		{
			Name: "layout of the event", Source: `parse_timestamp!("2024-01-02 03:04", string!(.f))`,
			Event: `{"f":"%F %R"}`, Want: `"2024-01-02T03:04:00Z"`,
		},
		{Name: "unknown layout", Source: `parse_timestamp!("x", "%Q")`, CompileError: "E610"},
		{Name: "unknown zone", Source: `parse_timestamp!("x", "%F", timezone: "Mars/Base")`, CompileError: "Mars/Base"},
		{
			Name: "unknown zone of the event", Source: `parse_timestamp!("x", "%F", timezone: string!(.z))`,
			Event: `{"z":"Mars/Base"}`, RunError: "unable to parse timezone",
		},
	})
}
