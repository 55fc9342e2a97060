package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// check compares every replica with the log of its shard, and all replicas together with the answers to the writers,
// after all activity has ended.
func (w *World) check(r *Report) {
	bad := func(format string, args ...any) { r.Violations = append(r.Violations, fmt.Sprintf(format, args...)) }
	w.mu.Lock()
	r.Violations = append(r.Violations, w.failed...)
	w.mu.Unlock()
	r.Violations = append(r.Violations, w.watched.violations...)
	r.Violations = append(r.Violations, w.cluster.archives.conflicts()...)
	if len(r.Stuck) > 0 {
		return
	}
	tables, err := w.finalTables()
	if err != nil {
		bad("%v", err)
		return
	}
	all, final := map[string]map[rowID]int{}, map[place]map[rowID]int{}
	for _, s := range w.shards() {
		rowsOf := w.checkShard(r, s, tables, bad)
		for _, t := range tables {
			name, rows := t.Name, rowsOf[t.Name]
			final[place{name, t.ID, s.Id}] = rows
			if all[name] == nil {
				all[name] = map[rowID]int{}
			}
			for row, n := range rows {
				all[name][row] += n
			}
		}
	}
	w.compare(all, bad)
	for _, t := range w.tables {
		at := time.Since(w.start)
		w.answers.note(place{table: t.name}, answer{"of everything at the end", at, at, all[t.name], true})
	}
	w.checkReads(final, bad)
}

// finalTables returns the tables at the end.
func (w *World) finalTables() (out []*schema.Table, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxRecovery)
	defer cancel()
	for _, t := range w.tables {
		now, err := w.routers[0].table(ctx, t.name)
		if err != nil || now == nil {
			return nil, fmt.Errorf("table %s does not exist: %w", t.name, err)
		}
		out = append(out, now)
	}
	return out, nil
}

// checkShard compares the replicas of a shard with each other and with its log, and returns their
// rows by table.
func (w *World) checkShard(
	r *Report, s *metapb.Shard, tables []*schema.Table, bad func(string, ...any),
) map[string]map[rowID]int {
	leader, err := w.awaitLeader(s.Id)
	if err != nil {
		bad("%v", err)
		return nil
	}
	said := leader.Report()
	if members, placed := slices.Sorted(slices.Values(said.Voters)),
		slices.Sorted(slices.Values(s.Replicas)); !slices.Equal(members, placed) {
		bad("shard %d: its group is %v, but it is placed on %v", s.Id, members, placed)
	}
	var first contents
	firstNode := ""
	for _, id := range append(said.Voters, said.Learners...) {
		n := w.node(id)
		have, at, err := w.settled(s.Id, n, tables)
		if err != nil {
			bad("shard %d: replica on %s: %v", s.Id, id, err)
			continue
		}
		if entries, whole := w.cluster.archives.of(groupName(s.Id, s.Incarnation)).
			upTo(at, n.store(groupName(s.Id, s.Incarnation))); whole {
			ledger, err := replay(s.Id, entries)
			if err != nil {
				bad("shard %d: its log on %s: %v", s.Id, id, err)
				continue
			}
			for _, v := range ledger.compare(have) {
				bad("%s (on %s)", v, id)
			}
			if first == nil {
				r.Logs++
			}
		}
		if first == nil {
			first, firstNode = have, id
			continue
		}
		for i, t := range tables {
			if a, b := once(first[t.ID], w.tables[i]), once(have[t.ID], w.tables[i]); difference(a, b) != "" {
				bad("shard %d: the replicas on %s and %s differ in table %s: %s", s.Id, firstNode, id, t.Name, difference(a, b))
			}
		}
	}
	out := map[string]map[rowID]int{}
	for i, t := range tables {
		out[t.Name] = once(first[t.ID], w.tables[i])
	}
	return out
}

// once counts rows of a merging table only once, because the number of copies depends on the compactions of each
// replica.
func once(rows map[rowID]int, t table) map[rowID]int {
	if !t.merges {
		return rows
	}
	out := make(map[rowID]int, len(rows))
	for row := range rows {
		out[row] = 1
	}
	return out
}

// compare checks that each table has every row as often as the answers to its writers require.
func (w *World) compare(have map[string]map[rowID]int, bad func(string, ...any)) {
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	lost, doubled, refusedRows, unsent := 0, 0, 0, 0
	for i, t := range w.tables {
		for row, n := range have[t.name] {
			f, sent := w.history.rows[row]
			switch {
			case !sent || w.tableOf(row.writer) != i:
				unsent++
			case n > 1 && !t.merges:
				doubled++
			case f.fate == refused:
				refusedRows++
			}
		}
	}
	for row, f := range w.history.rows {
		if f.fate == acked && have[w.tables[w.tableOf(row.writer)].name][row] == 0 {
			lost++
		}
	}
	for _, x := range []struct {
		n    int
		what string
	}{
		{lost, "acknowledged rows are lost"},
		{doubled, "rows are stored more than once"},
		{refusedRows, "rows are stored that were definitely refused"},
		{unsent, "rows are stored that nobody wrote"},
	} {
		if x.n > 0 {
			bad("%d %s", x.n, x.what)
		}
	}
}

// difference describes the rows whose counts differ, or returns "".
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
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return fmt.Sprintf("%d rows, such as %v", len(out), out[:min(3, len(out))])
}
