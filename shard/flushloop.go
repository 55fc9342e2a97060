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

// This file is about when a shard is flushed.

const (
	// memoryIdle is how long no memory for rows must have been requested before free memory is given
	// back.
	memoryIdle      = 2 * time.Second
	minFlushBackoff = time.Second
	maxFlushBackoff = 30 * time.Second
)

// schedule decides when the shard is flushed, and has the replica do it.
type schedule struct {
	cfg        *Config
	metrics    *store.Metrics
	operations *store.Operations
	replica    *replica.Replica
	installer  *install.Installer
	tables     *store.Tables
	memory     *store.Memory
	files      *store.SegmentFiles
	clock      *timekeeper
	stop       <-chan struct{}

	wake     chan string     // with a reason, or none
	requests chan chan error // of those who wait for a flush
	loops    sync.WaitGroup
}

// flush has the loop flush, and waits until it has.
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

// wakeFlusher has the flush loop look for a reason to flush.
func (sd *schedule) wakeFlusher() { sd.wakeFlusherFor("") }

// wakeFlusherFor gives it one.
func (sd *schedule) wakeFlusherFor(reason string) {
	select {
	case sd.wake <- reason:
	default: // it is awake
	}
}

// loop flushes when there is a reason, and again, with growing pauses, while it
// fails.
func (sd *schedule) loop() {
	ticker := time.NewTicker(min(time.Second, max(sd.cfg.FlushAge/4, time.Millisecond)))
	defer ticker.Stop()
	expire := time.NewTicker(sd.cfg.FlushAge)
	defer expire.Stop()
	var pause flushPause
	for {
		var asked chan error
		reason := ""
		select {
		case <-sd.stop:
			return
		case asked = <-sd.requests:
			reason = store.FlushRequest
		case reason = <-sd.wake:
		case <-ticker.C:
			sd.returnMemory()
		case <-expire.C:
			sd.expire()
			continue
		}
		if reason == "" {
			reason = sd.memory.FlushReason(sd.replica.LogBytesAfter(sd.tables.Flushed.Load()))
		}
		if reason == "" || asked == nil && sd.cfg.Now().Before(pause.until) {
			continue
		}
		err := sd.flushFor(reason)
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

// returnMemory gives free memory of rows back to the system, if it is not needed.
func (sd *schedule) returnMemory() {
	if sd.cfg.Pool.Trim(sd.cfg.Now(), memoryIdle) > 0 {
		// What writing left on the heap may go as well: a large answer may follow.
		debug.FreeOSMemory()
	}
}

// expire removes expired rows that were kept for a while, and finds rows that have expired since.
func (sd *schedule) expire() {
	sd.files.SweepExpired()
	if err := sd.clock.expireRows(context.Background()); err != nil {
		sd.cfg.Logger.Warn("expired rows stay for now; they are hidden from queries", "error", err)
	}
}

// flushPause is the pause between flushes that fail. Only a request is not held up by it.
type flushPause struct {
	length time.Duration
	until  time.Time
}

// note takes in how a flush ended, and returns the pause before the next one.
func (p *flushPause) note(now time.Time, err error) time.Duration {
	if err == nil {
		*p = flushPause{}
		return 0
	}
	p.length = min(max(2*p.length, minFlushBackoff), maxFlushBackoff)
	// raft keeps only the text
	if errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		p.length = minFlushBackoff // room comes back at once, and rows are waiting
	}
	p.until = now.Add(p.length)
	return p.length
}

// beginLog puts an empty entry into the log if there are rows, but none that this
// process got from the log: a replica that has applied nothing takes no snapshot.
func (sd *schedule) beginLog() error {
	if !sd.memory.OnlyUnlogged() {
		return nil
	}
	e := rules.Entry{Kind: rules.KindWrite, Time: sd.clock.entryTime()}
	_, err := sd.replica.Propose(context.Background(), rules.AppendEntry(nil, &e))
	return err
}

// flushFor has the replica take a snapshot, which flushes, and counts it.
func (sd *schedule) flushFor(reason string) error {
	if sd.memory.Settled() {
		return nil // two snapshots of one index in one millisecond would have one name
	}
	start := time.Now()
	ended := sd.operations.Begin("flush", "because of "+reason, sd.memory.Size())
	err := sd.beginLog()
	if err == nil {
		err = sd.replica.Snapshot()
	}
	ended(err)
	sd.tables.NoteFlush(err)
	sd.metrics.Flushed(reason, time.Since(start), err)
	return err
}
