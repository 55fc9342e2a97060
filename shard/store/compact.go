package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/words"
	"cordwood/shard/compaction"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

const (
	// compactEvery is how often a shard looks for something to compact even if it was
	// not flushed.
	compactEvery = time.Minute
	// retryCompactionAfter is how long segments are left alone that could not be compacted.
	retryCompactionAfter = 10 * time.Minute
)

// compactor merges segments in the background.
type compactor struct {
	cfg        *Config
	segmentDir string
	metrics    *Metrics
	operations *Operations
	tables     *Tables
	files      *SegmentFiles
	ledger     *Ledger
	scrub      *Scrubber
	expiry     *Expiry
	// crashes remembers what the process before this one died over, by segment.
	crashes *crashLog

	// turn holds a token of the one compaction that runs; it guards failed, which has
	// the segments that could not be compacted.
	turn    chan struct{}
	failed  map[uint64]time.Time
	running atomic.Int64 // 1 while a compaction runs
	debt    atomic.Int64

	waker    chan struct{}
	loops    sync.WaitGroup
	StopLoop func() // ends the loop
}

func newCompactor(cp *compactor) *compactor {
	cp.turn, cp.waker, cp.failed = make(chan struct{}, 1), make(chan struct{}, 1), map[uint64]time.Time{}
	return cp
}

// Start begins the loop, which stopLoop ends.
func (cp *compactor) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	cp.loops.Go(func() { cp.loop(ctx) })
	cp.StopLoop = func() { cancel(); cp.loops.Wait() }
	cp.WakeCompactor()
}

// loop compacts whatever should be after flushes, and from time to time.
func (cp *compactor) loop(ctx context.Context) {
	ticker := time.NewTicker(compactEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-cp.waker:
		case <-ticker.C:
		}
		for {
			did, err := cp.compact(ctx)
			if err != nil && ctx.Err() == nil {
				cp.cfg.Logger.Warn("compaction failed; nothing is lost, the segments stay as they are", "error", err)
			}
			if !did || ctx.Err() != nil {
				break
			}
		}
	}
}

// Run merges segments until nothing is left to be merged.
func (cp *compactor) Run(ctx context.Context) error {
	for {
		did, err := cp.compact(ctx)
		if err != nil || !did {
			return err
		}
	}
}

