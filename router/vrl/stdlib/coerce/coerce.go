package coerce

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// fallibleIfMay returns the Type of a conversion that can fail only for the kinds in failing.
func fallibleIfMay(returns kind.Kind, failing kind.Set) func(*fn.Call) fn.TypeDef {
	return func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: returns, Fallible: c.Kind(0).Has(failing)}
	}
}

var toInt = &fn.Function{
	Name:  "to_int",
	Group: fn.Coerce,
	Doc: "Converts the value to an integer. Fractions are dropped, numbers out of range become the nearest " +
		"integer, booleans are 1 and 0, null is 0, timestamps are Unix seconds, and strings must be decimal integers.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to convert.", Kind: kind.Any, Borrow: true},
	},
	Returns:  kind.Integer,
	Fallible: true,
	Errors: []string{
		"the value is a string that is not an integer",
		"the value is an array, an object or a regular expression",
	},
	Examples: []fn.Example{
		{Title: "a string", Source: `to_int!("-42")`, Result: `-42`},
		{Title: "a float", Source: `to_int(9.9)`, Result: `9`},
		{Title: "a timestamp", Source: `to_int(t'2020-01-01T00:00:00Z')`, Result: `1577836800`},
		{Title: "no number", Source: `to_int!("ten")`, Fails: `Invalid integer "ten"`},
	},
	Type: fallibleIfMay(kind.Integer, kind.StringBit|kind.ArrayBit|kind.ObjectBit|kind.RegexBit),
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		switch v.Kind() {
		case value.Int:
			return v, true
		case value.Float:
			return value.NewInt(value.TruncateFloat(v.Float())), true
		case value.Bool:
			if v.Bool() {
				return value.NewInt(1), true
			}
			return value.NewInt(0), true
		case value.Null:
			return value.NewInt(0), true
		case value.Timestamp:
			sec, _ := v.Unix()
			return value.NewInt(sec), true
		case value.String:
			i, err := strconv.ParseInt(v.Str(), 10, 64)
			if err != nil {
				return f.Failf("Invalid integer %v: %s", v, intProblem(v.Str(), err))
			}
			return value.NewInt(i), true
		}
		return f.Failf("unable to coerce %v into integer", v.Kind())
	}},
}

// intProblem describes in a few words why s is not an integer.
func intProblem(s string, err error) string {
	switch {
	case s == "":
		return "cannot parse integer from empty string"
	case !errors.Is(err, strconv.ErrRange):
		return "invalid digit found in string"
	case s[0] == '-':
		return "number too small to fit in target type"
	}
	return "number too large to fit in target type"
}

var toBool = &fn.Function{
	Name:  "to_bool",
	Group: fn.Coerce,
	Doc: "Converts the value to a boolean. Numbers are true unless they are 0, null is false. Of strings, in any case, " +
		"true, t, yes and y are true, false, f, no and n are false, and integers count as numbers.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to convert.", Kind: kind.Any, Borrow: true},
	},
	Returns:  kind.Boolean,
	Fallible: true,
	Errors: []string{
		"the value is a string that is not a boolean",
		"the value is a timestamp, an array, an object or a regular expression",
	},
	Examples: []fn.Example{
		{Title: "a word", Source: `to_bool!("Yes")`, Result: `true`},
		{Title: "a number", Source: `to_bool(0)`, Result: `false`},
		{Title: "null", Source: `to_bool(null)`, Result: `false`},
		{Title: "another word", Source: `to_bool!("perhaps")`, Fails: `Invalid boolean value "perhaps"`},
	},
	Type: fallibleIfMay(kind.Boolean, kind.StringBit|kind.TimestampBit|kind.ArrayBit|kind.ObjectBit|kind.RegexBit),
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		switch v.Kind() {
		case value.Bool:
			return v, true
		case value.Null:
			return value.NewBool(false), true
		case value.Int:
			return value.NewBool(v.Int() != 0), true
		case value.Float:
			return value.NewBool(v.Float() != 0), true
		case value.String:
			if b, ok := parseBool(v.Str()); ok {
				return value.NewBool(b), true
			}
			return f.Failf("Invalid boolean value %v", v)
		}
		return f.Failf("unable to coerce %v into boolean", v.Kind())
	}},
}

