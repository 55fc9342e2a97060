package tier

import (
	"maps"
	"time"
)

// This file has the pauses after failures of single tables.

// pauses are what is not tried before a time. Each failure in a row doubles the pause, up to a day.
type pauses[K comparable] map[K]pause

type pause struct{ until, length time.Duration }

// add begins a pause, and returns its length.
func (p pauses[K]) add(key K, now time.Duration) time.Duration {
	length := min(max(2*p[key].length, joinPause), maxJoinPause)
	p[key] = pause{now + length, length}
	return length
}

// has reports whether a pause has not ended.
func (p pauses[K]) has(key K, now time.Duration) bool { return now < p[key].until }

// forget forgets pauses that ended long ago.
func (p pauses[K]) forget(now time.Duration) {
	maps.DeleteFunc(p, func(_ K, x pause) bool { return now > x.until+2*maxJoinPause })
}
