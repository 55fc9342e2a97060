package text_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestCase(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `upcase("ǆ ﬁ ß 1")`, Want: `"Ǆ FI SS 1"`},
		{Source: `downcase("İ ΑΣ")`, Want: `"i̇ ας"`},
		{Source: `downcase("already low")`, Want: `"already low"`},
		{Source: `upcase(.a)`, CompileError: "E110"},
	})
}

func TestContains(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `contains("abc", "")`, Want: `true`},
		{Source: `contains("STRAẞE", "straß", case_sensitive: false)`, Want: `true`},
		{Source: `contains("abc", "B", case_sensitive: bool!(.cs))`, Event: `{"cs":false}`, Want: `true`},
		{Source: `contains_all("abc", [])`, Want: `true`},
		{Source: `contains_all("abc", ["a", 1])`, CompileError: "E100"},
		{Source: `contains_all!("abc", ["x", 1])`, RunError: "expected string, got integer"},
		{Name: "unknown elements", Source: `contains_all!("abc", array!(.l))`, Event: `{"l":["a","c"]}`, Want: `true`},
	})
}

func TestStartsEndsWith(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[starts_with("", ""), starts_with("a", ""), starts_with("", "a")]`, Want: `[true,true,false]`},
		{Source: `starts_with("ÉTÉ", "ét", case_sensitive: false)`, Want: `true`},
		{
			Name:   "longer in bytes, not in characters",
			Source: `starts_with("Kelvin", "\u{212a}el", case_sensitive: false)`,
			Want:   `true`,
		},
		{Source: `ends_with("ÉTÉ", "té", case_sensitive: false)`, Want: `true`},
		{Source: `ends_with("a", "ba")`, Want: `false`},
	})
}

func TestFind(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "bytes", Source: `find("éa", "a")`, Want: `2`},
		{Source: `find("aba", "a", from: 1)`, Want: `2`},
		{Source: `find("aba", "a", from: 9)`, Want: `null`},
		{Source: `find("aba", "", from: 3)`, Want: `3`},
		{Source: `find("aba", "a", from: -5)`, Want: `0`},
		{Name: "the start is not where the search starts", Source: `find("aba", r'^a', from: 2)`, Want: `null`},
		{Source: `find("ab ab", r'\bab', from: 1)`, Want: `3`},
	})
}

func TestJoin(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `join!([], ",")`, Want: `""`},
		{Source: `join!(["a"], ",")`, Want: `"a"`},
		{Source: `join!(["a", null], ",")`, RunError: "all array items must be strings"},
	})
}

func TestSlice(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `slice!("abc", -3, -1)`, Want: `"ab"`},
		{Source: `slice!("abc", 1, 100)`, Want: `"bc"`},
		{Source: `slice!("", 0)`, Want: `""`},
		{Source: `slice!("abc", -4)`, RunError: `"start" must be between "-3" and "3"`},
		{Source: `slice!("abc", 2, -2)`, RunError: `"end" must be greater or equal to "start"`},
		{Name: "cuts a character", Source: `length(slice!("é", 1))`, Want: `1`},
		{Source: `slice!([1, 2, 3], 1, 2)`, Want: `[2]`},
		{Source: `slice!(.a, 1)`, Event: `{"a":5}`, RunError: "expected string or array, got integer"},
	})
}

func TestSplit(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `split("abc", "")`, Want: `["","a","b","c",""]`},
		{Source: `split("", "")`, Want: `["",""]`},
		{Source: `split("éa", "", limit: 3)`, Want: `["","é","a"]`},
		{Source: `split("abc", r'')`, Want: `["","a","b","c",""]`},
		{Source: `split(",a,,b,", ",")`, Want: `["","a","","b",""]`},
		{Source: `split("a,b,c", r',', limit: 1)`, Want: `["a,b,c"]`},
		{Source: `split("a,b,c", ",", limit: 1)`, Want: `["a,b,c"]`},
		{Source: `split("a,b,c", ",", limit: -1)`, Want: `[]`},
		{Name: "pieces are strings", Source: `upcase(split(string!(.a), ",")[0]) ?? ""`, Event: `{"a":"x,y"}`, Want: `"X"`},
	})
}

func TestPaths(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[basename!("a//b//"), basename!("./a/."), basename!("a/.."), basename!("")]`, Want: `["b","a",null,null]`},
		{
			Source: `[dirname!("a//b//"), dirname!("/a"), dirname!("//a"), dirname!("./a"), dirname!("a/./b/c"), ` +
				`dirname!("///")]`,
			Want: `["a","/","/",".","a/./b","/"]`,
		},
		{
			Source: `[split_path("./a/./b/../c"), split_path("a"), split_path("///")]`,
			Want:   `[[".","a","b","..","c"],["a"],["/"]]`,
		},
	})
}

