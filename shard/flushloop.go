package shard

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"cordwood/shard/install"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// This file decides when a shard is flushed.

const (
	// memoryIdle is how long row memory must not have been allocated before free memory is returned
	// to the system.
	memoryIdle      = 2 * time.Second
	minFlushBackoff = time.Second
	maxFlushBackoff = 30 * time.Second
)

// schedule decides when the shard is flushed, and makes the replica do it.
type schedule struct {
	cfg        *Config
	metrics    *store.Metrics
	operations *store.Operations
	replica    *replica.Replica
	installer  *install.Installer
	tables     *store.Tables
	memory     *store.Memory
	flusher    *store.Flusher
	files      *store.SegmentFiles
	clock      *timekeeper
	// hold delays proposals of writes; see writer.hold.
	hold func() (release func())
	stop <-chan struct{}

	wake     chan string     // receives a reason, or an empty text
	requests chan chan error // from callers that wait for a flush
	freezes  chan freezeRequest
	loops    sync.WaitGroup
}

// flush requests a flush, and waits until it is done.
func (sd *schedule) flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case sd.requests <- done:
	case <-sd.stop:
		return fmt.Errorf("shard %d: flush: the shard is closed", sd.cfg.ID)
	case <-ctx.Done():
		return fmt.Errorf("shard %d: flush: %w", sd.cfg.ID, ctx.Err())
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("shard %d: flush: %w", sd.cfg.ID, ctx.Err())
	}
}

// wakeFlusher makes the flush loop check for a reason to flush.
func (sd *schedule) wakeFlusher() { sd.wakeFlusherFor("") }

// wakeFlusherFor makes the flush loop flush for a given reason.
func (sd *schedule) wakeFlusherFor(reason string) {
	select {
	case sd.wake <- reason:
	default: // it will run anyway
	}
}

// loop flushes when there is a reason. If a flush fails, it tries again with growing pauses.
func (sd *schedule) loop() {
	ticker := time.NewTicker(min(time.Second, max(sd.cfg.FlushAge/4, time.Millisecond)))
	defer ticker.Stop()
	expire := time.NewTicker(sd.cfg.FlushAge)
	defer expire.Stop()
	var pause flushPause
	for {
		var asked chan error
		var frozen freezeRequest
		reason := ""
		select {
		case <-sd.stop:
			return
		case asked = <-sd.requests:
			reason = store.FlushRequest
		case frozen = <-sd.freezes:
			reason = store.FlushLeader
		case reason = <-sd.wake:
		case <-ticker.C:
			sd.returnMemory()
		case <-expire.C:
			sd.expire()
			continue
		}
		if reason == "" {
			reason = sd.memory.FlushReason(sd.replica.LogBytesAfter(sd.tables.Flushed.Load()), sd.follows())
		}
		if reason == "" || asked == nil && frozen.fz == nil && sd.cfg.Now().Before(pause.until) {
			continue
		}
		err := sd.flushWith(reason, frozen)
		if asked != nil {
			asked <- err
		}
		backoff := pause.note(sd.cfg.Now(), err)
		if err == nil {
			sd.installer.Forget(func() bool { return sd.replica.Stats().CaughtUp })
			continue
		}
		sd.cfg.Logger.Warn("flush failed; the rows stay in memory and in the log", "reason", reason, "error", err,
			"retry_in", backoff)
	}
}

// returnMemory returns free row memory to the system if it is not needed.
func (sd *schedule) returnMemory() {
	if sd.cfg.Pool.Trim(sd.cfg.Now(), memoryIdle) > 0 {
		// Return free heap memory of earlier writes too: a large answer may need it.
		debug.FreeOSMemory()
	}
}

// expire removes the kept files of expired rows, and searches for newly expired rows.
func (sd *schedule) expire() {
	sd.files.SweepExpired()
	if err := sd.clock.expireRows(context.Background()); err != nil {
		sd.cfg.Logger.Warn("could not remove expired rows; they are hidden from queries", "error", err)
	}
}

// flushPause is the pause between failed flushes. A requested flush does not wait for it.
type flushPause struct {
	length time.Duration
	until  time.Time
}

// note records the result of a flush, and returns the pause before the next one.
func (p *flushPause) note(now time.Time, err error) time.Duration {
	if err == nil {
		*p = flushPause{}
		return 0
	}
	p.length = min(max(2*p.length, minFlushBackoff), maxFlushBackoff)
	// raft passes on only the text of the error
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		p.length = minFlushBackoff // disk space may come back at any time, and rows are waiting
	}
	p.until = now.Add(p.length)
	return p.length
}

// beginLog puts an empty entry into the log if there are rows but this process has applied no
// entry: a replica takes no snapshot before it has applied something.
func (sd *schedule) beginLog() error {
	if !sd.memory.OnlyUnlogged() {
		return nil
	}
	e := rules.Entry{Kind: rules.KindWrite, Time: sd.clock.entryTime()}
	_, err := sd.replica.Propose(context.Background(), rules.AppendEntry(nil, &e))
	return err
}

// flushFor makes the replica take a snapshot, which flushes, and counts the flush.
func (sd *schedule) flushFor(reason string) error {
	if sd.memory.Settled() {
		return nil // two snapshots of the same index in the same millisecond would get the same name
	}
	start := time.Now()
	ended := sd.operations.Begin("flush", "because of "+reason, sd.memory.Size())
	err := sd.beginLog()
	if err == nil {
		err = sd.snapshot()
	}
	ended(err)
	sd.tables.NoteFlush(err)
	sd.metrics.Flushed(reason, time.Since(start), err)
	return err
}
