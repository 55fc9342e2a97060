package store

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/memtable"
)

// Status describes the state of the store for operators, for the metadata, and as metrics.
type Status struct{ tables *Tables }

// Describe adds what the store knows: its state, index and totals, and the tables and segments that req requests.
func (st *Status) Describe(out *shardpb.ShardStats, req *shardpb.StatsRequest) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	if tb.closing {
		out.State = "closing"
	}
	if tb.flushErr != nil {
		out.State += "; flush fails: " + tb.flushErr.Error()
	}
	out.AppliedIndex = tb.AppliedIndex
	out.MemtableBytes = tb.Mem.size()

	mems := []*memtable.Memtable{tb.Mem.Active}
	for _, f := range tb.Mem.frozen {
		mems = append(mems, f.mem)
	}
	for _, id := range slices.Sorted(maps.Keys(tb.segs.raw)) {
		mems = append(mems, tb.segs.rawMemtables(id)...)
	}
	out.TableCount = int64(len(tb.State.Tables))
	for _, m := range mems {
		out.MemtableRows += m.Rows()
	}
	out.Rows = out.MemtableRows
	for id, list := range tb.segs.byTable {
		for _, l := range list {
			out.Rows += l.Span(id).Rows
			out.SegmentBytes += l.BytesOf(id)
		}
	}
	if tb.State.HasSets() {
		for id := range tb.State.Tables {
			out.Rows += rowsOf(tb.coldOf(id))
		}
	}
	if req.NoTables {
		return
	}
	var wanted iter.Seq[uint64]
	if len(req.TableIds) > 0 {
		wanted = slices.Values(req.TableIds)
	}
	st.tableStats(out, mems, wanted, req.Segments)
}

// tableStats adds the statistics of the given tables, or of all if wanted is nil. mu must be held.
func (st *Status) tableStats(out *shardpb.ShardStats, mems []*memtable.Memtable, wanted iter.Seq[uint64],
	segments bool,
) {
	tb := st.tables
	tables := map[uint64]*shardpb.TableStats{}
	table := func(id uint64) *shardpb.TableStats {
		t := tables[id]
		if t == nil {
			t = &shardpb.TableStats{TableId: id}
			tables[id] = t
		}
		return t
	}
	if wanted == nil {
		for _, m := range mems {
			for _, id := range m.Tables() {
				table(id)
			}
		}
		for id := range tb.segs.byTable {
			table(id)
		}
		wanted = maps.Keys(tb.State.Tables)
	}
	for id := range wanted {
		if tb.State.Tables[id] != nil || tb.segs.byTable[id] != nil {
			table(id)
		}
	}
	for id, t := range tables {
		for _, m := range mems {
			rows, bytes := m.Table(id)
			t.Rows += rows
			t.MemtableBytes += bytes
		}
		for _, l := range tb.segs.byTable[id] {
			t.Rows += l.Span(id).Rows
			t.SegmentBytes += l.BytesOf(id)
		}
		t.Rows += rowsOf(tb.coldOf(id))
		t.ObjectBytes, t.WaitingBytes = tb.objectBytes(id), tb.waitingBytes(id)
	}
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		out.Tables = append(out.Tables, tables[id])
		if !segments {
			continue
		}
		for _, l := range tb.segs.byTable[id] {
			span := l.Span(id)
			out.Segments = append(out.Segments, &shardpb.SegmentStats{
				TableId: id, File: l.FileName(), Rows: span.Rows, Bytes: l.BytesOf(id), MinTime: span.MinTime,
				MaxTime: span.MaxTime, Quarantined: l.damaged(), Location: tb.locationOf(id, l),
			})
		}
		for _, o := range tb.coldOf(id) {
			out.Segments = append(out.Segments, &shardpb.SegmentStats{
				TableId: id, File: o.Key, Rows: o.Span.Rows, Bytes: o.bytes(), MinTime: o.Span.MinTime, MaxTime: o.Span.MaxTime,
				Location: shardpb.LocationBucket,
			})
		}
	}
}

// Report adds what the metadata group needs about the shard's tables.
func (st *Status) Report(out *metapb.ReplicaReport) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	out.AppliedIndex = tb.AppliedIndex
	out.MemtableBytes = tb.Mem.size()
	if err := tb.flushErr; err != nil {
		out.FlushError = strings.ToValidUTF8(err.Error(), "\uFFFD")
		out.FlushError = strings.ToValidUTF8(out.FlushError[:min(len(out.FlushError), 300)], "")
		out.FlushFailingNanos = int64(tb.cfg.Monotonic() - tb.flushFailing)
	}
	for _, l := range tb.segs.live {
		out.SegmentBytes += l.Bytes
		if d := l.Damage.Load(); d != nil {
			out.Damaged = append(out.Damaged, &metapb.DamagedSegment{File: l.Path, Rows: l.Rows, Reason: d.reason})
		}
	}
	out.Aside = tb.segs.rawRows()
	out.KeysNanos = int64(tb.State.KeysLast(tb.clockNanos()))
}

