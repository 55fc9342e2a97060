package pipeline

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/pipeline/digits"
	"cordwood/router/vrl/value"
)

// TestNumberOf checks that a text becomes a number only if the number keeps the digits of the text.
func TestNumberOf(t *testing.T) {
	for text, want := range map[string]string{
		"7": "int 7", "-7": "int -7", "7.0": "int 7", "1e3": "int 1000", "1.50e1": "int 15", "0": "int 0", "0.0": "int 0",
		"0e5": "int 0",
		"-0":  "float -0", "-0.0": "float -0",
		"9007199254740993":     "int 9007199254740993",
		"9007199254740993.0":   "int 9007199254740993",
		"9223372036854775807":  "int 9223372036854775807",
		"9223372036854775808":  "uint 9223372036854775808",
		"18446744073709551615": "uint 18446744073709551615",
		"-9223372036854775808": "int -9223372036854775808",
		"0.1":                  "float 0.1", "1.10": "float 1.1", "1e-7": "float 1e-07", "1e300": "float 1e+300",
		"5e-324":                      "float 5e-324",
		"18446744073709551616":        "none", // the nearest double is printed as 18446744073709552000
		"9007199254740992.5":          "none",
		"0.1234567890123456789012345": "none",
		"2.0000000000000000000001":    "none",
		"1e-400":                      "none",
		"1e400":                       "none",
		"1e99999999999999999999":      "none",
		"0.3000000000000000000000001": "none",
		"007":                         "none", "": "none", "x": "none", "1.": "none", "+1": "none", "1e": "none",
		"NaN": "none", " 1": "none",
	} {
		v, ok := numberOf([]byte(text))
		got := "none"
		switch {
		case ok && v.kind == kindInt:
			got = fmt.Sprint("int ", v.i)
		case ok && v.kind == kindUint:
			got = fmt.Sprint("uint ", uint64(v.i))
		case ok:
			got = fmt.Sprint("float ", v.f)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzNumberOf compares numbers with exact fractions: an integer equals its text, and a float's shortest text is
// the same fraction.
func FuzzNumberOf(f *testing.F) {
	for _, text := range []string{
		"7", "-0.0", "9007199254740993.0", "1e-400", "0.1", "1.10", "18446744073709551615", "123e-5",
		"2.00000000000000000000001",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, ok := numberOf([]byte(text))
		if !ok {
			return
		}
		kept := fmt.Sprint(v.f)
		switch v.kind {
		case kindInt:
			kept = fmt.Sprint(v.i)
		case kindUint:
			kept = fmt.Sprint(uint64(v.i))
		}
		if strings.ContainsAny(text, "eE") && len(text) > 40 {
			return
		}
		want, good := new(big.Rat).SetString(text)
		got, also := new(big.Rat).SetString(kept)
		if !good || !also || want.Cmp(got) != 0 {
			t.Errorf("%q is parsed as %s", text, kept)
		}
	})
}

// TestKeepsDigits checks when a float keeps the digits of a text, both in a column with cast and in a transform list:
// the float's shortest text must be the same number.
func TestKeepsDigits(t *testing.T) {
	for _, tt := range []struct {
		text string
		typ  schema.Type
		want bool
	}{
		{"0.1", schema.Float64, true},
		{"-0.10e-3", schema.Float64, true},
		{"0.30000000000000004", schema.Float64, true},
		{"0.1000000000000000055511151231257827", schema.Float64, false}, // no shorter text has all digits
		{"18446744073709551616.0", schema.Float64, false},
		{"9007199254740993.5", schema.Float64, false},
		{"5e-324", schema.Float64, true},
		{"4.9e-324", schema.Float64, false},
		{"1e23", schema.Float64, true},
		{"0.1", schema.Float32, true},
		{"3.1415927", schema.Float32, true},
		{"3.14159265", schema.Float32, false},
		{"1e-40", schema.Float32, true},
	} {
		f, err := strconv.ParseFloat(tt.text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if tt.typ == schema.Float32 {
			f = float64(float32(f))
		}
		if got := digits.Kept(tt.text, f, tt.typ); got != tt.want {
			t.Errorf("%s as %s: %t", tt.text, tt.typ, got)
		}
		var k converter
		if ok := k.convert(&cell{}, value.NewString(tt.text), tt.typ); !ok || (k.loss == lossNone) != tt.want {
			t.Errorf("%s as %s in a transform list: %t, loss %d", tt.text, tt.typ, ok, k.loss)
		}
		if _, ok := numberOf([]byte(tt.text)); tt.typ == schema.Float64 && !strings.HasSuffix(tt.text, ".0") &&
			ok != tt.want {
			t.Errorf("%s to be cast: %t", tt.text, ok)
		}
	}
}

// TestConvertFloat checks that a double does not become an integer if the client may have sent another integer.
func TestConvertFloat(t *testing.T) {
	for f, want := range map[float64]bool{
		7: true, -7: true, 7.5: false, schema.MaxExact - 1: true, schema.MaxExact: false, -schema.MaxExact: false,
		1e300: false,
	} {
		if _, ok := (&cell{kind: kindFloat, f: f}).convert(schema.Int64, nil); ok != want {
			t.Errorf("%v: %t, want %t", f, ok, want)
		}
	}
}
