package timefmt

import (
	"testing"
	"time"
)

// roundTrips are patterns that contain a whole time to the nanosecond.
var roundTrips = []string{
	"%Y-%m-%d %H:%M:%S%.f %::z",
	"%+",
	"%s %9f %S",
	"%c%.9f %::z",
	"%G-W%V-%u %I:%M:%S.%f %p %z",
	"%Y %j %T%.f%:z",
	"%Y %U %w %k:%M:%S %9f %z",
	"%Y %W %A %l:%M:%S %P%.f %z",
	"%C%y %q %B %e %X %f %a %V %g %z",
	"%v %r%.9f%z",
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(0), uint32(0), int16(0))
	f.Add(int64(994518299), uint32(26490708), int16(570))
	f.Add(int64(-1), uint32(999_999_999), int16(-570))
	f.Add(int64(253402300799), uint32(1), int16(1439))
	f.Add(int64(1262304000), uint32(1), int16(-1439))
	formats := make([]*Format, len(roundTrips))
	for i, p := range roundTrips {
		formats[i] = mustCompile(f, p)
	}
	f.Fuzz(func(t *testing.T, sec int64, nsec uint32, minutes int16) {
		sec %= 253402300800 - 2*86400 // up to the year 9999
		if sec < 0 {
			sec = -sec
		}
		zone := time.FixedZone("", int(minutes%1440)*60)
		want := time.Unix(sec, int64(nsec%1e9)).In(zone)
		for _, format := range formats {
			text, err := format.Append(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := format.Parse(string(text), ParseOptions{RequireOffset: true})
			if err != nil || !got.Equal(want) {
				t.Fatalf("%s: %v as %q comes back as %v, %v", format, want, text, got, err)
			}
		}
	})
}

func FuzzCompileParse(f *testing.F) {
	for _, p := range roundTrips {
		f.Add(p, "2001-07-08 00:34:59.026490708 +09:30:00")
	}
	f.Add("%d/%b/%Y:%T %z", "10/Oct/2000:13:55:36 -0700")
	f.Add("%F %T (%Z) %#z %:::z %%%n%t", "2024-01-01 00:00:00 (CEST) Z +09 %")
	f.Add("%-Y%_m%0d%3f%6f%s", "-1-1-1")
	f.Add("年%C\xff%q", "年20\xff3")
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		zone = time.UTC
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		format, err := Compile(pattern)
		if err != nil {
			_ = err.Error()
			return
		}
		got, err := format.Parse(text, ParseOptions{Zone: zone, FillTime: true, Local: LocalEarlier})
		if err != nil {
			_ = err.Error()
			return
		}
		if got.Unix() < minUnix-2*secondsPerDay || got.Unix() > maxUnix+2*secondsPerDay || got.Nanosecond() < 0 {
			t.Fatalf("%q by %q is %v", text, pattern, got)
		}
		out, err := format.Append(nil, got)
		if err == nil && len(out) > 8*len(pattern)*8+64 {
			t.Fatalf("%q writes %d bytes", pattern, len(out))
		}
	})
}
