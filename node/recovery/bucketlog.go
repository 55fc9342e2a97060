package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/words"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

// lostLog is the log of a shard that is put behind its state.
type lostLog struct {
	// from is the first entry that may have rows that are in no object; 0 if the log was not stored. The state has
	// everything up to applied, whose entry has the given term, except these rows.
	from, applied, term uint64
	// without are tables whose rows are not all in the entries from there on.
	without []uint64
	// covered says up to which entry the rows of a table are in objects.
	covered map[uint64]uint64
	// pieces are those of the incarnation that are usable.
	pieces []states.Piece

	// reached is the last entry that is used; 0 if none is. until is the replicated clock there.
	reached uint64
	until   time.Time
	// rows are the numbers of rows of tables that are in the log and in no object, refused those that do not fit.
	rows, refused map[uint64]int64
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

// readLogs finds out what the logs have behind the states.
func (l *lost) readLogs(ctx context.Context) error {
	all, err := l.place.Log(ctx, 0)
	if err != nil {
		return err
	}
	pieces := map[uint32][]states.Piece{}
	for _, p := range all {
		pieces[p.Shard] = append(pieces[p.Shard], p)
	}
	for i := range l.shards {
		s := &l.shards[i]
		if err := l.readLog(ctx, s, pieces[s.id]); err != nil {
			return err
		}
		delete(pieces, s.id)
	}
	for _, id := range slices.Sorted(maps.Keys(pieces)) { // shards of which no state was stored yet
		newest := slices.MaxFunc(pieces[id], func(a, b states.Piece) int { return int(a.Incarnation) - int(b.Incarnation) })
		s := lostShard{id: id, incarnation: newest.Incarnation, written: newest.Modified}
		s.state = &manifest.State{AppliedIndex: 1, AppliedTerm: 1, NextSegmentID: 1}
		s.log.from = 1
		if err := l.readLog(ctx, &s, pieces[id]); err != nil {
			return err
		}
		if s.log.reached > 0 {
			l.shards = append(l.shards, s)
		}
	}
	return l.p.err
}

// readLog looks at all entries of the log of a shard that are to be used.
func (l *lost) readLog(ctx context.Context, s *lostShard, pieces []states.Piece) error {
	g := &s.log
	g.rows, g.refused = map[uint64]int64{}, map[uint64]int64{}
	if g.from == 0 {
		return nil
	}
	for _, p := range pieces {
		// An entry of a higher term in the place of one that the state has is of another history.
		if p.Incarnation == s.incarnation && (p.First > g.applied || p.Term <= g.term) {
			g.pieces = append(g.pieces, p)
		}
	}
	r, err := newReplay(s)
	if err != nil {
		return err
	}
	g.reached, err = l.eachEntry(ctx, s, true, func(e *states.LogEntry) error { return r.entry(e, nil) })
	if err != nil {
		return err
	}
	g.rows, g.refused = r.rows, r.refused
	if r.clock > 0 {
		g.until = time.Unix(0, r.clock)
	}
	for _, d := range r.tables() {
		s.tables = slices.DeleteFunc(s.tables, func(t *schemapb.Table) bool { return t.Id == d.Id })
		s.tables = append(s.tables, d)
	}
	s.dropped = append(s.dropped, r.dropped...)
	return nil
}

// replay calls f with the entries that are put behind the state of a shard.
func (l *lost) replay(ctx context.Context, s *lostShard, f func([]byte) error) error {
	if s.log.reached == 0 {
		return nil
	}
	r, err := newReplay(s)
	if err != nil {
		return err
	}
	reached, err := l.eachEntry(ctx, s, false, func(e *states.LogEntry) error { return r.entry(e, f) })
	if err == nil && reached != s.log.reached {
		err = fmt.Errorf("the log of shard %d ends at entry %d now, and ended at %d before: something changes it", s.id,
			reached, s.log.reached)
	}
	return err
}

// eachEntry calls f for the entries of a log in order, up to the first one that is missing. It begins before the first
// needed one if earlier ones are there. It returns the last one, or 0 if not even the first needed one is there. If
// look is set, pieces that cannot be read are reported, and others are tried.
func (l *lost) eachEntry(ctx context.Context, s *lostShard, look bool, f func(*states.LogEntry) error) (uint64, error) {
	g := &s.log
	next, term := states.LogStart(g.pieces, g.from), uint64(0)
	for again := true; again; {
		again = false
		for _, part := range states.Follow(g.pieces, next, term) {
			h, entries, err := l.place.ReadLog(ctx, &part.Piece)
			if kind, known := bucket.KindOf(err); err != nil && (!look || ctx.Err() != nil || known && kind != bucket.NotFound &&
				kind != bucket.Damaged) {
				return 0, err
			}
			if err == nil {
				err = g.fits(&part, &h, term)
			}
			if err != nil {
				if look {
					l.p.line("WARNING: a piece of the log of shard %d cannot be used: %v", s.id, err)
				}
				g.pieces = slices.DeleteFunc(slices.Clone(g.pieces), func(p states.Piece) bool { return p.Key == part.Key })
				again = true
				break
			}
			for i := range entries[part.From-h.First : part.To-h.First+1] {
				if err := f(&entries[part.From-h.First+uint64(i)]); err != nil {
					return 0, err
				}
			}
			next, term = part.To+1, part.Term
		}
		if !again && next < g.from {
			next, term, again = g.from, 0, true // what lacks before it is not needed
		}
	}
	if next == g.from {
		return 0, nil
	}
	return next - 1, nil
}

// fits returns an error if a part of the log is not of the history of the state, or does not continue the part before,
// whose term is before, or 0 if there is none.
func (g *lostLog) fits(part *states.LogPart, h *states.LogHeader, before uint64) error {
	switch {
	case before != 0 && part.From == h.First && h.Before != 0 && h.Before != before:
		return fmt.Errorf("%s follows an entry of term %d, and entry %d is of term %d", part.Key, h.Before, h.First-1, before)
	case part.From <= g.applied && g.applied <= part.To && part.Term != g.term:
		return fmt.Errorf("entry %d in %s is of term %d, in the state it is of term %d", g.applied, part.Key, part.Term,
			g.term)
	}
	return nil
}

// gap describes what the log of a shard lacks, or returns an empty text. last is the last entry that any piece has.
func (g *lostLog) gap() string {
	last := uint64(0)
	for _, p := range g.pieces {
		last = max(last, p.Last)
	}
	switch {
	case g.reached == 0 && last >= g.from:
		return fmt.Sprintf("it does not have entry %d, so none of it is used", g.from)
	case g.reached > 0 && g.reached < last:
		return fmt.Sprintf("it does not have entry %d, so later ones up to %d are not used", g.reached+1, last)
	case last < g.from && g.from <= g.applied:
		return fmt.Sprintf("it has no entry from %d on, and the state is of entry %d", g.from, g.applied)
	case last < g.applied && g.from <= g.applied:
		return fmt.Sprintf("it ends at entry %d, and the state is of entry %d", last, g.applied)
	}
	return ""
}

// printLogs prints what the logs have, and which rows are lost.
func (l *lost) printLogs() {
	stored, names := false, map[uint64]string{}
	for i := range l.shards {
		s := &l.shards[i]
		g := &s.log
		for _, t := range s.tables {
			names[t.Id] = schema.TableLabel(t.Database, t.Name)
		}
		if g.from == 0 {
			continue
		}
		stored = true
		if g.reached > 0 {
			until := ""
			if !g.until.IsZero() {
				until = ", up to " + stamp(g.until)
			}
			l.p.line("  log of shard %d: entries %d to %d%s", s.id, g.from, g.reached, until)
		}
		if gap := g.gap(); gap != "" {
			l.p.line("WARNING: the log of shard %d has a gap: %s; rows of these entries that are in no object are lost", s.id,
				gap)
		}
		for _, id := range slices.Sorted(maps.Keys(g.refused)) {
			l.p.line("WARNING: %s of table %s in the log of shard %d are lost, because the table has moved or was changed since",
				words.Count(int(g.refused[id]), "row"), names[id], s.id)
		}
		for _, id := range g.without {
			if names[id] != "" {
				l.p.line("NOTE: rows of table %s in shard %d that are in no object are lost, because it does not go to object "+
					"storage", names[id], s.id)
			}
		}
	}
	if stored {
		l.p.line("WARNING: rows that were neither in object storage nor in the log there are lost: those that were written " +
			"after the times above, and those of tables with cold='false' or skip_wal. Use a backup for these.")
		return
	}
	l.p.line("WARNING: rows that were not in object storage are lost: those that were written in the last hour or so, " +
		"and those of tables with cold='false'. Use a backup for these.")
}
