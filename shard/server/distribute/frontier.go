package distribute

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/shard/query"
)

// frontier computes the time bound of the answer: once there are enough rows, no row beyond it can be in the answer.
// It is safe for concurrent use.
type frontier struct {
	newest *query.Newest
	begun  time.Time

	mu    sync.Mutex // guards the fields below
	times []arrow.Timestamp
	unit  arrow.TimeUnit
	known chan struct{} // closed once there is a bound
	bound string
}

// newFrontier returns the frontier of a statement, or nil if the statement does not ask for the
// first rows by time.
func newFrontier(s *query.Split) *frontier {
	if s.Newest == nil || s.Newest.Limit+s.Newest.Offset > maxMerged {
		return nil
	}
	return &frontier{newest: s.Newest, begun: time.Now(), known: make(chan struct{})}
}

// add adds the rows of a node, and returns them. It returns nil if they cannot be merged without the engine.
func (f *frontier) add(stream []byte) *sorted {
	if f == nil {
		return nil
	}
	s, err := readSorted(stream, f.newest)
	if err != nil {
		return nil
	}
	f.addTimes(s)
	return s
}

// addTimes determines the bound if there are enough rows.
func (f *frontier) addTimes(s *sorted) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, _ := s.schema.Field(f.newest.Column).Type.(*arrow.TimestampType)
	if f.bound != "" || t == nil || len(f.times) > 0 && t.Unit != f.unit {
		return
	}
	f.unit = t.Unit
	f.times = append(f.times, s.times...)
	slices.SortFunc(f.times, f.newest.Compare)
	enough := int(f.newest.Limit + f.newest.Offset)
	if len(f.times) < enough {
		return
	}
	at := f.times[enough-1].ToTime(f.unit)
	if year := at.Year(); year < 1 || year > 9999 {
		return // the engine cannot read the text of such a time
	}
	f.bound = "'" + at.Format("2006-01-02 15:04:05.999999999") + "'"
	close(f.known)
}

// leastPatience is the minimum time that a node gets after a bound is known. A new request costs some milliseconds of
// CPU on both nodes, because the first one has done most of its work by then.
const leastPatience = 20 * time.Millisecond

// again waits until a node that has not answered should get a new request: a bound is known, and since then the node
// has had as much time as finding the bound took, and at least leastPatience. It returns false if ctx ends before that.
func (f *frontier) again(ctx context.Context) bool {
	if f == nil {
		return false
	}
	select {
	case <-f.known:
	case <-ctx.Done():
		return false
	}
	patience := time.NewTimer(max(time.Since(f.begun), leastPatience))
	defer patience.Stop()
	select {
	case <-patience.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// sql returns the statement for the rows within the bound.
func (f *frontier) sql() string { return f.newest.Before + f.bound + f.newest.After }

// errAskedAgain ends a call to a node because the node gets a new request for fewer rows.
var errAskedAgain = errors.New("asked again with a bound")
