// Package logreplay reads the log of a lost shard in object storage, and turns it into the entries that are put behind
// the last state of the shard there, when a cluster is made anew. See *Log* in shard/cold/DESIGN.md.
//
// It changes nothing in the bucket. A Log belongs to one goroutine.
package logreplay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/schemapb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// Log is the log of a shard that is put behind its state.
type Log struct {
	Shard, Incarnation uint32
	// From is the first entry that may have rows that are in no object; 0 if the log was not stored. Without are tables
	// whose rows are not all in the entries from there on.
	From    uint64
	Without []uint64

	// The state has everything up to applied, whose entry has the given term, except rows that are in no object.
	applied, term uint64
	// covered says up to which entry the rows of a table are in objects.
	covered map[uint64]uint64
	// pieces are those of the incarnation that are usable.
	pieces []states.Piece

	// Look sets the fields below.

	// Reached is the last entry that is used; 0 if none is. Until is the replicated clock there, or zero.
	Reached uint64
	Until   time.Time
	// Rows are the numbers of rows of tables that are in the log and in no object, Refused those that do not fit.
	Rows, Refused map[uint64]int64
	// Tables are the definitions that the log has and the state lacks, Dropped the tables that were dropped since.
	Tables  []*schemapb.Table
	Dropped []uint64
}

// Behind returns the log behind a state with the header h.
func Behind(h *states.Header, state *manifest.State) *Log {
	return &Log{
		Shard: h.Shard, Incarnation: h.Incarnation, From: h.LogFrom, Without: h.LogWithout, applied: state.AppliedIndex,
		term: state.AppliedTerm, covered: coveredBy(state),
	}
}

// Whole returns the log of a shard of which no state was stored.
func Whole(shard, incarnation uint32) *Log {
	return &Log{Shard: shard, Incarnation: incarnation, From: 1}
}

// coveredBy returns up to which entry of the log the rows of each table are in the objects of a state.
func coveredBy(st *manifest.State) map[uint64]uint64 {
	covered := map[uint64]uint64{}
	for i := range st.Sets {
		set := &st.Sets[i]
		for j := range set.Objects {
			for _, span := range set.Objects[j].Spans() {
				covered[span.TableID] = max(covered[span.TableID], set.Index)
			}
		}
		for _, j := range set.Joined {
			covered[j.TableID] = max(covered[j.TableID], set.Index)
		}
	}
	return covered
}

// Look looks at all entries that are to be used. pieces are those of the shard in the bucket, state is the state of the
// shard. It calls warn for each piece that cannot be read.
func (g *Log) Look(ctx context.Context, place states.Place, state *manifest.State, pieces []states.Piece,
	warn func(error),
) error {
	g.Rows, g.Refused = map[uint64]int64{}, map[uint64]int64{}
	if g.From == 0 {
		return nil
	}
	for _, p := range pieces {
		// An entry of a higher term in the place of one that the state has is of another history.
		if p.Incarnation == g.Incarnation && (p.First > g.applied || p.Term <= g.term) {
			g.pieces = append(g.pieces, p)
		}
	}
	r, err := newReplay(g, state)
	if err != nil {
		return err
	}
	g.Reached, err = g.eachEntry(ctx, place, warn, func(e *states.LogEntry) error {
		if err := r.entry(e, nil); err != nil {
			return fmt.Errorf("%w; if a newer version of this program wrote the object, use that one; otherwise move the "+
				"object out of the bucket, to go on without entry %d and later ones of the shard", err, e.Index)
		}
		return nil
	})
	if err != nil {
		return err
	}
	g.Rows, g.Refused = r.rows, r.refused
	if r.clock > 0 {
		g.Until = time.Unix(0, r.clock)
	}
	g.Tables, g.Dropped = r.tables(), r.dropped
	return nil
}

// Replay calls f with the entries that are put behind the state, after Look.
func (g *Log) Replay(ctx context.Context, place states.Place, state *manifest.State, f func([]byte) error) error {
	if g.Reached == 0 {
		return nil
	}
	r, err := newReplay(g, state)
	if err != nil {
		return err
	}
	reached, err := g.eachEntry(ctx, place, nil, func(e *states.LogEntry) error { return r.entry(e, f) })
	if err == nil && reached != g.Reached {
		err = fmt.Errorf("the log of shard %d ends at entry %d now, and ended at %d before: something changes it", g.Shard,
			reached, g.Reached)
	}
	return err
}

// eachEntry calls f for the entries of a log in order, up to the first one that is missing. It begins before the first
// needed one if earlier ones are there. It returns the last one, or 0 if not even the first needed one is there. If
// warn is not nil, it is called for pieces that cannot be read, and others are tried.
func (g *Log) eachEntry(ctx context.Context, place states.Place, warn func(error), f func(*states.LogEntry) error) (
	uint64, error,
) {
	next, term := states.LogStart(g.pieces, g.From), uint64(0)
	for again := true; again; {
		again = false
		for _, part := range states.Follow(g.pieces, next, term) {
			h, entries, err := place.ReadLog(ctx, &part.Piece)
			if err != nil && (warn == nil || ctx.Err() != nil || !unusable(err)) {
				return 0, err
			}
			if err == nil {
				err = g.fits(&part, &h, term)
			}
			if err != nil {
				if warn != nil {
					warn(err)
				}
				g.pieces = slices.DeleteFunc(slices.Clone(g.pieces), func(p states.Piece) bool { return p.Key == part.Key })
				again = true
				break
			}
			for e := range entries.All() {
				if e.Index > part.To {
					break
				}
				if e.Index < part.From {
					continue
				}
				if err := f(&e); err != nil {
					return 0, fmt.Errorf("%s: %w", part.Key, err)
				}
			}
			next, term = part.To+1, part.Term
		}
		if !again && next < g.From {
			next, term, again = g.From, 0, true // what lacks before it is not needed
		}
	}
	if next == g.From {
		return 0, nil
	}
	return next - 1, nil
}

// unusable reports whether an error is that of a piece, not of the bucket.
func unusable(err error) bool {
	kind, known := bucket.KindOf(err)
	return !known || kind == bucket.NotFound || kind == bucket.Damaged
}

// fits returns an error if a part of the log is not of the history of the state, or does not continue the part before,
// whose term is before, or 0 if there is none.
func (g *Log) fits(part *states.LogPart, h *states.LogHeader, before uint64) error {
	switch {
	case before != 0 && part.From == h.First && h.Before != 0 && h.Before != before:
		return fmt.Errorf("%s follows an entry of term %d, and entry %d is of term %d", part.Key, h.Before, h.First-1, before)
	case part.From <= g.applied && g.applied <= part.To && part.Term != g.term:
		return fmt.Errorf("entry %d in %s is of term %d, in the state it is of term %d", g.applied, part.Key, part.Term,
			g.term)
	}
	return nil
}

// Gap describes what the log lacks, or returns an empty text.
func (g *Log) Gap() string {
	last := uint64(0)
	for _, p := range g.pieces {
		last = max(last, p.Last)
	}
	switch {
	case g.Reached == 0 && last >= g.From:
		return fmt.Sprintf("it does not have entry %d, so none of it is used", g.From)
	case g.Reached > 0 && g.Reached < last:
		return fmt.Sprintf("it does not have entry %d, so later ones up to %d are not used", g.Reached+1, last)
	case last < g.From && g.From <= g.applied:
		return fmt.Sprintf("it has no entry from %d on, and the state is of entry %d", g.From, g.applied)
	case last < g.applied && g.From <= g.applied:
		return fmt.Sprintf("it ends at entry %d, and the state is of entry %d", last, g.applied)
	}
	return ""
}
