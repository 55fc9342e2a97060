package schema

import "time"

// TimeSpan returns the range of a timestamp type in words, to the second: what errors about times
// outside of it say.
func (t Type) TimeSpan() string {
	lo, hi := t.TimeRange()
	per := t.UnitsPerSecond()
	return time.Unix(lo/per, 0).UTC().Format(spanLayout) + " to " + time.Unix(hi/per, 0).UTC().Format(spanLayout)
}

const spanLayout = "2006-01-02 15:04:05"
