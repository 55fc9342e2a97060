package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard"
)

// Report is what a run found.
type Report struct {
	Options Options
	// Violations are broken promises; there must be none.
	Violations []string
	// Stuck are tables that did not take rows within maxRecovery after everything was mended.
	Stuck []uint64
	// Recovery is how long the slowest table took until it did.
	Recovery time.Duration
	// Acked is how many rows were acknowledged, Longest the longest time in which a
	// writer got no acknowledgement.
	Acked   int
	Longest time.Duration
	Events  []string
}

// Failed tells whether anything was wrong.
func (r *Report) Failed() bool { return len(r.Violations) > 0 || len(r.Stuck) > 0 }

func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d rows acknowledged, longest gap %s, writable %s after the end of the faults\n", r.Options, r.Acked, r.Longest, r.Recovery)
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(&b, "VIOLATION: %s\n", v)
	}
	for _, id := range r.Stuck {
		fmt.Fprintf(&b, "STUCK: table %d takes no rows\n", id)
	}
	for _, e := range r.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// maxRecovery is how long after the end of all faults a table may take to be writable.
const maxRecovery = time.Minute

// awaitWritable waits until rows of each table have been acknowledged again.
func (w *World) awaitWritable(since time.Time) (longest time.Duration, stuck []uint64) {
	for _, table := range w.tables {
		before := w.ackedOf(table)
		for len(w.ackedOf(table)) == len(before) {
			if time.Since(since) > maxRecovery {
				stuck = append(stuck, table)
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return time.Since(since), stuck
}

// ackedOf lists the acknowledged rows of a table.
func (w *World) ackedOf(table uint64) []rowID {
	return slices.DeleteFunc(w.history.ackedRows(), func(row rowID) bool { return w.tableOf(row.writer) != table })
}

func (w *World) tableOf(writer int64) uint64 {
	return w.tables[(int(writer)-1)/w.opt.Writers]
}

// readAlong reads a table from any replicas, again and again, as a linearizable reader
// does: what was acknowledged before must be there.
func (w *World) readAlong(ctx context.Context, table uint64, stale chan<- string) {
	for i := 0; ctx.Err() == nil; i++ {
		before := w.ackedOf(table)
		// Rows are acknowledged in shards that the table is placed on by then.
		have, from := map[rowID]int{}, []string(nil)
		for _, id := range schema.FromProto(w.metadata.table(table)).Shards() {
			node, ok := w.readFresh(ctx, id, table, i, have)
			if !ok {
				have = nil
				break
			}
			from = append(from, node)
		}
		for _, row := range before {
			if have != nil && have[row] == 0 {
				select {
				case stale <- fmt.Sprintf("table %d: a linearizable read on %v lacks row %v, which was acknowledged before", table, from, row):
				default:
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// readFresh reads from the i-th replica of a shard what it holds once it has come to the
// index that the leader gives.
func (w *World) readFresh(ctx context.Context, id uint32, table uint64, i int, into map[rowID]int) (string, bool) {
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
	if err != nil {
		return "", false
	}
	members := w.replicas(id)
	n := w.node(members[i%len(members)])
	s := n.shard(id)
	if s == nil || s.WaitApplied(ctx, index) != nil {
		return "", false
	}
	// An error is that of a node which crashed meanwhile.
	return n.ID, read(n.disk, s, table, into) == nil
}

// check compares every replica with what the writers were told, once they are all at
// the same index.
func (w *World) check(r *Report) {
	bad := func(format string, args ...any) { r.Violations = append(r.Violations, fmt.Sprintf(format, args...)) }
	r.Violations = append(r.Violations, w.failed...)
	if len(r.Stuck) > 0 {
		return
	}
	all := map[rowID]int{}
	for _, g := range w.groups {
		var first map[rowID]int
		firstNode := ""
		// Not all that was begun to move has come about.
		_, leader := w.leader(g.ID)
		if leader == nil {
			bad("shard %d has no leader", g.ID)
			continue
		}
		said := leader.Report()
		for _, id := range append(said.Voters, said.Learners...) {
			have, err := w.settled(g.ID, w.node(id))
			if err != nil {
				bad("shard %d: replica on %s: %v", g.ID, id, err)
				continue
			}
			if first == nil {
				first, firstNode = have, id
			} else if !maps.Equal(first, have) {
				bad("shard %d: the replicas on %s and %s differ: %s", g.ID, firstNode, id, difference(first, have))
			}
		}
		for row, n := range first {
			all[row] += n
		}
	}
	w.compare(all, bad)
}

// settled waits until a replica has applied everything and returns its rows.
func (w *World) settled(id uint32, n *Node) (map[rowID]int, error) {
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
		return nil, err
	}
	s := n.shard(id)
	if s == nil {
		return nil, fmt.Errorf("it is not open")
	}
	if err := s.WaitApplied(ctx, index); err != nil {
		return nil, fmt.Errorf("it does not come to index %d: %w", index, err)
	}
	have := map[rowID]int{}
	for _, table := range w.tables {
		if err := read(n.disk, s, table, have); err != nil {
			return nil, err
		}
	}
	return have, nil
}

// compare checks that the shards have every row as often as its writer was told.
func (w *World) compare(have map[rowID]int, bad func(string, ...any)) {
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	lost, doubled, refusedRows, unsent := 0, 0, 0, 0
	for row, n := range have {
		f, sent := w.history.rows[row]
		switch {
		case !sent:
			unsent++
		case n > 1:
			doubled++
		case f == refused:
			refusedRows++
		}
	}
	for row, f := range w.history.rows {
		if f == acked && have[row] == 0 {
			lost++
		}
	}
	for _, x := range []struct {
		n    int
		what string
	}{{lost, "acknowledged rows are lost"}, {doubled, "rows are there more than once"}, {refusedRows, "rows are there that were refused for certain"}, {unsent, "rows are there that nobody wrote"}} {
		if x.n > 0 {
			bad("%d %s", x.n, x.what)
		}
	}
}

func difference(a, b map[rowID]int) string {
	var out []string
	for row := range a {
		if a[row] != b[row] {
			out = append(out, fmt.Sprintf("%v %d:%d", row, a[row], b[row]))
		}
	}
	for row := range b {
		if a[row] == 0 {
			out = append(out, fmt.Sprintf("%v 0:%d", row, b[row]))
		}
	}
	slices.Sort(out)
	return fmt.Sprintf("%d rows, as %v", len(out), out[:min(3, len(out))])
}
