package shard

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// takeUnlogged takes the batches that do not go through the log out of a write, with
// what was decoded of them, which the caller releases. Batches that were appended
// before it leaves out altogether: the log does not know the unlogged ones.
func (p *pending) takeUnlogged() (batches [][]byte, of *pending) {
	of = &pending{}
	logged := rules.Write{Tables: p.Tables}
	var decoded []*column.Batch
	for i, data := range p.Batches {
		switch {
		case p.decoded[i] == nil:
			continue
		case !p.unlogged[i]:
			logged.Batches, decoded = append(logged.Batches, data), append(decoded, p.decoded[i])
			continue
		}
		batches, of.decoded = append(batches, data), append(of.decoded, p.decoded[i])
	}
	if len(batches) > 0 {
		p.mem.Ref()
		of.mem = p.mem
	}
	p.Write, p.decoded = logged, decoded
	p.bytes = p.Size()
	return batches, of
}

// appendUnlogged appends batches of tables with the option skip_wal: to memory only, so
// that a crash before the next flush loses them, and nothing else.
//
// It does what Apply does, at another place: between two Applies, under the lock. What
// it changes is the memtable and the sessions of unlogged batches, which a freeze takes
// together, so that a row is in segments if and only if the manifest knows its batch.
func (wr *writer) appendUnlogged(batches [][]byte, p *pending) (index uint64, need []uint64, err error) {
	if !wr.replica.IsLeader() {
		return 0, nil, errs.New(errs.ShardNotReady, "shard %d: node %s does not lead it", wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.NotLeader)
	}
	for {
		r, err := wr.tables.linkUnlogged(p.mem, p.decoded, batches, wr.replica.SoleMember())
		if !r.frozen {
			wr.metrics.duplicates.Add(float64(r.duplicates))
			wr.metrics.rows.Add(float64(r.rows))
			if r.full {
				wr.wakeFlusher()
			}
			return r.index, r.need, err
		}
		// The memtable was frozen in the meantime.
		mem := p.mem
		p.mem = wr.tables.refMemtable()
		mem.Unref()
		for i, data := range batches {
			if p.decoded[i], err = decodeInto(p.mem, data); err != nil {
				return 0, nil, wr.notDecoded(i, err)
			}
		}
	}
}

// unloggedResult is what became of batches that do not go through the log.
type unloggedResult struct {
	index            uint64
	need             []uint64 // tables whose definitions are missing; nothing was appended
	frozen           bool     // the batches are in the memory of a memtable that is not active any more
	full             bool     // the shard should be flushed
	duplicates, rows int
}

// linkUnlogged appends batches, whose memory is that of mem, outside of the log. sole says that there is no
// other replica.
func (tb *tables) linkUnlogged(mem *memtable.Memtable, batches []*column.Batch, encoded [][]byte, sole bool) (r unloggedResult, err error) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if tb.closing {
		return r, errs.New(errs.ShardNotReady, "shard %d: it is closing on node %s", tb.cfg.ID, tb.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if tb.shared || !sole {
		return r, errs.New(errs.ShardBusy, "shard %d: a replica is being added; resend rows of tables with skip_wal", tb.cfg.ID).
			WithReason(errs.Busy).WithRetryAfter(50 * time.Millisecond)
	}
	if tb.mem.active != mem {
		r.frozen = true
		return r, nil
	}
	adm := rules.Admission{State: tb.state, IDs: map[rules.BatchID]struct{}{}, Leader: true}
	var link []*column.Batch
	var data [][]byte
	for i, b := range batches {
		v, err := adm.Admit(&b.Header)
		switch v {
		case rules.Duplicate:
			r.duplicates++
			continue
		case rules.NeedsTable:
			r.need = appendNew(r.need, b.TableID)
			continue
		case rules.Refused:
			return r, err
		}
		if err := adm.Accept(b); err != nil {
			return r, err
		}
		if b.Rows > 0 {
			link, data = append(link, b), append(data, encoded[i])
			adm.IDs[rules.IDOf(&b.Header)] = struct{}{}
		}
	}
	if len(r.need) > 0 {
		return r, nil
	}
	now, clock, first := tb.cfg.Now(), tb.clockNanos(), tb.mem.active.Empty()
	for i, b := range link {
		tb.ingested.add(b.TableID, len(data[i]))
		tb.state.NoteUnlogged(&b.Header, clock)
		if !tb.state.Tables[b.TableID].Instant {
			tb.mem.active.Append(b)
			r.rows += b.Rows
		}
	}
	tb.tellTails(link, data)
	if len(link) > 0 {
		tb.mem.last = now
		if first {
			tb.mem.since = now
		}
	}
	r.full = tb.grown(tb.mem.active.Bytes())
	r.index = tb.appliedIndex
	return r, nil
}
