package shard

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/shard/memtable"
	"cordwood/shard/rules"
)

// Group commit. A write passes through four goroutines:
//
//	caller        checks the batches, decodes them into the active memtable's memory (precheck),
//	              queues the write and waits (writeLogged)
//	commit loop   takes the waiting writes, up to Config.GroupBytes, as a group
//	proposer      one for each group: makes an entry of it, proposes the entry, answers the callers
//	apply         the replica's goroutine: accepts or refuses each write, links its batches, returns
//	              the outcomes
//
// No write waits for a group to fill up: a group consists of the writes that arrived while the
// previous entries were in flight. An idle shard commits a single write at once; a busy one pays
// one fsync for many writes. Two entries are in flight at a time (maxInFlight), so that one is
// assembled and sent while the other is written to disk. More entries in flight would only make the
// groups smaller.
//
// Two proposers may overtake each other, so nothing may depend on the order of writes that are in
// flight at the same time. Nothing does: a duplicate is recognised by its number, and a client that
// needs an order sends the second write after the answer to the first.
//
// What a pending write holds, and until when:
//
//   - Its inflated bytes count as promised from enqueue until the proposer is done, so that
//     awaitRoom sees how much the memtable is about to receive.
//   - The batches are the caller's memory, and belong to the caller again when Write returns. The
//     proposer copies them into the entry and then signals it (copied). A caller whose context
//     ends takes the write back if it still waits (queue.remove); then nothing was appended.
//     Otherwise the caller waits for the copy and returns that the outcome is unknown.
//   - A reference to the memtable that the rows were decoded into, until the proposer is done.
//
// Decoded rows bypass raft. The log carries bytes only, and precheck has decoded the rows already.
// So the proposer keeps them in decoded under the address of the entry's first byte while Propose
// runs, and Apply looks there (decodedOf): on the node that proposed an entry, raft applies the
// same slice that it was given. No other entry can have that address, because the proposer holds
// the slice until it has deleted the key. If Apply finds nothing there, it decodes the batches
// again, which costs only time. That happens on followers, in a replay, if Propose gave up before
// the entry was applied, and if the memtable was frozen meanwhile, because rows must be in the
// memory of the memtable that they are linked to. TestDecodedOnce fails if raft stops passing the
// same slice.

// maxInFlight is how many entries are in flight at once: one is being written while the next is
// assembled and sent.
const maxInFlight = 2

// commitLoop combines the writes that arrive while entries are in flight into the next entry, until
// the queue is closed and empty. It is the only proposer of writes in the shard.
func (wr *writer) commitLoop() {
	slots := make(chan struct{}, maxInFlight)
	var inFlight sync.WaitGroup
	defer inFlight.Wait()
	for {
		slots <- struct{}{}
		group := wr.queue.pop(wr.cfg.GroupBytes)
		if group == nil {
			return
		}
		inFlight.Add(1)
		go func() {
			defer inFlight.Done()
			_ = wr.proposals.Acquire(context.Background(), 1) // waits while a flush begins; see hold
			defer wr.proposals.Release(1)
			wr.propose(group)
			<-slots
		}()
	}
}

// propose proposes a group of writes as one entry and answers them.
func (wr *writer) propose(group []*pending) {
	e := rules.Entry{
		Kind:   rules.KindWrite,
		Time:   wr.clock.entryTime(),
		Writes: make([]rules.Write, len(group)),
		ByUser: wr.cfg.ClusterVersion() >= metapb.ProtocolKeyUsers,
	}
	size := rules.EntryHead + 16
	for i, p := range group {
		e.Writes[i] = p.Write
		size += p.bytes
	}
	defer func() {
		for _, p := range group {
			wr.promised.Add(-p.inflated)
			p.release()
		}
	}()
	data := rules.AppendEntry(make([]byte, 0, size), &e)
	for _, p := range group {
		p.copied.Done()
	}
	ready := make([]decoded, len(group))
	for i, p := range group {
		ready[i] = decoded{p.mem, p.decoded}
	}
	key := unsafe.SliceData(data)
	wr.decoded.Store(key, ready)
	defer wr.decoded.Delete(key)
	begin := time.Now()
	wr.metrics.QueueSeconds.Observe(begin.Sub(group[0].since).Seconds())
	res, err := wr.replica.Propose(context.Background(), data)
	wr.metrics.CommitSeconds.Observe(time.Since(begin).Seconds())
	if err == nil {
		if _, ok := res.Result.(*applied); !ok {
			err = errs.New(errs.Unexpected, "shard %d: entry %d was applied with result %T", wr.cfg.ID, res.Index,
				res.Result).WithReason(errs.OutcomeUnknown)
		}
	}
	if err != nil {
		for _, p := range group {
			p.finish(0, nil, err)
		}
		return
	}
	for i, o := range res.Result.(*applied).writes {
		wr.metrics.Duplicates.Add(float64(o.duplicates))
		switch {
		case o.err != nil:
			group[i].finish(0, nil, o.err)
		case len(o.need) > 0:
			group[i].finish(0, o.need, nil)
		default:
			group[i].finish(res.Index, nil, nil)
		}
	}
}

// decoded holds the batches of a write, decoded before the write was proposed.
type decoded struct {
	mem     *memtable.Memtable
	batches []*column.Batch
}

// decodedOf returns the decoded batches of the writes of an entry if this replica proposed the
// entry and Propose still waits, because the log then passes the same bytes to Apply. Otherwise it
// returns nil.
func (ap *applier) decodedOf(data []byte) []decoded {
	ready, _ := ap.decoded.Load(unsafe.SliceData(data))
	list, _ := ready.([]decoded)
	return list
}
