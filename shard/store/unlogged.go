package store

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// LinkUnlogged appends batches without the log. Their rows are in the memory of mem. sole reports
// that there is no other replica.
func (tb *Tables) LinkUnlogged(mem *memtable.Memtable, batches []*column.Batch, encoded [][]byte,
	sole bool,
) (r unloggedResult, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.closing {
		return r, errs.New(errs.ShardNotReady, "shard %d: write: it is being closed on node %s; send the write "+
			"again", tb.cfg.ID,
			tb.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if tb.logOnly || !sole {
		return r, errs.New(errs.ShardBusy, "shard %d: a replica is being added; resend rows of tables with skip_wal",
			tb.cfg.ID).
			WithReason(errs.Busy).WithRetryAfter(50 * time.Millisecond)
	}
	if tb.Mem.Active != mem {
		r.Frozen = true
		return r, nil
	}
	link, data, err := tb.admitUnlogged(&r, batches, encoded)
	if err != nil || len(r.Need) > 0 {
		return r, err
	}
	now, clock, first := tb.cfg.Now(), tb.clockNanos(), tb.Mem.Active.Empty()
	for i, b := range link {
		tb.Ingested.add(b.TableID, len(data[i]))
		tb.State.NoteUnlogged(&b.Header, clock)
		if !tb.State.Tables[b.TableID].Instant {
			tb.Mem.Active.Append(b)
			r.Rows += b.Rows
		}
	}
	tb.tails.deliver(link, data, tb.State.Tables)
	if len(link) > 0 {
		tb.Mem.last = now
		if first {
			tb.Mem.since = now
		}
	}
	r.Full = tb.grown(tb.Mem.Active.Bytes())
	r.Index = tb.AppliedIndex
	return r, nil
}

// admitUnlogged returns the batches that the rules admit, and records in r the outcome of the
// others; mu must be held.
func (tb *Tables) admitUnlogged(r *unloggedResult, batches []*column.Batch,
	encoded [][]byte,
) (link []*column.Batch, data [][]byte, err error) {
	adm := rules.Admission{State: tb.State, IDs: map[rules.BatchID]struct{}{}, Leader: true}
	for i, b := range batches {
		v, err := adm.Admit(&b.Header)
		switch v {
		case rules.Duplicate:
			r.Duplicates++
			continue
		case rules.NeedsTable:
			r.Need = appendNew(r.Need, b.TableID)
			continue
		case rules.Refused:
			return nil, nil, err
		}
		if err := adm.Accept(b); err != nil {
			return nil, nil, err
		}
		if b.Rows > 0 {
			link, data = append(link, b), append(data, encoded[i])
			adm.IDs[rules.IDOf(&b.Header)] = struct{}{}
		}
	}
	return link, data, nil
}

// unloggedResult is the result of LinkUnlogged.
type unloggedResult struct {
	Index            uint64
	Need             []uint64 // tables whose definitions are missing; nothing was appended
	Frozen           bool     // the batches are in the memory of a memtable that is no longer active
	Full             bool     // the shard should be flushed
	Duplicates, Rows int
}
