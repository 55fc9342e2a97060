package hits

import (
	"time"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
)

// steps are the possible lengths of buckets.
var steps = func() []time.Duration {
	const day = 24 * time.Hour
	var out []time.Duration
	add := func(unit time.Duration, counts ...int) {
		for _, n := range counts {
			out = append(out, time.Duration(n)*unit)
		}
	}
	add(time.Millisecond, 1, 2, 5, 10, 20, 50, 100, 200, 500)
	add(time.Second, 1, 2, 5, 10, 15, 30)
	add(time.Minute, 1, 2, 5, 10, 15, 30)
	add(time.Hour, 1, 2, 3, 6, 12)
	// Beyond a week the length doubles, up to more than any range needs.
	add(day, 1, 7, 14, 28, 56, 112, 224, 448, 896, 1792, 3584, 7168, 14336, 28672)
	return out
}()

// MaxBuckets limits the number of buckets of an answer.
const MaxBuckets = 400

// stepOf returns the step in a request, or the smallest step with which the range has few enough buckets.
func stepOf(r scope.Range, buckets int, text string) (time.Duration, error) {
	span := r.To.Sub(r.From)
	if text == "" {
		for _, step := range steps {
			if int64(span/step) < int64(buckets) {
				return step, nil
			}
		}
		return steps[len(steps)-1], nil
	}
	step, err := time.ParseDuration(text)
	if err != nil {
		step = 0
		if d, ok := scope.ParseSpan(text); ok {
			step = d
		}
	}
	for _, known := range steps {
		if known != step {
			continue
		}
		if span/step >= MaxBuckets {
			return 0, errs.New(errs.InvalidArguments, "with step %s the range has more than %d buckets: use a longer step, or "+
				"buckets", text, MaxBuckets)
		}
		return step, nil
	}
	return 0, errs.New(errs.InvalidArguments, "step is %.40q: it must be 1, 2, 5, 10, 20, 50, 100, 200 or 500 ms, "+
		"1, 2, 5, 10, 15 or 30 s or m, 1, 2, 3, 6 or 12 h, 1d or 7d", text)
}

// boundaries returns the start times of the buckets of a range, and the end of the last bucket. Buckets of an
// hour or more start on the hour or at midnight of the zone, and weeks on Monday.
func boundaries(r scope.Range, step time.Duration, zone *time.Location) []time.Time {
	if step < time.Hour {
		return evenly(floor(r.From, step), r.To, step)
	}
	local := r.From.In(zone)
	if step == time.Hour {
		_, offset := local.Zone()
		away := time.Duration(offset) * time.Second
		return evenly(floor(r.From.Add(away), step).Add(-away), r.To, step)
	}
	year, month, day := local.Date()
	hours := int(step / time.Hour)
	hour := 0
	if hours < 24 {
		hour = local.Hour() / hours * hours
	} else if hours > 24 {
		day -= int(local.Weekday()+6) % 7
	}
	var out []time.Time
	for i := 0; ; i++ {
		at := time.Date(year, month, day, hour+i*hours, 0, 0, 0, zone)
		if hours >= 24 {
			at = time.Date(year, month, day+i*hours/24, 0, 0, 0, 0, zone)
		}
		// An hour that a zone skips or repeats does not become a separate bucket.
		if len(out) == 0 || at.After(out[len(out)-1]) {
			out = append(out, at.UTC())
		}
		if !at.Before(r.To) || len(out) > 2*MaxBuckets {
			return atLeastOne(out, step)
		}
	}
}

// evenly returns times that are a step apart, up to the first one that is not before the end.
func evenly(first, end time.Time, step time.Duration) []time.Time {
	out := []time.Time{first}
	for out[len(out)-1].Before(end) {
		out = append(out, out[len(out)-1].Add(step))
	}
	return atLeastOne(out, step)
}

func atLeastOne(out []time.Time, step time.Duration) []time.Time {
	if len(out) < 2 {
		out = append(out, out[0].Add(step))
	}
	return out
}

// floor returns the last multiple of step since 1970 that is not after t.
func floor(t time.Time, step time.Duration) time.Time {
	nanos := t.UnixNano()
	rest := nanos % int64(step)
	if rest < 0 {
		rest += int64(step)
	}
	return time.Unix(0, nanos-rest).UTC()
}

// countedStep returns the length of the intervals that the engine counts: the buckets themselves, or parts of an
// hour that add up to the buckets.
func countedStep(bounds []time.Time, step time.Duration) time.Duration {
	if step < time.Hour {
		return step
	}
	for _, t := range bounds {
		if t.UnixNano()%int64(time.Hour) != 0 {
			return 15 * time.Minute
		}
	}
	return time.Hour
}
