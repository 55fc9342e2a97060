package timefmt

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func mustCompile(t testing.TB, pattern string) *Format {
	t.Helper()
	f, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const rfc3339 = "2006-01-02T15:04:05.999999999Z07:00"

func TestParse(t *testing.T) {
	for _, tt := range []struct{ pattern, text, want string }{
		// Plain dates and clock times.
		{"%Y-%m-%d %H:%M:%S", "2024-05-06 07:08:09", "2024-05-06T07:08:09Z"},
		{"%Y-%m-%d %H:%M", "2024-05-06 07:08", "2024-05-06T07:08:00Z"},
		{"%Y-%m-%d %H:%M:%S", "2014-5-7 1:2:3", "2014-05-07T01:02:03Z"},
		{"%F %T", "2024-02-29 23:59:59", "2024-02-29T23:59:59Z"},
		{"%FT%R", "2024-02-29T23:59", "2024-02-29T23:59:00Z"},
		{"%D %X", "02/29/24 23:59:58", "2024-02-29T23:59:58Z"},
		{"%x %r", "02/29/70 11:59:58 PM", "!out of range"},
		{"%x %r", "02/28/70 11:59:58 PM", "1970-02-28T23:59:58Z"},
		{"%v %R", " 8-Jul-2001 00:34", "2001-07-08T00:34:00Z"},
		{"%v %R", "8-july-2001 00:34", "2001-07-08T00:34:00Z"},
		{"%c", "Sun Jul  8 00:34:60 2001", "2001-07-08T00:35:00Z"},
		{"%c", "Mon Jul  8 00:34:59 2001", "!no possible date"},
		{"%Y%m%d%H%M%S", "20240506070809", "2024-05-06T07:08:09Z"},
		{"%Y%m%d%H%M%S%3f", "20240506070809123", "2024-05-06T07:08:09.123Z"},
		{"%b %d %Y %H:%M", "JANUARY 02 2024 03:04", "2024-01-02T03:04:00Z"},
		{"%B %e %Y %k:%M", "may  2 2024  3:04", "2024-05-02T03:04:00Z"},
		{"%h %e %Y %k:%M", "Sep  2 2024  3:04", "2024-09-02T03:04:00Z"},
		{"%B %d %Y %R", "Sept 2 2024 03:04", "!invalid characters at byte 3"},
		// Years.
		{"%Y-%m-%d %R", "+12024-05-06 07:08", "12024-05-06T07:08:00Z"},
		{"%Y-%m-%d %R", "-0001-05-06 07:08", "-0001-05-06T07:08:00Z"},
		{"%Y-%m-%d %R", "12024-05-06 07:08", "!invalid characters at byte 4"},
		{"%Y-%m-%d %R", "+262143-01-01 00:00", "!out of range"},
		{"%Y-%m-%d %R", "+99999999999999999999-01-01 00:00", "!out of range"},
		{"%y-%m-%d %R", "69-01-01 00:00", "2069-01-01T00:00:00Z"},
		{"%y-%m-%d %R", "70-01-01 00:00", "1970-01-01T00:00:00Z"},
		{"%C%y-%m-%d %R", "1869-01-01 00:00", "1869-01-01T00:00:00Z"},
		{"%C-%m-%d %R", "18-01-01 00:00", "!not enough"},
		{"%Y %C-%m-%d %R", "2024 20-01-01 00:00", "2024-01-01T00:00:00Z"},
		{"%Y %C-%m-%d %R", "2024 19-01-01 00:00", "!no possible date"},
		{"%Y %y-%m-%d %R", "2024 23-01-01 00:00", "!no possible date"},
		{"%Y %y-%m-%d %R", "-2024 24-01-01 00:00", "!out of range"},
		{"%q %F %R", "2 2024-05-06 07:08", "2024-05-06T07:08:00Z"},
		{"%q %F %R", "3 2024-05-06 07:08", "!no possible date"},
		{"%q %F %R", "5 2024-05-06 07:08", "!out of range"},
		// Days by other fields.
		{"%Y %j %R", "2024 60 00:00", "2024-02-29T00:00:00Z"},
		{"%Y %j %R", "2024 366 00:00", "2024-12-31T00:00:00Z"},
		{"%Y %j %R", "2023 366 00:00", "!no possible date"},
		{"%Y%j %R", "2024060 00:00", "2024-02-29T00:00:00Z"},
		{"%F %j %R", "2024-02-29 61 00:00", "!no possible date"},
		{"%G-W%V-%u %R", "2009-W53-5 12:00", "2010-01-01T12:00:00Z"},
		{"%G-W%V-%u %R", "2008-W53-5 12:00", "!out of range"},
		{"%g-W%V-%a %R", "09-W53-Fri 12:00", "2010-01-01T12:00:00Z"},
		{"%G-W%V %F %R", "2009-W53 2010-01-01 12:00", "2010-01-01T12:00:00Z"},
		{"%G-W%V %F %R", "2010-W53 2010-01-01 12:00", "!no possible date"},
		{"%G-W%V %R", "2009-W53 12:00", "!not enough"},
		{"%Y %U %w %R", "2001 27 0 00:34", "2001-07-08T00:34:00Z"},
		{"%Y %W %A %R", "2001 27 Sunday 00:34", "2001-07-08T00:34:00Z"},
		{"%Y %W %u %R", "2001 0 7 00:34", "!no possible date"},
		{"%Y %W %u %R", "2002 0 7 00:34", "2002-01-06T00:34:00Z"},
		{"%Y %U %w %R", "2001 53 6 00:34", "!no possible date"},
		{"%F %U %R", "2001-07-08 26 00:34", "!no possible date"},
		{"%F %u %w %R", "2001-07-08 7 0 00:34", "2001-07-08T00:34:00Z"},
		{"%F %u %w %R", "2001-07-08 7 1 00:34", "!no possible date"},
		{"%a %F %R", "mon 2001-07-08 00:34", "!no possible date"},
		{"%A %F %R", "SUN 2001-07-08 00:34", "2001-07-08T00:34:00Z"},
		{"%F %R", "2023-02-29 00:34", "!out of range"},
		{"%F %R", "2023-04-31 00:34", "!out of range"},
		{"%F %R", "2023-00-31 00:34", "!out of range"},
		// Hours.
		{"%F %I:%M %p", "2024-01-01 12:00 am", "2024-01-01T00:00:00Z"},
		{"%F %I:%M %P", "2024-01-01 12:00 PM", "2024-01-01T12:00:00Z"},
		{"%F %l:%M%p", "2024-01-01  1:05pm", "2024-01-01T13:05:00Z"},
		{"%F %I:%M", "2024-01-01 12:00", "!not enough"},
		{"%F %I:%M %p", "2024-01-01 13:00 pm", "!out of range"},
		{"%F %I:%M %p", "2024-01-01 00:00 pm", "!out of range"},
		{"%F %H %I:%M %p", "2024-01-01 13 1:00 pm", "2024-01-01T13:00:00Z"},
		{"%F %H %I:%M %p", "2024-01-01 13 2:00 pm", "!no possible date"},
		{"%F %H:%M %p", "2024-01-01 13:00 am", "!no possible date"},
		{"%F %H:%M", "2024-01-01 24:00", "!out of range"},
		{"%F %H:%M", "2024-01-01 23:60", "!out of range"},
		{"%F %T", "2024-01-01 23:59:60", "2024-01-02T00:00:00Z"},
		{"%F %T%.f", "2016-12-31 23:59:60.5", "2017-01-01T00:00:00.5Z"},
		{"%F %T", "2024-01-01 23:59:61", "!out of range"},
		{"%F %H", "2024-01-01 23", "!not enough"},
		{"%F", "2024-01-01", "!not enough for unique date and time"},
		{"%T", "23:59:59", "!not enough"},
		{"%H:%M:%S %H", "23:59:59 22", "!no possible date"},
		// Fractions.
		{"%F %T.%f", "2024-01-01 00:00:00.123", "2024-01-01T00:00:00.000000123Z"},
		{"%F %T.%f", "2024-01-01 00:00:00.1234567890", "!trailing input"},
		{"%F %T%.f", "2024-01-01 00:00:00.123", "2024-01-01T00:00:00.123Z"},
		{"%F %T%.f", "2024-01-01 00:00:00", "2024-01-01T00:00:00Z"},
		{"%F %T%.f", "2024-01-01 00:00:00.", "!premature end"},
		{"%F %T%.3f", "2024-01-01 00:00:00.1234567891234", "2024-01-01T00:00:00.123456789Z"},
		{"%F %T%.6fZ", "2024-01-01 00:00:00.1Z", "2024-01-01T00:00:00.1Z"},
		{"%F %T%.9f", "2024-01-01 00:00:00.x", "!invalid characters"},
		{"%F %T,%3f", "2024-01-01 00:00:00,123", "2024-01-01T00:00:00.123Z"},
		{"%F %T,%6f", "2024-01-01 00:00:00,000123", "2024-01-01T00:00:00.000123Z"},
		{"%F %T,%9f", "2024-01-01 00:00:00,000000123", "2024-01-01T00:00:00.000000123Z"},
		{"%F %T,%3f", "2024-01-01 00:00:00,12", "!premature end"},
		{"%F %T,%3f ", "2024-01-01 00:00:00,12 ", "!invalid characters"},
		{"%F %T,%3f", "2024-01-01 00:00:00,1234", "!trailing input"},
		{"%F %R,%3f", "2024-01-01 00:00,123", "!not enough"},
		{"%F %T%.f %f", "2024-01-01 00:00:00.5 500000000", "2024-01-01T00:00:00.5Z"},
		{"%F %T%.f %f", "2024-01-01 00:00:00.5 5", "!no possible date"},
		// Offsets.
		{"%F %T %z", "2024-01-01 00:00:00 +0930", "2023-12-31T14:30:00Z"},
		{"%F %T %z", "2024-01-01 00:00:00 -09:30", "2024-01-01T09:30:00Z"},
		{"%F %T %z", "2024-01-01 00:00:00 \u221209:30", "2024-01-01T09:30:00Z"},
		{"%F %T%:z", "2024-01-01 00:00:00+0930", "2023-12-31T14:30:00Z"},
		{"%F %T%z", "2024-01-01 00:00:00 +09 : 30", "2023-12-31T14:30:00Z"},
		{"%F %T%z", "2024-01-01 00:00:00Z", "!invalid characters"},
		{"%F %T%z", "2024-01-01 00:00:00+09", "!premature end"},
		{"%F %T%z", "2024-01-01 00:00:00+0960", "!out of range"},
		{"%F %T%z", "2024-01-01 00:00:00+2400", "!out of range"},
		{"%F %T%z", "2024-01-01 00:00:00+2359", "2023-12-31T00:01:00Z"},
		{"%F %T%::z", "2024-01-01 00:00:00+09:30:15", "2023-12-31T14:29:45Z"},
		{"%F %T%::z", "2024-01-01 00:00:00+09:30", "2023-12-31T14:30:00Z"},
		{"%F %T%:::z", "2024-01-01 00:00:00+09", "2023-12-31T15:00:00Z"},
		{"%F %T%:::z", "2024-01-01 00:00:00+0930", "2023-12-31T14:30:00Z"},
		{"%F %T%#z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00Z"},
		{"%F %T%#z", "2024-01-01 00:00:00z", "2024-01-01T00:00:00Z"},
		{"%F %T%#z", "2024-01-01 00:00:00+09", "2023-12-31T15:00:00Z"},
		{"%F %T%#z", "2024-01-01 00:00:00+0930", "2023-12-31T14:30:00Z"},
		{"%F %T%#z", "2024-01-01 00:00:00+9", "!premature end"},
		{"%F %T%#zx", "2024-01-01 00:00:00+09x", "2023-12-31T15:00:00Z"},
		{"%F %T%z %z", "2024-01-01 00:00:00+0100 +0200", "!no possible date"},
		{"%F %T%.fZ", "2024-01-01 00:00:00.5Z", "2024-01-01T00:00:00.5Z"},
		{"%F %T %Z", "2024-01-01 00:00:00 America/New_York", "2024-01-01T00:00:00Z"},
		{"%F %T %Z %z", "2024-01-01 00:00:00 CEST +0200", "2023-12-31T22:00:00Z"},
		{"%F %T (%Z)", "2024-01-01 00:00:00 (CEST)", "2024-01-01T00:00:00Z"},
		{"%F %T %Z", "2024-01-01 00:00:00 ", "2024-01-01T00:00:00Z"},
		{"%d/%b/%Y:%T %z", "10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"},
		// RFC 3339.
		{"%+", "2001-07-08T00:34:60.026490+09:30", "2001-07-07T15:05:00.02649Z"},
		{"%+", "2001-07-08t00:34:59z", "2001-07-08T00:34:59Z"},
		{"%+", "2001-07-08 00:34:59 UTC", "2001-07-08T00:34:59Z"},
		{"%+", "2001-07-08_00:34:59Z", "!invalid characters at byte 10"},
		{"%+", "2001-07-08T00:34:59", "!premature end"},
		// Unix seconds.
		{"%s", "1700000000", "2023-11-14T22:13:20Z"},
		{"%s", "-1", "1969-12-31T23:59:59Z"},
		{"%s%.f", "1700000000.25", "2023-11-14T22:13:20.25Z"},
		{"%s", "99999999999999999999999", "!out of range"},
		{"%s", "9999999999999999", "!out of range"},
		{"%s", "8210266876799", "262142-12-31T23:59:59Z"},
		{"%s %F", "1700000000 2023-11-14", "2023-11-14T22:13:20Z"},
		{"%s %F", "1700000000 2023-11-15", "!no possible date"},
		{"%s %F %T", "1700000000 2023-11-14 22:13:20", "2023-11-14T22:13:20Z"},
		{"%s %F %T", "1700000000 2023-11-14 22:13:21", "!no possible date"},
		{"%s %F %T %z", "1700000000 2023-11-14 23:13:20 +0100", "2023-11-14T22:13:20Z"},
		{"%s %S", "1700000000 20", "2023-11-14T22:13:20Z"},
		{"%s %S", "1700000000 21", "!no possible date"},
		{"%s %S", "1483228799 60", "2017-01-01T00:00:00Z"},
		{"%s %S", "1483228800 60", "2017-01-01T00:00:00Z"},
		{"%s %S", "1483228801 60", "!no possible date"},
		{"%s %a %V %q", "1700000000 Tue 46 4", "2023-11-14T22:13:20Z"},
		{"%s %a", "1700000000 Wed", "!no possible date"},
		{"%s %z", "1700000000 +0100", "2023-11-14T22:13:20Z"},
		{"%s %s", "1700000000 1700000001", "!no possible date"},
		{"%s %d", "1700000000 32", "!out of range"},
		// White space and literals.
		{"%F  %T", "2024-01-01 \t\n 00:00:00", "2024-01-01T00:00:00Z"},
		{"%F%n%T", "2024-01-01   00:00:00", "2024-01-01T00:00:00Z"},
		{"%F%t%T", "2024-01-0100:00:00", "2024-01-01T00:00:00Z"},
		{"%F %T", "2024-01-01\u00a0\u300000:00:00", "2024-01-01T00:00:00Z"},
		{" %F %T ", "2024-01-01 00:00:00  ", "2024-01-01T00:00:00Z"},
		{"%F %T", " 2024-01-01 00:00:00", "2024-01-01T00:00:00Z"},
		{"%F %T", "2024-01-01 00:00:00 ", "!trailing input"},
		{"at %F%%%T", "at 2024-01-01%00:00:00", "2024-01-01T00:00:00Z"},
		{"%F at %T", "2024-01-01 At 00:00:00", "!invalid characters"},
		{"%Y年%m月%d日 %R", "2024年5月6日 07:08", "2024-05-06T07:08:00Z"},
		{"%Y年%m月%d日 %R", "2024年5", "!premature end"},
		{"%Y-%m-%d", "2024-", "!premature end"},
		{"%Y-%m-%d", "", "!premature end"},
		{"%p %F %R", "x", "!premature end"},
		{"%b", "ja", "!premature end"},
		{"%a", "xyz", "!invalid characters"},
		// Padding flags are ignored.
		{"%-Y-%-m-%_d %0e %-H:%_M:%-S", "2024-5-6 6 7:8:9", "2024-05-06T07:08:09Z"},
	} {
		t.Run(tt.pattern+"<"+tt.text, func(t *testing.T) {
			f := mustCompile(t, tt.pattern)
			got, err := f.Parse(tt.text, ParseOptions{})
			if want, isErr := strings.CutPrefix(tt.want, "!"); isErr {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %v, %v; want error %q", got, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Format(rfc3339); s != tt.want {
				t.Fatalf("got %s, want %s", s, tt.want)
			}
			sec, nsec, matched := f.TryUnix(tt.text, ParseOptions{})
			if !matched || !time.Unix(sec, int64(nsec)).Equal(got) {
				t.Fatalf("TryUnix: %d.%d %v, Parse: %v", sec, nsec, matched, got)
			}
		})
	}
}

func TestParseOptions(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	london, err := time.LoadLocation("Europe/London")
	if err != nil {
		t.Skip(err)
	}
	kolkata := time.FixedZone("IST", 19800)
	const dt = "%Y-%m-%d %H:%M:%S"
	for _, tt := range []struct {
		name, pattern, text string
		opt                 ParseOptions
		want                string
		reason              Reason
	}{
		{"winter", dt, "2024-01-01 12:00:00", ParseOptions{Zone: berlin}, "2024-01-01T11:00:00Z", ok},
		{"summer", dt, "2024-07-01 12:00:00", ParseOptions{Zone: berlin}, "2024-07-01T10:00:00Z", ok},
		{"before the gap", dt, "2024-03-31 01:59:59", ParseOptions{Zone: berlin}, "2024-03-31T00:59:59Z", ok},
		{"gap", dt, "2024-03-31 02:00:00", ParseOptions{Zone: berlin}, "", SkippedLocal},
		{"gap, end", dt, "2024-03-31 02:59:59", ParseOptions{Zone: berlin}, "", SkippedLocal},
		{"after the gap", dt, "2024-03-31 03:00:00", ParseOptions{Zone: berlin}, "2024-03-31T01:00:00Z", ok},
		{
			"gap, earlier", dt, "2024-03-31 02:30:00",
			ParseOptions{Zone: berlin, Local: LocalEarlier},
			"2024-03-31T01:30:00Z", ok,
		},
		{"before the overlap", dt, "2024-10-27 01:59:59", ParseOptions{Zone: berlin}, "2024-10-26T23:59:59Z", ok},
		{"overlap", dt, "2024-10-27 02:00:00", ParseOptions{Zone: berlin}, "", AmbiguousLocal},
		{
			"overlap, earlier", dt, "2024-10-27 02:30:00",
			ParseOptions{Zone: berlin, Local: LocalEarlier},
			"2024-10-27T00:30:00Z", ok,
		},
		{"after the overlap", dt, "2024-10-27 03:00:00", ParseOptions{Zone: berlin}, "2024-10-27T02:00:00Z", ok},
		{"gap at utc", dt, "2024-03-31 01:30:00", ParseOptions{Zone: london}, "", SkippedLocal},
		{
			"overlap at utc", dt, "2024-10-27 01:30:00",
			ParseOptions{Zone: london, Local: LocalEarlier},
			"2024-10-27T00:30:00Z", ok,
		},
		{"fixed zone", dt, "2024-10-27 01:30:00", ParseOptions{Zone: kolkata}, "2024-10-26T20:00:00Z", ok},
		{"long ago", dt, "1700-01-01 00:00:00", ParseOptions{Zone: kolkata}, "1699-12-31T18:30:00Z", ok},
		{
			"the text's offset wins", dt + " %z", "2024-03-31 02:30:00 +0000",
			ParseOptions{Zone: berlin},
			"2024-03-31T02:30:00Z", ok,
		},
		{"seconds have no zone", "%s", "0", ParseOptions{Zone: berlin}, "1970-01-01T00:00:00Z", ok},
		{"required", dt, "2024-03-31 02:30:00", ParseOptions{RequireOffset: true}, "", NoOffset},
		{"name is not an offset", dt + " %Z", "2024-03-31 02:30:00 CET", ParseOptions{RequireOffset: true}, "", NoOffset},
		{
			"required and there", dt + "%#z", "2024-03-31 02:30:00Z",
			ParseOptions{RequireOffset: true},
			"2024-03-31T02:30:00Z", ok,
		},
		{"seconds are enough", "%s", "1", ParseOptions{RequireOffset: true}, "1970-01-01T00:00:01Z", ok},
		{"midnight", "%F", "2024-05-06", ParseOptions{FillTime: true}, "2024-05-06T00:00:00Z", ok},
		{"midnight in a zone", "%F", "2024-05-06", ParseOptions{FillTime: true, Zone: berlin}, "2024-05-05T22:00:00Z", ok},
		{"hour only", "%F %H", "2024-05-06 07", ParseOptions{FillTime: true}, "2024-05-06T07:00:00Z", ok},
		{"hour of 12 only", "%F %I", "2024-05-06 07", ParseOptions{FillTime: true}, "", NotEnough},
		{"seconds untouched", "%s", "61", ParseOptions{FillTime: true}, "1970-01-01T00:01:01Z", ok},
		{"date still needed", "%m-%d", "05-06", ParseOptions{FillTime: true}, "", NotEnough},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustCompile(t, tt.pattern).Parse(tt.text, tt.opt)
			if tt.reason != ok {
				if pe := (*ParseError)(nil); !errors.As(err, &pe) || pe.Reason != tt.reason {
					t.Fatalf("got %v, %v; want reason %v", got, err, tt.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Format(rfc3339); s != tt.want {
				t.Fatalf("got %s, want %s", s, tt.want)
			}
		})
	}
}

// Every change of the clocks in a zone, from both sides: the clock time of an instant must be parsed to that
// instant, unless it occurs twice.
func TestLocalAgainstZones(t *testing.T) {
	for _, name := range []string{
		"America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Asia/Pyongyang",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Skip(err)
		}
		for at := time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2030; {
			_, end := at.In(zone).ZoneBounds()
			if end.IsZero() {
				break
			}
			for d := -27 * time.Hour; d <= 27*time.Hour; d += 15 * time.Minute {
				x := end.Add(d)
				_, off := x.In(zone).Zone()
				local := x.Unix() + int64(off)
				got, reason := localToUnix(local, zone, LocalReject)
				switch {
				case reason == AmbiguousLocal:
					early, _ := localToUnix(local, zone, LocalEarlier)
					if early > x.Unix() || time.Unix(early, 0).In(zone).Format(time.DateTime) != x.In(zone).Format(time.DateTime) {
						t.Fatalf("%s: %v: earlier is %d", name, x.In(zone), early)
					}
				case reason != ok || got != x.Unix():
					t.Fatalf("%s: %v: got %d, %v", name, x.In(zone), got, reason)
				}
			}
			at = end.Add(time.Second)
		}
	}
}

func TestCalendarAgainstTime(t *testing.T) {
	for days := int64(-800_000); days < 800_000; days += 13 {
		want := time.Unix(days*secondsPerDay, 0).UTC()
		y, m, d := civilFromDays(days)
		if int(y) != want.Year() || int(m) != int(want.Month()) || int(d) != want.Day() {
			t.Fatalf("day %d: %d-%d-%d, want %v", days, y, m, d, want)
		}
		if back := daysFromCivil(y, m, d); back != days {
			t.Fatalf("day %d is converted back to %d", days, back)
		}
		iy, iw := isoWeekOf(days)
		if wy, ww := want.ISOWeek(); int(iy) != wy || int(iw) != ww {
			t.Fatalf("%v: week %d of %d, want %d of %d", want, iw, iy, ww, wy)
		}
		if iw > isoWeeksIn(iy) {
			t.Fatalf("%v: week %d of %d", want, iw, iy)
		}
		if wd := int(weekdayOf(days)+1) % 7; wd != int(want.Weekday()) {
			t.Fatalf("%v: weekday %d", want, wd)
		}
		ordinal := int32(want.YearDay())
		for _, first := range []int32{sunday, monday} {
			w := weekOfYear(ordinal, weekdayOf(days), first)
			if back := weekDate(y, w, weekdayOf(days), first); back != days {
				t.Fatalf("%v: week %d from %d leads to %d", want, w, first, back)
			}
		}
	}
	if got := time.Unix(maxUnix, 0).UTC().Year(); got != maxYear {
		t.Errorf("the last second is in %d", got)
	}
	if got := time.Unix(minUnix, 0).UTC(); got.Year() != minYear || got.YearDay() != 1 {
		t.Errorf("the first second is in %v", got)
	}
}

func TestParseNano(t *testing.T) {
	f := mustCompile(t, "%s%.f")
	for _, tt := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1.5", -500_000_000, true}, // 0.5 s after second -1
		{"9223372036.854775807", 1<<63 - 1, true},
		{"9223372036.854775808", 0, false},
		{"9223372037", 0, false},
		{"-9223372037.145224192", -1 << 63, true},
		{"-9223372037.145224191", 0, false},
		{"-9223372038", 0, false},
		{"-9223372036", -9223372036e9, true},
	} {
		got, err := f.ParseNano(tt.text, ParseOptions{})
		if (err == nil) != tt.ok || got != tt.want {
			t.Errorf("%s: got %d, %v", tt.text, got, err)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	f := mustCompile(t, "%d/%b/%Y:%T %z")
	_, err := f.Parse("10/Oct/2000:13:5x:36 -0700", ParseOptions{})
	want := `time "10/Oct/2000:13:5x:36 -0700" does not match pattern "%d/%b/%Y:%T %z": ` +
		`input contains invalid characters at byte 16 (%T)`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	_, err = f.Parse(strings.Repeat("x", 1000), ParseOptions{})
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
}

func TestParseAllocates(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		zone = time.UTC
	}
	for pattern, text := range map[string]string{
		"%d/%b/%Y:%T %z":       "10/Oct/2000:13:55:36 -0700",
		"%Y-%m-%dT%H:%M:%S%.f": "2024-05-06T07:08:09.123456",
		"%s":                   "1700000000",
		"%G-W%V-%u %I %p %M":   "2009-W53-5 12 am 10",
	} {
		f := mustCompile(t, pattern)
		opt := ParseOptions{Zone: zone}
		if n := testing.AllocsPerRun(10, func() {
			if _, err := f.Parse(text, opt); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", pattern, n)
		}
		if n := testing.AllocsPerRun(10, func() { f.TryUnix("nonsense", opt) }); n != 0 {
			t.Errorf("%s: %v allocations on failure", pattern, n)
		}
	}
}
