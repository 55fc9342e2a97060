package crypto_test

import (
	"testing"
	"time"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/vrltest"
)

func TestRandom(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `[length(random_bytes(0)), length(random_bytes(65536))]`, Want: `[0,65536]`},
		{Source: `random_bytes(16) == random_bytes(16)`, Want: `false`},
		{Name: "too many", Source: `random_bytes(65537)`, CompileError: "Length is too large"},
		{Name: "negative", Source: `random_bytes!(int!(.n))`, Event: `{"n":-1}`, RunError: "Length cannot be negative"},
		{Name: "not known", Source: `random_bytes(int!(.n))`, CompileError: "E100"},
		{Name: "empty range", Source: `random_int(5, 5)`, CompileError: "max must be greater than min"},
		{Name: "empty range", Source: `random_float(5.0, 4.0)`, CompileError: "max must be greater than min"},
		{
			Name: "empty range when run", Source: `random_int!(int!(.n), 5)`, Event: `{"n":5}`,
			RunError: "max must be greater than min",
		},
		{
			Name: "empty range when run", Source: `random_float!(float!(.n), 5.0)`, Event: `{"n":5.0}`,
			RunError: "max must be greater than min",
		},
		{Name: "not known", Source: `random_int(int!(.n), 5)`, CompileError: "E100"},
		{Name: "all integers", Source: `is_integer(random_int(-9223372036854775807, 9223372036854775807))`, Want: `true`},
	})
}

// Random numbers are in their range and cover all of it.
func TestRandomRange(t *testing.T) {
	seen := map[string]bool{}
	for range 400 {
		got, err := vrltest.Text(t, `to_string(random_int(-1, 2)) + to_string(random_bool())`, "", fn.Budget{})
		if err != nil {
			t.Fatal(err)
		}
		seen[got] = true
		got, err = vrltest.Text(t, `x = random_float(-0.5, 0.5); to_string(x >= -0.5 && x < 0.5)`, "", fn.Budget{})
		if err != nil || got != "true" {
			t.Fatalf("random_float: %s, %v", got, err)
		}
	}
	for _, want := range []string{"-1true", "-1false", "0true", "0false", "1true", "1false"} {
		if !seen[want] {
			t.Errorf("%s never came", want)
		}
	}
	if len(seen) != 6 {
		t.Errorf("got %v", seen)
	}
}

func TestUUID(t *testing.T) {
	const v7 = `r'^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'`
	vrltest.Run(t, []vrltest.Case{
		{Source: `uuid_v4() == uuid_v4()`, Want: `false`},
		{Source: `match(uuid_v7(), ` + v7 + `)`, Want: `true`},
		{Source: `match(uuid_v7(t'1969-01-01T00:00:00Z'), ` + v7 + `)`, Want: `true`},
		{Name: "now", Source: `slice!(uuid_v7(), 0, 13)`, Now: time.UnixMilli(0x0123456789ab), Want: `"01234567-89ab"`},
		{Name: "of a time", Source: `slice!(uuid_v7(t'2020-12-30T22:20:53.824727Z'), 0, 13)`, Want: `"0176b5bd-5d19"`},
		{
			Name:   "all bits",
			Source: `uuid_from_friendly_id!("7n42DGM5Tflk9n8mt7Fhc7")`,
			Want:   `"ffffffff-ffff-ffff-ffff-ffffffffffff"`,
		},
		{Name: "one more", Source: `uuid_from_friendly_id!("7n42DGM5Tflk9n8mt7Fhc8")`, RunError: "more than 128 bits"},
		{
			Name:     "far more",
			Source:   `uuid_from_friendly_id!("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzz")`,
			RunError: "more than 128 bits",
		},
		{Name: "zero", Source: `uuid_from_friendly_id!("0")`, Want: `"00000000-0000-0000-0000-000000000000"`},
		{Name: "empty", Source: `uuid_from_friendly_id!("")`, RunError: "failed to decode friendly id"},
		{Name: "not ASCII", Source: `uuid_from_friendly_id!("é")`, RunError: "failed to decode friendly id"},
	})
}
