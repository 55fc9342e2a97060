package quota

import (
	"fmt"
	"math"
	"time"
)

const (
	// minWait and maxWait limit when a client may try again.
	minWait = time.Second
	maxWait = 30 * time.Second
)

// bucket is the use of one rate of a database by this router.
type bucket struct {
	name string // of the quota

	quota float64 // the limit of the cluster, each second
	burst float64 // seconds
	// share is the part of this router, by the last answer, valid until the time until. Without a valid one, it is equal
	// for all routers.
	share   float64
	until   time.Time
	routers func() int

	tokens float64
	at     time.Time // when tokens was computed

	// admitted and refused are the amounts since the last report.
	admitted, refused float64
	reported          time.Time
	// usual is the average amount of a request. It stands for the amount of a request that is refused before its
	// body is read.
	usual float64
	// cluster is what all routers were offered in a second, by the last answer.
	cluster float64
}

// limit sets the limits. A new bucket is full.
func (b *bucket) limit(quota, burst float64, routers func() int, now time.Time) {
	if b.at.IsZero() {
		b.at, b.reported, b.tokens, b.usual = now, now, math.Inf(1), 1
	}
	b.quota, b.burst, b.routers = quota, burst, routers
	b.until = time.Time{} // the share was of the former limit
	b.tokens = min(b.tokens, b.rate(now)*burst)
}

// rate returns the tokens of a second.
func (b *bucket) rate(now time.Time) float64 {
	if now.Before(b.until) {
		return b.share
	}
	return b.quota / float64(max(b.routers(), 1))
}

// lease sets the share of this router.
func (b *bucket) lease(share float64, until, now time.Time) {
	b.fill(now)
	b.share, b.until = share, until
	b.tokens = min(b.tokens, share*b.burst)
}

// fill adds the tokens of the time since the last call.
func (b *bucket) fill(now time.Time) {
	rate := b.rate(now)
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens += rate * passed
		b.at = now
	}
	b.tokens = min(b.tokens, rate*b.burst)
}

// positive reports whether the bucket admits a request.
func (b *bucket) positive(now time.Time) bool {
	b.fill(now)
	return b.tokens > 0
}

// take removes the tokens of a request that is admitted. A negative n gives them back.
func (b *bucket) take(n float64) {
	b.tokens -= n
	b.admitted = max(b.admitted+n, 0)
	if n > 0 {
		b.usual += (n - b.usual) / 16
	}
}

// refuse notes a request of n, or of the usual amount if n is 0.
func (b *bucket) refuse(n int64) {
	if n > 0 {
		b.refused += float64(n)
	} else {
		b.refused += b.usual
	}
}

// wait returns the time until the bucket is positive.
func (b *bucket) wait(now time.Time) time.Duration {
	rate := b.rate(now)
	if rate <= 0 {
		return maxWait
	}
	seconds := math.Ceil(-b.tokens / rate)
	return min(max(time.Duration(seconds*float64(time.Second)), minWait), maxWait)
}

// offered returns what the cluster is offered in a second.
func (b *bucket) offered(now time.Time) float64 {
	here := (b.admitted + b.refused) / max(now.Sub(b.reported).Seconds(), 0.5)
	return max(b.cluster, here)
}

// report returns the amounts of a second since the last report, and starts anew.
func (b *bucket) report(now time.Time) (admitted, refused float64) {
	passed := max(now.Sub(b.reported).Seconds(), 0.001)
	admitted, refused = b.admitted/passed, b.refused/passed
	b.admitted, b.refused, b.reported = 0, 0, now
	return admitted, refused
}

// size returns a number of bytes as a text.
func size(n uint64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, names := float64(n)/unit, "KMGTPE"
	for v >= unit && len(names) > 1 {
		v, names = v/unit, names[1:]
	}
	return fmt.Sprintf("%.4g %ciB", v, names[0])
}