// parseBool parses a boolean.
func parseBool(s string) (b, ok bool) {
	if len(s) <= 5 {
		switch strings.ToLower(s) {
		case "true", "t", "yes", "y":
			return true, true
		case "false", "f", "no", "n":
			return false, true
		}
	}
	i, err := strconv.ParseInt(s, 10, 64)
	return i != 0, err == nil
}

var toFloat = &fn.Function{
	Name:  "to_float",
	Group: fn.Coerce,
	Doc: "Converts the value to a float. Booleans are 1.0 and 0.0, null is 0.0, timestamps are Unix seconds with their " +
		"fraction, and strings must be decimal numbers.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to convert.", Kind: kind.Any, Borrow: true},
	},
	Returns:  kind.Float,
	Fallible: true,
	Errors: []string{
		"the value is a string that is not a number, or NaN",
		"the value is an array, an object or a regular expression",
	},
	Examples: []fn.Example{
		{Title: "a string", Source: `to_float!("2.5")`, Result: `2.5`},
		{Title: "an integer", Source: `to_float(7)`, Result: `7.0`},
		{Title: "a timestamp", Source: `to_float(t'2020-01-01T00:00:00.5Z')`, Result: `1577836800.5`},
		{Title: "no number", Source: `to_float!("ten")`, Fails: `Invalid floating point number "ten"`},
	},
	Type: fallibleIfMay(kind.Float, kind.StringBit|kind.ArrayBit|kind.ObjectBit|kind.RegexBit),
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		switch v.Kind() {
		case value.Float:
			return v, true
		case value.Int:
			return value.NewFloat(float64(v.Int())), true
		case value.Bool:
			if v.Bool() {
				return value.NewFloat(1), true
			}
			return value.NewFloat(0), true
		case value.Null:
			return value.NewFloat(0), true
		case value.Timestamp:
			sec, nsec := v.Unix()
			if ns, ok := v.UnixNano(); ok {
				return value.NewFloat(float64(ns) / 1e9), true
			}
			return value.NewFloat(float64(sec) + float64(nsec)/1e9), true
		case value.String:
			return parseFloatText(f, v)
		}
		return f.Failf("unable to coerce %v into float", v.Kind())
	}},
}

var parseFloat = &fn.Function{
	Name:     "parse_float",
	Group:    fn.String,
	Doc:      "Parses the string as a decimal number, with or without an exponent. Numbers too large become infinite.",
	Params:   []fn.Param{{Name: "value", Doc: "The text.", Kind: kind.String}},
	Returns:  kind.Float,
	Fallible: true,
	Errors:   []string{"the string is not a number, or NaN"},
	Examples: []fn.Example{
		{Title: "with an exponent", Source: `parse_float!("2.5e3")`, Result: `2500.0`},
		{Title: "no number", Source: `parse_float!("2,5")`, Fails: `invalid float literal`},
	},
	Impl: fn.Impl{F1: parseFloatText},
}

// parseFloatText parses v, a string, as a decimal float. Numbers that are too large become infinite.
func parseFloatText(f *fn.Frame, v value.Value) (value.Value, bool) {
	s := v.Str()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || strings.ContainsAny(s, "xXpP_") {
		problem := "invalid float literal"
		if s == "" {
			problem = "cannot parse float from empty string"
		}
		return f.Failf("Invalid floating point number %v: %s", v, problem)
	}
	if math.IsNaN(x) {
		return f.Failf("NaN number not supported %v", v)
	}
	return value.NewFloat(x), true
}

