package codec_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestBase16(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `encode_base16("")`, Want: `""`},
		{Source: `encode_base16("\u{ff}\n")`, Want: `"c3bf0a"`},
		{Source: `decode_base16!("")`, Want: `""`},
		{Source: `decode_base16!("C3bF0a")`, Want: `"ÿ\n"`},
		{Name: "odd", Source: `decode_base16!("abc")`, RunError: "unable to decode value from base16"},
		{Name: "prefix", Source: `decode_base16!("0x61")`, RunError: "unable to decode value from base16"},
		{Name: "fallible", Source: `decode_base16("61")`, CompileError: "E100"},
		{Name: "kind", Source: `encode_base16(1)`, CompileError: "E110"},
	})
}

func TestBase64(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `[encode_base64(""), encode_base64("f"), encode_base64("fo"), encode_base64("foo")]`,
			Want:   `["","Zg==","Zm8=","Zm9v"]`,
		},
		{Source: `[encode_base64("f", padding: false), encode_base64("fo", padding: false)]`, Want: `["Zg","Zm8"]`},
		{Source: `encode_base64("\u{fb}\u{ff}>", charset: "url_safe")`, Want: `"w7vDvz4="`},
		{Name: "charset", Source: `encode_base64("a", charset: "base32")`, RunError: "unknown charset"},
		{
			Source: `[decode_base64!(""), decode_base64!("="), decode_base64!("Zg"), decode_base64!("Zg="), ` +
				`decode_base64!("Zg=====")]`,
			Want: `["","","f","f","f"]`,
		},
		{Name: "the other alphabet", Source: `decode_base64!("YT8-")`, RunError: "unable to decode value from base64"},
		{Name: "one character too many", Source: `decode_base64!("Zm9vY")`, RunError: "unable to decode"},
		{Name: "bits left over", Source: `decode_base64!("Zh")`, RunError: "unable to decode"},
		{Name: "line end", Source: `decode_base64!("Zm9v\nZm9v")`, RunError: "unable to decode"},
		{Name: "padding inside", Source: `decode_base64!("Zg==Zg==")`, RunError: "unable to decode"},
		{
			Name: "unknown charset", Source: `decode_base64!("Zg", charset: .c)`, Event: `{"c":"x"}`,
			RunError: "unknown charset",
		},
	})
}

func TestPercent(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `encode_percent("azAZ09-_.~")`, Want: `"azAZ09%2D%5F%2E%7E"`},
		{Source: `encode_percent("")`, Want: `""`},
		{Name: "beyond ASCII in any set", Source: `encode_percent("é", ascii_set: "CONTROLS")`, Want: `"%C3%A9"`},
		{Name: "ill-formed", Source: `encode_percent(decode_base16!("ff"), ascii_set: "CONTROLS")`, Want: `"%EF%BF%BD"`},
		{Source: `encode_percent("\t ~\u{7f}", ascii_set: "CONTROLS")`, Want: `"%09 ~%7F"`},
		{Source: `encode_percent("a\"b` + "`" + `c#?{", ascii_set: "FRAGMENT")`, Want: `"a%22b%60c#?{"`},
		{Source: `encode_percent("'#?", ascii_set: "QUERY")`, Want: `"'%23?"`},
		{Source: `encode_percent("'#?", ascii_set: "SPECIAL")`, Want: `"%27%23?"`},
		{Source: `encode_percent("?{}:/", ascii_set: "PATH")`, Want: `"%3F%7B%7D:/"`},
		{Source: `encode_percent("me@host:/$", ascii_set: "USERINFO")`, Want: `"me%40host%3A%2F$"`},
		{Source: `encode_percent("a+b&c!", ascii_set: "COMPONENT")`, Want: `"a%2Bb%26c!"`},
		{Source: `encode_percent("a+b&c!-_.*", ascii_set: "WWW_FORM_URLENCODED")`, Want: `"a%2Bb%26c%21-_.*"`},
		{Name: "no such set", Source: `encode_percent("a", ascii_set: "ALL")`, CompileError: "E401"},
		{Name: "set not constant", Source: `encode_percent("a", ascii_set: string!(.a))`, CompileError: "E402"},
		{Source: `decode_percent("%C3%A9+%20%zz%4")`, Want: `"é+ %zz%4"`},
		{Name: "ill-formed", Source: `decode_percent("%ff%C3")`, Want: `"\ufffd\ufffd"`},
		{Source: `decode_percent("plain")`, Want: `"plain"`},
	})
}

