package hits

import (
	"testing"
	"time"

	"cordwood/router/explore/scope"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return v.UTC()
}

// TestBoundaries tests days of 23 and 25 hours, zones whose offsets are not whole hours, and weeks.
func TestBoundaries(t *testing.T) {
	for _, c := range []struct {
		from, to, zone string
		step           time.Duration
		want           []string // the first start times, and the lengths of the first buckets
		hours          []float64
	}{
		{
			"2026-03-28T10:00:00Z", "2026-03-31T10:00:00Z", "Europe/Berlin", 24 * time.Hour,
			[]string{"2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
			[]float64{24, 23, 24, 24},
		},
		{
			"2026-10-24T22:00:00Z", "2026-10-26T10:00:00Z", "Europe/Berlin", 24 * time.Hour,
			[]string{"2026-10-24T22:00:00Z"},
			[]float64{25, 24},
		},
		{
			"2026-10-24T21:00:00Z", "2026-10-25T04:00:00Z", "Europe/Berlin", time.Hour,
			[]string{"2026-10-24T21:00:00Z", "2026-10-24T22:00:00Z"},
			[]float64{1, 1, 1, 1, 1, 1, 1},
		},
		{
			"2026-01-05T10:10:00Z", "2026-01-05T13:00:00Z", "Asia/Kathmandu", time.Hour,
			[]string{"2026-01-05T09:15:00Z", "2026-01-05T10:15:00Z"},
			[]float64{1, 1, 1, 1},
		},
		{
			"2026-01-08T10:00:00Z", "2026-01-13T00:00:00Z", "", 7 * 24 * time.Hour,
			[]string{"2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z"},
			[]float64{168, 168},
		},
		{
			"2026-01-05T10:00:03Z", "2026-01-05T10:00:10Z", "Europe/Berlin", 5 * time.Second,
			[]string{"2026-01-05T10:00:00Z", "2026-01-05T10:00:05Z"},
			[]float64{5. / 3600, 5. / 3600},
		},
		{
			"2026-01-05T10:00:00Z", "2026-01-05T10:00:00Z", "", time.Second,
			[]string{"2026-01-05T10:00:00Z"},
			[]float64{1. / 3600},
		},
		{
			"1969-12-31T23:59:59.5Z", "1970-01-01T00:00:01Z", "", time.Second,
			[]string{"1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"},
			[]float64{1. / 3600, 1. / 3600},
		},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		got := boundaries(scope.Range{From: at(t, c.from), To: at(t, c.to)}, c.step, zone)
		for i, want := range c.want {
			if i >= len(got) || !got[i].Equal(at(t, want)) {
				t.Errorf("%s %s: bucket %d of %v does not start at %s", c.from, c.zone, i, got, want)
			}
		}
		if len(got)-1 != len(c.hours) {
			t.Errorf("%s %s: %d buckets, want %d: %v", c.from, c.zone, len(got)-1, len(c.hours), got)
			continue
		}
		for i, hours := range c.hours {
			if d := got[i+1].Sub(got[i]).Hours(); d < hours-1e-9 || d > hours+1e-9 {
				t.Errorf("%s %s: bucket %d has %v hours, want %v", c.from, c.zone, i, d, hours)
			}
		}
	}
}

// TestStep checks for ranges of any length that the step does not give too many buckets.
func TestStep(t *testing.T) {
	to := at(t, "2026-01-05T00:00:00Z")
	for _, c := range []struct {
		span    time.Duration
		buckets int
		text    string
		want    time.Duration
	}{
		{time.Hour, 120, "", time.Minute},
		{time.Hour, 400, "", 10 * time.Second},
		{time.Hour, 1, "", 2 * time.Hour},
		{24 * time.Hour, 120, "", 15 * time.Minute},
		{0, 1, "", time.Millisecond},
		{time.Hour, 120, "1m", time.Minute},
		{90 * 24 * time.Hour, 120, "1d", 24 * time.Hour},
		{50000 * time.Hour, 1, "", 3584 * 24 * time.Hour},
		{time.Hour, 120, "1s", 0},
		{time.Hour, 120, "7s", 0},
		{time.Hour, 120, "soon", 0},
		{time.Hour, 120, "-1m", 0},
	} {
		got, err := stepOf(scope.Range{From: to.Add(-c.span), To: to}, c.buckets, c.text)
		if got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v in %d buckets, %q: %v, %v, want %v", c.span, c.buckets, c.text, got, err, c.want)
		}
	}
}

// TestScale checks that estimated counts do not exceed the number of rows, and that their sum is the total.
func TestScale(t *testing.T) {
	for _, test := range []struct {
		share float64
		most  int64
		want  []int64
	}{
		{0.5, 100, []int64{6, 8, 0}},
		{0.5, 12, []int64{5, 6, 0}},
		{0.5, 13, []int64{5, 7, 0}},
	} {
		c := &counter{share: test.share, most: test.most, total: 7, counts: map[int][]int64{0: {3, 0, 0}, 1: {0, 4, 0}}}
		c.scale()
		sum := int64(0)
		for i, want := range test.want {
			n := c.counts[0][i] + c.counts[1][i]
			if sum += n; n != want {
				t.Errorf("at most %d rows: %v", test.most, c.counts)
			}
		}
		if c.total != sum || c.total > test.most {
			t.Errorf("the total is %d of at most %d, the sum is %d", c.total, test.most, sum)
		}
	}
}
