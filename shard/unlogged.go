package shard

import (
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
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
		index, need, retry, err := wr.linkUnlogged(batches, p)
		if !retry {
			return index, need, err
		}
		// The memtable was frozen in the meantime.
		mem := p.mem
		wr.tables.mu.RLock()
		p.mem = wr.tables.mem.active
		p.mem.Ref()
		wr.tables.mu.RUnlock()
		mem.Unref()
		for i, data := range batches {
			if p.decoded[i], err = decodeInto(p.mem, data); err != nil {
				return 0, nil, wr.notDecoded(i, err)
			}
		}
	}
}

func (wr *writer) linkUnlogged(batches [][]byte, p *pending) (index uint64, need []uint64, retry bool, err error) {
	wr.tables.mu.Lock()
	defer wr.tables.mu.Unlock()
	if wr.tables.closing {
		return 0, nil, false, errs.New(errs.ShardNotReady, "shard %d: it is closing on node %s", wr.cfg.ID, wr.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if !wr.alone() {
		return 0, nil, false, errs.New(errs.ShardBusy, "shard %d: it gets another replica: rows without a log have to be sent again", wr.cfg.ID).
			WithReason(errs.Busy).WithRetryAfter(50 * time.Millisecond)
	}
	if wr.tables.mem.active != p.mem {
		return 0, nil, true, nil
	}
	adm := rules.Admission{State: wr.tables.state, IDs: map[rules.BatchID]struct{}{}, Leader: true}
	var link []*column.Batch
	var encoded [][]byte
	for i, b := range p.decoded {
		v, err := adm.Admit(&b.Header)
		switch v {
		case rules.Duplicate:
			wr.metrics.duplicates.Inc()
			continue
		case rules.NeedsTable:
			need = appendNew(need, b.TableID)
			continue
		case rules.Refused:
			return 0, nil, false, err
		}
		if err := adm.Accept(b); err != nil {
			return 0, nil, false, err
		}
		if b.Rows > 0 {
			link, encoded = append(link, b), append(encoded, batches[i])
			adm.IDs[rules.IDOf(&b.Header)] = struct{}{}
		}
	}
	if len(need) > 0 {
		return 0, need, false, nil
	}
	now, clock, first, rows := wr.cfg.Now(), wr.tables.clockNanos(), wr.tables.mem.active.Empty(), 0
	for i, b := range link {
		wr.tables.ingested.add(b.TableID, len(encoded[i]))
		wr.tables.state.NoteUnlogged(&b.Header, clock)
		if !wr.tables.state.Tables[b.TableID].Instant {
			wr.tables.mem.active.Append(b)
			rows += b.Rows
		}
	}
	wr.tables.tellTails(link, encoded)
	if len(link) > 0 {
		wr.tables.mem.last = now
		if first {
			wr.tables.mem.since = now
		}
	}
	bytes := wr.tables.mem.active.Bytes()
	wr.cfg.Budget.add(bytes - wr.tables.mem.bytes)
	wr.tables.mem.bytes = bytes
	if bytes >= wr.cfg.FlushBytes || wr.tables.mem.active.Rows() >= wr.cfg.FlushBytes/rowBytes || bytes >= wr.cfg.Budget.share() {
		wr.wakeFlusher()
	}
	wr.metrics.rows.Add(float64(rows))
	return wr.tables.appliedIndex, nil, false, nil
}
