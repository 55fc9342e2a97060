package number

import (
	"math"
	"strconv"
	"strings"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// sameNumber returns the Type of functions whose result has the kind of the first argument.
func sameNumber(c *fn.Call) fn.TypeDef {
	return fn.TypeDef{Kind: c.Kind(0).Only(kind.IntegerBit | kind.FloatBit)}
}

var absolute = &fn.Function{
	Name:   "abs",
	Group:  fn.Number,
	Doc:    "Returns the number without its sign. The smallest integer has no positive counterpart and stays unchanged.",
	Params: []fn.Param{{Name: "value", Doc: "The number.", Kind: kind.Number}},
	Type:   sameNumber,
	Examples: []fn.Example{
		{Title: "an integer", Source: `abs(-42)`, Result: `42`},
		{Title: "a float", Source: `abs(-4.2)`, Result: `4.2`},
	},
	Impl: fn.Impl{F1: func(_ *fn.Frame, v value.Value) (value.Value, bool) {
		if v.Kind() == value.Float {
			return value.NewFloat(math.Abs(v.Float())), true
		}
		if v.Int() < 0 {
			return value.NewInt(-v.Int()), true
		}
		return v, true
	}},
}

var (
	ceiling = rounds("ceil", "Rounds the number up.", math.Ceil, `ceil(4.341, precision: 2)`, `4.35`, `ceil(4.1)`, `5.0`)
	floor   = rounds("floor", "Rounds the number down.", math.Floor, `floor(4.349, precision: 2)`, `4.34`,
		`floor(4.9)`, `4.0`)
	round = rounds("round", "Rounds the number to the nearest one, with halves away from zero.", math.Round,
		`round(4.345, precision: 2)`, `4.35`, `round(-2.5)`, `-3.0`)
)

// rounds returns a function that rounds to a number of decimals. The rest are examples with and without decimals.
func rounds(name, doc string, round func(float64) float64,
	precise, preciseResult, plain, plainResult string,
) *fn.Function {
	return &fn.Function{
		Name:  name,
		Group: fn.Number,
		Doc:   doc + " Integers stay unchanged.",
		Params: []fn.Param{
			{Name: "value", Doc: "The number.", Kind: kind.Number},
			{
				Name: "precision", Doc: "The number of decimals to keep.", Kind: kind.Integer, Optional: true,
				Default: value.NewInt(0),
			},
		},
		Type: sameNumber,
		Examples: []fn.Example{
			{Title: "to a whole number", Source: plain, Result: plainResult},
			{Title: "to decimals", Source: precise, Result: preciseResult},
			{Title: "an integer", Source: name + `(7)`, Result: `7`},
		},
		Impl: fn.Impl{F2: func(_ *fn.Frame, v, precision value.Value) (value.Value, bool) {
			if v.Kind() == value.Int {
				return v, true
			}
			scale := 1.0
			if precision.Int() != 0 {
				scale = math.Pow(10, float64(precision.Int()))
			}
			x := round(v.Float()*scale) / scale
			if math.IsNaN(x) || math.IsInf(x, 0) {
				// The number is too large to have such decimals, or infinite.
				return v, true
			}
			return value.NewFloat(x), true
		}},
	}
}

var formatInt = &fn.Function{
	Name:  "format_int",
	Group: fn.Number,
	Doc:   "Formats the integer in a base, with lower-case letters for digits above 9.",
	Params: []fn.Param{
		{Name: "value", Doc: "The integer.", Kind: kind.Integer},
		{Name: "base", Doc: "The base, from 2 to 36.", Kind: kind.Integer, Optional: true, Default: value.NewInt(10)},
	},
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the base is not from 2 to 36"},
	Examples: []fn.Example{
		{Title: "hexadecimal", Source: `format_int!(-255, 16)`, Result: `"-ff"`},
		{Title: "decimal", Source: `format_int!(42)`, Result: `"42"`},
		{Title: "no base", Source: `format_int!(42, 1)`, Fails: `invalid base 1`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, base value.Value) (value.Value, bool) {
		if b := base.Int(); b < 2 || b > 36 {
			return f.Failf("invalid base %d: must be from 2 to 36", b)
		}
		var room [66]byte
		return f.Keep(strconv.AppendInt(room[:0], v.Int(), int(base.Int())))
	}},
}

var formatNumber = &fn.Function{
	Name:  "format_number",
	Group: fn.Number,
	Doc:   "Formats the number for people: in decimal digits and never with an exponent.",
	Params: []fn.Param{
		{Name: "value", Doc: "The number.", Kind: kind.Number},
		{
			Name: "scale",
			Doc: "The number of decimals. Further decimals are dropped without rounding, and missing ones are 0. By " +
				"default all are kept.",
			Kind: kind.Integer, Optional: true,
		},
		{
			Name: "decimal_separator", Doc: "The separator before the decimals.", Kind: kind.String, Optional: true,
			Default: value.NewString("."),
		},
		{
			Name: "grouping_separator", Doc: "The separator of groups of three digits.", Kind: kind.String,
			Optional: true, Default: value.NewString(""),
		},
	},
	Returns: kind.String,
	Examples: []fn.Example{
		{Title: "grouped", Source: `format_number(1234567.891, 2, grouping_separator: ",")`, Result: `"1,234,567.89"`},
		{Title: "filled up", Source: `format_number(4321.5, 3, decimal_separator: ",")`, Result: `"4321,500"`},
		{Title: "unchanged", Source: `format_number(100.0)`, Result: `"100"`},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		var room [400]byte
		text := room[:0]
		switch v := args[0]; {
		case v.Kind() == value.Int:
			text = strconv.AppendInt(text, v.Int(), 10)
		case math.IsInf(v.Float(), 0):
			return f.Keep(value.AppendPlainFloat(text, v.Float()))
		default:
			text = strconv.AppendFloat(text, v.Float(), 'f', -1, 64)
		}
		whole, decimals, _ := strings.Cut(string(text), ".")
		scale := len(decimals)
		if args[1].IsDefined() {
			scale = int(min(max(args[1].Int(), 0), math.MaxInt32))
		}
		point, group := args[2].Text(), args[3].Text()
		if !f.Reserve(len(whole)*(1+len(group)) + len(point) + scale) {
			return value.Value{}, false
		}
		b := make([]byte, 0, len(whole)*(1+len(group))+len(point)+scale)
		digits := strings.TrimPrefix(whole, "-")
		b = append(b, whole[:len(whole)-len(digits)]...)
		for i := range len(digits) {
			if i > 0 && (len(digits)-i)%3 == 0 {
				b = append(b, group...)
			}
			b = append(b, digits[i])
		}
		if scale > 0 {
			b = append(b, point...)
			for i := range scale {
				if i < len(decimals) {
					b = append(b, decimals[i])
				} else {
					b = append(b, '0')
				}
			}
		}
		return value.NewBytes(b), true
	}},
}

