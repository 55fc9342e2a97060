package lokiapi

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"cordwood/router/httpapi/params"
)

// callWith returns a request with parameters.
func callWith(t *testing.T, values ...string) *call {
	t.Helper()
	list := url.Values{}
	for i := 0; i < len(values); i += 2 {
		list.Add(values[i], values[i+1])
	}
	parsed, err := params.Parse(list.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return &call{params: parsed, now: time.Unix(1_767_607_200, 0)}
}

// TestMoment checks which unit a time has, and that a time with a unit that Loki's API does not have is not taken
// without a warning.
func TestMoment(t *testing.T) {
	for text, want := range map[string]struct {
		nanos   int64
		warning string
	}{
		"1767607200":                     {1_767_607_200e9, ""},
		"4000000000":                     {4_000_000_000e9, ""},
		"0":                              {0, ""},
		"-1":                             {-1e9, ""},
		"1767607200.25":                  {1_767_607_200_250e6, ""},
		"1767607200000000001":            {1_767_607_200_000_000_001, ""},
		"2026-01-05T10:00:00.000000001Z": {1_767_607_200_000_000_001, ""},
		"10000000000":                    {10_000_000_000, ""},
		"1767607200000": {1_767_607_200_000, "parameter start is read as nanoseconds, which is 1970-01-01T00:29:27Z; if it " +
			"is meant in milliseconds, write 1767607200000000000 in nanoseconds, or 1767607200 in seconds"},
		"1767607200123456": {1_767_607_200_123_456, "meant in microseconds, write 1767607200123456000 in nanoseconds"},
		"9999999999999":    {9_999_999_999_999, ""}, // too large in milliseconds
	} {
		c := callWith(t, "start", text)
		got, ok, err := c.moment("start")
		if err != nil || !ok || got != want.nanos {
			t.Errorf("%s: %d %v %v, want %d", text, got, ok, err, want.nanos)
		}
		said := strings.Join(c.warnings, " ")
		if (said == "") != (want.warning == "") || !strings.Contains(said, want.warning) {
			t.Errorf("%s: warning %q, want %q", text, said, want.warning)
		}
	}
	for _, text := range []string{"NaN", "1e300", "yesterday", "2026-01-05", "9223372036854775808", "9500000000"} {
		if got, _, err := callWith(t, "start", text).moment("start"); err == nil {
			t.Errorf("%s is %d", text, got)
		}
	}
}
