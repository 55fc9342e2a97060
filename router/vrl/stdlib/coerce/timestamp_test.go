package coerce_test

import (
	"testing"
	"time"

	"cordwood/router/vrl/vrltest"
)

func TestTimestamp(t *testing.T) {
	clock := time.Date(2026, 3, 29, 1, 30, 0, 123456789, time.UTC)
	vrltest.Run(t, []vrltest.Case{
		{Source: `now()`, Now: clock, Want: `"2026-03-29T01:30:00.123456789Z"`},
		{Source: `format_timestamp!(now(), "%+")`, Now: clock, Want: `"2026-03-29T01:30:00.123456789+00:00"`},
		{
			Name: "the run's zone does not matter", Source: `format_timestamp!(now(), "%H:%M")`, Now: clock,
			Zone: "Asia/Tokyo", Want: `"01:30"`,
		},
		{
			Name: "summer time", Source: `format_timestamp!(now(), "%F %T%.3f %:z %Z", timezone: "Europe/Berlin")`,
			Now: clock, Want: `"2026-03-29 03:30:00.123 +02:00 CEST"`,
		},
		{
			Name:   "no padding",
			Source: `format_timestamp!(t'2026-01-02T03:04:05Z', "%-d.%-m. %e|%k|%s|%j|%G-W%V")`,
			Want:   `"2.1.  2| 3|1767323045|002|2026-W01"`,
		},
		{
			Name: "at run time", Source: `format_timestamp!(now(), string!(.f), timezone: string!(.z))`,
			Event: `{"f":"%H%%","z":"America/New_York"}`, Now: clock, Want: `"21%"`,
		},
		{Name: "before 1970", Source: `format_timestamp!(t'1969-12-31T23:59:59.5Z', "%s %.f")`, Want: `"-1 .500"`},
		{Name: "empty", Source: `format_timestamp!(now(), "")`, Want: `""`},
		{Name: "for reading only", Source: `format_timestamp!(now(), "%#z")`, RunError: "invalid format"},
		{
			Name: "unknown at run time", Source: `format_timestamp!(now(), string!(.f))`, Event: `{"f":"%Q"}`,
			RunError: "invalid format",
		},
		{Name: "handled", Source: `format_timestamp(now(), "%Q") ?? "bad"`, Want: `"bad"`},
		{
			Name:     "no such zone",
			Source:   `format_timestamp!(now(), "%F", timezone: "Mars/Olympus")`,
			RunError: "unable to parse timezone: Mars/Olympus",
		},
		{
			Name:     "not the name of a file",
			Source:   `format_timestamp!(now(), "%F", timezone: "../../etc/passwd")`,
			RunError: "unable to parse timezone",
		},
		{Name: "empty zone", Source: `format_timestamp!(now(), "%F", timezone: "")`, RunError: "unable to parse timezone"},
		{Name: "kind", Source: `format_timestamp!("2026", "%F")`, CompileError: "E110"},
	})
}
