package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

const (
	// pushTimeout bounds one call, pushPause the time between two after a failure.
	pushTimeout = 10 * time.Second
	pushPause   = 200 * time.Millisecond
	// pushUnsure is for how long a batch is sent again that may have been appended: a shard
	// forgets a session half an hour after its last batch, and would append it once more.
	pushUnsure = 15 * time.Minute
	// handoffSession begins the names of sessions that the metadata does not give.
	handoffSession = 1 << 62
)

// copyDef is the definition of a copy.
type copyDef struct {
	id      uint64
	version uint32
	proto   *schemapb.Table
}

// newCopyDef returns the definition of t's copy. Its rows go through the log even if
// those of the table do not: they are on disk here, and must be there before they go.
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
	h       *handoff
	shard   uint32
	session uint64
	seq     uint64
	queue   chan func(context.Context) error
	node    string // that took the last one
}

// open begins to send; ctx ends it, and cancel is called with what a shard refused.
func (h *handoff) open(ctx context.Context, cancel context.CancelCauseFunc) {
	for _, id := range h.copy.Shards {
		t := &target{
			h: h, shard: id, queue: make(chan func(context.Context) error, 1),
			session: handoffSession | h.copy.ID<<24 | uint64(h.of.cfg.ID&0xffffff),
		}
		h.targets = append(h.targets, t)
		h.of.running.Go(func() {
			for {
				select {
				case do, more := <-t.queue:
					if !more {
						return
					}
					if err := do(ctx); err != nil {
						cancel(err)
						return
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
}

// close ends the sending of all.
func (h *handoff) close() {
	for _, t := range h.targets {
		close(t.queue)
	}
}

// push queues a batch; while one is on its way and one waits, it waits.
func (t *target) push(ctx context.Context, def *copyDef, b *column.Builder) error {
	return t.enqueue(ctx, func(ctx context.Context) error {
		t.seq++
		// The nodes of the target may be older programs.
		data := b.Encode(nil, column.Header{
			TableID:       def.id,
			Epoch:         1,
			SchemaVersion: def.version,
			Session:       t.session,
			Seq:           t.seq,
			Protocol:      metapb.ProtocolHandoff,
		})
		if err := t.h.of.cfg.Fetch.Wait(ctx, len(data)); err != nil {
			return err
		}
		return t.send(ctx, def, data)
	})
}

// flush waits until the shard has all that was queued.
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

// send sends a batch until the shard has it. What has an unknown outcome is sent again
// as it is, and appended once.
func (t *target) send(ctx context.Context, def *copyDef, data []byte) error {
	req := &shardpb.WriteRequest{ShardId: t.shard, Batches: [][]byte{data}}
	var unsure time.Time // since when it may have been appended
	for try := 0; ; try++ {
		node, err := t.pick(try)
		if err == nil {
			err = t.call(ctx, node, req, def)
		}
		if err == nil {
			t.node = node
			t.wait("")
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		e := errs.From(err)
		switch e.Reason {
		case errs.TableGone, errs.WrongEpoch, errs.SchemaStale, errs.BadBatch:
			return fmt.Errorf("shard %d does not take rows of the copy: %w", t.shard, err)
		case errs.NotLeader:
			t.node = e.Leader
		default:
			t.node = ""
		}
		if node != "" && e.Reason != errs.NotLeader && e.Reason != errs.Busy && unsure.IsZero() {
			unsure = time.Now()
		}
		if !unsure.IsZero() && time.Since(unsure) > pushUnsure {
			return fmt.Errorf("shard %d: for %s it is not known whether it has a batch of the copy: %w", t.shard,
				pushUnsure, err)
		}
		t.wait(fmt.Sprintf("shard %d: %s", t.shard, e.Msg))
		pause := pushPause
		if e.Reason == errs.Busy {
			t.node, pause = node, max(pause, min(e.RetryAfter, pushTimeout))
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// pick returns the node to ask: that which took the last batch, or one after another.
func (t *target) pick(try int) (string, error) {
	if t.node != "" {
		return t.node, nil
	}
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	nodes := t.h.nodes[t.shard]
	if len(nodes) == 0 {
		return "", errors.New("no node is known to hold it")
	}
	return nodes[try%len(nodes)], nil
}

func (t *target) call(ctx context.Context, node string, req *shardpb.WriteRequest, def *copyDef) error {
	conn, err := t.h.of.cfg.Peers(node)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	client := shardpb.NewShardServiceClient(conn)
	req.Tables = nil
	resp, err := client.Write(ctx, req)
	if err == nil && len(resp.NeedTables) > 0 {
		req.Tables = []*schemapb.Table{def.proto}
		if resp, err = client.Write(ctx, req); err == nil && len(resp.NeedTables) > 0 {
			return errors.New("it asks for another definition of the copy")
		}
	}
	return errs.FromGRPC(err)
}

// wait notes why nothing continues.
func (t *target) wait(why string) {
	t.h.mu.Lock()
	t.h.state.Waits = why
	t.h.mu.Unlock()
}
