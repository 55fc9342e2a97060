package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard"
)

// maxRecovery is the maximum time until a table can be written again after the end of all faults.
const maxRecovery = time.Minute

// awaitWritable waits until rows of each table have been acknowledged again.
func (w *World) awaitWritable(since time.Time) (longest time.Duration, stuck []string) {
	for i, table := range w.tables {
		before := w.ackedCount(i)
		for w.ackedCount(i) == before {
			if time.Since(since) > maxRecovery {
				stuck = append(stuck, table.name)
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return time.Since(since), stuck
}

// ackedCount returns the number of acknowledged rows of a table.
func (w *World) ackedCount(i int) (n int) {
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	for writer, rows := range w.history.by {
		if w.tableOf(writer) == i {
			n += rows
		}
	}
	return n
}

func (w *World) tableOf(writer int64) int { return (int(writer) - 1) / w.opt.Writers }

// readAlong repeatedly reads a table from random replicas, like a linearizable reader. At the end its answers are
// compared with those of the writers: see answers.
func (w *World) readAlong(ctx context.Context, reader string, t table, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		w.readTable(ctx, reader, n, t)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(200+rng.IntN(4000)) * time.Millisecond):
		}
	}
}

// readTable reads the rows of a table from the n-th replicas of all shards that have some, and records the answer of
// each shard. If all shards answered and the rows were not being moved, it also records the answer of all together.
func (w *World) readTable(ctx context.Context, reader string, n int, t table) {
	r, begun := w.routers[n%len(w.routers)], time.Since(w.start)
	now, err := r.table(ctx, t.name)
	if err != nil || now == nil {
		return
	}
	all, from, whole := map[rowID]int{}, []string{}, true
	parts := map[place]answer{}
	for _, id := range now.Shards() {
		begun, rows := time.Since(w.start), map[rowID]int{}
		node, at, ok := w.readFresh(ctx, r, id, now, n, rows)
		if !ok {
			whole = false
			continue
		}
		w.watched.read(reader, id, node, at)
		from = append(from, node)
		for row, n := range rows {
			all[row] += n
		}
		parts[place{t.name, now.ID, id}] = answer{who: node, begun: begun, ended: time.Since(w.start), rows: rows}
	}
	ended := time.Since(w.start)
	after, err := r.table(ctx, t.name)
	valid := err == nil && after != nil && after.ID == now.ID
	for at, part := range parts {
		part.valid = valid
		w.answers.note(at, part)
	}
	if whole && valid {
		w.answers.note(place{table: t.name}, answer{strings.Join(from, ", "), begun, ended, all, true})
	}
}

// readFresh reads the rows of the n-th replica of a shard at the index that the leader returns. If several nodes
// consider themselves leaders, it asks any of them.
func (w *World) readFresh(
	ctx context.Context, r *router, id uint32, t *schema.Table, n int, into map[rowID]int,
) (from string, index uint64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	leaders := w.leaders(id)
	if len(leaders) == 0 {
		return "", 0, false
	}
	leader := leaders[n%len(leaders)]
	if leader.calls.pass(ctx) != nil {
		return "", 0, false
	}
	index, err := w.barrier(ctx, leader, id)
	members := r.replicas(id)
	if err != nil || len(members) == 0 {
		return "", 0, false
	}
	node := w.node(members[n%len(members)])
	if w.opt.Mutant == LeaseRead || w.opt.Mutant == LearnersConfirm {
		node = leader
	}
	if node == nil || node.calls.pass(ctx) != nil {
		return "", 0, false
	}
	s := node.shard(id)
	if s == nil || s.WaitApplied(ctx, index) != nil {
		return "", 0, false
	}
	at, err := read(node, s, t, into)
	if err != nil {
		return "", 0, false // the node has crashed in the meantime
	}
	return node.ID, at, true
}

// errNotConfirmed is the error of a mutant that does not read.
var errNotConfirmed = errors.New("too few members confirm that it leads")

// barrier asks a leader for the index that a replica must have applied to show all acknowledged
// rows.
func (w *World) barrier(ctx context.Context, n *Node, id uint32) (uint64, error) {
	s := n.shard(id)
	switch {
	case s == nil:
		return 0, errDead
	case w.opt.Mutant == StaleRead || w.opt.Mutant == LeaseRead:
		return 0, nil
	case w.opt.Mutant == LearnersConfirm && !w.confirmed(n, s, id):
		return 0, errNotConfirmed
	case w.opt.Mutant == LearnersConfirm:
		return 0, nil
	}
	return s.ReadBarrier(ctx)
}

// settled waits until a replica has applied everything. It returns its rows of all tables, and its index.
func (w *World) settled(id uint32, n *Node, tables []*schema.Table) (contents, uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxRecovery)
	defer cancel()
	var index uint64
	err := fmt.Errorf("no leader was found")
	for ctx.Err() == nil {
		var leader *shard.Shard
		if _, leader = w.leader(id); leader != nil {
			if index, err = leader.ReadBarrier(ctx); err == nil {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		return nil, 0, err
	}
	if n == nil {
		return nil, 0, fmt.Errorf("its disk was lost")
	}
	s := n.shard(id)
	if s == nil {
		return nil, 0, fmt.Errorf("it is not open")
	}
	if err := s.WaitApplied(ctx, index); err != nil {
		return nil, 0, fmt.Errorf("it does not reach index %d: %w", index, err)
	}
	have, at := contents{}, uint64(0)
	for _, t := range tables {
		if at, err = read(n, s, t, have.table(t.ID)); err != nil {
			return nil, 0, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return have, at, nil
}
