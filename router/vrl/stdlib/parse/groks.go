package parse

import (
	"fmt"
	"os"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/grok"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxAliasFile limits the size of a file of aliases.
const maxAliasFile = 1 << 20

// groksAliases returns the aliases of a call, from its argument and from files.
func groksAliases(c *fn.Call) (aliases map[string]string, refused bool, err error) {
	aliases = map[string]string{}
	v, ok := c.Const(2)
	if !ok {
		return nil, false, c.NotConstant(2)
	}
	if err := addAliases(aliases, v); err != nil {
		return nil, false, c.BadArgument(2, "%v", err)
	}
	sources, ok := c.Const(3)
	if !ok {
		return nil, false, c.NotConstant(3)
	}
	if sources.Array() == nil {
		return aliases, false, nil
	}
	for _, s := range sources.Array().Peek() {
		if !s.IsString() {
			return nil, false, c.BadArgument(3, "a path is %s, not a string", s.Kind())
		}
		if c.Host.Grants&fn.Files == 0 {
			return nil, true, nil
		}
		info, err := os.Stat(s.Str())
		if err == nil && info.Size() > maxAliasFile {
			err = fmt.Errorf("it is larger than %d bytes", maxAliasFile)
		}
		var data []byte
		if err == nil {
			data, err = os.ReadFile(s.Str())
		}
		var v value.Value
		if err == nil {
			v, err = value.ParseJSON(string(data), value.JSONOptions{})
		}
		if err == nil {
			err = addAliases(aliases, v)
		}
		if err != nil {
			return nil, false, c.BadArgument(3, "unable to read alias source %s: %v", s.Str(), err)
		}
	}
	return aliases, false, nil
}

func addAliases(to map[string]string, v value.Value) error {
	o := v.Object()
	if o == nil {
		return fmt.Errorf("aliases are %s, not an object", v.Kind())
	}
	for i := range o.Len() {
		if !o.PeekAt(i).IsString() {
			return fmt.Errorf("alias %q is %s, not a string", o.Key(i), o.PeekAt(i).Kind())
		}
		to[o.Key(i)] = o.PeekAt(i).Str()
	}
	return nil
}

// compileGroks compiles the rules of a call.
func compileGroks(c *fn.Call) (fn.Impl, error) {
	list, ok := c.Const(1)
	if !ok {
		return fn.Impl{}, c.NotConstant(1)
	}
	aliases, refused, err := groksAliases(c)
	if err != nil {
		return fn.Impl{}, err
	}
	if refused {
		return fn.Refuse("parse_groks: alias_sources", fn.Files), nil
	}
	if list.Len() > maxGroksRules {
		return fn.Impl{}, c.BadArgument(1, "more than %d patterns", maxGroksRules)
	}
	var rules []*groksRule
	for _, p := range list.Array().Peek() {
		if !p.IsString() {
			return fn.Impl{}, c.BadArgument(1, "a pattern is %s, not a string", p.Kind())
		}
		var r *groksRule
		err := c.Host.CompilePattern(func() (size int, err error) {
			if r, err = compileRule(p.Str(), aliases); err == nil {
				size = r.re.Size()
			}
			return size, err
		})
		if err != nil {
			return fn.Impl{}, c.Invalid(112, 1, "invalid grok pattern: %v", err)
		}
		rules = append(rules, r)
	}
	return fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		return runGroks(f, rules, v.Text())
	}}, nil
}

// runGroks returns the fields of the first rule that matches.
func runGroks(f *fn.Frame, rules []*groksRule, s string) (value.Value, bool) {
	var room [16]grok.Capture
	var slow error
	for _, r := range rules {
		list, ok, err := matchGrok(f, r.re, room[:0], s)
		if f.Stopped() == fn.Exhausted {
			return value.Value{}, false
		}
		if err != nil {
			slow = err
		}
		if !ok {
			continue
		}
		if !f.Reserve(64*len(list) + 4*len(s)) {
			return value.Value{}, false
		}
		return r.result(f, list)
	}
	if slow != nil {
		return f.FailErr("unable to parse grok: ", slow)
	}
	return f.Fail("unable to parse grok: value does not match any rule")
}

