package timefield

import (
	"math"
	"testing"
	"time"

	"cordwood/router/ingest/jsonwalk"
)

func TestRead(t *testing.T) {
	at := time.Date(2024, 7, 4, 8, 30, 58, 123e6, time.UTC)
	for text, want := range map[string]time.Time{
		`"2024-07-04T08:30:58.123Z"`:      at,
		`"2024-07-04T10:30:58.123+02:00"`: at,
		`"2024-07-04T10:30:58.123+0200"`:  at,
		`"2024-07-04T08:30:58.123"`:       at,
		`"2024-07-04 08:30:58.123"`:       at,
		`"2024-07-04"`:                    at.Truncate(24 * time.Hour),
		`1720081858`:                      at.Truncate(time.Second),
		`1720081858.123`:                  at,
		`1720081858123`:                   at,
		`1720081858123000`:                at,
		`1720081858123000000`:             at,
		`-1`:                              time.Unix(-1, 0),
		`"1678-01-01T00:00:00Z"`:          time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC),
		`"2261-12-31T23:59:59Z"`:          time.Date(2261, 12, 31, 23, 59, 59, 0, time.UTC),
		`"0001-01-01T00:00:00Z"`:          {},
		`"9999-12-31T23:59:59Z"`:          {},
		`1e300`:                           {},
		`18446744073709551615`:            {},
		`"soon"`:                          {},
		`""`:                              {},
		`null`:                            {},
		`{"a":[1]}`:                       {},
	} {
		w := jsonwalk.New([]byte(text))
		nanos, ok, err := Read(w)
		if err != nil || !w.AtEnd() {
			t.Errorf("%s: %v, at the end: %v", text, err, w.AtEnd())
		}
		got := time.Unix(0, nanos)
		if ok != !want.IsZero() || ok && got.Sub(want).Abs() > time.Microsecond {
			t.Errorf("%s: %v %v, want %v", text, got.UTC(), ok, want)
		}
	}
	if _, _, err := Read(jsonwalk.New([]byte(`"a`))); err == nil {
		t.Error("half a text was read")
	}
	for _, v := range []int64{math.MaxInt64, math.MinInt64} {
		if _, ok := Epoch(v); ok {
			t.Errorf("%d is a time", v)
		}
	}
}
