package timefmt

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// layouts are patterns whose usual texts have fixed places.
var layouts = []string{
	"%+", "%Y-%m-%dT%H:%M:%S%.f%:z", "%d/%b/%Y:%T %z", "%F %T", "%Y%m%d%H%M%S", "%FT%T%.3f%#z",
	"%b%d %Y %T%.f", "[%H:%M:%S %d.%m.%Y]",
}

func TestPatternsWithLayout(t *testing.T) {
	for _, p := range layouts {
		if mustCompile(t, p).layout == nil {
			t.Errorf("%q has no layout", p)
		}
	}
	for _, p := range []string{
		"", "%s", "%F", "%T", "%c", "%Y-%j %T", "%F %T%9f", "%F %T%z%z", "%F %F %T", "%Y%b%B%d %T", "%d %bember %Y %T",
		"%F %H:%M%.f", "%F  %T", "%F%n%T", "%G-%m-%d %T", "%F %I:%M:%S", "%d %B %Y %H:%M", "%b%m %d %Y %T",
	} {
		if mustCompile(t, p).layout != nil {
			t.Errorf("%q has a layout", p)
		}
	}
}

// differ fails if a text is read by the layout and by the steps of the pattern with different results.
func differ(t *testing.T, f *Format, text string, o ParseOptions) (byLayout bool) {
	t.Helper()
	if f.layout != nil {
		_, _, byLayout = f.layout.parse(text)
	}
	steps := *f
	steps.layout = nil
	sec, nsec, err := f.ParseUnix(text, o)
	wantSec, wantNsec, wantErr := steps.ParseUnix(text, o)
	if sec != wantSec || nsec != wantNsec || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%q as %q: layout %d.%d %v, steps %d.%d %v", text, f, sec, nsec, err, wantSec, wantNsec, wantErr)
	}
	return byLayout
}

func TestLayoutOnEveryDay(t *testing.T) {
	f := mustCompile(t, "%+")
	for d := time.Date(1600, 1, 1, 13, 14, 15, 6_000_000, time.UTC); d.Year() <= 2400; d = d.AddDate(0, 0, 1) {
		text := d.Format(time.RFC3339Nano)
		if !differ(t, f, text, ParseOptions{}) {
			t.Fatalf("%s is not read by the layout", text)
		}
	}
	for _, text := range []string{"1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2023-04-31T00:00:00Z"} {
		differ(t, f, text, ParseOptions{})
	}
}

// TestLayoutOnMutations compares both ways on valid times in which a few bytes were changed.
func TestLayoutOnMutations(t *testing.T) {
	const alphabet = "0123456789012345678901234567890123456789TtZz+-:. /aJny\u2212\t"
	r := rand.New(rand.NewPCG(3, 5))
	zone := time.FixedZone("", 5*3600+1800)
	options := []ParseOptions{{}, {Zone: zone}, {RequireOffset: true}, {FillTime: true}}
	for _, p := range layouts {
		f := mustCompile(t, p)
		read := 0
		for range 20_000 {
			at := time.Unix(r.Int64N(8e9)-4e9, r.Int64N(1e9)).In(zone)
			b, _ := f.Append(nil, at)
			if b == nil { // a pattern that can only be read
				b = []byte(at.Format("2006-01-02T15:04:05.999Z07:00"))
			}
			for range r.IntN(3) {
				i := r.IntN(len(b))
				switch r.IntN(3) {
				case 0:
					b[i] = alphabet[r.IntN(len(alphabet))]
				case 1:
					b = append(b[:i], b[i+1:]...)
				default:
					b = append(b[:i+1], b[i:]...)
					b[i] = alphabet[r.IntN(len(alphabet))]
				}
			}
			if differ(t, f, string(b), options[r.IntN(len(options))]) {
				read++
			}
		}
		if read < 5000 {
			t.Errorf("%q: only %d of 20,000 texts are read by the layout", p, read)
		}
	}
}
