// Package linear checks whether the answers that clients of a set of rows got are linearizable:
// whether the calls could have happened one after another, each between its start and its answer.
//
// Clients add rows, each with a unique name, and read the whole set; nothing is ever removed. For
// such a set the check is exact, and its time grows with the size of the reads, so no search among
// the possible orders is needed: see Check.
package linear

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Never is the end time of a call that has not ended.
const Never = time.Duration(math.MaxInt64)

// Set records the calls of the clients of one set. K identifies a row. The caller must serialize
// calls of its methods.
type Set[K comparable] struct {
	adds  map[K]*add
	reads []read[K]
	// Apart means that a read consists of several reads of parts of the set, one after the other. Then Check requires
	// only that it has no row that was not sent yet, and has every row that was stored before it started.
	Apart bool
}

// add is a row that was sent, possibly several times.
type add struct {
	begun, stored time.Duration
	refused       bool
}

// read is an answer.
type read[K comparable] struct {
	who          string
	begun, ended time.Duration
	rows         map[K]int
}

// Add records when a row was first sent, and when it was acknowledged. acked is Never if it is unknown whether the
// row was stored.
func (s *Set[K]) Add(row K, begun, acked time.Duration) {
	if s.adds == nil {
		s.adds = map[K]*add{}
	}
	s.adds[row] = &add{begun: begun, stored: acked}
}

// Refuse records that a row was definitely refused.
func (s *Set[K]) Refuse(row K) {
	s.Add(row, Never, Never)
	s.adds[row].refused = true
}

// Read records the answer of a read: how often it has each row. who is used in messages. The set owns rows
// afterwards.
func (s *Set[K]) Read(who string, begun, ended time.Duration, rows map[K]int) {
	s.reads = append(s.reads, read[K]{who, begun, ended, rows})
}

// Reads returns the number of recorded reads.
func (s *Set[K]) Reads() int { return len(s.reads) }

// maxReported is the maximum number of faults of one kind that are reported.
const maxReported = 3

// faults collects faults, a few of each kind.
type faults struct {
	counts map[string]int
	text   []string
}

func (f *faults) bad(kind, format string, args ...any) {
	if f.counts[kind]++; f.counts[kind] <= maxReported {
		f.text = append(f.text, kind+": "+fmt.Sprintf(format, args...))
	}
}

// Check lists the faults. The list is empty if and only if the history is linearizable and no answer has a row twice.
// A row was stored at the latest when it was acknowledged, or when the first read that has it was answered. The
// history is linearizable if
//
//   - a read has only rows that had been sent when it was answered, and none that was refused;
//   - it has every row that was stored when it began, and every row that was stored when one of its
//     rows was sent;
//   - of two reads one has all rows of the other.
//
// Each rule is necessary. Together they are sufficient: order rows and reads by which read has which row. By the
// third rule this order has no cycle, and its longest paths are row, read, row and read, row, read. The order in time
// is an interval order: in a cycle of both orders all steps in time can be combined into one, which together with one
// of those paths breaks the first or the second rule.
func (s *Set[K]) Check() []string {
	f := &faults{counts: map[string]int{}}
	for _, r := range s.reads {
		for row := range r.rows {
			if a := s.adds[row]; a != nil {
				a.stored = min(a.stored, r.ended)
			}
		}
	}
	stored := make([]K, 0, len(s.adds)) // ordered by the times at which they were stored
	for row, a := range s.adds {
		if a.stored != Never && !a.refused {
			stored = append(stored, row)
		}
	}
	slices.SortFunc(stored, func(a, b K) int { return cmp.Compare(s.adds[a].stored, s.adds[b].stored) })
	for _, r := range s.reads {
		s.checkRead(f, r, stored)
	}
	if !s.Apart {
		s.checkOrder(f)
	}
	for kind, n := range f.counts {
		if n > maxReported {
			f.text = append(f.text, fmt.Sprintf("%s: %d more", kind, n-maxReported))
		}
	}
	return f.text
}

// checkRead checks a read by itself.
func (s *Set[K]) checkRead(f *faults, r read[K], stored []K) {
	by, why := r.begun, "the read began" // rows that were stored before must be there
	for row, n := range r.rows {
		a := s.adds[row]
		switch {
		case a == nil:
			f.bad("a row that nobody sent", "%v by %s", row, r)
			continue
		case a.refused:
			f.bad("a row that was refused", "%v by %s", row, r)
			continue
		case a.begun > r.ended:
			f.bad("a row that was sent later", "%v, sent at %s, by %s", row, a.begun, r)
			continue
		case n > 1:
			f.bad("a row more than once", "%v %d times by %s", row, n, r)
		}
		if a.begun > by && !s.Apart {
			by, why = a.begun, fmt.Sprintf("row %v was sent, which it has", row)
		}
	}
	for _, row := range stored {
		at := s.adds[row].stored
		if at >= by {
			break
		}
		if r.rows[row] == 0 {
			f.bad("a read that lacks a row", "%s lacks %v, stored by %s, before %s at %s", r, row, at, why, by)
		}
	}
}

// checkOrder compares the reads with each other.
func (s *Set[K]) checkOrder(f *faults) {
	bySize := slices.Clone(s.reads)
	slices.SortFunc(bySize, func(a, b read[K]) int {
		return cmp.Or(cmp.Compare(len(a.rows), len(b.rows)), cmp.Compare(a.begun, b.begun))
	})
	for i := 1; i < len(bySize); i++ {
		less, more := bySize[i-1], bySize[i]
		for row := range less.rows {
			if more.rows[row] == 0 {
				f.bad("two reads that lack rows of each other", "%s has %v, and %s has not", less, row, more)
				break
			}
		}
	}
}

// String identifies the read in messages.
func (r read[K]) String() string {
	return fmt.Sprintf("the read %s from %s to %s with %d rows", r.who, r.begun, r.ended, len(r.rows))
}
