package recovery

import (
	"context"
	"maps"
	"slices"

	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/words"
	"cordwood/shard/cold/logreplay"
	"cordwood/shard/cold/states"
	"cordwood/shard/manifest"
)

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
		s := lostShard{
			id: id, incarnation: newest.Incarnation, written: newest.Modified,
			state: &manifest.State{AppliedIndex: 1, AppliedTerm: 1, NextSegmentID: 1},
			log:   logreplay.Whole(id, newest.Incarnation),
		}
		if err := l.readLog(ctx, &s, pieces[id]); err != nil {
			return err
		}
		if s.log.Reached == 0 {
			l.p.line("WARNING: no state of shard %d was stored, and its log has no usable piece with entry 1: its rows are "+
				"lost", id)
			continue
		}
		l.shards = append(l.shards, s)
	}
	return l.p.err
}

// readLog looks at all entries of the log of a shard that are to be used.
func (l *lost) readLog(ctx context.Context, s *lostShard, pieces []states.Piece) error {
	if slices.ContainsFunc(pieces, func(p states.Piece) bool { return p.Incarnation > s.incarnation }) {
		l.p.line("WARNING: shard %d was recovered after its state had been stored, and its log since then is not used: rows "+
			"that were written since are lost", s.id)
	}
	err := s.log.Look(ctx, l.place, s.state, pieces, func(err error) {
		l.p.line("WARNING: a piece of the log of shard %d cannot be used: %v", s.id, err)
	})
	if err != nil {
		return err
	}
	for _, d := range s.log.Tables {
		s.tables = slices.DeleteFunc(s.tables, func(t *schemapb.Table) bool { return t.Id == d.Id })
		s.tables = append(s.tables, d)
	}
	s.dropped = append(s.dropped, s.log.Dropped...)
	return nil
}

// printLogs prints what the logs have, and which rows are lost.
func (l *lost) printLogs() {
	stored, names := false, map[uint64]string{}
	for i := range l.shards {
		s := &l.shards[i]
		g := s.log
		for _, t := range s.tables {
			names[t.Id] = schema.TableLabel(t.Database, t.Name)
		}
		if g.From == 0 {
			continue
		}
		stored = true
		if g.Reached > 0 {
			until := ""
			if !g.Until.IsZero() {
				until = ", up to " + stamp(g.Until)
			}
			l.p.line("  log of shard %d: entries %d to %d%s", s.id, g.From, g.Reached, until)
		}
		if gap := g.Gap(); gap != "" {
			l.p.line("WARNING: the log of shard %d has a gap: %s; rows of these entries that are in no object are lost", s.id,
				gap)
		}
		for _, id := range slices.Sorted(maps.Keys(g.Refused)) {
			l.p.line("WARNING: %s of table %s in the log of shard %d are lost, because the table has moved or was changed since",
				words.Count(int(g.Refused[id]), "row"), names[id], s.id)
		}
		for _, id := range g.Without {
			if names[id] != "" {
				l.p.line("WARNING: rows of table %s in shard %d that are in no object are lost, because the log does not have all "+
					"of them: some stayed on local disks (cold='false', or append_mode or merge_mode was changed), or the log had "+
					"a gap", names[id], s.id)
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
