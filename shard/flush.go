package shard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/replica"
	"cordwood/shard/segment"
)

// Why a flush is made; the values of a metric's label.
const (
	flushBytes   = "bytes"
	flushLog     = "log"
	flushAge     = "age"
	flushIdle    = "idle"
	flushBudget  = "budget"
	flushDrop    = "drop"
	flushExpire  = "expire"
	flushRetry   = "retry"
	flushRequest = "request"
)

const (
	// memoryIdle is for how long nobody must have asked for memory for rows before free
	// one is given back.
	memoryIdle      = 2 * time.Second
	minFlushBackoff = time.Second
	maxFlushBackoff = 30 * time.Second
)

// frozen is a memtable that takes no more rows, with the state as it was when the
// last of them was applied.
type frozen struct {
	mem         *memtable.Memtable
	bytes       int64
	index, term uint64
	clock       int64
	defs        map[uint64]*tableDef // of the tables that have rows here
	changed     []manifest.Table     // definitions that changed since the freeze before
	drops       []uint64             // tables dropped since then
	expires     []manifest.Expiry    // of tables of which rows expired since then
	sessions    []manifest.Session
	keys        []manifest.Key
}

// unsettled is an edit of the manifest that was begun. Until it is known to be on
// disk its segments must neither be removed nor be written again.
type unsettled struct {
	edit *manifest.Edit
	n    int // how many of the frozen memtables it covers
	// generation is that of the state that the edit was made for.
	generation uint64
}

// freeze is called between two Applies: it puts the active memtable aside, if that
// holds anything that the last freeze or flush does not.
func (s *Shard) freeze(index uint64) replica.Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.flushed.Load()
	if n := len(s.frozen); n > 0 {
		last = s.frozen[n-1].index
	}
	if index <= last && s.active.Empty() {
		return snapshot{s}
	}
	f := &frozen{
		mem: s.active, bytes: s.activeBytes, index: index, term: s.appliedTerm, clock: s.state.clock,
		defs: map[uint64]*tableDef{}, drops: s.state.drops, sessions: s.state.storedSessions(), keys: s.state.keys.stored(),
	}
	for _, id := range f.mem.Tables() {
		f.defs[id] = s.state.tables[id]
	}
	for _, id := range slices.Sorted(maps.Keys(s.state.dirty)) {
		f.changed = append(f.changed, s.state.tables[id].stored)
	}
	for _, id := range slices.Sorted(maps.Keys(s.state.expires)) {
		f.expires = append(f.expires, s.state.expired[id])
	}
	clear(s.state.dirty)
	clear(s.state.expires)
	s.state.drops = nil
	s.frozen = append(s.frozen, f)
	s.active = memtable.New(s.cfg.Pool)
	s.activeBytes, s.activeSince = 0, time.Time{}
	return snapshot{s}
}

// snapshot is a freeze as the replica sees it.
type snapshot struct{ s *Shard }

// Persist flushes what is frozen. The replica cuts the log when it returns nil.
func (p snapshot) Persist(w io.Writer) error {
	if err := p.s.flushFrozen(); err != nil {
		return err
	}
	p.s.commitMu.Lock()
	st := p.s.manifest.State()
	p.s.commitMu.Unlock()
	return writeSnapshot(w, p.s.cfg.ID, st)
}

// Release has nothing to release: what could not be flushed stays frozen, and is
// flushed with the next snapshot.
func (p snapshot) Release() {}

// flushFrozen makes everything frozen durable in segments. Only the replica's
// snapshot goroutine calls it.
func (s *Shard) flushFrozen() error {
	for {
		if err := s.settle(); err != nil {
			return fmt.Errorf("shard %d: flush: %w", s.cfg.ID, err)
		}
		generation := s.generationNow()
		s.mu.RLock()
		todo := slices.Clone(s.frozen)
		s.mu.RUnlock()
		if len(todo) == 0 {
			return nil
		}
		edit, err := s.writeSegments(todo)
		if err == nil {
			err = s.commit(&unsettled{edit: edit, n: len(todo), generation: generation})
		}
		if err != nil {
			return fmt.Errorf("shard %d: flush up to index %d: %w", s.cfg.ID, todo[len(todo)-1].index, err)
		}
	}
}

