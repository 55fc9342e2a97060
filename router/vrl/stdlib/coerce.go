package stdlib

import (
	"math"
	"strconv"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// coerceFunctions are the functions of the group Coerce.
var coerceFunctions = []*fn.Function{toInt}

// fallibleIfMay returns the Type of a conversion that can fail only for some kinds.
func fallibleIfMay(returns kind.Kind, failing kind.Set) func(*fn.Call) fn.TypeDef {
	return func(c *fn.Call) fn.TypeDef {
		return fn.TypeDef{Kind: returns, Fallible: c.Kind(0).Has(failing)}
	}
}

var toInt = &fn.Function{
	Name:  "to_int",
	Group: fn.Coerce,
	Doc: "Converts the value to an integer. Fractions are cut off, numbers that do not fit become the nearest " +
		"that does, booleans are 1 and 0, null is 0, timestamps are Unix seconds, and strings must hold a decimal integer.",
	Params: []fn.Param{
		{Name: "value", Doc: "The value to convert.", Kind: kind.Any, Borrow: true},
	},
	Returns:  kind.Integer,
	Fallible: true,
	Errors:   []string{"the value is a string that does not hold an integer", "the value is an array, an object or a regular expression"},
	Examples: []fn.Example{
		{Title: "a string", Source: `to_int!("-42")`, Result: `-42`},
		{Title: "a float", Source: `to_int(9.9)`, Result: `9`},
		{Title: "a timestamp", Source: `to_int(t'2020-01-01T00:00:00Z')`, Result: `1577836800`},
		{Title: "no number", Source: `to_int!("ten")`, Fails: `invalid integer "ten"`},
	},
	Type: fallibleIfMay(kind.Integer, kind.StringBit|kind.ArrayBit|kind.ObjectBit|kind.RegexBit),
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		switch v.Kind() {
		case value.Int:
			return v, true
		case value.Float:
			return value.NewInt(truncate(v.Float())), true
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
				return f.Failf("invalid integer %v", v)
			}
			return value.NewInt(i), true
		}
		return f.Failf("unable to coerce %v into integer", v.Kind())
	}},
}

// truncate cuts off the fraction of a float; what does not fit becomes the nearest integer that does.
func truncate(x float64) int64 {
	switch {
	case x >= math.MaxInt64:
		return math.MaxInt64
	case x <= math.MinInt64:
		return math.MinInt64
	}
	return int64(x)
}