// result returns the object of a match. It returns false if the budget is too small.
func (r *groksRule) result(f *fn.Frame, list []grok.Capture) (value.Value, bool) {
	out := value.MakeFields(8).Value()
	for _, c := range list {
		if c.Text == "" {
			continue
		}
		field := &r.fields[r.index[c.Index]]
		v, ok := value.NewString(c.Text), true
		for _, filter := range field.filters {
			if v, ok = filter(f, v); !ok || v.IsNull() {
				break
			}
		}
		if f.Stopped() == fn.Exhausted {
			return value.Value{}, false
		}
		if !ok || v.IsNull() || v.Kind() == value.Object && v.Len() == 0 {
			continue
		}
		if len(field.path) > 0 {
			insertGrok(&out, field.path, v)
			continue
		}
		if o := v.Object(); o != nil {
			for i := range o.Len() {
				if !f.Spend(1 + out.Len()/16) {
					return value.Value{}, false
				}
				insertGrok(&out, value.Path{value.Name(o.Key(i))}, o.At(i))
			}
		}
	}
	return out, true
}

// insertGrok puts v at a path. Several values for one path become an array.
func insertGrok(out *value.Value, p value.Path, v value.Value) {
	old, ok := out.Get(p)
	if ok && old.Kind() != value.Null {
		if a := old.Array(); a != nil {
			list := make([]value.Value, 0, a.Len()+1)
			v = value.NewArray(append(append(list, a.Share()...), v))
		} else {
			v = value.ArrayOf(old, v)
		}
	}
	// Paths in a rule have no indexes, so this cannot fail.
	_ = value.Insert(out, p, v)
}

var parseGroks = &fn.Function{
	Name:  "parse_groks",
	Group: fn.Parse,
	Doc: "Matches the whole text with grok rules in Datadog's notation, and returns the fields of the first " +
		"rule that matches. A " +
		"rule is a regular expression with elements `%{matcher:field:filter}`; fields may be paths, values for the " +
		"same field " +
		"become an array, and empty ones are left out.",
	Params: []fn.Param{
		fn.ValueParam("The text."),
		{Name: "patterns", Doc: "The rules, an array of strings.", Kind: kind.Array, Constant: true},
		{
			Name: "aliases", Doc: "Rules by name, which can be used as matchers.", Kind: kind.Object, Optional: true,
			Default: value.ObjectOf(), Constant: true,
		},
		{
			Name: "alias_sources", Doc: "Paths of JSON files with more aliases. They are read when the program is compiled.",
			Kind: kind.Array, Optional: true, Default: value.ArrayOf(), Constant: true,
		},
	},
	Returns:  kind.Object,
	Fallible: true,
	Errors: []string{
		"no rule matches", "a rule with look-around takes more than 50 ms",
		"the host does not let programs read files, and alias_sources is given",
	},
	Examples: []fn.Example{
		{
			Title: "a filter and an alias", Source: `parse_groks!("GET /a 0.2", patterns: ` +
				`["%{_request} %{number:duration:scale(1000)}"], aliases: {"_request": ` +
				`"%{word:http.method} %{notSpace:http.path}"})`,
			Result: `{"duration":200,"http":{"method":"GET","path":"/a"}}`,
		},
		{
			Title: "a date", Source: `parse_groks!("[02/01/2024 10:00:00] up", patterns: ` +
				`[s'\[%{date("dd/MM/yyyy HH:mm:ss"):at}\] %{data:text}'])`,
			Result: `{"at":1704189600000,"text":"up"}`,
		},
		{Title: "no match", Source: `parse_groks!("up", patterns: ["%{integer:n}"])`, Fails: `value does not match any rule`},
	},
	Compile: compileGroks,
}