// writeSegments writes the rows of frozen memtables to segments, whose names are
// durable on return, and returns the edit that makes them live. After an error none
// of the files is left.
func (s *Shard) writeSegments(todo []*frozen) (edit *manifest.Edit, err error) {
	last := todo[len(todo)-1]
	edit = &manifest.Edit{AppliedIndex: last.index, AppliedTerm: last.term, Clock: last.clock, Sessions: last.sessions, Keys: last.keys}
	changed := map[uint64]manifest.Table{}
	expired := map[uint64]manifest.Expiry{}
	s.mu.RLock() // a drop may take a table out of a frozen memtable
	for _, f := range todo {
		for _, t := range f.changed {
			changed[t.ID] = t
		}
		for _, x := range f.expires {
			expired[x.TableID] = x
		}
		edit.Drop = append(edit.Drop, f.drops...)
	}
	stages := s.stages(todo)
	s.mu.RUnlock()
	for _, id := range edit.Drop {
		delete(changed, id)
		delete(expired, id)
		for _, st := range stages {
			delete(st.rows, id)
			delete(st.ends, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		edit.Tables = append(edit.Tables, changed[id])
	}
	for _, id := range slices.Sorted(maps.Keys(expired)) {
		edit.Expire = append(edit.Expire, expired[id])
	}
	return edit, s.writeStages(stages, edit)
}

// commit makes an edit durable and shows what it changes to new views. If the edit
// could not even be begun the files that it adds are removed; else, after an error,
// it will be committed again.
func (s *Shard) commit(u *unsettled) error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	if err := s.settleLocked(); err != nil {
		return errors.Join(err, s.removeNew(u.edit.Add))
	}
	if u.generation != s.generation || !s.listed(u.edit.Remove) {
		return errors.Join(errReplaced, s.removeNew(u.edit.Add))
	}
	u.edit.Reserved, u.edit.NextSegmentID = s.ids.reserved(u.edit.Add)
	u.edit.Swept, s.unswept = s.unswept, false
	s.unsettled = append(s.unsettled, u)
	return s.settleLocked()
}

// errReplaced is the error of work on a state that is not the shard's any more.
var errReplaced = errors.New("the segments that it was made of are gone: an earlier edit of the manifest, or the state of another replica, took their place meanwhile")

// listed tells whether the manifest lists all of the segments; commitMu is held. A
// compaction whose commit had an unknown outcome may have been done a second time.
func (s *Shard) listed(ids []uint64) bool {
	live := s.manifest.State().Segments
	return !slices.ContainsFunc(ids, func(id uint64) bool {
		_, ok := slices.BinarySearchFunc(live, id, func(m segment.Meta, id uint64) int { return cmp.Compare(m.ID, id) })
		return !ok
	})
}

func (s *Shard) generationNow() uint64 {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.generation
}

// removeNew removes the files of segments that never became live.
func (s *Shard) removeNew(metas []segment.Meta) (err error) {
	for i := range metas {
		err = errors.Join(err, s.cfg.FS.Remove(filepath.Join(s.segmentDir, segment.FileName(metas[i].ID))))
		s.ids.done(metas[i].ID)
	}
	return err
}

// settle commits the edits that were begun.
func (s *Shard) settle() error {
	s.commitMu.Lock()
	defer s.commitMu.Unlock()
	return s.settleLocked()
}

// settleLocked commits the edits that were begun, in their order. An edit may be
// committed twice: the second time changes nothing.
func (s *Shard) settleLocked() error {
	for len(s.unsettled) > 0 {
		u := s.unsettled[0]
		if s.manifestBroken {
			m, err := manifest.Open(s.manifestConfig())
			if err != nil {
				return err
			}
			if err := s.manifest.Close(); err != nil {
				s.cfg.Logger.Debug("close of a manifest that was given up", "error", err)
			}
			s.manifest, s.manifestBroken = m, false
		}
		if err := s.manifest.Commit(u.edit); err != nil {
			s.manifestBroken = true
			u.edit.Swept = false // or, if it is on disk, what died by it would not be garbage
			return err
		}
		s.unsettled = s.unsettled[1:]
		s.publish(u)
	}
	return nil
}

// publish shows new views what a committed edit changed: segments that it adds in the
// place of frozen memtables or of other segments. commitMu is held.
func (s *Shard) publish(u *unsettled) {
	listed := make(map[uint64]struct{}, len(s.live)+len(u.edit.Add))
	for i := range s.manifest.State().Segments {
		listed[s.manifest.State().Segments[i].ID] = struct{}{}
	}
	var dead []*liveSegment
	var bytes int64
	s.mu.Lock()
	s.learnEras(s.manifest.State().Merging)
	for _, m := range u.edit.Add {
		bytes += m.Bytes
		if _, ok := listed[m.ID]; ok {
			s.addLive(m)
			continue
		}
		dead = append(dead, s.newSegment(m)) // dropped or expired while it was written
	}
	gone, of := map[*liveSegment]bool{}, map[uint64]struct{}{}
	for id, l := range s.live {
		if _, ok := listed[id]; !ok {
			delete(s.live, id)
			dead = append(dead, l)
			gone[l] = true
			of[l.TableID] = struct{}{}
			for _, t := range l.Tables {
				of[t.TableID] = struct{}{}
			}
		}
	}
	for id := range of {
		s.hide(id, func(l *liveSegment) bool { return gone[l] })
	}
	done := s.frozen[:u.n]
	s.frozen = slices.Clone(s.frozen[u.n:])
	if u.edit.AppliedIndex > 0 {
		s.flushed.Store(u.edit.AppliedIndex)
	}
	s.mu.Unlock()

	for i := range u.edit.Add {
		s.ids.done(u.edit.Add[i].ID)
	}
	var rows int64
	for _, f := range done {
		s.cfg.Budget.add(-f.bytes)
		rows += f.mem.Rows()
		f.mem.Unref()
	}
	for _, seg := range dead {
		seg.unref()
	}
	if u.n > 0 {
		s.wakeCompactor()
		s.metrics.flushBytes.Add(float64(bytes))
		s.cfg.Logger.Debug("flushed", "index", u.edit.AppliedIndex, "segments", len(u.edit.Add), "rows", rows, "bytes", bytes)
	}
}

// Flush makes all rows that are applied durable in segments and cuts the log.
func (s *Shard) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case s.flushRequests <- done:
	case <-s.stop:
		return fmt.Errorf("shard %d: flush: the shard is closed", s.cfg.ID)
	case <-ctx.Done():
		return fmt.Errorf("shard %d: flush: %w", s.cfg.ID, ctx.Err())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("shard %d: flush: %w", s.cfg.ID, ctx.Err())
	}
}

