package timefmt

import (
	"errors"
	"testing"
	"time"
)

func TestAppend(t *testing.T) {
	adelaide := time.FixedZone("ACST", 9*3600+1800)
	sample := time.Date(2001, 7, 8, 0, 34, 59, 26_490_708, adelaide)
	noon := time.Date(2024, 1, 1, 12, 5, 6, 0, time.UTC)
	odd := time.Date(2024, 1, 1, 0, 0, 0, 0, time.FixedZone("", -(3*3600+30*60+45)))
	at := func(year int) time.Time { return time.Date(year, 12, 31, 23, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		pattern string
		t       time.Time
		want    string
	}{
		{"%Y %C %y %q", sample, "2001 20 01 3"},
		{"%m %b %B %h", sample, "07 Jul July Jul"},
		{"%d %e %j", sample, "08  8 189"},
		{"%a %A %w %u", sample, "Sun Sunday 0 7"},
		{"%U %W %G %g %V", sample, "27 27 2001 01 27"},
		{"%D|%x|%F|%v", sample, "07/08/01|07/08/01|2001-07-08| 8-Jul-2001"},
		{"%H %k %I %l %P %p", sample, "00  0 12 12 am AM"},
		{"%H %k %I %l %P %p", noon, "12 12 12 12 pm PM"},
		{"%M %S %f", sample, "34 59 026490708"},
		{"%.f %.3f %.6f %.9f", sample, ".026490708 .026 .026490 .026490708"},
		{"%3f %6f %9f", sample, "026 026490 026490708"},
		{"[%.f]", noon, "[]"},
		{"[%.f]", noon.Add(120 * time.Millisecond), "[.120]"},
		{"[%.f]", noon.Add(120 * time.Microsecond), "[.000120]"},
		{"%R %T %X %r", sample, "00:34 00:34:59 00:34:59 12:34:59 AM"},
		{"%Z %z %:z %::z %:::z", sample, "ACST +0930 +09:30 +09:30:00 +09"},
		{"%Z %z %:z %::z %:::z", noon, "UTC +0000 +00:00 +00:00:00 +00"},
		{"%Z %z %:z %::z %:::z", odd, "-03:31 -0331 -03:31 -03:30:45 -03"},
		{"%c", sample, "Sun Jul  8 00:34:59 2001"},
		{"%+", sample, "2001-07-08T00:34:59.026490708+09:30"},
		{"%+", noon, "2024-01-01T12:05:06+00:00"},
		{"%s", sample, "994518299"},
		{"%s|%0s|%_s", time.Unix(-5, 0), "-5|-00000005|       -5"},
		{"a%tb%nc%% d", noon, "a\tb\nc% d"},
		{"%-d %_d %0e %-m %_H %-j %-f", sample, "8  8 08 7  0 189 26490708"},
		{"%-Y %_Y", at(9), "9    9"},
		{"%Y %C %y %G", at(12345), "+12345 123 45 +12346"},
		{"%Y %C %y", at(-5), "-0005 -1 95"},
		{"%-Y %_Y", at(-5), "-5    -5"},
		{"%G-W%V-%u", time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC), "2009-W53-5"},
		{"%U %W", time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC), "01 00"},
		{"%Y年%m月", sample, "2001年07月"},
		{"", sample, ""},
	} {
		got, err := mustCompile(t, tt.pattern).Append([]byte(">"), tt.t)
		if err != nil || string(got) != ">"+tt.want {
			t.Errorf("%s: got %q, %v; want %q", tt.pattern, got[1:], err, tt.want)
		}
	}
}

func TestAppendRefusesReadOnly(t *testing.T) {
	got, err := mustCompile(t, "%F %#z").Append([]byte("x"), time.Now())
	if ae := (*AppendError)(nil); !errors.As(err, &ae) || ae.Spec != "%#z" || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCompileErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"%Y-%Q":   `time pattern "%Y-%Q": unknown specifier %Q at byte 3`,
		"ab%":     `time pattern "ab%": incomplete specifier % at byte 2`,
		"%-":      `time pattern "%-": incomplete specifier %- at byte 0`,
		"%-T":     `time pattern "%-T": padding does not apply in specifier %-T at byte 0`,
		"%_b":     `time pattern "%_b": padding does not apply in specifier %_b at byte 0`,
		"%--d":    `time pattern "%--d": unknown specifier %-- at byte 0`,
		"%-Q":     `time pattern "%-Q": unknown specifier %-Q at byte 0`,
		"%.4f":    `time pattern "%.4f": unknown specifier %.4 at byte 0`,
		"%.":      `time pattern "%.": incomplete specifier %. at byte 0`,
		"%3":      `time pattern "%3": incomplete specifier %3 at byte 0`,
		"%3z":     `time pattern "%3z": unknown specifier %3z at byte 0`,
		"%::::z":  `time pattern "%::::z": unknown specifier %:::: at byte 0`,
		"%#":      `time pattern "%#": incomplete specifier %# at byte 0`,
		"%:Y":     `time pattern "%:Y": unknown specifier %:Y at byte 0`,
		"%é":      `time pattern "%é": unknown specifier %é at byte 0`,
		"%4f":     `time pattern "%4f": unknown specifier %4 at byte 0`,
		"日%E":     `time pattern "日%E": unknown specifier %E at byte 3`,
		"%Y %i":   `time pattern "%Y %i": unknown specifier %i at byte 3`,
		"%\xff":   `time pattern "%\xff": unknown specifier ` + "%\xff at byte 0",
		"%F %-3f": `time pattern "%F %-3f": padding does not apply in specifier %-3 at byte 3`,
	} {
		_, err := Compile(pattern)
		if pe := (*PatternError)(nil); !errors.As(err, &pe) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestFormatProperties(t *testing.T) {
	for _, tt := range []struct {
		pattern                  string
		offset, zone, date, time bool
	}{
		{"%F %T", false, false, true, true},
		{"%F %T %z", true, false, true, true},
		{"%F %T %:z", true, false, true, true},
		{"%F %#z", true, false, true, false},
		{"%F %T %Z", false, true, true, true},
		{"%s", true, false, true, true},
		{"%+", true, false, true, true},
		{"%c", false, false, true, true},
		{"%I:%M", false, false, false, false},
		{"%r", false, false, false, true},
		{"%y %j", false, false, true, false},
		{"%C %j", false, false, false, false},
		{"%G %V %u", false, false, true, false},
		{"%Y %U %a", false, false, true, false},
		{"%Y %V %a", false, false, false, false},
		{"", false, false, false, false},
	} {
		f := mustCompile(t, tt.pattern)
		if f.HasOffset() != tt.offset || f.HasZoneName() != tt.zone || f.HasDate() != tt.date || f.HasTime() != tt.time {
			t.Errorf("%s: offset %v, zone %v, date %v, time %v", tt.pattern, f.HasOffset(), f.HasZoneName(),
				f.HasDate(), f.HasTime())
		}
		if f.String() != tt.pattern {
			t.Errorf("String: %q", f)
		}
	}
}
