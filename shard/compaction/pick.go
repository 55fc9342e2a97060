package compaction

import (
	"cmp"
	"slices"
	"time"
)

// The policy. The DESIGN.md of shard gives the reasons.
const (
	// Fan is the number of neighbours of a tier that are merged.
	Fan = 8
	// maxInputs is the maximum number of segments that one compaction merges.
	maxInputs = 64
	// BigBytes is the size at which a segment is no longer merged, and approximately the maximum
	// size of a merged segment.
	BigBytes = 256 << 20
	// DropShare determines when a segment that must stay in one piece is rewritten: when at least
	// 1/DropShare of its rows are in expired row groups. If a segment expires over a long time,
	// each byte is then rewritten about four times; if it expires within a flush interval, never.
	DropShare = 8
	// Pieces is the approximate number of segments into which a segment is cut when its first row
	// group has expired, so that most pieces can be removed as a whole. A piece may be cut again.
	// So each byte is rewritten about twice, however long the expiry takes.
	Pieces = 16
	// restBytes is the size from which a segment is not merged at the end of a day. The segments of
	// a busy table have this size after one merge. Merging them would rewrite every byte only to
	// halve a small number of files.
	restBytes = 64 << 20
	// settleTime is how long after the end of a partition its last segments are merged.
	settleTime = 2 * time.Hour
	// quietTime is how long no segment must have been flushed for a partition before its last segments are merged.
	// While rows of an earlier day are loaded, each of its flushes would otherwise be merged with the ones before it,
	// and each byte be rewritten several times.
	quietTime = 10 * time.Minute
)

// tiers are the upper size limits of the tiers. Each is Fan times the previous one, so a merged
// segment moves up a tier and every byte is written once in each tier.
var tiers = [...]int64{64 << 10, 512 << 10, 4 << 20, 32 << 20, BigBytes}

// Group identifies segments that may be merged: by their table, or if Table is 0, by the physical
// table whose tables share them. Segments of different cuts for object storage are in different groups.
type Group struct {
	Table              uint64
	Database, Physical string
	// Cut is the order at which the last cut before the segments ended.
	Cut uint64
}

// Segment is a live segment as Pick sees it.
type Segment struct {
	ID, Order   uint64
	Bytes, Rows int64
	Group       Group
	// Day is the first day of its time partition, Days the length of the partition.
	Day, Days int64
	// MinTime and MaxTime are the bounds of its rows' times.
	MinTime, MaxTime time.Time
	// Flushed is when the segment was flushed, or zero if it was merged from others or that is not known.
	Flushed time.Time
	// DeadRows is the approximate number of dead rows. Droppable means that these are whole row
	// groups, so that the others need only be copied. Cut means that the segment may also be cut
	// into pieces, and that one dead row group is sufficient.
	DeadRows       int64
	Droppable, Cut bool
	// Stale reports that the segment lacks an index that its table has now.
	Stale bool
	// Overdue means that all rows of one of the segment's tables expired a considerable time ago.
	Overdue bool
	// MaxSpan, if not 0, is the maximum time span of the merged segment. A segment with a longer
	// span would soon be cut again.
	MaxSpan time.Duration
}

type partition struct {
	Group
	day, days int64
}

// Pick returns the segments to be merged next, in ascending order, or nil if there are none. debt
// is the total size in bytes of all segments that should be merged. allowed reports whether
// segments may be merged; its arguments are neighbours in order among the segments of their group
// and partition.
func Pick(segments []Segment, now time.Time, allowed func([]Segment) bool) (picked []Segment, debt int64) {
	parts := map[partition][]Segment{}
	for _, s := range segments {
		p := partition{s.Group, s.Day, s.Days}
		parts[p] = append(parts[p], s)
	}
	for _, list := range parts {
		slices.SortFunc(list, func(a, b Segment) int {
			return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
		})
		for _, run := range runs(list, now) {
			if run = longest(run, allowed); run == nil {
				continue
			}
			debt += size(run)
			if better(run, picked) {
				picked = run
			}
		}
	}
	if picked == nil {
		picked = stale(segments)
	}
	return picked, debt
}

// stale returns the smallest segment that lacks an index, or nil. It is rewritten when there is
// nothing else to do, so it is not counted as debt.
func stale(segments []Segment) (picked []Segment) {
	for i := range segments {
		if s := &segments[i]; s.Stale &&
			(picked == nil || s.Bytes < picked[0].Bytes || s.Bytes == picked[0].Bytes && s.ID < picked[0].ID) {
			picked = segments[i : i+1]
		}
	}
	return picked
}