var modulo = &fn.Function{
	Name:  "mod",
	Group: fn.Number,
	Doc: "Returns the remainder of a division whose quotient is truncated to an integer. It has the sign of the " +
		"dividend.",
	Params: []fn.Param{
		{Name: "value", Doc: "The dividend.", Kind: kind.Number},
		{Name: "modulus", Doc: "The divisor.", Kind: kind.Number},
	},
	Fallible: true,
	Errors:   []string{"the modulus is 0", "the dividend is infinite"},
	Examples: []fn.Example{
		{Title: "integers", Source: `mod(-5, 3)`, Result: `-2`},
		{Title: "floats", Source: `mod(5.5, 2.0)`, Result: `1.5`},
		{Title: "a modulus that may be 0", Source: `mod!(5, int!(.n))`, Event: `{"n":0}`, Fails: `can't divide by zero`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		a, b := c.Kind(0), c.Kind(1)
		d := fn.TypeDef{Kind: kind.Number, Fallible: true}
		switch {
		case a.Is(kind.IntegerBit) && b.Is(kind.IntegerBit):
			d.Kind = kind.Integer
		case a.Is(kind.FloatBit) || b.Is(kind.FloatBit):
			d.Kind = kind.Float
		}
		if m, ok := c.Const(1); ok {
			x, isNumber := m.Number()
			d.Fallible = !isNumber || x == 0
		}
		if v, ok := c.Const(0); ok && math.IsInf(v.Float(), 0) {
			d.Fallible = true
		}
		return d
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, modulus value.Value) (value.Value, bool) {
		y, _ := modulus.Number()
		if y == 0 {
			return f.Fail("can't divide by zero")
		}
		if v.Kind() == value.Int && modulus.Kind() == value.Int {
			return value.NewInt(v.Int() % modulus.Int()), true
		}
		x, _ := v.Number()
		r := math.Mod(x, y)
		if math.IsNaN(r) {
			return f.Fail("operation would produce NaN")
		}
		return value.NewFloat(r), true
	}},
}
