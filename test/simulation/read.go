package simulation

import (
	"context"
	"fmt"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard"
)

// maxRecovery is how long after the end of all faults a table may take to be writable.
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

// ackedOf lists the acknowledged rows of the i-th table.
func (w *World) ackedOf(i int) []rowID {
	return w.history.ackedRows(func(writer int64) bool { return w.tableOf(writer) == i })
}

// ackedCount is how many they are.
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

// readAlong reads a table from any replicas, again and again, as a linearizable reader
// does: what was acknowledged before must be there.
func (w *World) readAlong(ctx context.Context, i int, t table) {
	for n := 0; ctx.Err() == nil; n++ {
		before := w.ackedOf(i)
		if have, from, ok := w.readTable(ctx, n, t); ok {
			for _, row := range before {
				if have[row] == 0 {
					w.watched.bad("table %s: a linearizable read on %v lacks row %v, which was acknowledged before", t.name, from, row)
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// readTable reads from the n-th replicas of all shards that have rows of a table; false: not
// all of them answered, or the rows were on their way to others meanwhile.
func (w *World) readTable(ctx context.Context, n int, t table) (have map[rowID]int, from []string, ok bool) {
	r := w.routers[n%len(w.routers)]
	now, err := r.table(ctx, t.name)
	if err != nil || now == nil {
		return nil, nil, false
	}
	have = map[rowID]int{}
	for _, id := range now.Shards() {
		node, ok := w.readFresh(ctx, r, id, now, n, have)
		if !ok {
			return nil, nil, false
		}
		from = append(from, node)
	}
	after, err := r.table(ctx, t.name)
	return have, from, err == nil && after != nil && after.ID == now.ID
}

// readFresh reads from the n-th replica of a shard what it holds once it has come to the
// index that the leader gives.
func (w *World) readFresh(ctx context.Context, r *router, id uint32, t *schema.Table, n int, into map[rowID]int) (string, bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, leader := w.leader(id)
	if leader == nil {
		return "", false
	}
	index, err := uint64(0), error(nil)
	if w.opt.Mutant != StaleRead {
		index, err = leader.ReadBarrier(ctx)
	}
	members := r.replicas(id)
	if err != nil || len(members) == 0 {
		return "", false
	}
	node := w.node(members[n%len(members)])
	if node == nil {
		return "", false
	}
	s := node.shard(id)
	if s == nil || s.WaitApplied(ctx, index) != nil {
		return "", false
	}
	at, err := read(node.disk, s, t, into)
	if err != nil {
		return "", false // that of a node which crashed meanwhile
	}
	w.watched.read(fmt.Sprint("reader of ", t.Name), id, node.ID, at)
	return node.ID, true
}

// settled waits until a replica has applied everything, and returns its rows of all tables,
// and how far it is.
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
		return nil, 0, fmt.Errorf("it does not come to index %d: %w", index, err)
	}
	have, at := contents{}, uint64(0)
	for _, t := range tables {
		if at, err = read(n.disk, s, t, have.table(t.ID)); err != nil {
			return nil, 0, fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return have, at, nil
}
