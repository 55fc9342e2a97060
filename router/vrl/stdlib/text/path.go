package text

import (
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// eachComponent calls f with the positions of the components of a Unix path in order. A leading "/" is a component.
// "." is a component only at the start, and repeated slashes count as one.
func eachComponent(s string, f func(start, end int)) {
	i := 0
	if strings.HasPrefix(s, "/") {
		f(0, 1)
		i = 1
	}
	for i < len(s) {
		end := strings.IndexByte(s[i:], '/')
		if end < 0 {
			end = len(s)
		} else {
			end += i
		}
		if c := s[i:end]; c != "" && (c != "." || i == 0) {
			f(i, end)
		}
		i = end + 1
	}
}

// splitLast returns the last component of a path, and the part before it without trailing slashes. The paths "" and
// "/" have no last component.
func splitLast(s string) (parent, last string, ok bool) {
	before, start, end := 0, 0, 0
	n := 0
	eachComponent(s, func(from, to int) {
		before, start, end = end, from, to
		n++
	})
	if n == 0 || s[start:end] == "/" {
		return "", "", false
	}
	return s[:before], s[start:end], true
}

var basename = &fn.Function{
	Name:  "basename",
	Group: fn.String,
	Doc: "Returns the last component of a Unix path. Slashes at the end are ignored. If there is no name, as in " +
		"/ and .., the result is null.",
	Params:   []fn.Param{{Name: "value", Doc: "The path.", Kind: kind.String}},
	Returns:  kind.Or(kind.String, kind.Null),
	Fallible: true,
	Errors:   []string{"none at present, but the compiler treats calls as fallible"},
	Examples: []fn.Example{
		{Title: "a file", Source: `basename!("/var/log/syslog.1")`, Result: `"syslog.1"`},
		{Title: "a slash at the end", Source: `basename!("/var/log/")`, Result: `"log"`},
		{Title: "no name", Source: `basename!("/")`, Result: `null`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		_, last, ok := splitLast(v.Text())
		if !ok || last == "." || last == ".." {
			return value.Value{}, true
		}
		return value.NewString(last), true
	}},
}

var dirname = &fn.Function{
	Name:     "dirname",
	Group:    fn.String,
	Doc:      "Returns a Unix path without its last component: \".\" if nothing is left, and \"/\" for the root.",
	Params:   []fn.Param{{Name: "value", Doc: "The path.", Kind: kind.String}},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"none at present, but the compiler treats calls as fallible"},
	Examples: []fn.Example{
		{Title: "a file", Source: `dirname!("/var/log/syslog.1")`, Result: `"/var/log"`},
		{Title: "no directory", Source: `dirname!("syslog.1")`, Result: `"."`},
		{Title: "the root", Source: `dirname!("/")`, Result: `"/"`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		parent, _, ok := splitLast(s)
		switch {
		case !ok && s != "":
			return value.NewString("/"), true
		case parent == "":
			return value.NewString("."), true
		}
		return value.NewString(parent), true
	}},
}

var splitPath = &fn.Function{
	Name:  "split_path",
	Group: fn.String,
	Doc: "Splits a Unix path into its components. A leading slash is the first component. Further slashes, and " +
		"\".\" inside the path, are left out.",
	Params:  []fn.Param{{Name: "value", Doc: "The path.", Kind: kind.String}},
	Returns: kind.ArrayAll(kind.String),
	Examples: []fn.Example{
		{Title: "an absolute path", Source: `split_path("/var//log/")`, Result: `["/","var","log"]`},
		{Title: "a relative path", Source: `split_path("../log")`, Result: `["..","log"]`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve((1 + strings.Count(s, "/")) * value.ElementBytes) {
			return value.Value{}, false
		}
		var list []value.Value
		eachComponent(s, func(start, end int) { list = append(list, value.NewString(s[start:end])) })
		return value.NewArray(list), true
	}},
}
