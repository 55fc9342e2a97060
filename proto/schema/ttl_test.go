package schema

import (
	"math"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

func TestParseTTL(t *testing.T) {
	for _, c := range []struct {
		text, shown string
		want        TTL
	}{
		{"", "forever", TTL{Forever: true}},
		{"  ", "forever", TTL{Forever: true}},
		{"forever", "forever", TTL{Forever: true}},
		{"ForEver", "forever", TTL{Forever: true}},
		{"0", "forever", TTL{Forever: true}},
		{"0s", "forever", TTL{Forever: true}},
		{"0d 0h", "forever", TTL{Forever: true}},
		{"INSTANT", "instant", TTL{Instant: true}},
		{" instant\n", "instant", TTL{Instant: true}},
		{"1d", "1day", TTL{D: day}},
		{"7d", "7days", TTL{D: 7 * day}},
		{"6 hours", "6h", TTL{D: 6 * time.Hour}},
		{"90m", "1h 30m", TTL{D: 90 * time.Minute}},
		{"30d", "30days", TTL{D: 30 * day}},
		{"60d", "60days", TTL{D: 60 * day}},
		{"1d 12h", "1day 12h", TTL{D: 36 * time.Hour}},
		{"1day12hours", "1day 12h", TTL{D: 36 * time.Hour}},
		{" 1 wk  2 days ", "9days", TTL{D: 9 * day}},
		{"1M", "30days 10h 33m 36s", TTL{D: Month}},
		{"1m", "1m", TTL{D: time.Minute}},
		{"1y", "1year", TTL{D: Year}},
		{"2yrs1d", "2years 1day", TTL{D: 2*Year + day}},
		{"1y 1y", "2years", TTL{D: 2 * Year}},
		{"3nanos 2micros 1millis", "1ms 2us 3ns", TTL{D: 1_002_003}},
		{"1s 2sec 3secs 4second 5seconds", "15s", TTL{D: 15 * time.Second}},
		{"292y", "292years", TTL{D: 292 * Year}},
	} {
		got, err := ParseTTL(c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseTTL(%q) = %+v, %v; want %+v", c.text, got, err, c.want)
			continue
		}
		if got.String() != c.shown {
			t.Errorf("ParseTTL(%q) is shown as %q, want %q", c.text, got, c.shown)
		}
		if again, err := ParseTTL(got.String()); err != nil || again != got {
			t.Errorf("ParseTTL(%q) = %+v, %v; want %+v", got, again, err, got)
		}
	}
}

func TestParseTTLErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"soon", `Failed to parse ttl "soon": want an integer`},
		{"-1d", "want an integer"},
		{"+1d", "want an integer"},
		{"1.5d", `want a unit after "1"`},
		{"7", `want a unit after "7"`},
		{"0 0", `want a unit after "0"`},
		{"d", "want an integer"},
		{"1d,2h", "want an integer"},
		{"1D", `unknown unit "D"`},
		{"1 Day", `unknown unit "Day"`},
		{"forever 1d", "want an integer"},
		{"1d forever", "want an integer"},
		{"300y", "longer than 292 years"},
		{"200y 200y", "longer than 292 years"},
		{"99999999999999999999s", "longer than 292 years"},
		{"1\u00a0d", "want a unit"},
		{strings.Repeat("x", 10_000), "…"},
	} {
		_, err := ParseTTL(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("ParseTTL(%.40q): error %v, want an error of code 1004 with %q", c.text, err, c.want)
			continue
		}
		if len(err.Error()) > 400 {
			t.Errorf("ParseTTL(%.40q): the error has %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestTTLUnits(t *testing.T) {
	for unit, length := range ttlUnits {
		if got, err := ParseTTL("2" + unit); err != nil || got.D != 2*length {
			t.Errorf("2%s: %+v, %v", unit, got, err)
		}
	}
}

func TestEffectiveTTL(t *testing.T) {
	for _, c := range []struct{ table, database, want string }{
		{"", "", "forever"},
		{"1d", "7d", "1day"},
		{"", "7d", "7days"},
		{"forever", "7d", "forever"},
		{"instant", "", "instant"},
		{"broken", "7d", "forever"},
	} {
		if got := EffectiveTTL(c.table, c.database).String(); got != c.want {
			t.Errorf("EffectiveTTL(%q, %q) = %s, want %s", c.table, c.database, got, c.want)
		}
	}
}

func TestDatabaseTTL(t *testing.T) {
	if got, err := DatabaseTTL("1w"); err != nil || got != "7days" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"instant", "soon"} {
		if _, err := DatabaseTTL(text); errs.CodeOf(err) != errs.InvalidArguments {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

func TestExpiredBefore(t *testing.T) {
	now := time.Unix(1_700_000_000, 999_999_999)
	for index, want := range map[Type]int64{
		TimestampSecond: 1_699_999_999, TimestampMillisecond: 1_699_999_999_999,
		TimestampMicrosecond: 1_699_999_999_999_999, TimestampNanosecond: 1_699_999_999_999_999_999,
	} {
		if got, ok := (TTL{D: time.Second}).ExpiredBefore(now, index); !ok || got != want {
			t.Errorf("%s: got %d, %v; want %d", index, got, ok, want)
		}
	}
	for _, ttl := range []TTL{{}, {Forever: true}, {Instant: true}} {
		if _, ok := ttl.ExpiredBefore(now, TimestampSecond); ok {
			t.Errorf("%+v expires", ttl)
		}
	}
	if got, ok := (TTL{D: math.MaxInt64}).ExpiredBefore(time.Unix(0, 0).AddDate(-1, 0, 0), TimestampNanosecond); !ok ||
		got != math.MinInt64 {
		t.Errorf("got %d, %v; want the smallest number", got, ok)
	}
	if _, ok := (TTL{D: 1}).ExpiredBefore(now, String); ok {
		t.Error("a string column expires")
	}
}

func FuzzParseTTL(f *testing.F) {
	for _, s := range []string{
		"", "0", "1d 12h", "1day12hours", "forever", "Instant", "300y", "7", "1M1m",
		"9223372036854775807ns", "1ns 9223372036854775807ns",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ttl, err := ParseTTL(text)
		if err != nil {
			if errs.CodeOf(err) != errs.InvalidArguments {
				t.Fatalf("error of code %d", errs.CodeOf(err))
			}
			return
		}
		if kinds := b2i(ttl.Forever) + b2i(ttl.Instant) + b2i(ttl.D > 0); kinds != 1 {
			t.Fatalf("%q: %+v", text, ttl)
		}
		if again, err := ParseTTL(ttl.String()); err != nil || again != ttl {
			t.Fatalf("%q is shown as %q, which is %+v, %v", text, ttl, again, err)
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
