package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

const (
	// compactEvery is how often a shard looks for something to compact even if it was
	// not flushed.
	compactEvery = time.Minute
	// compactRest is how long segments are left alone that could not be compacted.
	compactRest = 10 * time.Minute
)

// compactLoop compacts whatever should be after flushes, and from time to time.
func (s *Shard) compactLoop(ctx context.Context) {
	defer s.compactor.Done()
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.compactWake:
		case <-ticker.C:
		}
		for {
			did, err := s.compact(ctx)
			if err != nil && ctx.Err() == nil {
				s.cfg.Logger.Warn("compaction failed; nothing is lost, the segments stay as they are", "error", err)
			}
			if !did || ctx.Err() != nil {
				break
			}
		}
	}
}

// Compact merges segments until nothing is left to be merged.
func (s *Shard) Compact(ctx context.Context) error {
	for {
		did, err := s.compact(ctx)
		if err != nil || !did {
			return err
		}
	}
}

// compact does the compaction that is most worth it, and reports whether there was one.
func (s *Shard) compact(ctx context.Context) (did bool, err error) {
	select {
	case s.compactTurn <- struct{}{}:
		defer func() { <-s.compactTurn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if s.cfg.Space() != SpaceOK || len(s.pick()) == 0 {
		return false, nil
	}
	if err := s.settle(); err != nil { // else what was merged already would be merged once more
		return false, fmt.Errorf("shard %d: compaction: %w", s.cfg.ID, err)
	}
	if err := s.cfg.Compaction.Begin(ctx); err != nil {
		return false, err
	}
	defer s.cfg.Compaction.End()
	picked := s.pick() // while it waited things have changed
	if len(picked) == 0 {
		return false, nil
	}
	start := s.now()
	generation := s.generationNow()
	job, live := s.job(picked)
	defer func() {
		for _, l := range live {
			l.unref()
		}
		if err != nil {
			s.metrics.compactions.WithLabelValues("error").Inc()
			for _, seg := range picked {
				s.resting[seg.ID] = start.Add(compactRest)
			}
		}
	}()
	if len(live) == 0 {
		return false, nil // they went in the meantime
	}
	size, ids := int64(0), []uint64(nil)
	for _, l := range live {
		size += l.Bytes
		ids = append(ids, l.ID)
	}
	ended := s.operations.begin("compaction", words.Count(len(live), "segment"), size)
	defer func() { ended(err) }()
	s.compacting.Store(1)
	defer s.compacting.Store(0)
	s.compactions.begin(ids...)
	var res *compaction.Result
	err = s.guarded(fmt.Sprintf("compact segments %d", ids), func() error {
		res, err = compaction.Run(ctx, *job)
		return err
	})
	s.compactions.end(ids...)
	if err != nil {
		if isDamage(err) {
			s.findDamaged(live)
		}
		return false, fmt.Errorf("shard %d: compaction of %d segments: %w", s.cfg.ID, len(live), err)
	}
	edit := &manifest.Edit{Add: res.Segments}
	for _, l := range live {
		edit.Remove = append(edit.Remove, l.ID)
	}
	if len(res.Segments) > 0 {
		if err := s.cfg.FS.SyncDir(s.segmentDir); err != nil {
			return false, errors.Join(fmt.Errorf("shard %d: compaction: sync directory %s: %w", s.cfg.ID, s.segmentDir, err), s.removeNew(res.Segments))
		}
	}
	if err := s.commit(&unsettled{edit: edit, generation: generation}); errors.Is(err, errReplaced) {
		s.cfg.Logger.Info("a compaction was given up", "error", err)
		return true, nil // there may be something else to do now
	} else if err != nil {
		return false, fmt.Errorf("shard %d: compaction of %d segments: %w", s.cfg.ID, len(live), err)
	}
	s.metrics.compactions.WithLabelValues("ok").Inc()
	s.metrics.compactSeconds.Observe(s.now().Sub(start).Seconds())
	s.metrics.compactIn.Add(float64(res.BytesIn))
	s.metrics.compactOut.Add(float64(res.BytesOut))
	s.cfg.Logger.Debug("compacted", "segments", len(live), "into", len(res.Segments), "bytes_in", res.BytesIn, "bytes_out", res.BytesOut,
		"rows_in", res.RowsIn, "rows_out", res.RowsOut, "rows_copied", res.RowsCopied, "took", s.now().Sub(start))
	return true, nil
}

// findDamaged sets those of the segments aside that are not as they were written.
func (s *Shard) findDamaged(list []*liveSegment) {
	for _, l := range list {
		if err := verifyFile(s.cfg.FS, s.segmentDir, l, nil); err != nil && isDamage(err) {
			s.quarantine(l, err)
		}
	}
}

// pick returns what should be compacted next.
func (s *Shard) pick() []compaction.Segment {
	now := s.now()
	for id, until := range s.resting {
		if now.After(until) {
			delete(s.resting, id)
		}
	}
	s.mu.RLock()
	live := slices.Collect(maps.Values(s.live))
	s.mu.RUnlock()
	list := make([]compaction.Segment, 0, len(live))
	for _, l := range live {
		if _, rests := s.resting[l.ID]; rests || l.Raw || l.damage.Load() != nil || s.compactions.deaths(l.ID) >= deathsGivenUp {
			continue
		}
		if seg, ok := s.candidate(l, now); ok {
			if !l.Shared() {
				seg.DeadRows, seg.Droppable = max(seg.DeadRows, s.expiredRows(l)), true
				seg.Stale = s.lacksIndex(l)
			}
			list = append(list, seg)
		}
	}
	picked, debt := compaction.Pick(list, now, s.mayMerge)
	s.compactDebt.Store(debt)
	return picked
}

// candidate is a segment as compaction sees it. It holds mu for one segment at a time,
// because there may be tens of thousands of tables in each.
func (s *Shard) candidate(l *liveSegment, now time.Time) (seg compaction.Segment, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.handed(l) {
		return seg, false
	}
	seg = compaction.Segment{ID: l.ID, Order: l.Order, Bytes: l.Bytes, Rows: l.Rows}
	first := true
	lo, hi := int64(0), int64(0) // days
	add := func(t segment.TableSpan) {
		d := s.state.Tables[t.TableID]
		if d == nil || s.state.Dead(t, l.Order) {
			seg.DeadRows += t.Rows
			seg.Overdue = seg.Overdue || d != nil && s.overdue(d, t.MaxTime, now)
			return
		}
		if x, ok := s.state.Expired[t.TableID]; ok && l.Shared() && l.Order < x.Order && t.MinTime < x.Before {
			seg.DeadRows += int64(float64(t.Rows) * (float64(x.Before) - float64(t.MinTime)) / (float64(t.MaxTime) - float64(t.MinTime) + 1))
		}
		index := d.TimeIndex()
		if index == nil {
			return
		}
		unit := index.Type.UnitsPerSecond()
		from, to := instant(t.MinTime, unit), instant(t.MaxTime, unit)
		dayFrom, dayTo := floorDiv(t.MinTime, 86400*unit), floorDiv(t.MaxTime, 86400*unit)
		if first {
			seg.MinTime, seg.MaxTime, lo, hi = from, to, dayFrom, dayTo
			if l.Shared() && d.Physical != "" {
				seg.Group = compaction.Group{Database: d.Database, Physical: d.Physical}
			}
			first = false
		}
		if from.Before(seg.MinTime) {
			seg.MinTime = from
		}
		if to.After(seg.MaxTime) {
			seg.MaxTime = to
		}
		lo, hi = min(lo, dayFrom), max(hi, dayTo)
	}
	if l.Shared() {
		for _, t := range l.Tables {
			add(t)
		}
	} else {
		add(l.span(l.TableID))
		seg.Group.Table = l.TableID
		d := s.state.Tables[l.TableID]
		if ttl := s.ttlOf(d); ttl > 0 && d.Merge == query.Append {
			// The sooner it expires, the shorter: what is cut is not merged again.
			seg.MaxSpan = max(min(ttl, seg.MinTime.Add(ttl).Sub(now))/4, 1)
			seg.Cut = len(s.erasOf(l.TableID)) == 0
		}
	}
	for seg.Days = 1; floorDiv(lo, seg.Days) != floorDiv(hi, seg.Days); seg.Days *= 2 {
	}
	seg.Day = floorDiv(lo, seg.Days) * seg.Days
	return seg, !first
}

// expiredRows is how many rows of a segment of one table are in row groups that have
// expired.
func (s *Shard) expiredRows(l *liveSegment) int64 {
	s.mu.RLock()
	d, x := s.state.Tables[l.TableID], s.state.Expired[l.TableID]
	s.mu.RUnlock()
	if d == nil || l.Order >= x.Order || l.MinTime >= x.Before {
		return 0
	}
	return s.deadRows(l, x.Before, d.TimeIndex().Type)
}

// lacksIndex reports whether a segment of one table was written before the table got an index
// that it does not have. Its footer is read once for each version of the table.
func (s *Shard) lacksIndex(l *liveSegment) bool {
	s.mu.RLock()
	d := s.state.Tables[l.TableID]
	s.mu.RUnlock()
	if d == nil || d.Version <= l.SchemaVersion || d.Version <= l.current.Load() {
		return false
	}
	lacks, err := segment.LacksIndex(s.cfg.FS, l.path, &l.Meta, d.Table)
	if err == nil && !lacks {
		l.current.Store(d.Version)
	}
	return lacks
}

// job prepares a compaction and pins its inputs.
func (s *Shard) job(picked []compaction.Segment) (*compaction.Job, []*liveSegment) {
	job := &compaction.Job{
		Config:    segment.Config{FS: s.cfg.FS, Dir: s.segmentDir, NextID: s.ids.Take},
		Abandoned: func(id uint64) { s.ids.done(id) }, Limiter: s.cfg.Compaction,
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var live []*liveSegment
	for i := range picked {
		l := s.live[picked[i].ID]
		if l == nil {
			return nil, nil
		}
		live = append(live, l)
	}
	tables := map[uint64]*compaction.Table{}
	bytes := map[uint64]int64{}
	for _, l := range live {
		l.refs.Add(1)
		job.Inputs = append(job.Inputs, compaction.Input{Meta: &l.Meta, Path: l.path})
		if !l.Shared() {
			tables[l.TableID] = nil
		}
		for _, t := range l.Tables {
			tables[t.TableID] = nil
			bytes[t.TableID] += l.bytes(t.TableID)
		}
	}
	for id := range tables {
		d := s.state.Tables[id]
		if d == nil {
			continue
		}
		x := s.state.Expired[id]
		t := &compaction.Table{Def: d.Table, Merge: d.Merge, Before: x.Before, Order: x.Order, Own: bytes[id] >= s.cfg.SplitBytes && d.Physical == ""}
		if d.Merge != query.Append || len(s.erasOf(id)) > 0 {
			j, _ := s.between(id, picked)
			t.Merge, t.Modes, t.DropDeleted = j.merge, j.modes, j.oldest
			t.Own = t.Own || j.own
		}
		tables[id] = t
	}
	job.Table = func(id uint64) *compaction.Table { return tables[id] }
	if len(picked) == 1 && picked[0].Cut && picked[0].DeadRows > 0 {
		job.PieceRows = max((picked[0].Rows-picked[0].DeadRows)/compaction.Pieces, segment.DefaultRowGroupRows/2)
	}
	return job, live
}

// wakeCompactor has the compaction loop look for work.
func (s *Shard) wakeCompactor() {
	select {
	case s.compactWake <- struct{}{}:
	default:
	}
}

// ttlOf is how long rows of a table are kept; 0 if for ever, and of no table.
func (s *Shard) ttlOf(d *rules.Definition) time.Duration {
	if d == nil {
		return 0
	}
	return s.ttl(d.Table).D
}

// ttl is the ttl of a table that is in force.
func (s *Shard) ttl(t *schema.Table) schema.TTL {
	if s.cfg.TTL == nil {
		return schema.EffectiveTTL(t.Options[schema.OptionTTL], "")
	}
	return s.cfg.TTL(t)
}