// Warnings returns texts about problems that an operator should fix. Every user may read them, so
// they identify tables by their ids.
func (st *Status) Warnings() (out []string) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for _, a := range tb.segs.rawRows() {
		out = append(out, fmt.Sprintf("shard %d: %d rows of table id %d cannot be written to segments and are kept raw: "+
			"%s; start a newer version, which tries again, or drop the table",
			tb.cfg.ID, a.Rows, a.TableId, a.Reason))
	}
	if tb.flushErr != nil {
		out = append(out, fmt.Sprintf("shard %d: rows stay in memory and in the log, because they cannot be flushed: %s",
			tb.cfg.ID, strings.ToValidUTF8(tb.flushErr.Error(), "\uFFFD")))
	}
	return append(out, tb.mixedWarnings()...)
}

// gauges calls gauge for each metric of the visible state.
func (st *Status) gauges(gauge func(name, help string, value func() float64)) {
	tb := st.tables
	locked := func(value func() float64) func() float64 {
		return func() float64 {
			tb.mu.RLock()
			defer tb.mu.RUnlock()
			return value()
		}
	}
	gauge("cordwood_shard_memtable_bytes", "Memory of memtables, including frozen ones.",
		locked(func() float64 { return float64(tb.Mem.size()) }))
	gauge("cordwood_shard_memtable_age_seconds", "Age of the oldest row in the active memtable; 0 if there is none.",
		locked(func() float64 {
			if tb.Mem.since.IsZero() {
				return 0
			}
			return max(tb.cfg.Now().Sub(tb.Mem.since).Seconds(), 0)
		}))
	gauge("cordwood_shard_flush_debt_bytes", "Memory of memtables that are frozen and not yet in segments.",
		locked(func() float64 { return float64(tb.Mem.size() - tb.Mem.bytes) }))
	gauge("cordwood_shard_tables", "Tables whose definitions the shard has.",
		locked(func() float64 { return float64(len(tb.State.Tables)) }))
	gauge("cordwood_shard_segment_bytes", "Bytes of live segments.", locked(func() float64 {
		var n int64
		for _, l := range tb.segs.live {
			n += l.Bytes
		}
		return float64(n)
	}))
	gauge("cordwood_shard_segments", "Live segments.", locked(func() float64 {
		return float64(len(tb.segs.live))
	}))
	gauge("cordwood_shard_segments_damaged", "Live segments that are damaged and quarantined: their rows are missing.",
		locked(func() float64 { return float64(tb.segs.damagedCount()) }))
	gauge("cordwood_shard_aside_rows",
		"Rows that cannot be written to segments and are kept raw, in memory and on disk.", locked(func() float64 {
			n := int64(0)
			for _, list := range tb.segs.raw {
				for _, l := range list {
					n += l.rows.Rows()
				}
			}
			return float64(n)
		}))
	gauge("cordwood_shard_aside_bytes", "Memory of rows that cannot be written to segments.",
		locked(func() float64 { return float64(tb.segs.rawBytes()) }))
	gauge("cordwood_cold_objects", "Objects in object storage with live rows of the shard.",
		locked(func() float64 { n, _, _ := tb.State.LiveObjects(); return float64(n) }))
	gauge("cordwood_cold_rows", "Rows in the objects of the shard in object storage. Some may have expired.",
		locked(func() float64 { _, n, _ := tb.State.LiveObjects(); return float64(n) }))
	gauge("cordwood_cold_bytes", "Size of the objects of the shard in object storage.",
		locked(func() float64 { _, _, n := tb.State.LiveObjects(); return float64(n) }))
	gauge("cordwood_cold_garbage_bytes", "Size of the objects of the shard without live rows that are not deleted yet.",
		locked(func() float64 {
			n := int64(0)
			for _, d := range tb.State.DeadObjects() {
				n += d.Bytes
			}
			return float64(n)
		}))
	gauge("cordwood_shard_tails", "Tails that follow a table.", locked(func() float64 { return float64(tb.tails.open) }))
	gauge("cordwood_shard_applied_index", "Index of the last log entry applied.",
		locked(func() float64 { return float64(tb.AppliedIndex) }))
	gauge("cordwood_shard_flushed_index", "Index of the log up to which everything is in segments.",
		func() float64 { return float64(tb.Flushed.Load()) })
}

// Busiest returns the tables with the most bytes, in descending order.
func (st *Status) Busiest(most int) []*metapb.TableIngest {
	tb := st.tables
	tb.mu.RLock()
	out := make([]*metapb.TableIngest, 0, len(tb.Ingested.tables))
	for id, bytes := range tb.Ingested.tables {
		out = append(out, &metapb.TableIngest{TableId: id, Bytes: bytes})
	}
	tb.mu.RUnlock()
	slices.SortFunc(out, func(a, b *metapb.TableIngest) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.TableId, b.TableId))
	})
	return out[:min(len(out), most)]
}

// HighestTable returns the highest table id that the shard has now.
func (st *Status) HighestTable() (id uint64) {
	tb := st.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for have := range tb.State.Tables {
		id = max(id, have)
	}
	for have := range tb.State.Dropped {
		id = max(id, have)
	}
	for have := range tb.segs.byTable {
		id = max(id, have)
	}
	return id
}