func TestMatch(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `match("", r'^$')`, Want: `true`},
		{Source: `match("abc", "a")`, CompileError: "E110"},
		{Source: `match_any("abc", [])`, Want: `false`},
		{Source: `match_any("abc", [r'x', "a"])`, CompileError: "E110"},
		{Source: `match_any("abc", array!(.p))`, CompileError: "E"},
		{Name: "patterns in a variable", Source: `p = [r'x', r'c$']; match_any("abc", p)`, Want: `true`},
	})
}

func TestReplace(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `replace("abc", "", "-")`, Want: `"-a-b-c-"`},
		{Source: `replace("aaa", "a", "b", count: -7)`, Want: `"bbb"`},
		{Source: `replace("aaa", r'a', "b", count: 2)`, Want: `"bba"`},
		{Source: `replace("abc", r'(b)', "[$1x]")`, Want: `"a[]c"`},
		{Source: `replace("abc", r'(b)', "[${1}x]")`, Want: `"a[bx]c"`},
		{Source: `replace("abc", r'b', "$$1 $ ${0")`, Want: `"a$1 $ ${0c"`},
		{Source: `replace("abc", r'(?P<m>b)', "<$m$0$9>")`, Want: `"a<bb>c"`},
		{Name: "no groups in literal replacements", Source: `replace("abc", "b", "$0")`, Want: `"a$0c"`},
		{Source: `replace("éa", r'', "-")`, Want: `"-é-a-"`},
		{
			Name: "bounded", Source: `replace(string!(.a), "a", string!(.a))`,
			Event: `{"a":"` + strings.Repeat("a", 20000) + `"}`, RunError: "budget",
		},
		{
			Name: "bounded, by pattern", Source: `replace(string!(.a), r'a', string!(.a))`,
			Event: `{"a":"` + strings.Repeat("a", 20000) + `"}`, RunError: "budget",
		},
	})
}

func TestReplaceWith(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `replace_with("a1b2", r'\d') -> |m| { to_string(to_int!(m.string) + 1) }`, Want: `"a2b3"`},
		{Source: `replace_with("a1b2", r'\d', count: 1) -> |m| { m.string + m.string }`, Want: `"a11b2"`},
		{
			Name:   "groups that took no part",
			Source: `replace_with("ab", r'(a)|(b)') -> |m| { if m.captures[0] == null { "2" } else { "1" } }`,
			Want:   `"12"`,
		},
		{Name: "the closure must result in a string", Source: `replace_with("a", r'a') -> |m| { 1 }`, CompileError: "E122"},
		{
			Name:     "reserved names",
			Source:   `replace_with("a", r'(?P<captures>a)') -> |m| { "" }`,
			RunError: `Capture group cannot be named "string" or "captures"`,
		},
		{Name: "failing", Source: `replace_with!("a", r'a') -> |m| { assert!(false, "no"); "" }`, RunError: "no"},
	})
}

func TestSieve(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `sieve("--ab-c--", r'[a-z]', replace_single: "1", replace_repeated: "2")`, Want: `"2ab1c"`},
		{
			Name:   "a character of two bytes is repeated",
			Source: `sieve("aéb", r'[a-z]', replace_single: "1", replace_repeated: "2")`,
			Want:   `"a2b"`,
		},
		{Source: `sieve("123", r'[a-z]')`, Want: `""`},
	})
}

