// Package clocks determines the time by which rows may expire on a node: the time that the clocks of a majority of
// the nodes have reached, according to their reports. It gives no time while the node's copy of the metadata, which
// contains the ttl of each table, is out of date. So a wrong clock deletes nothing, and a ttl that was just increased
// is respected.
//
// It also records the time of the clock across restarts, as the modification time of a file. A process whose clock is
// far ahead of the recorded time at its start does not trust the clock at once (see package shard, clock.go).
package clocks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"cordwood/proto/metapb"
)

const (
	// every is the interval between requests to the other nodes. oldest is the maximum age of an answer by which rows
	// may expire.
	every  = 20 * time.Second
	oldest = time.Minute
	// timeout limits one request.
	timeout = 10 * time.Second
	// jump is how far a clock may be ahead of its last recorded time and still be recorded at once. settles is the
	// time after which a clock further ahead is recorded, too.
	jump    = 24 * time.Hour
	settles = time.Hour
)

// Metadata is the part of the metadata that Clocks needs.
type Metadata interface {
	// Fresh waits until the node's copy contains everything that was acknowledged before the call.
	Fresh(ctx context.Context) error
	// Status returns the reports of the nodes.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
}

// Config configures Clocks. Meta and NodeID are required.
type Config struct {
	Meta   Metadata
	NodeID string
	// File is the file that records the time of the clock. If it is empty, the time is not recorded.
	File string
	// Now and Monotonic are the clocks of this node. By default they are the clocks of the process.
	Now       func() time.Time
	Monotonic func() time.Duration
	Logger    *slog.Logger
}

// Clocks compares the clocks of the nodes. Its methods are safe for concurrent use.
type Clocks struct {
	cfg   Config
	seen  time.Time     // the time that File recorded at the start
	began time.Duration // the monotonic time of the start

	mu    sync.Mutex // guards the rest
	asked time.Duration
	at    time.Time // the time that a majority had reached at the last answer; zero before the first
	err   error     // the error of the last request
}

// New reads the recorded time of the clock. Agreed returns an error until Run is called.
func New(cfg Config) (*Clocks, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Monotonic == nil {
		first := time.Now()
		cfg.Monotonic = func() time.Duration { return time.Since(first) }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Clocks{cfg: cfg, began: cfg.Monotonic(), err: errors.New("no node has answered yet")}
	if cfg.File == "" {
		return c, nil
	}
	info, err := os.Stat(cfg.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read the recorded time of the clock: %w", err)
	default:
		c.seen = info.ModTime()
	}
	return c, nil
}

// Seen returns the time of the clock that was last recorded before this process started, or zero if there is none.
func (c *Clocks) Seen() time.Time { return c.seen }

// Agreed returns the time that a majority of the nodes' clocks have reached.
func (c *Clocks) Agreed(context.Context) (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := c.cfg.Monotonic() - c.asked
	if c.at.IsZero() || age > oldest {
		return time.Time{},
			fmt.Errorf("the clocks of a majority of the nodes, and the ttl of tables, are not known: %w", c.err)
	}
	return c.at.Add(age), nil
}

// Run asks the other nodes until ctx ends.
func (c *Clocks) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		c.ask(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *Clocks) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun := c.cfg.Monotonic()
	at, err := c.majority(ctx)
	c.mu.Lock()
	c.err = err
	if err == nil {
		c.asked, c.at = begun, at
	}
	c.mu.Unlock()
	if err == nil {
		c.note()
	}
}

// majority updates the copy of the metadata, and then gets the clocks of all nodes.
func (c *Clocks) majority(ctx context.Context) (time.Time, error) {
	if err := c.cfg.Meta.Fresh(ctx); err != nil {
		return time.Time{}, err
	}
	status, err := c.cfg.Meta.Status(ctx)
	if err != nil {
		return time.Time{}, err
	}
	var clocks []int64
	for _, n := range status.Nodes {
		switch {
		case n.Node.GetId() == c.cfg.NodeID:
			clocks = append(clocks, c.cfg.Now().UnixNano())
		case n.Report != nil && !n.Down:
			clocks = append(clocks, n.Report.TimeUnixNano+n.SilentNanos)
		}
	}
	half := len(status.Nodes) / 2
	if len(clocks) <= half {
		return time.Time{}, fmt.Errorf("%d of %d nodes have reported their time", len(clocks), len(status.Nodes))
	}
	slices.SortFunc(clocks, func(a, b int64) int { // latest first
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	return time.Unix(0, clocks[half]), nil
}

// note records the time of the clock. A clock that is far ahead of the last recorded time is recorded only after a
// while.
func (c *Clocks) note() {
	if c.cfg.File == "" {
		return
	}
	now, up := c.cfg.Now(), c.cfg.Monotonic()-c.began
	if !c.seen.IsZero() && now.Sub(c.seen.Add(up)) > jump && up < settles {
		return
	}
	err := os.Chtimes(c.cfg.File, now, now)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.WriteFile(c.cfg.File, nil, 0o600); err == nil {
			err = os.Chtimes(c.cfg.File, now, now)
		}
	}
	if err != nil {
		c.cfg.Logger.Warn("cannot record the time of the clock: a start with a wrong clock would not be noticed "+
			"by it", "file", c.cfg.File, "error", err)
	}
}
