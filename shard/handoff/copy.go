package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

const (
	// roundPause is the time between rounds that found little.
	roundPause = 500 * time.Millisecond
	// shortRound is how long a round may take for the copy to count as caught up: writes
	// wait for about as long in the last one.
	shortRound = 500 * time.Millisecond
	// orphanAfter is how long a copy continues without a question about it. After that no coordinator
	// carries it out any more, and the table's segments are not compacted meanwhile.
	orphanAfter = 10 * time.Minute
)

// tableCopy is the copy of one table, by this replica and this process. Whoever asks for it anew
// after either has changed must take another id for it.
type tableCopy struct {
	of     *Copies
	table  uint64
	copy   *schema.Handoff
	cancel func()
	source *store.CopySource // until the copy has ended

	// The round under way, and where it continues.
	given   *rules.Definition // by the caller
	through uint64            // the highest order of the segments that were read
	merge   query.Merge
	eras    int
	targets []*target

	mu    sync.Mutex // guards the rest
	asked time.Time
	nodes map[uint32][]string
	state State
	done  chan struct{} // closed when it is complete, or failed
}

// ended reports whether the copy is complete, or failed.
func (h *tableCopy) ended() bool {
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// run copies the table and notes how that ended.
func (h *tableCopy) run(ctx context.Context) {
	cfg := &h.of.cfg
	ended := cfg.Operations.Begin("handoff", fmt.Sprintf("table %d to %d shards", h.table, len(h.copy.Shards)), 0)
	err := h.rounds(ctx)
	ended(err)
	if err == nil {
		cfg.Logger.Info("the rows of a table were copied to other shards", "table", h.table, "copy", h.copy.ID, "shards",
			h.copy.Shards)
	} else if !errors.Is(err, context.Canceled) {
		cfg.Logger.Warn("could not copy the rows of a table to other shards", "table", h.table, "copy",
			h.copy.ID, "error", err)
	}
	h.mu.Lock()
	h.state.Err, h.state.Complete = err, err == nil
	close(h.done)
	h.mu.Unlock()
	h.source.Close()
	cfg.Store.Compactor.WakeCompactor()
}

// errGivenUp ends a copy that will not take the place of the table.
var errGivenUp = errors.New("the handoff was given up")

// rounds copies until the copy has everything.
func (h *tableCopy) rounds(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	h.open(ctx, cancel)
	defer h.close()
	ledger := h.of.cfg.Store.Ledger
	generation := ledger.GenerationNow()
	for round := 1; ; round++ {
		start := time.Now()
		last, err := h.closed()
		if err == nil {
			err = h.of.cfg.Flush(ctx)
		}
		if err == nil && ledger.GenerationNow() != generation {
			err = store.ErrReplaced
		}
		if err == nil {
			err = h.round(ctx, round == 1)
		}
		if err != nil {
			return cause(ctx, err)
		}
		if last {
			return nil
		}
		soon := time.Since(start) < shortRound
		h.mu.Lock()
		h.state.CaughtUp = h.state.CaughtUp || soon
		orphan := time.Since(h.asked) > orphanAfter
		h.mu.Unlock()
		if orphan {
			return fmt.Errorf("nobody has asked for it in %s", orphanAfter)
		}
		if !soon {
			continue
		}
		timer := time.NewTimer(roundPause)
		select {
		case <-h.source.Changed():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// closed reports whether the log says that the shard takes no more rows of the table until
// the copy has taken its place.
func (h *tableCopy) closed() (bool, error) {
	d, dropped := h.source.Definition()
	if dropped {
		return false, store.TableGone(h.of.cfg.ShardID, h.table)
	}
	if d == nil || d.Version < h.given.Version {
		return false, nil
	}
	if d.Handoff == nil || d.Handoff.ID != h.copy.ID {
		return false, errGivenUp
	}
	return d.Writable().Closed, nil
}

// cause returns what ended ctx, if that is why err came.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}