func TestRedact(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `redact({"a": ["x 1", {"b": "22"}], "n": 5}, filters: [r'\d+'])`,
			Want:   `{"a":["x [REDACTED]",{"b":"[REDACTED]"}],"n":5}`,
		},
		{
			Source: `redact("a.b axb", filters: [{"type": "pattern", "patterns": ["a.b", r'x.']}])`,
			Want:   `"[REDACTED] a[REDACTED]"`,
		},
		{
			Source: `redact("666-12-1234 123-00-1234 001-01-0011", filters: [{"type": "us_social_security_number"}])`,
			Want:   `"666-12-1234 123-00-1234 [REDACTED]"`,
		},
		{Source: `redact("x", filters: [r'x'], redactor: {"type": "full"})`, Want: `"[REDACTED]"`},
		{
			Source: `redact("x", filters: [r'x'], redactor: {"type": "sha3", "variant": "SHA3-224", "encoding": "base16"})`,
			Want:   `"63e6ceb28ad474fa51c3d5dda2239adb5e58a1ae2600d18c6e116746"`,
		},
		{
			Source: `redact("x", filters: [r'x'], redactor: {"type": "sha2", "variant": "SHA-256", "encoding": "base16"})`,
			Want:   `"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"`,
		},
		{Source: `redact("x", filters: [5])`, CompileError: "E403"},
		{Source: `redact("x", filters: ["pattern"])`, CompileError: "E403"},
		{Source: `redact("x", filters: [r'x'], redactor: "md5")`, CompileError: "E403"},
		{Source: `redact("x", filters: [r'x'], redactor: {"type": "text"})`, CompileError: "E403"},
		{Source: `redact("x", filters: [r'x'], redactor: {"type": "sha2", "encoding": "hex"})`, CompileError: "E403"},
		{Source: `redact("x", filters: array!(.f))`, CompileError: "E402"},
		{Name: "known fields stay known", Source: `upcase(redact({"a": "1"}, filters: [r'\d']).a)`, Want: `"[REDACTED]"`},
		{
			Name: "the argument stays", Source: `x = redact(object!(.o), filters: [r'1']); [x, .o]`,
			Event: `{"o":{"a":"1"}}`, Want: `[{"a":"[REDACTED]"},{"a":"1"}]`,
		},
	})
}

func TestShannonEntropy(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `shannon_entropy("")`, Want: `0.0`},
		{Source: `shannon_entropy("aaaa")`, Want: `0.0`},
		{Source: `shannon_entropy("aabb")`, Want: `1.0`},
		{Source: `shannon_entropy("é", segmentation: "byte")`, Want: `1.0`},
		{Source: `shannon_entropy("e\u{301}e", segmentation: "grapheme")`, Want: `1.0`},
		{Source: `shannon_entropy("a", segmentation: "word")`, CompileError: "E401"},
	})
}

func TestStripANSI(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `strip_ansi_escape_codes("\u{1b}[1;31mred\u{1b}[m\n\ttab")`, Want: `"red\n\ttab"`},
		{Source: `strip_ansi_escape_codes("a\u{1b}]8;;http://x\u{1b}\\link")`, Want: `"alink"`},
		{Source: `strip_ansi_escape_codes("a\u{1b}(Bb\u{1b}7c\u{8}d\u{9b}é")`, Want: `"abcdé"`},
		{Name: "cut off", Source: `strip_ansi_escape_codes("a\u{1b}[12")`, Want: `"a"`},
		{Name: "only the escape", Source: `strip_ansi_escape_codes("a\u{1b}")`, Want: `"a"`},
		{Name: "another in between", Source: `strip_ansi_escape_codes("\u{1b}[1\u{1b}[0mx")`, Want: `"x"`},
	})
}

func TestStripWhitespace(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `strip_whitespace("\u{3000}\u{a0} a b \u{2028}")`, Want: `"a b"`},
		{Source: `strip_whitespace(" \t\n")`, Want: `""`},
	})
}

func TestTruncate(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `truncate("éèê", 2)`, Want: `"éè"`},
		{Source: `truncate("éèê", 3, "…")`, Want: `"éèê"`},
		{Source: `truncate("abc", -1, "…")`, Want: `"…"`},
		{Source: `truncate("", 0, "…")`, Want: `""`},
	})
}

func TestParseFloat(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `parse_float!("-1.5E-2")`, Want: `-0.015`},
		{Source: `parse_float!("0x1p3")`, RunError: "invalid float literal"},
		{Source: `parse_float!("nan")`, RunError: "NaN number not supported"},
		{Source: `to_string(parse_float!("-Infinity"))`, Want: `"-inf"`},
	})
}
