package digits

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"

	"cordwood/proto/schema"
)

func TestWhole(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0 false true", "-0.0": "0 false true", "0.4": "0 true true", "-0.9e-5": "0 true true", "7": "7 false true",
		"+7.50": "7 true true", "-1.9": "-1 true true",
		"1.25e1": "12 true true", "1.2e1": "12 false true", "1200e-2": "12 false true",
		"9007199254740993.0":     "9007199254740993 false true",
		"9223372036854775807.9":  "9223372036854775807 true true",
		"-9223372036854775808.9": "-9223372036854775808 true true",
		"9223372036854775808":    " false", "1e19": " false", "1e300": " false",
	} {
		d, ok := Parse(text)
		if !ok {
			t.Fatal(text)
		}
		n, fraction, ok := d.Whole()
		got := fmt.Sprint(n, fraction, ok)
		if want == " false" {
			want, got = "no integer", strconv.FormatBool(ok)
			if !ok {
				got = "no integer"
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzKept compares Kept with exact fractions: a float keeps a text if its shortest text is the same number.
func FuzzKept(f *testing.F) {
	for _, text := range []string{
		"0.1", "9007199254740993", "0.30000000000000004", "1e23", "100000000000000_1", "5e-324", "123456789012345678",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := Parse(text)
		x, err := strconv.ParseFloat(text, 64)
		if !ok || err != nil || math.IsNaN(x) || math.IsInf(x, 0) || d.Exponent > 400 || d.Exponent < -400 {
			return
		}
		given, good := new(big.Rat).SetString(text)
		shown, also := new(big.Rat).SetString(strconv.FormatFloat(x, 'e', -1, 64))
		if !good || !also || x == 0 {
			return
		}
		if got, want := Kept(text, x, schema.Float64), given.Cmp(shown) == 0; got != want {
			t.Errorf("%q as %v: %t", text, x, got)
		}
	})
}
