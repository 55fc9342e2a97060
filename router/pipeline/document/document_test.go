package document

import (
	"bytes"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'i'; c++ {
		prev := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+prev+",", 9) + "*" + prev + "]\n"
	}
	for _, tt := range []struct{ name, src, want string }{
		{"empty", "", "Yaml parse error: the text contains no document, expected one"},
		{"comment", "# nothing\n", "Yaml parse error: the text contains no document, expected one"},
		{"several", "a: 1\n---\nb: 2\n", "line 2: Yaml parse error: the text contains several documents, expected one"},
		{"syntax", "a: [1\nb: 2", "line 1: Yaml parse error: did not find expected ',' or ']'"},
		{
			"format without quotes", "processors:\n  - date:\n      formats: [%Y-%m-%d]\n",
			"line 3: Yaml parse error: found character that cannot start any token; put a text that begins with %, @ or ` in " +
				"quotes, and indent with spaces, not with tabs",
		},
		{
			"tab", "processors:\n  - date:\n\tfield: t\n",
			"line 3: Yaml parse error: found character that cannot start any token; put a text that begins with %, @ or ` in " +
				"quotes, and indent with spaces, not with tabs",
		},
		{
			"indentation", "processors:\n  - date:\n      field: t\n   bad: x\ntransform: []\n",
			"line 4: Yaml parse error: did not find expected '-' indicator",
		},
		{
			"two colons", "a: 1\nb: 2\nc: d: e\nf: 3\n",
			"line 3: Yaml parse error: mapping values are not allowed in this context",
		},
		{"a tab", "a:\n  b: 1\n\tc: 2\nd: 3\n", "line 3: Yaml parse error: "},
		{"an open quote", "a: 1\nb: \"x\nc: 2\nd: 3\n", "line 2: Yaml parse error: "},
		{"a second document", "a: 1\n---\nb: [\nc: 2\n", "line 4: Yaml parse error: "},
		{"bytes", "a: \xff", "the document is not valid UTF-8"},
		{"long", strings.Repeat("#", MaxBytes+1), "the document has 1048577 bytes, at most 1048576 are allowed"},
		{"bomb", bomb, "more than 200000 nodes"},
		{"cycle", "a: &a [*a]", "alias inside its own anchor"},
		{"deep", strings.Repeat("[", 9000), "nested too deep"},
		{"nested", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper than 64 levels"},
		{"unknown anchor", "a: *b", "line 1: Yaml parse error: unknown anchor 'b' referenced"},
	} {
		_, err := Parse([]byte(tt.src))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

// read reads a document with a known form.
func read(src string) (string, error) {
	root, err := Parse([]byte(src))
	if err != nil {
		return "", err
	}
	m := root.Map()
	m.String("name", "none")
	m.Bool("flag", false)
	m.Choice("mode", "simple", "other")
	m.Strings("list")
	if n := m.Get("limit"); n != nil {
		n.Int()
	}
	if n := m.Get("rate"); n != nil {
		n.Float()
	}
	if n := m.Get("inner"); n != nil {
		in := n.Map()
		in.MustString("must")
		in.Done()
	}
	m.Done()
	return "", root.Err()
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct{ name, src, want string }{
		{"good", "name: x\nflag: true\nmode: OTHER\nlist: [a, 2020-01-01]\nlimit: 0x10\nrate: 1\ninner: {must: ''}", ""},
		{"null is absent", "name:\nflag: ~\nmode: null\nlist:\n", ""},
		{"near", "nme: x", `line 1: nme: unknown key "nme", did you mean "name"?`},
		{
			"far", "zzzzzzzz: x",
			`line 1: zzzzzzzz: unknown key "zzzzzzzz", known are flag, inner, limit, list, mode, name, rate`,
		},
		{
			"types", "name: 7\nflag: yes\nlist: x\nlimit: 1.5\nrate: .nan",
			"5 errors:\nline 1: name: expected a string, found the integer 7\n" +
				`line 2: flag: expected true or false, found the string "yes"` + "\n" +
				`line 3: list: expected a list, found the string "x"` + "\nline 4: limit: expected an integer, found the number " +
				"1.5\nline 5: rate: expected a number, found the number .nan",
		},
		{"element", "list: [a, [b]]", "line 1: list[1]: expected a string, found a list"},
		{"choice", "mode: othr", `line 1: mode: unknown value "othr", expected one of simple, other, did you mean "other"?`},
		{"required", "inner: {}", `line 1: inner: "must" is required`},
		{"no map", "inner: 7", "line 1: inner: expected a map, found the integer 7"},
		{"twice", "name: a\nflag: true\nname: b", `line 3: the key "name" is given twice, first in line 1`},
		{"key type", "1: a", "line 1: a key must be a string, found the integer 1"},
		{"alias", "name: &n x\nmode: *n", `line 1: mode: unknown value "x", expected one of simple, other`},
		{"merge", "inner: &i {must: a}\nlist: [b]\n<<: {name: z, flag: 3}\nflag: true", ""},
		{"root", "- a", "line 1: expected a map, found a list"},
	} {
		_, err := read(tt.src)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestManyFaults(t *testing.T) {
	_, err := read("list: [" + strings.Repeat("1,", 60) + "1]")
	if err == nil || !strings.HasPrefix(err.Error(), "61 errors:\n") || !strings.HasSuffix(err.Error(), "\nand 11 more") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: &a [*a]", "a: 1\n---\n", "{<<: [{a: 1}, {b: 2}]}", "name: x\ninner: {must: y}", "? [a]\n: b",
		"!!binary x: y", "%YAML 1.1\n---\na: !foo b",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, src []byte) {
		if bytes.Contains(src, []byte("\x00")) {
			return
		}
		_, _ = read(string(src))
	})
}
