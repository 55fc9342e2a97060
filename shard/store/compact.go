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
	// compactEvery is how often a shard looks for something to compact if it was not flushed.
	compactEvery = time.Minute
	// retryCompactionAfter is how long a segment is left out of compactions after a compaction of
	// it has failed.
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
	// crashes records the segments during whose compaction earlier processes crashed.
	crashes *crashLog

	// turn holds a token of the running compaction; only one runs. It guards failed, which has the
	// segments whose compaction failed.
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

// Start starts the loop. StopLoop ends it.
func (cp *compactor) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	cp.loops.Go(func() { cp.loop(ctx) })
	cp.StopLoop = func() { cancel(); cp.loops.Wait() }
	cp.WakeCompactor()
}

// loop compacts after flushes, and from time to time.
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
			did, err := cp.compact(ctx, false)
			if err != nil && ctx.Err() == nil {
				cp.cfg.Logger.Warn("compaction failed; no data is lost, and the segments stay unchanged", "error", err)
			}
			if !did || ctx.Err() != nil {
				break
			}
		}
	}
}

// Run merges segments until nothing is left to merge. It does not wait for a partition to be quiet.
func (cp *compactor) Run(ctx context.Context) error {
	for {
		did, err := cp.compact(ctx, true)
		if err != nil || !did {
			return err
		}
	}
}

// compact runs the most useful compaction, and reports whether there was one. eager merges the last segments of a
// partition even if some were flushed a moment ago.
func (cp *compactor) compact(ctx context.Context, eager bool) (did bool, err error) {
	select {
	case cp.turn <- struct{}{}:
		defer func() { <-cp.turn }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if cp.cfg.Space() != SpaceOK || len(cp.pick(eager)) == 0 {
		return false, nil
	}
	if err := cp.ledger.commitPending(); err != nil { // an uncommitted edit may already have merged these segments
		return false, fmt.Errorf("shard %d: compaction: %w", cp.cfg.ID, err)
	}
	if err := cp.cfg.Compaction.Begin(ctx); err != nil {
		return false, err
	}
	defer cp.cfg.Compaction.End()
	picked := cp.pick(eager) // the state may have changed during the wait
	if len(picked) == 0 {
		return false, nil
	}
	start := cp.cfg.Now()
	did, err = cp.compactPicked(ctx, picked, start)
	if err != nil {
		cp.metrics.compactions.WithLabelValues("error").Inc()
		for _, seg := range picked {
			cp.failed[seg.ID] = start.Add(retryCompactionAfter)
		}
	}
	return did, err
}

// compactPicked merges the picked segments and publishes the result. It reports whether there may
// be more to do.
func (cp *compactor) compactPicked(ctx context.Context, picked []compaction.Segment, start time.Time) (bool, error) {
	generation := cp.ledger.GenerationNow()
	job, live := cp.job(picked)
	defer func() {
		for _, l := range live {
			l.Unref()
		}
	}()
	if len(live) == 0 {
		return false, nil // the segments were removed meanwhile
	}
	res, err := cp.run(ctx, job, live)
	if err == nil {
		err = cp.commit(res, live, generation)
	}
	if errors.Is(err, ErrReplaced) {
		cp.cfg.Logger.Info("abandoned a compaction", "error", err)
		return true, nil // there may be something else to do now
	}
	if err != nil {
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

// run writes the segments of a compaction. It quarantines inputs that turn out to be damaged.
func (cp *compactor) run(ctx context.Context, job *compaction.Job, live []*LiveSegment) (res *compaction.Result,
	err error,
) {
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
	err = cp.cfg.catchPanic(fmt.Sprintf("compact segments %d", ids), func() error {
		res, err = compaction.Run(ctx, *job)
		return err
	})
	cp.crashes.end(ids...)
	if err != nil && IsDamage(err) {
		cp.scrub.FindDamaged(live)
	}
	return res, err
}

// commit replaces the inputs of a compaction by its output.
func (cp *compactor) commit(res *compaction.Result, live []*LiveSegment, generation uint64) error {
	edit := &manifest.Edit{Add: res.Segments}
	for _, l := range live {
		edit.Remove = append(edit.Remove, l.ID)
	}
	if len(res.Segments) > 0 {
		if err := cp.cfg.FS.SyncDir(cp.segmentDir); err != nil {
			return errors.Join(fmt.Errorf("sync directory %s: %w", cp.segmentDir, err), cp.files.removeNew(res.Segments))
		}
	}
	return cp.ledger.commit(&pendingEdit{edit: edit, generation: generation})
}

// FindDamaged checks segments and quarantines the damaged ones.
func (sc *Scrubber) FindDamaged(list []*LiveSegment) {
	for _, l := range list {
		if err := verifyFile(sc.cfg.FS, sc.segmentDir, l, nil); err != nil && IsDamage(err) {
			sc.quarantine(l, err)
		}
	}
}

// pick returns the next compaction; see compact.
func (cp *compactor) pick(eager bool) []compaction.Segment {
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
			if eager {
				seg.Flushed = time.Time{}
			}
			list = append(list, seg)
		}
	}
	picked, debt := compaction.Pick(list, now, cp.mayMerge)
	cp.debt.Store(debt)
	return picked
}

// lacksIndex reports whether a segment of one table lacks an index that the table got after it was
// written. Its footer is read once for each version of the table.
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

// WakeCompactor makes the compaction loop look for work.
func (cp *compactor) WakeCompactor() {
	select {
	case cp.waker <- struct{}{}:
	default:
	}
}

// TryAgain allows failed compactions to be tried again at once.
func (cp *compactor) TryAgain() {
	cp.turn <- struct{}{}
	defer func() { <-cp.turn }()
	clear(cp.failed)
}
