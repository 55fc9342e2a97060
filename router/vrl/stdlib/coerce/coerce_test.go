package coerce_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestToInt(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `to_int!("+7")`, Want: `7`},
		{Source: `to_int!("-9223372036854775808")`, Want: `-9223372036854775808`},
		{Source: `to_int!("9223372036854775808")`, RunError: "Invalid integer \"9223372036854775808\": number too large"},
		{Source: `to_int!("-9223372036854775809")`, RunError: "number too small"},
		{Source: `to_int!("")`, RunError: "empty string"},
		{Source: `to_int!(" 1")`, RunError: "invalid digit"},
		{Source: `to_int!("1_000")`, RunError: "invalid digit"},
		{Source: `to_int(-9.99)`, Want: `-9`},
		{Name: "a float too large", Source: `to_int(parse_float!("1e300"))`, Want: `9223372036854775807`},
		{Name: "minus infinity", Source: `to_int(parse_float!("-inf"))`, Want: `-9223372036854775808`},
		{Name: "before 1970", Source: `to_int(t'1969-12-31T23:59:58.5Z')`, Want: `-2`},
		{Source: `to_int(true)`, Want: `1`},
		{Source: `to_int(.missing) ?? -1`, Want: `0`},
		{Source: `to_int!({})`, RunError: "unable to coerce object into integer"},
		{Name: "must be handled", Source: `to_int(.a)`, CompileError: "E100"},
		{Name: "cannot fail for a boolean", Source: `to_int(.a == 1)`, Want: `0`},
	})
}

func TestToFloat(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `to_float!(".5")`, Want: `0.5`},
		{Source: `to_float!("1e3")`, Want: `1000.0`},
		{Source: `to_float!("0x10")`, RunError: `Invalid floating point number "0x10": invalid float literal`},
		{Source: `to_float!("1_0")`, RunError: "invalid float literal"},
		{Source: `to_float!("")`, RunError: "cannot parse float from empty string"},
		{Source: `to_float!("NaN")`, RunError: `NaN number not supported "NaN"`},
		{Name: "too large is infinite", Source: `to_string(to_float!("1e999"))`, Want: `"inf"`},
		{Source: `to_float(null)`, Want: `0.0`},
		{Source: `to_float(t'1969-12-31T23:59:59.5Z')`, Want: `-0.5`},
		{Source: `to_float!(r'1')`, RunError: "unable to coerce regex into float"},
	})
}

func TestToBool(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `to_bool!("TRUE")`, Want: `true`},
		{Source: `to_bool!("F")`, Want: `false`},
		{Source: `to_bool!("-3")`, Want: `true`},
		{Source: `to_bool!("00")`, Want: `false`},
		{Source: `to_bool!("")`, RunError: `Invalid boolean value ""`},
		{Source: `to_bool!("on")`, RunError: `Invalid boolean value "on"`},
		{Source: `to_bool!("1.0")`, RunError: `Invalid boolean value "1.0"`},
		{Source: `to_bool(-0.0)`, Want: `false`},
		{Source: `to_bool!(t'2020-01-01T00:00:00Z')`, RunError: "unable to coerce timestamp into boolean"},
		{Source: `to_bool(null)`, Want: `false`},
	})
}

func TestToString(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `to_string(1000000000000000000000.0)`, Want: `"1000000000000000000000"`},
		{Source: `to_string(0.0000001)`, Want: `"0.0000001"`},
		{Source: `to_string(-0.0)`, Want: `"-0"`},
		{Source: `to_string(-5)`, Want: `"-5"`},
		{Source: `to_string(t'2020-01-01T00:00:00.120Z')`, Want: `"2020-01-01T00:00:00.120Z"`},
		{Source: `to_string(null)`, Want: `""`},
		{Source: `to_string("x")`, Want: `"x"`},
		{Source: `to_string!({"a": 1})`, RunError: "unable to coerce object into string"},
		{Name: "cannot fail for scalars", Source: `to_string(.a == 1) + to_string(5)`, Want: `"false5"`},
	})
}

func TestToRegex(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{
			Name:   "the same pattern twice",
			Source: `a = to_regex!(.p); b = to_regex!(.p); [match("abc", a), match("xyz", b)]`, Event: `{"p":"^a"}`,
			Want: `[true,false]`,
		},
		{Source: `to_regex!("a**(")`, RunError: "could not create regex: "},
		{Source: `to_regex!(5)`, CompileError: "E110"},
	})
}
