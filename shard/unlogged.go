package shard

import (
	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// takeUnlogged removes from a write the batches that do not go through the log, with their decoded
// rows, which the caller must release. It drops batches that were appended before, because Apply
// could not recognise unlogged ones.
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

// appendUnlogged appends batches of tables with the option skip_wal to memory only. A crash before
// the next flush loses these rows, and nothing else.
//
// It does the work of Apply, but between two calls of Apply and under the lock. It changes only the memtable and
// the sessions of unlogged batches. A freeze takes both together, so a row is in segments if and only if its batch
// is in the manifest.
func (wr *writer) appendUnlogged(batches [][]byte, p *pending) (index uint64, need []uint64, err error) {
	if !wr.replica.IsLeader() {
		return 0, nil, errs.New(errs.ShardNotReady, "shard %d: write: node %s does not lead it; send the write to the "+
			"leader", wr.cfg.ID,
			wr.cfg.NodeID).WithReason(errs.NotLeader)
	}
	for {
		r, err := wr.tables.LinkUnlogged(p.mem, p.decoded, batches, wr.replica.SoleMember())
		if !r.Frozen {
			wr.metrics.Duplicates.Add(float64(r.Duplicates))
			wr.metrics.Rows.Add(float64(r.Rows))
			if r.Full {
				wr.wakeFlusher()
			}
			return r.Index, r.Need, err
		}
		// The memtable was frozen meanwhile.
		mem := p.mem
		p.mem = wr.memory.Active()
		mem.Unref()
		for i, data := range batches {
			if p.decoded[i], err = store.DecodeInto(p.mem, data); err != nil {
				return 0, nil, wr.notDecoded(i, err)
			}
		}
	}
}
