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
func (s *Shard) appendUnlogged(batches [][]byte, p *pending) (index uint64, need []uint64, err error) {
	if !s.replica.IsLeader() {
		return 0, nil, errs.New(errs.ShardNotReady, "shard %d: node %s does not lead it", s.cfg.ID, s.cfg.NodeID).WithReason(errs.NotLeader)
	}
	for {
		index, need, retry, err := s.linkUnlogged(batches, p)
		if !retry {
			return index, need, err
		}
		// The memtable was frozen in the meantime.
		mem := p.mem
		s.mu.RLock()
		p.mem = s.active
		p.mem.Ref()
		s.mu.RUnlock()
		mem.Unref()
		for i, data := range batches {
			if p.decoded[i], err = decodeInto(p.mem, data); err != nil {
				return 0, nil, s.notDecoded(i, err)
			}
		}
	}
}

func (s *Shard) linkUnlogged(batches [][]byte, p *pending) (index uint64, need []uint64, retry bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return 0, nil, false, errs.New(errs.ShardNotReady, "shard %d: it is closing on node %s", s.cfg.ID, s.cfg.NodeID).WithReason(errs.NotLeader)
	}
	if !s.aloneLocked() {
		return 0, nil, false, errs.New(errs.ShardBusy, "shard %d: it gets another replica: rows without a log have to be sent again", s.cfg.ID).
			WithReason(errs.Busy).WithRetryAfter(50 * time.Millisecond)
	}
	if s.active != p.mem {
		return 0, nil, true, nil
	}
	adm := rules.Admission{State: s.state, IDs: map[rules.BatchID]struct{}{}, Leader: true}
	var link []*column.Batch
	var encoded [][]byte
	for i, b := range p.decoded {
		v, err := adm.Admit(&b.Header)
		switch v {
		case rules.Duplicate:
			s.metrics.duplicates.Inc()
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
	now, clock, first, rows := s.now(), s.clockLocked(), s.active.Empty(), 0
	for i, b := range link {
		s.ingested.add(b.TableID, len(encoded[i]))
		s.state.NoteUnlogged(&b.Header, clock)
		if !s.state.Tables[b.TableID].Instant {
			s.active.Append(b)
			rows += b.Rows
		}
	}
	s.tellTails(link, encoded)
	if len(link) > 0 {
		s.activeLast = now
		if first {
			s.activeSince = now
		}
	}
	bytes := s.active.Bytes()
	s.cfg.Budget.add(bytes - s.activeBytes)
	s.activeBytes = bytes
	if bytes >= s.cfg.FlushBytes || s.active.Rows() >= s.cfg.FlushBytes/rowBytes || bytes >= s.cfg.Budget.share() {
		s.wakeFlusher()
	}
	s.metrics.rows.Add(float64(rows))
	return s.appliedIndex, nil, false, nil
}