func TestCharset(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `decode_charset!(decode_base16!("d0d2c9d7c5d4"), "koi8-r")`, Want: `"привет"`},
		{Source: `decode_charset!(decode_base16!("8075726f"), "Latin1")`, Want: `"€uro"`},
		{Source: `decode_charset!(decode_base16!("c4e3bac3"), "GB2312")`, Want: `"你好"`},
		{Source: `decode_charset!(decode_base16!("a4a4a4e5"), "big5")`, Want: `"中文"`},
		{Source: `decode_charset!(decode_base16!("6800e900"), "utf-16le")`, Want: `"hé"`},
		{Name: "byte order mark", Source: `decode_charset!(decode_base16!("feff006800e9"), "iso-8859-1")`, Want: `"hé"`},
		{Name: "mark of UTF-8", Source: `decode_charset!(decode_base16!("efbbbf61ff"), "utf-8")`, Want: `"a\ufffd"`},
		{Name: "not of the set", Source: `decode_charset!(decode_base16!("61ff62"), "shift_jis")`, Want: `"a\ufffdb"`},
		{Name: "unknown", Source: `decode_charset!("a", "klingon")`, RunError: "Unknown charset: klingon"},
		{Source: `encode_base16(encode_charset!("привет", "koi8-r"))`, Want: `"d0d2c9d7c5d4"`},
		{Source: `encode_base16(encode_charset!("日本", "shift_jis"))`, Want: `"93fa967b"`},
		{Source: `encode_charset!("a日€", "koi8-r")`, Want: `"a&#26085;&#8364;"`},
		{Source: `encode_charset!("hé", "utf-16le")`, Want: `"hé"`},
		{Name: "unknown", Source: `encode_charset!("a", "")`, RunError: "Unknown charset"},
	})
}

func TestMimeQ(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `decode_mime_q!("=?UTF-8?B?w6k=?= =?utf-8?Q?=C3=A9?=")`, Want: `"é é"`},
		{Source: `decode_mime_q!("a =?koi8-r?b?0NLJ18XU?= b")`, Want: `"a привет b"`},
		{Name: "a language", Source: `decode_mime_q!("=?us-ascii*en?q?hi_there?=")`, Want: `"hi there"`},
		{Name: "bare, with a charset", Source: `decode_mime_q!("iso-8859-1?q?caf=E9")`, Want: `"café"`},
		{Name: "bare, empty", Source: `decode_mime_q!("?q?")`, Want: `""`},
		{Name: "a question", Source: `decode_mime_q!("what? q? me?")`, Want: `"what? q? me?"`},
		{Name: "not closed", Source: `decode_mime_q!("=?utf-8?q?abc")`, Want: `"=?utf-8?q?abc"`},
		{Name: "not closed, with text", Source: `decode_mime_q!("x =?utf-8?q?abc")`, Want: `"x =?utf-8?q?abc"`},
		{Name: "unknown charset", Source: `decode_mime_q!("=?xx?q?a?=")`, RunError: `Unable to decode "xx" value`},
		{Name: "not Base64", Source: `decode_mime_q!("=?utf-8?b?!?=")`, RunError: `Unable to decode "utf-8" value`},
		{Name: "no digits", Source: `decode_mime_q!("=?utf-8?q?=4?=")`, RunError: `Unable to decode "utf-8" value`},
		{Name: "unknown encoding", Source: `decode_mime_q!("=?utf-8?x?a?=")`, RunError: `Invalid encoding: "x"`},
	})
}

func TestPunycode(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `encode_punycode!("MÜNCHEN.de")`, Want: `"xn--mnchen-3ya.de"`},
		{Source: `encode_punycode!("straße.de")`, Want: `"xn--strae-oqa.de"`},
		{Source: `encode_punycode!("日本。jp")`, Want: `"xn--wgv71a.jp"`},
		{Source: `encode_punycode!("under_score.-a-.de")`, Want: `"under_score.-a-.de"`},
		{Source: `encode_punycode!("MÜNCHEN.DE.", validate: false)`, Want: `"xn--mnchen-3ya.de."`},
		{Source: `encode_punycode!("")`, Want: `""`},
		{Name: "no name", Source: `encode_punycode!("xn--a-ecp.ru")`, RunError: "unable to encode to punycode"},
		{Source: `decode_punycode!("xn--mnchen-3ya.de")`, Want: `"münchen.de"`},
		{Source: `decode_punycode!("xn--!!.de", validate: false)`, Want: `"xn--!!.de"`},
		{Name: "no name", Source: `decode_punycode!("xn--!!.de")`, RunError: "unable to decode punycode"},
		{
			Name: "a huge label", Source: `decode_punycode!(join!([.p, .p], "a"), validate: false)`,
			Event: `{"p":"xn--` + zeros(5000) + `"}`, RunError: "more than 4096",
		},
	})
}

