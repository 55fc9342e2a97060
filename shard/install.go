package shard

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
)

// This file is about the job that fetches the state of another replica, as fetch.go does.
// Nothing of the replica waits for it. See takeover.go for the rest.

// Rate bounds how fast the shards of a node fetch state from others, together. It may be
// used concurrently.
type Rate struct {
	perSecond int64
	mu        sync.Mutex
	next      time.Time // when the next byte may come
}

// NewRate returns a bound of so many bytes a second.
func NewRate(bytesPerSecond int64) *Rate { return &Rate{perSecond: bytesPerSecond} }

// wait waits until n more bytes may have come.
func (r *Rate) wait(ctx context.Context, n int) error {
	r.mu.Lock()
	now := time.Now()
	if r.next.Before(now) {
		r.next = now
	}
	r.next = r.next.Add(time.Duration(float64(n) / float64(r.perSecond) * float64(time.Second)))
	pause := r.next.Sub(now)
	r.mu.Unlock()
	if pause < 5*time.Millisecond {
		return ctx.Err()
	}
	return sleep(ctx, pause)
}

// installs is the fetching of state by a shard: one job at a time.
type installs struct {
	mu     sync.Mutex // guards job and closed
	job    *install
	closed bool
	ended  sync.WaitGroup

	running     atomic.Bool
	done, total atomic.Int64 // bytes
}

// install is a job that fetches the state of one replica.
type install struct {
	from   string
	cancel func()
	ended  chan struct{} // closed when err is set
	err    error
}

// Stage fetches the state that a snapshot of the leader stands for, unless this replica
// has it. The work goes on when ctx ends before.
func (f fsm) Stage(ctx context.Context, leader string, _ uint64, content []byte) error {
	s := f.s
	p, err := parseSnapshot(content)
	if err != nil {
		return err
	}
	if s.flushed.Load() >= p.AppliedIndex {
		return nil
	}
	for {
		st, err := s.incoming().state()
		if err != nil {
			return err
		}
		if st != nil && st.AppliedIndex >= p.AppliedIndex {
			return nil
		}
		job, err := s.startInstall(leader)
		if err != nil {
			return err
		}
		select {
		case <-job.ended:
			if job.err != nil {
				return job.err
			}
		case <-ctx.Done():
			return fmt.Errorf("the state of the shard is being fetched from node %s, %d of %d bytes are here: %w", job.from, s.installs.done.Load(), s.installs.total.Load(), ctx.Err())
		}
	}
}

// startInstall returns the job that runs, or a new one.
func (s *Shard) startInstall(from string) (*install, error) {
	n := &s.installs
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errs.New(errs.ShardNotReady, "shard %d: it is closing", s.cfg.ID)
	}
	if n.job != nil {
		return n.job, nil
	}
	if s.cfg.Space() == SpaceFull {
		return nil, errs.New(errs.StorageUnavailable, "shard %d: the disk of node %s is full up to its reserve: the state of another replica is not fetched", s.cfg.ID, s.cfg.NodeID)
	}
	ctx, cancel := context.WithCancel(context.Background())
	job := &install{from: from, cancel: cancel, ended: make(chan struct{})}
	n.job = job
	n.done.Store(0)
	n.total.Store(0)
	n.running.Store(true)
	n.ended.Add(1)
	go func() {
		defer n.ended.Done()
		defer cancel()
		ended := s.operations.begin("install", "from node "+from, 0)
		start := time.Now()
		err := s.fetchState(ctx, from)
		ended(err)
		if err != nil {
			err = fmt.Errorf("shard %d: fetch the state from node %s: %w", s.cfg.ID, from, err)
			s.cfg.Logger.Warn("could not fetch the state of another replica; it is tried again", "from", from, "error", err)
		} else {
			s.cfg.Logger.Info("fetched the state of another replica", "from", from, "bytes", n.total.Load(), "took", time.Since(start).Round(time.Millisecond))
		}
		n.mu.Lock()
		n.job = nil
		n.running.Store(false)
		n.mu.Unlock()
		job.err = err
		close(job.ended)
	}()
	return job, nil
}

// stopInstalls ends the job that runs and lets none begin.
func (s *Shard) stopInstalls() {
	n := &s.installs
	n.mu.Lock()
	n.closed = true
	if n.job != nil {
		n.job.cancel()
	}
	n.mu.Unlock()
	n.ended.Wait()
}