// compact does the compaction that is most worth it, and reports whether there was one.
func (cp *compactor) compact(ctx context.Context) (did bool, err error) {
	select {
	case cp.turn <- struct{}{}:
		defer func() { <-cp.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if cp.cfg.Space() != SpaceOK || len(cp.pick()) == 0 {
		return false, nil
	}
	if err := cp.ledger.commitPending(); err != nil { // else what was merged already would be merged once more
		return false, fmt.Errorf("shard %d: compaction: %w", cp.cfg.ID, err)
	}
	if err := cp.cfg.Compaction.Begin(ctx); err != nil {
		return false, err
	}
	defer cp.cfg.Compaction.End()
	picked := cp.pick() // while it waited things have changed
	if len(picked) == 0 {
		return false, nil
	}
	start := cp.cfg.Now()
	generation := cp.ledger.GenerationNow()
	job, live := cp.job(picked)
	defer func() {
		for _, l := range live {
			l.Unref()
		}
		if err != nil {
			cp.metrics.compactions.WithLabelValues("error").Inc()
			for _, seg := range picked {
				cp.failed[seg.ID] = start.Add(retryCompactionAfter)
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
	ended := cp.operations.Begin("compaction", words.Count(len(live), "segment"), size)
	defer func() { ended(err) }()
	cp.running.Store(1)
	defer cp.running.Store(0)
	cp.crashes.begin(ids...)
	var res *compaction.Result
	err = cp.cfg.catchPanic(fmt.Sprintf("compact segments %d", ids), func() error {
		res, err = compaction.Run(ctx, *job)
		return err
	})
	cp.crashes.end(ids...)
	if err != nil {
		if IsDamage(err) {
			cp.scrub.FindDamaged(live)
		}
		return false, fmt.Errorf("shard %d: compaction of %d segments: %w", cp.cfg.ID, len(live), err)
	}
	edit := &manifest.Edit{Add: res.Segments}
	for _, l := range live {
		edit.Remove = append(edit.Remove, l.ID)
	}
	if len(res.Segments) > 0 {
		if err := cp.cfg.FS.SyncDir(cp.segmentDir); err != nil {
			return false, errors.Join(fmt.Errorf("shard %d: compaction: sync directory %s: %w", cp.cfg.ID, cp.segmentDir, err),
				cp.files.removeNew(res.Segments))
		}
	}
	if err := cp.ledger.commit(&pendingEdit{edit: edit, generation: generation}); errors.Is(err, ErrReplaced) {
		cp.cfg.Logger.Info("a compaction was given up", "error", err)
		return true, nil // there may be something else to do now
	} else if err != nil {
		return false, fmt.Errorf("shard %d: compaction of %d segments: %w", cp.cfg.ID, len(live), err)
	}
	cp.metrics.compactions.WithLabelValues("ok").Inc()
	cp.metrics.compactSeconds.Observe(cp.cfg.Now().Sub(start).Seconds())
	cp.metrics.compactIn.Add(float64(res.BytesIn))
	cp.metrics.compactOut.Add(float64(res.BytesOut))
	cp.cfg.Logger.Debug("compacted", "segments", len(live), "into", len(res.Segments), "bytes_in", res.BytesIn,
		"bytes_out", res.BytesOut,
		"rows_in", res.RowsIn, "rows_out", res.RowsOut, "rows_copied", res.RowsCopied, "took", cp.cfg.Now().Sub(start))
	return true, nil
}

// FindDamaged sets those of the segments aside that are not as they were written.
func (sc *Scrubber) FindDamaged(list []*LiveSegment) {
	for _, l := range list {
		if err := verifyFile(sc.cfg.FS, sc.segmentDir, l, nil); err != nil && IsDamage(err) {
			sc.quarantine(l, err)
		}
	}
}

// pick returns what should be compacted next.
func (cp *compactor) pick() []compaction.Segment {
	now := cp.cfg.Now()
	for id, until := range cp.failed {
		if now.After(until) {
			delete(cp.failed, id)
		}
	}
	cp.tables.mu.RLock()
	live := slices.Collect(maps.Values(cp.tables.segs.live))
	cp.tables.mu.RUnlock()
	list := make([]compaction.Segment, 0, len(live))
	for _, l := range live {
		if _, waits := cp.failed[l.ID]; waits || l.Raw || l.Damage.Load() != nil ||
			cp.crashes.count(l.ID) >= crashesPostponed {
			continue
		}
		if seg, ok := cp.candidate(l, now); ok {
			if !l.Shared() {
				seg.DeadRows, seg.Droppable = max(seg.DeadRows, cp.expiry.expiredRows(l)), true
				seg.Stale = cp.lacksIndex(l)
			}
			list = append(list, seg)
		}
	}
	picked, debt := compaction.Pick(list, now, cp.mayMerge)
	cp.debt.Store(debt)
	return picked
}

// candidate returns a segment as compaction sees it. It holds mu for one segment at a time,
// because there may be tens of thousands of tables in each.
func (cp *compactor) candidate(l *LiveSegment, now time.Time) (seg compaction.Segment, ok bool) {
	cp.tables.mu.RLock()
	defer cp.tables.mu.RUnlock()
	if cp.tables.sources.have(l) {
		return seg, false
	}
	seg = compaction.Segment{ID: l.ID, Order: l.Order, Bytes: l.Bytes, Rows: l.Rows}
	first := true
	lo, hi := int64(0), int64(0) // days
	add := func(t segment.TableSpan) {
		d := cp.tables.State.Tables[t.TableID]
		if d == nil || cp.tables.State.Dead(t, l.Order) {
			seg.DeadRows += t.Rows
			seg.Overdue = seg.Overdue || d != nil && cp.expiry.overdue(d, t.MaxTime, now)
			return
		}
		if x, ok := cp.tables.State.Expired[t.TableID]; ok && l.Shared() && l.Order < x.Order && t.MinTime < x.Before {
			seg.DeadRows += int64(float64(t.Rows) * (float64(x.Before) - float64(t.MinTime)) /
				(float64(t.MaxTime) - float64(t.MinTime) + 1))
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
		add(l.Span(l.TableID))
		seg.Group.Table = l.TableID
		d := cp.tables.State.Tables[l.TableID]
		if ttl := cp.expiry.ttlOf(d); ttl > 0 && d.Merge == query.Append {
			// The sooner it expires, the shorter: what is cut is not merged again.
			seg.MaxSpan = max(min(ttl, seg.MinTime.Add(ttl).Sub(now))/4, 1)
			seg.Cut = len(cp.tables.erasOf(l.TableID)) == 0
		}
	}
	for seg.Days = 1; floorDiv(lo, seg.Days) != floorDiv(hi, seg.Days); seg.Days *= 2 {
	}
	seg.Day = floorDiv(lo, seg.Days) * seg.Days
	return seg, !first
}

// lacksIndex reports whether a segment of one table was written before the table got an index
// that it does not have. Its footer is read once for each version of the table.
func (cp *compactor) lacksIndex(l *LiveSegment) bool {
	cp.tables.mu.RLock()
	d := cp.tables.State.Tables[l.TableID]
	cp.tables.mu.RUnlock()
	if d == nil || d.Version <= l.SchemaVersion || d.Version <= l.current.Load() {
		return false
	}
	lacks, err := segment.LacksIndex(cp.cfg.FS, l.Path, &l.Meta, d.Table)
	if err == nil && !lacks {
		l.current.Store(d.Version)
	}
	return lacks
}

// job prepares a compaction and pins its inputs.
func (cp *compactor) job(picked []compaction.Segment) (*compaction.Job, []*LiveSegment) {
	job := &compaction.Job{
		Config:    segment.Config{FS: cp.cfg.FS, Dir: cp.segmentDir, NextID: cp.files.IDs.Take},
		Abandoned: func(id uint64) { cp.files.IDs.done(id) }, Limiter: cp.cfg.Compaction,
	}
	cp.tables.mu.RLock()
	defer cp.tables.mu.RUnlock()
	var live []*LiveSegment
	for i := range picked {
		l := cp.tables.segs.live[picked[i].ID]
		if l == nil {
			return nil, nil
		}
		live = append(live, l)
	}
	tables := map[uint64]*compaction.Table{}
	bytes := map[uint64]int64{}
	for _, l := range live {
		l.refs.Add(1)
		job.Inputs = append(job.Inputs, compaction.Input{Meta: &l.Meta, Path: l.Path})
		if !l.Shared() {
			tables[l.TableID] = nil
		}
		for _, t := range l.Tables {
			tables[t.TableID] = nil
			bytes[t.TableID] += l.BytesOf(t.TableID)
		}
	}
	for id := range tables {
		d := cp.tables.State.Tables[id]
		if d == nil {
			continue
		}
		x := cp.tables.State.Expired[id]
		t := &compaction.Table{
			Def:    d.Table,
			Merge:  d.Merge,
			Before: x.Before,
			Order:  x.Order,
			Own:    bytes[id] >= cp.cfg.SplitBytes && d.Physical == "",
		}
		if d.Merge != query.Append || len(cp.tables.erasOf(id)) > 0 {
			j, _ := cp.checkNeighbours(id, picked)
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

// WakeCompactor has the compaction loop look for work.
func (cp *compactor) WakeCompactor() {
	select {
	case cp.waker <- struct{}{}:
	default:
	}
}

// TryAgain has segments that could not be compacted tried again at once.
func (cp *compactor) TryAgain() {
	cp.turn <- struct{}{}
	defer func() { <-cp.turn }()
	clear(cp.failed)
}
