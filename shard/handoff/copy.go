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
	// roundPause is the pause between rounds that copied little.
	roundPause = 500 * time.Millisecond
	// shortRound is how long a round may take for the copy to count as caught up. Writes wait for
	// about that long during the last round.
	shortRound = 500 * time.Millisecond
	// orphanAfter is how long a copy continues if its progress is not requested. After that no
	// coordinator is managing it, and the table's segments should be compacted again.
	orphanAfter = 10 * time.Minute
)

// tableCopy is the copy of one table by this replica in this process. Another replica or process
// needs a new copy with another id.
type tableCopy struct {
	of     *Copies
	table  uint64
	copy   *schema.Handoff
	cancel func()
	source *store.CopySource // until the copy has ended

	// The current round, and where it continues.
	given   *rules.Definition // the definition that the caller gave
	through uint64            // the highest order of the segments that were read
	cut     uint64            // the number of the last cut whose objects or segments were read
	merge   query.Merge
	eras    int
	targets []*target

	mu    sync.Mutex // guards the rest
	asked time.Time
	nodes map[uint32][]string
	state State
	done  chan struct{} // closed when the copy is complete or has failed
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

// run copies the table and records the result.
func (h *tableCopy) run(ctx context.Context) {
	cfg := &h.of.cfg
	ended := cfg.Operations.Begin("handoff", fmt.Sprintf("copy table %d to %d shards", h.table, len(h.copy.Shards)), 0)
	err := h.rounds(ctx)
	ended(err)
	if err == nil {
		cfg.Logger.Info("copied the rows of a table to other shards", "table", h.table, "copy", h.copy.ID, "shards",
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

// errOrphan is the error of a copy that no coordinator manages.
var errOrphan = fmt.Errorf("no coordinator has asked for its progress for %s", orphanAfter)

// errGivenUp is the error of a copy that was cancelled, so that it will not replace the table.
var errGivenUp = errors.New("the handoff was cancelled")

// rounds copies in rounds until the copy has all rows.
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
		h.mu.Unlock()
		if h.orphan() {
			return errOrphan
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

// closed reports whether the log has closed the table: the shard then takes no more rows of it
// until the copy has replaced it.
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

// cause returns the error that ended ctx, if it has ended, and otherwise err.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}

// orphan reports whether no coordinator is managing the copy.
func (h *tableCopy) orphan() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.asked) > orphanAfter
}
