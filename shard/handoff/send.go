package handoff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

const (
	// callTimeout is the time limit of one call. After a failure, the pause between two rounds of
	// calls grows from minPause to maxPause.
	callTimeout = 10 * time.Second
	minPause    = 200 * time.Millisecond
	maxPause    = time.Second
	// unknownFor is how long a batch with an unknown outcome is sent again. A shard forgets a
	// session half an hour after its last batch, and would then append the batch once more.
	unknownFor = 15 * time.Minute
	// copySession is the prefix of the ids of sessions that the metadata group does not assign.
	copySession = 1 << 62
)

// copyDef is the definition of a copy.
type copyDef struct {
	id      uint64
	version uint32
	proto   *schemapb.Table
}

// newCopyDef returns the definition of t's copy. Its rows go through the log even if the table's rows do not, because
// they must be on the disk of the target before they are removed from this shard.
func newCopyDef(t *schema.Table, h *schema.Handoff) *copyDef {
	of := *t
	of.Handoff = h
	c := of.Copy()
	c.Options = maps.Clone(c.Options)
	delete(c.Options, schema.OptionSkipWAL)
	return &copyDef{id: c.ID, version: c.Version, proto: c.ToProto()}
}

// target sends batches to one shard of the copy, one after another.
type target struct {
	of      *tableCopy
	shard   uint32
	group   *leader.Group
	session uint64
	seq     uint64
	queue   chan func(context.Context) error
}

// open starts sending. It continues until ctx ends. cancel is called with the error if a shard
// refuses rows.
func (h *tableCopy) open(ctx context.Context, cancel context.CancelCauseFunc) {
	for _, id := range h.copy.Shards {
		t := &target{
			of: h, shard: id, group: leader.NewGroup(&h.of.nodes), queue: make(chan func(context.Context) error, 1),
			session: copySession | h.copy.ID<<24 | uint64(h.of.cfg.ShardID&0xffffff),
		}
		h.targets = append(h.targets, t)
		h.of.running.Go(func() {
			if err := t.work(ctx); err != nil {
				cancel(err)
			}
		})
	}
}

// close stops sending to all targets.
func (h *tableCopy) close() {
	for _, t := range h.targets {
		close(t.queue)
	}
}

// work sends the queued batches until the queue is closed or ctx ends.
func (t *target) work(ctx context.Context) error {
	for {
		select {
		case do, more := <-t.queue:
			if !more {
				return nil
			}
			if err := do(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// push queues a batch. It blocks while one batch is being sent and another is waiting.
func (t *target) push(ctx context.Context, def *copyDef, b *column.Builder) error {
	return t.enqueue(ctx, func(ctx context.Context) error {
		t.seq++
		// The nodes of the target may run an older version.
		data := b.Encode(nil, column.Header{
			TableID:       def.id,
			Epoch:         1,
			SchemaVersion: def.version,
			Session:       t.session,
			Seq:           t.seq,
			Protocol:      metapb.ProtocolHandoff,
		})
		if err := t.of.of.cfg.Rate.Wait(ctx, len(data)); err != nil {
			return err
		}
		return t.send(ctx, def, data)
	})
}

// flush waits until the shard has all queued batches.
func (t *target) flush(ctx context.Context) error {
	done := make(chan struct{})
	if err := t.enqueue(ctx, func(context.Context) error { close(done); return nil }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *target) enqueue(ctx context.Context, do func(context.Context) error) error {
	select {
	case t.queue <- do:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send sends a batch until the shard has it, even if nodes do not answer for a while. A batch with
// an unknown outcome is sent again unchanged, and appended once.
func (t *target) send(ctx context.Context, def *copyDef, data []byte) error {
	req := &shardpb.WriteRequest{ShardId: t.shard, Batches: [][]byte{data}}
	j := verdicts{now: time.Now}
	failure := leader.Search{
		Group: t.group, Nodes: &t.of.of.nodes,
		Order:    func() []string { return t.group.Order(t.of.nodesOf(t.shard)) },
		None:     errors.New("no node is known to hold it"),
		Call:     func(ctx context.Context, node string, _ leader.Try) error { return t.call(ctx, node, req, def) },
		Judge:    j.classify,
		Repeat:   true, // the shard drops batches that it already has
		MinPause: minPause, MaxPause: maxPause,
		Continue: func(_ int, so *leader.Failure) bool { t.noteWait(so.Err); return true },
		Retrying: func(_ string, so *leader.Failure) { t.noteWait(so.Err) },
	}.Run(ctx)
	switch {
	case failure == nil:
		t.of.setWaits("")
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case j.tooLate:
		return fmt.Errorf("shard %d: send a batch of the copy: for %s it has been unknown whether the shard has it: "+
			"%w", t.shard,
			unknownFor, failure.Err)
	}
	return fmt.Errorf("shard %d: send a batch of the copy: the shard refuses it: %w", t.shard, failure.Err)
}

// verdicts decides whether a batch is sent again. Only a permanent refusal ends a copy, because
// another copy would have to start from the beginning.
type verdicts struct {
	now     func() time.Time
	unknown time.Time // the time since which the batch may have been appended
	tooLate bool      // whether the shard may have forgotten the batch since then
}

// classify returns whether a call that failed with an error is repeated.
func (j *verdicts) classify(err error) leader.Verdict {
	switch errs.ReasonOf(err) {
	case errs.TableGone, errs.WrongEpoch, errs.SchemaStale, errs.BadBatch:
		return leader.Verdict{}
	}
	v := leader.Judge(err)
	if !v.Retry {
		v.Retry, v.Unknown = true, true
	}
	if v.Unknown && j.unknown.IsZero() {
		j.unknown = j.now()
	}
	j.tooLate = !j.unknown.IsZero() && j.now().Sub(j.unknown) > unknownFor
	v.Retry = !j.tooLate
	return v
}

// call writes the batch on one node, with the definition of the copy if the node asks for it.
func (t *target) call(ctx context.Context, node string, req *shardpb.WriteRequest, def *copyDef) error {
	conn, err := t.of.of.cfg.Peers(node)
	if err != nil {
		return errs.Wrap(errs.ShardUnreachable, err, "connect to node %s", node).WithReason(errs.NotLeader)
	}
	client := shardpb.NewShardServiceClient(conn)
	req.Tables = nil
	_, err = t.of.of.nodes.Call(ctx, node, conn, callTimeout, func(ctx context.Context) error {
		resp, err := client.Write(ctx, req)
		if err != nil || len(resp.NeedTables) == 0 {
			return err
		}
		req.Tables = []*schemapb.Table{def.proto}
		if resp, err = client.Write(ctx, req); err == nil && len(resp.NeedTables) > 0 {
			return errors.New("it asks for another definition of the copy")
		}
		return err
	})
	return err
}

// nodesOf returns the nodes that are believed to hold a shard.
func (h *tableCopy) nodesOf(shard uint32) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nodes[shard]
}

// noteWait records the reason why a batch is not appended yet.
func (t *target) noteWait(err error) {
	t.of.setWaits(fmt.Sprintf("shard %d: %s", t.shard, errs.From(err).Msg))
}

func (h *tableCopy) setWaits(why string) {
	h.mu.Lock()
	h.state.Waits = why
	h.mu.Unlock()
}
