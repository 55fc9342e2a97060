package tier

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cordwood/shard/cold/states"
)

// TestWhereToGoOn looks at where a leader goes on to store its log, after the pieces that others have stored.
func TestWhereToGoOn(t *testing.T) {
	t.Parallel()
	piece := func(first, last, term uint64) states.Piece { return states.Piece{First: first, Last: last, Term: term} }
	type pieces = []states.Piece
	for _, tt := range []struct {
		name   string
		pieces pieces
		first  uint64
		// terms are those of the entries from first on.
		terms       []uint64
		start, next uint64
	}{
		{"no piece", nil, 5, []uint64{1, 1}, 5, 5},
		{"an empty log", nil, 1, nil, 1, 1},
		{"all is there", pieces{piece(1, 4, 1), piece(5, 6, 1)}, 5, []uint64{1, 1}, 1, 7},
		{"later entries", pieces{piece(1, 4, 1), piece(5, 5, 1)}, 3, []uint64{1, 1, 1, 2}, 1, 6},
		{
			"overlapping pieces",
			pieces{piece(1, 4, 1), piece(2, 5, 1), piece(4, 6, 1)},
			1,
			[]uint64{1, 1, 1, 1, 1, 1},
			1, 7,
		},
		{"a gap between pieces", pieces{piece(1, 3, 1), piece(5, 6, 1)}, 2, []uint64{1, 1, 1, 1, 1}, 5, 7},
		{"a gap before the log", pieces{piece(1, 3, 1)}, 5, []uint64{1, 1}, 5, 5},
		{"the log begins behind them", pieces{piece(1, 4, 1)}, 5, []uint64{1, 2}, 1, 5},
		{"of them is nothing left in the log", pieces{piece(1, 4, 1)}, 5, nil, 1, 5},
		{"others behind which the log begins", pieces{piece(1, 4, 3)}, 5, []uint64{2, 2}, 5, 5},
		{"entries that were replaced", pieces{piece(1, 4, 1), piece(5, 8, 1)}, 3, []uint64{1, 1, 2, 2, 2, 2}, 1, 5},
		{"entries that are gone", pieces{piece(1, 4, 1), piece(5, 8, 1)}, 3, []uint64{1, 1, 2}, 1, 5},
		{"replaced within the only piece", pieces{piece(1, 8, 1)}, 3, []uint64{1, 1, 2}, 3, 3},
		{
			"replaced, and stored again", pieces{piece(1, 8, 1), piece(3, 4, 1), piece(5, 5, 2)}, 3, []uint64{1, 1, 2}, 3, 6,
		},
	} {
		start, next := whereToGoOn(tt.pieces, tt.first, func(index uint64) uint64 {
			if index < tt.first || index-tt.first >= uint64(len(tt.terms)) {
				return 0
			}
			return tt.terms[index-tt.first]
		})
		if start != tt.start || next != tt.next {
			t.Errorf("%s: on from %d, with all from %d; want %d and %d", tt.name, next, start, tt.next, tt.start)
		}
	}
}

// TestLogOfManyLeaders has leaders store their log, one after the other. Each goes on after the former ones, and old
// pieces are deleted. In some runs, entries were cut off that were not stored, in others, copies with fewer entries
// became the log. What a recovery puts together is always the log of the leader.
func TestLogOfManyLeaders(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(rand.Uint64(), 7))
	for range 4000 {
		log := []uint64{0} // the terms of the entries, by index; an index and a term are one entry
		var pieces []states.Piece
		term, first, stored, needed := uint64(0), uint64(1), uint64(1), uint64(1)
		cuts := rng.IntN(2) == 0
		for range 1 + rng.IntN(8) {
			term += 1 + rng.Uint64N(2)
			if !cuts && rng.IntN(3) == 0 {
				log = log[:1+rng.IntN(len(log))]
				first, stored = min(first, uint64(len(log))), min(stored, uint64(len(log)))
				needed = min(needed, uint64(len(log)))
			}
			to := stored
			if cuts {
				to = uint64(len(log))
			}
			first = max(first, min(first+rng.Uint64N(4), to))
			start, next := whereToGoOn(pieces, first, func(index uint64) uint64 {
				if index < first || index >= uint64(len(log)) {
					return 0
				}
				return log[index]
			})
			if next < first || start > next {
				t.Fatalf("the log begins at %d, and pieces go on from %d, with all from %d", first, next, start)
			}
			check := func() {
				t.Helper()
				from := max(start, needed)
				at := from
				for _, part := range states.Follow(pieces, from, 0) {
					for ; at <= part.To && at < next; at++ {
						if at < part.From || log[at] != part.Term {
							t.Fatalf("entry %d is of term %d in the bucket, in the log %v; pieces %v", at, part.Term, log, pieces)
						}
					}
				}
				if at < next {
					t.Fatalf("entry %d is not in the bucket, which has all from %d to before %d: %v", at, from, next, pieces)
				}
			}
			check()
			for range rng.IntN(5) {
				log = append(log, term)
			}
			for next < uint64(len(log)) && rng.IntN(4) > 0 {
				p := states.Piece{First: next, Last: next, Term: log[next]}
				for p.Last+1 < uint64(len(log)) && log[p.Last+1] == p.Term && rng.IntN(3) > 0 {
					p.Last++
				}
				pieces, next = append(pieces, p), p.Last+1
				check()
			}
			stored = next
			if rng.IntN(3) == 0 {
				needed = max(needed, start+rng.Uint64N(next-start+1))
				pieces = slices.DeleteFunc(pieces, func(p states.Piece) bool { return p.Last < needed })
			}
		}
	}
}