// wakeFlusher has the flush loop look for a reason to flush.
func (s *Shard) wakeFlusher() { s.wakeFlusherFor("") }

// wakeFlusherFor gives it one.
func (s *Shard) wakeFlusherFor(reason string) {
	select {
	case s.wake <- reason:
	default: // it is awake
	}
}

// flushLoop flushes when there is a reason, and again, with growing pauses, while it
// fails.
func (s *Shard) flushLoop() {
	defer s.flusher.Done()
	ticker := time.NewTicker(min(time.Second, max(s.cfg.FlushAge/4, time.Millisecond)))
	defer ticker.Stop()
	expire := time.NewTicker(s.cfg.FlushAge)
	defer expire.Stop()
	var backoff time.Duration
	var notBefore time.Time
	for {
		var asked chan error
		reason := ""
		select {
		case <-s.stop:
			return
		case asked = <-s.flushRequests:
			reason = flushRequest
		case reason = <-s.wake:
		case <-ticker.C:
			if s.cfg.Pool.Trim(s.now(), memoryIdle) > 0 {
				// What writing left on the heap may go as well: a large answer may follow.
				debug.FreeOSMemory()
			}
		case <-expire.C:
			if err := s.expireRows(context.Background()); err != nil {
				s.cfg.Logger.Warn("expired rows stay for now; they are hidden from queries", "error", err)
			}
			continue
		}
		if reason == "" {
			reason = s.flushReason()
		}
		if reason == "" || asked == nil && s.now().Before(notBefore) {
			continue
		}
		err := s.flushFor(reason)
		if asked != nil {
			asked <- err
		}
		if err == nil {
			backoff, notBefore = 0, time.Time{}
			s.forgetIncoming()
			continue
		}
		backoff = min(max(2*backoff, minFlushBackoff), maxFlushBackoff)
		if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) { // raft keeps only the text
			backoff = minFlushBackoff // room comes back at once, and rows are waiting
		}
		notBefore = s.now().Add(backoff)
		s.cfg.Logger.Warn("flush failed; the rows stay in memory and in the log", "reason", reason, "error", err, "retry_in", backoff)
	}
}

// flushReason says why the shard should be flushed now; "" if it need not be.
func (s *Shard) flushReason() string {
	logBytes := s.replica.LogBytesAfter(s.flushed.Load())
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case len(s.frozen) > 0:
		return flushRetry
	case s.appliedIndex <= s.flushed.Load() && s.active.Empty():
		return ""
	case s.activeBytes >= s.cfg.FlushBytes:
		return flushBytes
	case logBytes >= s.cfg.FlushLogBytes:
		return flushLog
	case !s.activeSince.IsZero() && s.now().Sub(s.activeSince) >= s.cfg.FlushAge:
		return flushAge
	case s.activeBytes >= s.cfg.FlushBytes/8 && s.now().Sub(s.activeLast) >= s.cfg.FlushIdle:
		return flushIdle
	case s.activeBytes > 0 && s.activeBytes >= s.cfg.Budget.share():
		return flushBudget
	}
	return ""
}

// beginLog puts an empty entry into the log if there are rows, but none that this
// process got from the log: a replica that has applied nothing takes no snapshot.
func (s *Shard) beginLog() error {
	s.mu.RLock()
	alone := s.appliedIndex == s.base && !s.active.Empty()
	s.mu.RUnlock()
	if !alone {
		return nil
	}
	e := entry{kind: kindWrite, time: s.now().UnixNano()}
	_, err := s.replica.Propose(context.Background(), appendEntry(nil, &e))
	return err
}

// flushFor has the replica take a snapshot, which flushes, and counts it.
func (s *Shard) flushFor(reason string) error {
	s.mu.RLock()
	done := s.flushErr == nil && len(s.frozen) == 0 && s.active.Empty() && s.appliedIndex <= s.flushed.Load()
	s.mu.RUnlock()
	if done {
		return nil // two snapshots of one index in one millisecond would have one name
	}
	start := time.Now()
	s.mu.RLock()
	size := s.memoryLocked()
	s.mu.RUnlock()
	ended := s.operations.begin("flush", "because of "+reason, size)
	err := s.beginLog()
	if err == nil {
		err = s.replica.Snapshot()
	}
	ended(err)
	s.mu.Lock()
	s.flushErr = err
	s.mu.Unlock()
	s.metrics.flushed(reason, time.Since(start), err)
	return err
}
