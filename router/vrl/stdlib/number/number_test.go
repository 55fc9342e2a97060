package number_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestAbs(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `abs(-9223372036854775808)`, Want: `-9223372036854775808`},
		{Source: `abs(-0.0)`, Want: `0.0`},
		{Source: `abs("1")`, CompileError: "E110"},
		{Name: "the kind is kept", Source: `abs(-1) + 1`, Want: `2`},
	})
}

func TestRounding(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[round(2.5), round(-2.5), round(0.49999999999999994)]`, Want: `[3.0,-3.0,0.0]`},
		{Source: `[ceil(-1.5), floor(-1.5)]`, Want: `[-1.0,-2.0]`},
		{Source: `round(1234.5678, precision: -2)`, Want: `1200.0`},
		{Source: `ceil(1.001, precision: 2)`, Want: `1.01`},
		{Name: "more decimals than there are", Source: `floor(1.25, precision: 400)`, Want: `1.25`},
		{Name: "fewer digits than none", Source: `floor(1.25, precision: -400)`, Want: `1.25`},
		{Source: `floor(9007199254740993, precision: 2)`, Want: `9007199254740993`},
		{Name: "infinity", Source: `to_string(round(parse_float!("inf")))`, Want: `"inf"`},
		{Source: `round!(.a)`, Event: `{"a":"1"}`, RunError: "expected integer or float, got string"},
	})
}

func TestFormatInt(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `format_int!(-9223372036854775808, 2)`,
			Want:   `"-1000000000000000000000000000000000000000000000000000000000000000"`,
		},
		{Source: `format_int!(35, 36)`, Want: `"z"`},
		{Source: `format_int!(1, 37)`, RunError: "invalid base 37"},
		{Source: `format_int!(1, 0)`, RunError: "invalid base 0"},
	})
}

func TestFormatNumber(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `format_number(-1234567, grouping_separator: ",")`, Want: `"-1,234,567"`},
		{Source: `format_number(-123456, 0, grouping_separator: " ")`, Want: `"-123 456"`},
		{Source: `format_number(0.999, 2)`, Want: `"0.99"`},
		{Source: `format_number(1e0 ?? 0)`, CompileError: "E"},
		{Source: `format_number(1000000000000000000000.0)`, Want: `"1000000000000000000000"`},
		{Source: `format_number(0.000001)`, Want: `"0.000001"`},
		{Source: `format_number(5, -3)`, Want: `"5"`},
		{Name: "infinity", Source: `format_number(parse_float!("-inf"))`, Want: `"-inf"`},
		{Name: "bounded", Source: `format_number(5, 9000000000)`, RunError: "budget"},
	})
}

func TestMod(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[mod(5, 3), mod(-5, 3), mod(5, -3), mod(-5, -3)]`, Want: `[2,-2,2,-2]`},
		{Source: `mod(-9223372036854775808, -1)`, Want: `0`},
		{Source: `mod(5, 2.5)`, Want: `0.0`},
		{Source: `mod(5.5, 2)`, Want: `1.5`},
		{Source: `mod(5, 0)`, CompileError: "E100"},
		{Source: `mod!(5, 0)`, RunError: "can't divide by zero"},
		{Source: `mod!(5.0, 0.0)`, RunError: "can't divide by zero"},
		{Source: `mod(int!(.a), 7)`, Event: `{"a":9}`, Want: `2`},
		{Source: `mod(5, int!(.a))`, CompileError: "E100"},
		{Name: "the kind is known", Source: `mod(5, 3) + 1`, Want: `3`},
		{Name: "no remainder", Source: `mod(parse_float!("inf"), 2.0)`, RunError: "operation would produce NaN"},
	})
}