func TestEncodeJSON(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `encode_json(.)`,
			Event:  `{"b":{"y":[],"x":{}},"a":"\"\\\n\u0001é/"}`,
			Want:   `"{\"a\":\"\\\"\\\\\\n\\u0001é/\",\"b\":{\"x\":{},\"y\":[]}}"`,
		},
		{
			Source: `encode_json([1.0, 1000000.5, 10000000000000000.0, -0.000001, t'2026-01-02T03:04:05.5Z', r'a+'])`,
			Want:   `"[1.0,1000000.5,1e16,-1e-6,\"2026-01-02T03:04:05.500Z\",\"a+\"]"`,
		},
		{Name: "infinite", Source: `encode_json(parse_float!("inf"))`, Want: `"null"`},
		{Name: "ill-formed", Source: `encode_json(decode_base16!("61ff"))`, Want: `"\"a\ufffd\""`},
		{
			Source: `encode_json({"a": {"b": [1]}}, pretty: true)`,
			Want:   `"{\n  \"a\": {\n    \"b\": [\n      1\n    ]\n  }\n}"`,
		},
		{Name: "pretty at run time", Source: `encode_json([1], pretty: bool!(.p))`, Event: `{"p":true}`, Want: `"[\n  1\n]"`},
	})
}

func TestEncodeCSV(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `encode_csv!([])`, Want: `""`},
		{Source: `encode_csv!([""])`, Want: `"\"\""`},
		{Source: `encode_csv!(["", ""])`, Want: `","`},
		{Source: `encode_csv!(["a\r", " b ", "é"])`, Want: `"\"a\r\", b ,é"`},
		{Source: `encode_csv!(["a\tb", "c"], delimiter: "\t")`, Want: `"\"a\tb\"\tc"`},
		{
			Name:     "empty delimiter",
			Source:   `encode_csv!(["a"], delimiter: "")`,
			RunError: "delimiter must be a single character",
		},
		{Name: "two bytes", Source: `encode_csv!(["a"], delimiter: "é")`, RunError: "delimiter must be a single character"},
		{Name: "null", Source: `encode_csv!(["a", null])`, RunError: "expected string, got null"},
		{Name: "not an array", Source: `encode_csv!("a")`, RunError: "expected array, got string"},
	})
}

func TestEncodeKeyValue(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `encode_key_value({})`, Want: `""`},
		{
			Source: `encode_key_value({"a": null, "b": 1.0, "c": 2.5, "d": -3, "e": "", "f": false})`,
			Want:   `"a=null b=1 c=2.5 d=-3 e= f=false"`,
		},
		{Source: `encode_key_value({"t": t'2026-01-02T03:04:05Z', "r": r'a b'})`, Want: `"r=\"a b\" t=2026-01-02T03:04:05Z"`},
		{
			Name:   "nested",
			Source: `encode_key_value({"a": {"b": {}, "c": []}, "d": [[1], {"e": 2}]})`,
			Want:   `"d.0.0=1 d.1.e=2"`,
		},
		{
			Name:   "order of flat keys",
			Source: `encode_key_value({"a": {"b": 1}, "a-b": 2, "a.a": 3})`,
			Want:   `"a-b=2 a.a=3 a.b=1"`,
		},
		{
			Name:   "quotes",
			Source: `encode_key_value({"a b": "c=d", "e\"": "f\\g", "h": "i\nj", "k": "l\u{a0}m"})`,
			Want:   `"\"a b\"=\"c=d\" \"e\\\"\"=f\\\\g h=\"i\\\\nj\" k=\"l\u00a0m\""`,
		},
		{Name: "keys that are not there", Source: `encode_key_value!({"a": 1, "b": 2}, ["z", "b", "b"])`, Want: `"b=2 a=1"`},
		{Name: "the order is unknown", Source: `encode_key_value({"a": 1}, array!(.o))`, CompileError: "E100"},
		{Name: "no strings", Source: `encode_key_value!({"a": 1}, [1])`, RunError: "expected string, got integer"},
		{Name: "all false", Source: `encode_key_value({"a": false}, flatten_boolean: true)`, Want: `""`},
		{Source: `encode_logfmt({"on": true, "off": false, "x": {"on": true}, "n": 0})`, Want: `"n=0 on x.on"`},
		{Source: `encode_logfmt!({"a": 1, "on": true}, ["on"])`, Want: `"on a=1"`},
	})
}
