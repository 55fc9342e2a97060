package schema

import "time"

// TimeSpan returns the range of a timestamp type as a text, to the second, for errors about times
// outside of it.
func (t Type) TimeSpan() string {
	lo, hi := t.TimeRange()
	per := t.UnitsPerSecond()
	return time.Unix(lo/per, 0).UTC().Format(spanLayout) + " to " + time.Unix(hi/per, 0).UTC().Format(spanLayout)
}

const spanLayout = "2006-01-02 15:04:05"

// FloorDiv divides and rounds down: times before 1970 are negative.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