var toString = &fn.Function{
	Name:  "to_string",
	Group: fn.Coerce,
	Doc: "Converts the value to a string. Floats are written without an exponent and with as few digits as " +
		"distinguish them " +
		"from all other floats, timestamps as RFC 3339 in UTC. Null becomes the empty string.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to convert.", Kind: kind.Any, Borrow: true},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the value is an array, an object or a regular expression"},
	Examples: []fn.Example{
		{Title: "a number", Source: `to_string(52.20)`, Result: `"52.2"`},
		{Title: "a whole float", Source: `to_string(1.0)`, Result: `"1"`},
		{Title: "a timestamp", Source: `to_string(t'2020-01-01T00:00:00+01:00')`, Result: `"2019-12-31T23:00:00Z"`},
		{Title: "an array", Source: `to_string!([1])`, Fails: `unable to coerce array into string`},
	},
	Type: fallibleIfMay(kind.String, kind.ArrayBit|kind.ObjectBit|kind.RegexBit),
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		var scratch [64]byte
		b := scratch[:0]
		switch v.Kind() {
		case value.String:
			return v, true
		case value.Null:
			return value.NewString(""), true
		case value.Bool:
			if v.Bool() {
				return value.NewString("true"), true
			}
			return value.NewString("false"), true
		case value.Int:
			return f.Keep(strconv.AppendInt(b, v.Int(), 10))
		case value.Float:
			return f.Keep(value.AppendPlainFloat(b, v.Float()))
		case value.Timestamp:
			return f.Keep(value.AppendTime(b, v.Time()))
		}
		return f.Failf("unable to coerce %v into string", v.Kind())
	}},
}

var toRegex = &fn.Function{
	Name:  "to_regex",
	Group: fn.Coerce,
	Doc: "Compiles the string to a regular expression. If you know the pattern when you write the program, write " +
		"r'…' instead, which is checked and compiled only once.",
	Params: []fn.Param{
		{Name: "value", Doc: "The pattern.", Kind: kind.String},
	},
	Returns:  kind.Regex,
	Fallible: true,
	Errors:   []string{"the string is not a regular expression"},
	Examples: []fn.Example{
		{
			Title: "a pattern from the event", Source: `match("abc", to_regex!(.pattern))`, Event: `{"pattern":"^a"}`,
			Result: `true`,
		},
		{Title: "no pattern", Source: `to_regex!("(")`, Fails: `could not create regex`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if re := compiled.get(s); re != nil {
			return value.NewRegex(re), true
		}
		// A compiled pattern is many times larger than its text.
		if !f.Spend(8*len(s)) || !f.Reserve(64*len(s)) {
			return value.Value{}, false
		}
		re, err := pattern.Compile(strings.Clone(s))
		if err != nil {
			if !f.Spend(stepsOfRefused) {
				return value.Value{}, false
			}
			return f.FailErr("could not create regex: ", err)
		}
		// Repetitions can make a short pattern very large.
		if !f.Spend(re.Size()/32) || !f.Reserve(re.Size()) {
			return value.Value{}, false
		}
		compiled.put(re)
		return value.NewRegex(re), true
	}},
}

// stepsOfRefused is the cost of a refused pattern. It may have been expanded to a great length before it was found
// to be too large.
const stepsOfRefused = 50_000

// compiled caches the patterns that programs recently compiled from strings.
var compiled patterns

const (
	maxPatterns   = 256
	maxPatternLen = 1 << 10
)

// patterns is a bounded cache of compiled patterns, safe for concurrent use.
type patterns struct {
	mu     sync.RWMutex
	byText map[string]*pattern.Regex
}

func (p *patterns) get(s string) *pattern.Regex {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.byText[s]
}

func (p *patterns) put(re *pattern.Regex) {
	if len(re.String()) > maxPatternLen {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byText == nil || len(p.byText) >= maxPatterns {
		// Programs use few patterns, so a simple rule is enough.
		p.byText = make(map[string]*pattern.Regex)
	}
	p.byText[re.String()] = re
}
