package store

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/words"
	"cordwood/shard/manifest"
	"cordwood/shard/memtable"
	"cordwood/shard/query"
	"cordwood/shard/rules"
	"cordwood/shard/segment"
)

// This file handles raw rows: rows that cannot be written to ordinary segments because of their
// content or a bug. They are kept in raw segments and in memory, so that the log can be cut, other
// tables are flushed, and queries see all rows. See DESIGN.md, *Raw rows*.

// rawRetryAfter is the minimum time between two attempts to write raw rows to ordinary segments.
const rawRetryAfter = 10 * time.Minute

// isOfRows reports whether err means that rows cannot be written, as opposed to a fault of the
// disk.
func isOfRows(err error) bool {
	rows := (*segment.ErrRows)(nil)
	return errors.As(err, &rows)
}

// fill links the batches of a raw segment, which are in the memory of mem.
func fill(mem *memtable.Memtable, raw *segment.Raw) {
	cuts := raw.Cuts
	for i, b := range raw.Batches {
		for len(cuts) > 0 && cuts[0].At <= i {
			mem.Cut(raw.TableID, query.Merge(cuts[0].Merge), cuts[0].Number)
			cuts = cuts[1:]
		}
		mem.Append(b)
	}
	for _, c := range cuts {
		mem.Cut(raw.TableID, query.Merge(c.Merge), c.Number)
	}
}

// addRaw adds a raw segment to its table; mu must be held.
func (tb *Tables) addRaw(l *LiveSegment) {
	if _, gone := tb.State.Dropped[l.TableID]; gone {
		return
	}
	if x, ok := tb.State.Expired[l.TableID]; ok && l.Order < x.Order {
		l.rows.Expire(l.TableID, x.Before)
	}
	list := append(slices.Clone(tb.segs.raw[l.TableID]), l)
	slices.SortFunc(list, func(a, b *LiveSegment) int { return int(int64(a.Order) - int64(b.Order)) })
	tb.segs.raw[l.TableID] = list
	tb.hideJoined(l.TableID)
}

// hideRaw removes a raw segment that the manifest no longer lists from its table; mu must be held.
func (sl *segmentLists) hideRaw(l *LiveSegment) {
	list := slices.DeleteFunc(slices.Clone(sl.raw[l.TableID]), func(x *LiveSegment) bool { return x == l })
	if sl.raw[l.TableID] = list; len(list) == 0 {
		delete(sl.raw, l.TableID)
	}
}

// rawMemtables returns a table's raw rows, the oldest first; mu must be held.
func (sl *segmentLists) rawMemtables(table uint64) (mems []*memtable.Memtable) {
	for _, l := range sl.raw[table] {
		mems = append(mems, l.rows)
	}
	return mems
}

// rawBytes returns the memory of all raw rows; mu must be held.
func (sl *segmentLists) rawBytes() (bytes int64) {
	for _, list := range sl.raw {
		for _, l := range list {
			bytes += l.rows.Bytes()
		}
	}
	return bytes
}

// rawRows returns, for each table with raw rows, their number and the reason; mu must be held.
func (sl *segmentLists) rawRows() (out []*metapb.AsideRows) {
	for _, id := range slices.Sorted(maps.Keys(sl.raw)) {
		list := sl.raw[id]
		a := &metapb.AsideRows{
			TableId:       id,
			Reason:        strings.ToValidUTF8(list[0].reason, "\uFFFD"),
			SinceUnixNano: list[0].since,
		}
		for _, l := range list {
			a.Rows += l.rows.Rows()
			a.Bytes += l.rows.Bytes()
			a.SinceUnixNano = min(a.SinceUnixNano, l.since)
		}
		out = append(out, a)
	}
	return out
}

// reasonBytes is the maximum length of a stored reason.
const reasonBytes = 1000

// postponed returns the tables whose rows this flush writes to raw segments without an attempt,
// with the reasons.
func (fl *Flusher) postponed() map[uint64]string {
	out := map[uint64]string{}
	now := fl.cfg.Now()
	for _, id := range fl.crashes.suspects(crashesPostponed) {
		n := fl.crashes.count(id)
		if at, known := fl.retry[id]; n >= crashesFinal || !known || now.Before(at) {
			out[id] = words.Say(n, "process ended while it wrote the table's "+
				"rows", "processes ended while they wrote the table's rows")
			if !known {
				fl.retry[id] = now.Add(rawRetryAfter)
			}
		}
	}
	fl.tables.mu.RLock()
	defer fl.tables.mu.RUnlock()
	for id, list := range fl.tables.segs.raw {
		if _, ok := out[id]; !ok && now.Before(fl.retry[id]) {
			out[id] = list[0].reason
		}
	}
	return out
}

// writeRaws writes the rows of the given tables to raw segments, and adds these to the edit of a
// flush.
func (fl *Flusher) writeRaws(u *pendingEdit, raws []*segment.Raw) error {
	for _, raw := range raws {
		raw.Reason, raw.Since = raw.Reason[:min(len(raw.Reason), reasonBytes)], fl.cfg.Now().UnixNano()
		m, err := segment.WriteRaw(segment.Config{FS: fl.cfg.FS, Dir: fl.segmentDir, NextID: fl.files.IDs.Take}, raw)
		if err != nil {
			fl.files.IDs.done(m.ID)
			return err
		}
		u.edit.Add = append(u.edit.Add, m)
		mem, err := fl.files.copyRaw(raw)
		if err != nil {
			return err
		}
		u.raws[m.ID] = loadedRaw{mem, raw.Reason, raw.Since}
		fl.retry[raw.TableID] = fl.cfg.Now().Add(rawRetryAfter)
		fl.cfg.Logger.Error("rows cannot be written to segments: they are kept raw, can be queried, and will be tried "+
			"again; "+
			"start a newer version, or drop the table",
			"table", raw.TableID, "rows", m.Rows, "file", m.FileName(), "reason", raw.Reason)
	}
	if len(raws) == 0 {
		return nil
	}
	return fl.cfg.FS.SyncDir(fl.segmentDir)
}

// rawsOf returns the rows of frozen memtables that belong to the given tables, as raw segments; mu
// must be held.
func rawsOf(todo []*frozen, tables map[uint64]string) (raws []*segment.Raw) {
	for _, id := range slices.Sorted(maps.Keys(tables)) {
		raw := &segment.Raw{TableID: id, Reason: tables[id]}
		for _, f := range todo {
			for _, c := range f.mem.Cuts(id) {
				raw.Cuts = append(raw.Cuts, segment.RawCut{
					At: len(raw.Batches) + c.At, Merge: uint8(c.Merge), Number: c.Number,
				})
			}
			raw.Batches = append(raw.Batches, f.mem.Batches(id)...)
		}
		if len(raw.Batches)+len(raw.Cuts) > 0 {
			raws = append(raws, raw)
		}
	}
	return raws
}

// retryRaws returns the raw rows that are tried again, as frozen memtables before all others. The
// edit removes their raw segments. mu must be held.
func (fl *Flusher) retryRaws(postponed map[uint64]string, edit *manifest.Edit) (again []*frozen) {
	for _, id := range slices.Sorted(maps.Keys(fl.tables.segs.raw)) {
		d := fl.tables.State.Tables[id]
		if _, not := postponed[id]; not || d == nil || slices.Contains(edit.Drop, id) {
			continue
		}
		for _, l := range fl.tables.segs.raw[id] {
			again = append(again, &frozen{mem: l.rows, defs: map[uint64]*rules.Definition{id: d}})
			edit.Remove = append(edit.Remove, l.ID)
		}
	}
	return again
}
