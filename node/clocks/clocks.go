// Package clocks says by which time rows may expire on a node: the time that a majority of the nodes'
// clocks show by their reports, while the node's copy of the metadata, which has the ttl of each
// table, is new. A clock that is wrong deletes nothing then, and a ttl that was made longer elsewhere
// a minute ago counts.
//
// It also remembers over a restart what the clock said, in the time of change of a file: a process
// that starts with a clock that is far ahead of that does not believe it at once (see package
// shard, clock.go).
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
	// every is how often the others are asked, and oldest how old an answer may be that rows
	// expire by.
	every  = 20 * time.Second
	oldest = time.Minute
	// timeout bounds one question.
	timeout = 10 * time.Second
	// jump is how far ahead of what it said before a clock may start to be noted, and settles after
	// how long it is noted in any case.
	jump    = 24 * time.Hour
	settles = time.Hour
)

// Metadata is what a Clocks asks.
type Metadata interface {
	// Fresh waits until the node's copy has everything that was acknowledged before the call.
	Fresh(ctx context.Context) error
	// Status reports how the nodes are.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
}

// Config is what a Clocks works with. Meta and NodeID are required.
type Config struct {
	Meta   Metadata
	NodeID string
	// File is where it is noted what the clock says. Empty: nowhere.
	File string
	// Now and Monotonic are the clocks of this node. The default values are the clocks of the process.
	Now       func() time.Time
	Monotonic func() time.Duration
	Logger    *slog.Logger
}

// Clocks compares the clocks of the nodes. Its methods may be called concurrently.
type Clocks struct {
	cfg   Config
	seen  time.Time     // what File said at the start
	began time.Duration // when that was, by the monotonic clock

	mu    sync.Mutex // guards the rest
	asked time.Duration
	at    time.Time // what a majority said then; zero: no node answered yet
	err   error     // why the last question was not answered
}

// New reads what the clock said before. Agreed knows nothing before Run is called.
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
	c := &Clocks{cfg: cfg, began: cfg.Monotonic(), err: errors.New("no node was asked yet")}
	if cfg.File == "" {
		return c, nil
	}
	info, err := os.Stat(cfg.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("what the clock said before: %w", err)
	default:
		c.seen = info.ModTime()
	}
	return c, nil
}

// Seen returns what the clock said last before this process; zero if that is not known.
func (c *Clocks) Seen() time.Time { return c.seen }

// Agreed returns the time that a majority of the nodes' clocks have come to.
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

// Run asks until ctx ends.
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

// majority asks for the clocks of all nodes, after the copy of the metadata was brought up to date.
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
		return time.Time{}, fmt.Errorf("%d of %d nodes have said what time it is", len(clocks), len(status.Nodes))
	}
	slices.SortFunc(clocks, func(a, b int64) int { // the latest first
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

// note remembers what the clock says, unless it is far ahead of its last time and has been so only
// for a short while.
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
		c.cfg.Logger.Warn("what the clock says is not noted: a start with a clock that is wrong would not be found "+
			"by it", "file", c.cfg.File, "error", err)
	}
}
