package shard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file is about when a shard is flushed.

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
	flushMemory  = "memory"
)

// rowBytes is what a row takes while it is flushed, besides its values: rows that are all
// alike take nothing else, so that there could be a billion of them in little memory.
const rowBytes = int64(unsafe.Sizeof(segment.RowRef{}))

const (
	// memoryIdle is for how long nobody must have asked for memory for rows before free
	// one is given back.
	memoryIdle      = 2 * time.Second
	minFlushBackoff = time.Second
	maxFlushBackoff = 30 * time.Second
)

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
			s.sweepExpired()
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
			s.installer.Forget(func() bool { return s.replica.Stats().CaughtUp })
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
	case s.activeBytes >= s.cfg.FlushBytes || s.active.Rows() >= s.cfg.FlushBytes/rowBytes:
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
	e := rules.Entry{Kind: rules.KindWrite, Time: s.entryTime()}
	_, err := s.replica.Propose(context.Background(), rules.AppendEntry(nil, &e))
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
	s.noteFlush(err)
	s.metrics.flushed(reason, time.Since(start), err)
	return err
}
