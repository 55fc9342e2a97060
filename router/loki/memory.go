package loki

import (
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
)

// The memory of metric queries in bytes: of all of a Service together, what each has of its own, so that a few large
// ones do not keep small ones out, and the steps in which more is taken.
const (
	maxAllSize = 1 << 30
	freeSize   = 4 << 20
	sizeStep   = 1 << 20
)

// shared is memory that requests share.
type shared struct {
	most int64
	used atomic.Int64
}

// take takes n bytes, and reports whether they are there.
func (m *shared) take(n int64) bool {
	if m.used.Add(n) <= m.most {
		return true
	}
	m.used.Add(-n)
	return false
}

// holding is the memory of one request. It must be released.
type holding struct {
	from *shared
	// taken is what was taken from the shared memory, and rest is what may be used until more has to be taken.
	taken, rest int64
}

func (m *shared) holding() *holding { return &holding{from: m, rest: freeSize} }

// grow takes n more bytes, and fails if all requests have too many.
func (h *holding) grow(n int) error {
	if h.rest -= int64(n); h.rest >= 0 {
		return nil
	}
	more := max(sizeStep, -h.rest)
	if !h.from.take(more) {
		return errs.New(errs.RateLimited, "the labels and numbers of the metric queries that run at the moment take %d MiB, "+
			"the most that they may take together: try again, name fewer labels, or use a longer step",
			h.from.most>>20).WithRetryAfter(time.Second)
	}
	h.taken += more
	h.rest += more
	return nil
}

// release returns the memory.
func (h *holding) release() {
	h.from.used.Add(-h.taken)
	h.taken, h.rest = 0, 0
}

// tally counts series.
type tally struct {
	// points counts the steps of all series so far.
	points int
	// size is about how much memory the labels of these series take, in bytes.
	size int
}

// labelsSize is about how much memory the labels of a series take in addition to their texts, in bytes.
const labelsSize = 500

// count counts a series with the given key and number of steps, and returns an error if there are too many.
func (t *tally) count(key string, steps int) error {
	if t.points += steps; t.points > maxPoints {
		return tooManySeries(maxPoints / steps)
	}
	if t.size += labelsSize + 2*len(key); t.size > maxSeriesSize {
		return errs.New(errs.InvalidArguments, "the labels of the series of the query take more than %d MiB: name fewer "+
			"labels, or use a shorter time", maxSeriesSize>>20)
	}
	return nil
}

// pointSize is the memory of a step of a series, and partSize that of a part. In bytes.
const (
	pointSize = 9
	partSize  = 96
)

// countSeries counts a series with the given key.
func (e *evaluator) countSeries(t *tally, key string) error {
	if err := t.count(key, e.steps.N); err != nil {
		return err
	}
	return e.memory.grow(labelsSize + 2*len(key) + pointSize*e.steps.N)
}

// countPart counts a number from which series are computed.
func (e *evaluator) countPart() error {
	if e.parts++; e.parts > maxPoints {
		return errs.New(errs.InvalidArguments, "the query has more than %d numbers: use a longer step, a shorter time, or "+
			"fewer labels", maxPoints)
	}
	return e.memory.grow(partSize)
}
