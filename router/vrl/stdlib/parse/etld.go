package parse

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// suffixList returns how many labels of a domain in Punycode form its public suffix, and whether a rule says so.
type suffixList func(labels []string) (n int, known bool)

// builtinSuffixes returns the list compiled into the program.
func builtinSuffixes(labels []string) (int, bool) {
	suffix, icann := publicsuffix.PublicSuffix(strings.Join(labels, "."))
	n := strings.Count(suffix, ".") + 1
	return n, icann || n > 1
}

// rules is a list from a file: rules, wildcard rules and exceptions.
type rules map[string]byte

// maxRules limits the size of the file of a list.
const maxRules = 16 << 20

// readRules reads a list in the format of publicsuffix.org.
func readRules(path string) (rules, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read public suffix list: %w", err)
	}
	if info.Size() > maxRules {
		return nil, fmt.Errorf("public suffix list %s is larger than %d bytes", path, maxRules)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("unable to read public suffix list: %w", err)
	}
	out := rules{}
	in := bufio.NewScanner(bytes.NewReader(data))
	for line := 1; in.Scan(); line++ {
		rule, _ := ascii.CutWord(strings.TrimSpace(in.Text()))
		if rule == "" || strings.HasPrefix(rule, "//") {
			continue
		}
		kind := byte('=')
		if rest, ok := strings.CutPrefix(rule, "*."); ok {
			kind, rule = '*', rest
		} else if rest, ok := strings.CutPrefix(rule, "!"); ok {
			kind, rule = '!', rest
		}
		name, err := idna.Punycode.ToASCII(strings.ToLower(rule))
		if err != nil || strings.ContainsAny(name, `{}[]",:;()`) {
			return nil, fmt.Errorf("public suffix list %s: line %d is not a rule", path, line)
		}
		if kind != '*' && out[name] == '*' {
			continue
		}
		out[name] = kind
	}
	return out, in.Err()
}

func (r rules) find(labels []string) (int, bool) {
	for i := range labels {
		name := strings.Join(labels[i:], ".")
		if k := r[name]; k == '!' {
			return len(labels) - i - 1, true
		}
		if i+1 < len(labels) && r[strings.Join(labels[i+1:], ".")] == '*' {
			return len(labels) - i, true
		}
		if k := r[name]; k == '=' || k == '*' {
			return len(labels) - i, true
		}
	}
	return 1, false
}

// runETLD splits a host at its public suffix.
func runETLD(f *fn.Frame, host string, plus int64, list suffixList) (value.Value, bool) {
	if host == "" || len(host) > 1024 || isAddress(host) {
		return f.Fail("unable to determine eTLD for " + strings.Clone(host))
	}
	labels := strings.Split(host, ".")
	if !f.Spend(len(labels)) {
		return value.Value{}, false
	}
	ascii := make([]string, len(labels))
	for i, l := range labels {
		a, err := idna.Punycode.ToASCII(strings.ToLower(l))
		if err != nil || l == "" && i < len(labels)-1 {
			return f.Fail("unable to determine eTLD for " + strings.Clone(host))
		}
		ascii[i] = a
	}
	end := len(labels)
	if labels[end-1] == "" { // the dot of the root domain
		end--
	}
	if end == 0 {
		return f.Fail("unable to determine eTLD for " + strings.Clone(host))
	}
	n, known := list(ascii[:end])
	n = min(max(n, 1), end)
	from := max(0, int64(end-n)-max(plus, 0))
	if plus > int64(end) {
		from = 0
	}
	o := newFields(3)
	o.str("etld", strings.Join(labels[end-n:], "."))
	o.str("etld_plus", strings.Join(labels[from:], "."))
	o.add("known_suffix", value.NewBool(known))
	return o.value(), true
}

var parseETLD = &fn.Function{
	Name:  "parse_etld",
	Group: fn.Parse,
	Doc: "Finds the effective top-level domain of a host: the public suffix, such as `co.uk`, under which names " +
		"are registered, and this suffix with some labels before it. If a host has no known suffix, its last " +
		"label is used as the suffix.",
	Params: []fn.Param{
		fn.ValueParam("The host."),
		{
			Name: "plus_parts", Doc: "How many labels before the suffix are in `etld_plus`.", Kind: kind.Integer,
			Optional: true, Default: value.NewInt(0),
		},
		{
			Name: "psl",
			Doc: "The path of a list of suffixes in the format of publicsuffix.org. It is read when the program is compiled. " +
				"By default a built-in list is used.",
			Kind: kind.String, Optional: true, Constant: true,
		},
	},
	Returns: kind.ObjectOf(
		kind.Field{Name: "etld", Kind: kind.String}, kind.Field{Name: "etld_plus", Kind: kind.String},
		kind.Field{Name: "known_suffix", Kind: kind.Boolean},
	),
	Fallible: true,
	Errors:   []string{"the host is empty or an address", "the host does not let programs read files, and psl is given"},
	Examples: []fn.Example{
		{
			Title:  "a suffix of two labels",
			Source: `parse_etld!("www.example.co.uk", plus_parts: 1)`,
			Result: `{"etld":"co.uk","etld_plus":"example.co.uk","known_suffix":true}`,
		},
		{
			Title:  "unknown",
			Source: `parse_etld!("db.internal")`,
			Result: `{"etld":"internal","etld_plus":"internal","known_suffix":false}`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) {
		list := suffixList(builtinSuffixes)
		if c.Given(2) {
			path, ok := c.Const(2)
			if !ok {
				return fn.Impl{}, c.NotConstant(2)
			}
			if c.Host.Grants&fn.Files == 0 {
				return fn.Refuse("parse_etld: psl", fn.Files), nil
			}
			r, err := readRules(path.Str())
			if err != nil {
				return fn.Impl{}, c.BadArgument(2, "%v", err)
			}
			list = r.find
		}
		return fn.Impl{F2: func(f *fn.Frame, v, plus value.Value) (value.Value, bool) {
			return runETLD(f, v.Text(), plus.Int(), list)
		}}, nil
	},
}