// longest returns the run if it may be merged. Otherwise it returns a half of the run that may be merged, or a half
// of a half, and so on, or nil if there is none: often only one pair of neighbours prevents the merge.
func longest(run []Segment, allowed func([]Segment) bool) []Segment {
	if allowed(run) {
		return run
	}
	if len(run) < 4 {
		return nil
	}
	if half := longest(run[:len(run)/2], allowed); half != nil {
		return half
	}
	return longest(run[len(run)/2:], allowed)
}

// better reports whether a should be merged before b: queries gain most from the largest number of
// files for the fewest bytes.
func better(a, b []Segment) bool {
	if b == nil {
		return true
	}
	gainA, gainB := float64(len(a))/float64(size(a)+1), float64(len(b))/float64(size(b)+1)
	if gainA != gainB {
		return gainA > gainB
	}
	return a[0].ID < b[0].ID
}

func size(list []Segment) (bytes int64) {
	for i := range list {
		bytes += list[i].Bytes
	}
	return bytes
}

// runs returns the disjoint runs of neighbours to be merged among the segments of a partition,
// which are sorted by order.
func runs(list []Segment, now time.Time) (out [][]Segment) {
	end := time.Unix((list[0].Day+list[0].Days)*86400, 0)
	closed := now.Sub(end) > settleTime && !slices.ContainsFunc(list, func(s Segment) bool {
		return now.Sub(s.Flushed) < quietTime
	})
	used := make([]bool, len(list))
	take := func(from, to int) {
		out = append(out, list[from:to])
		for i := from; i < to; i++ {
			used[i] = true
		}
	}
	least := int64(0) // lower limit of the tier
	for _, limit := range tiers {
		for from := 0; from < len(list); {
			to := reach(list, used, from, limit)
			next := max(to, from+1)
			if from, to, n := trim(list, from, to, least); n >= Fan {
				take(from, to)
			}
			from = next
		}
		least = limit
	}
	if closed {
		// No more segments are expected: make one file, unless that rewrites many bytes for few.
		for from := 0; from < len(list); {
			to := reach(list, used, from, restBytes)
			for to-from >= 2 && !worthwhile(list[from:to]) {
				// Leave out the large segment at the end.
				if list[from].Bytes > list[to-1].Bytes {
					from++
				} else {
					to--
				}
			}
			if to-from >= 2 {
				take(from, to)
			}
			from = max(to, from+1)
		}
	}
	for i := range list {
		if !used[i] && list[i].rewrite() {
			take(i, i+1)
		}
	}
	return out
}

// trim leaves out the segments below least bytes at both ends of list[from:to]: smaller segments are included only if
// they lie between others. n is the number of segments with at least this size.
func trim(list []Segment, from, to int, least int64) (first, end, n int) {
	for i := from; i < to; i++ {
		if list[i].Bytes >= least {
			n++
		}
	}
	for to > from && list[to-1].Bytes < least {
		to--
	}
	for to > from && list[from].Bytes < least {
		from++
	}
	return from, to, n
}

// rewrite reports whether a segment is rewritten to remove its dead rows.
func (s *Segment) rewrite() bool {
	if s.DeadRows > 0 && (s.Cut || s.Overdue) {
		return true
	}
	share := int64(2)
	if s.Droppable {
		share = DropShare
	}
	return s.DeadRows > 0 && share*s.DeadRows >= s.Rows
}

// reach returns the end of the longest run, beginning at from, of segments smaller than limit that
// may be merged.
func reach(list []Segment, used []bool, from int, limit int64) int {
	to, bytes := from, int64(0)
	lo, hi, longest := list[from].MinTime, list[from].MaxTime, list[from].MaxSpan
	for to < len(list) && to-from < maxInputs && !used[to] && list[to].Bytes < limit {
		s := &list[to]
		if bytes += s.Bytes; bytes > BigBytes && to > from {
			break
		}
		if s.MinTime.Before(lo) {
			lo = s.MinTime
		}
		if s.MaxTime.After(hi) {
			hi = s.MaxTime
		}
		if s.MaxSpan > 0 && (longest == 0 || s.MaxSpan < longest) {
			longest = s.MaxSpan
		}
		if to > from && longest > 0 && hi.Sub(lo) > longest {
			break
		}
		to++
	}
	return to
}

// worthwhile reports whether to merge the last segments of a partition. It returns false if a large
// segment would be rewritten because of small ones.
func worthwhile(run []Segment) bool {
	largest := int64(0)
	for i := range run {
		largest = max(largest, run[i].Bytes)
	}
	return 2*size(run) >= 3*largest && size(run) <= BigBytes
}
