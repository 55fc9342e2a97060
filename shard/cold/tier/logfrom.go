package tier

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cordwood/shard/manifest"
	"cordwood/shard/store"
)

// This file finds out from which entry of the log on the rows are that are in no object. Neither the log nor the
// manifest says that, because segments have no indexes. So each replica notes, whenever it looks at its tables, which
// ones have such rows, and what had been flushed before it saw them first.

const (
	// LogFromFile is the file in the folder of a shard that keeps this over restarts.
	LogFromFile = "LOGFROM"
	// logFromHead is its first line.
	logFromHead = "cordwood log from 2\n"
	// maxLogFrom is the largest size of the file that is read.
	maxLogFrom = 64 << 20
)

// logFrom says from where on the log has the rows that are in no object. An index that is not known is 1.
type logFrom struct {
	// seen means that applied is known: all rows of entries up to applied are in segments, and those of tables that are
	// not in tables were in cuts or are dead.
	seen    bool
	applied uint64
	// tables has the tables with rows in segments that are in no cut.
	tables map[uint64]tableFrom
	// held are the rows of cuts that may be open.
	held []heldFrom
}

// tableFrom says that the rows of a table after cut number cut are in entries from index on. Stays means that they do
// not go to the bucket.
type tableFrom struct {
	cut, index uint64
	stays      bool
}

// heldFrom says that rows of a table in entries from index on are in a cut after number after, and at most number cut.
type heldFrom struct{ table, after, cut, index uint64 }

// next returns what is known after the state st was seen, whose cuts were up to last before. hot are the tables whose
// rows could be cut at that moment; moves reports whether they should be.
func (l *logFrom) next(st *manifest.State, last uint64, hot []store.HotTable,
	moves func(*store.HotTable) bool,
) *logFrom {
	n := &logFrom{seen: true, applied: st.AppliedIndex, tables: map[uint64]tableFrom{}}
	movable := make(map[uint64]bool, len(hot))
	for i := range hot {
		movable[hot[i].Def.ID] = moves(&hot[i])
	}
	tables := maps.Clone(l.tables)
	for _, h := range l.held {
		switch {
		case !covers(st, h.cut):
			n.held = append(n.held, h)
		case returned(st, &h):
			t, known := tables[h.table]
			if !known {
				t = tableFrom{cut: h.after, index: h.index}
			}
			t.index = min(t.index, h.index)
			if tables == nil {
				tables = map[uint64]tableFrom{}
			}
			tables[h.table] = t
		}
	}
	hold := func(id uint64, had tableFrom) {
		h := heldFrom{id, had.cut, max(last, st.Cold.LastCut), had.index}
		if !covers(st, h.cut) && !slices.Contains(n.held, h) {
			n.held = append(n.held, h)
		}
	}
	for id, cut := range localTables(st) {
		had, known := tables[id]
		t := tableFrom{cut: cut, index: 1}
		switch {
		case known && cut <= had.cut: // it falls when the objects of the cut have expired
			t = had
		case l.seen:
			t.index = l.applied + 1
		}
		if known && cut > had.cut {
			hold(id, had)
		}
		if may, ok := movable[id]; ok {
			t.stays = !may
		} else if known {
			t.stays = true // for example because its rows are of several merge modes
		}
		n.tables[id] = t
	}
	for id, had := range tables {
		if _, still := n.tables[id]; !still {
			hold(id, had)
		}
	}
	return n
}

// returned reports whether the rows of a closed cut went to no object, and count as rows in no cut again.
func returned(st *manifest.State, h *heldFrom) bool {
	at, found := slices.BinarySearchFunc(st.Cold.Counted, h.table, func(c manifest.Counted, id uint64) int {
		return cmp.Compare(c.TableID, id)
	})
	return found && slices.ContainsFunc(st.Cold.Counted[at].Returned, func(r manifest.CutRange) bool {
		return r.First <= h.cut && r.Last > h.after
	})
}

// covers reports whether all cuts up to a number are closed in a state.
func covers(st *manifest.State, number uint64) bool {
	return st.Cold.LastCut >= number && (st.Cold.Open == nil || st.Cold.Open.Number > number)
}

// localTables returns the tables with rows in segments that are in no cut, with the number of the last cut of each, or
// 0.
func localTables(st *manifest.State) map[uint64]uint64 {
	ends := make(map[uint64]manifest.CutOrder, len(st.CutOrders))
	for _, o := range st.CutOrders { // in ascending order of numbers
		ends[o.TableID] = o
	}
	local := map[uint64]uint64{}
	note := func(id, order uint64, raw bool) {
		if end := ends[id]; raw || order >= end.Order {
			local[id] = end.Number
		}
	}
	for i := range st.Segments {
		s := &st.Segments[i]
		for j := range s.Tables {
			note(s.Tables[j].TableID, s.Order, s.Raw)
		}
		if !s.Shared() {
			note(s.TableID, s.Order, s.Raw)
		}
	}
	return local
}

// logNeed is what a state needs from the log.
type logNeed struct {
	// from is the first entry that is replayed, first the first one that may have rows in no object.
	from, first uint64
	// without are tables of which rows in no object are in entries before from, in ascending order.
	without []uint64
}

// of returns what a state needs from the log, if the bucket has the log from the entry start on. Tables with rows in
// earlier entries are left out: one of them had stayed on the local disks, so its entries were deleted, and goes to the
// bucket now. Otherwise, the gap would make the log useless for all tables.
func (l *logFrom) of(st *manifest.State, start uint64) logNeed {
	if !l.seen {
		return logNeed{from: 1, first: 1}
	}
	from := min(l.applied, st.AppliedIndex) + 1
	first, rows := from, map[uint64]uint64{}
	add := func(id, index uint64, stays bool) {
		if had, ok := rows[id]; !ok || index < had {
			rows[id] = index
		}
		if stays {
			return
		}
		first = min(first, index)
		if index >= start {
			from = min(from, index)
		}
	}
	for id, t := range l.tables {
		add(id, t.index, t.stays)
	}
	for _, h := range l.held {
		if !covers(st, h.cut) || returned(st, &h) {
			add(h.table, h.index, false)
		}
	}
	n := logNeed{from: from, first: first}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if rows[id] < from {
			n.without = append(n.without, id)
		}
	}
	return n
}

// same reports whether two of them differ only in what was applied.
func (l *logFrom) same(o *logFrom) bool {
	return l.seen == o.seen && maps.Equal(l.tables, o.tables) && slices.Equal(l.held, o.held)
}

// observeLog updates what is known, and keeps it. Every replica does, so that a new leader knows.
func (m *Mover) observeLog(hot []store.HotTable) {
	if !m.shipsLog() {
		return
	}
	// The cuts and the state are read after the hot tables: so what was cut meanwhile is held.
	last, _ := m.cuts()
	st := m.cfg.Store.Ledger.State()
	var err error
	if m.logFrom == nil {
		if m.logFrom, err = m.loadLogFrom(); m.logFrom.applied > st.AppliedIndex {
			m.logFrom = &logFrom{} // of another folder
		}
		if !m.logFrom.seen && len(localTables(st)) == 0 && st.Cold.Open == nil {
			m.logFrom = &logFrom{seen: true, applied: st.AppliedIndex}
		}
	}
	next := m.logFrom.next(st, last, hot, func(t *store.HotTable) bool { return m.moves(t) })
	save := !next.same(m.logFrom) || !m.logSaved
	m.logFrom = next
	if save {
		saved := m.saveLogFrom(next)
		m.logSaved = saved == nil
		err = errors.Join(err, saved)
	}
	if err != nil {
		m.cfg.Logger.Warn("a restart forgets from where on the log in object storage is needed", "error", err)
	}
}

// text returns the content of the file.
func (l *logFrom) text() string {
	var b strings.Builder
	b.WriteString(logFromHead)
	fmt.Fprintf(&b, "applied %d\n", l.applied)
	for _, id := range slices.Sorted(maps.Keys(l.tables)) {
		t := l.tables[id]
		fmt.Fprintf(&b, "table %d %d %d %t\n", id, t.cut, t.index, t.stays)
	}
	for _, h := range l.held {
		fmt.Fprintf(&b, "held %d %d %d %d\n", h.table, h.after, h.cut, h.index)
	}
	b.WriteString("end\n")
	return b.String()
}

// saveLogFrom writes the file. It need not be durable: without it, the log in the bucket has a gap for some time.
func (m *Mover) saveLogFrom(l *logFrom) error {
	path := filepath.Join(m.cfg.Dir, LogFromFile)
	f, err := m.cfg.FS.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(l.text()))
	if err = cmp.Or(err, f.Close()); err != nil {
		return errors.Join(err, m.cfg.FS.Remove(path+".tmp"))
	}
	return m.cfg.FS.Rename(path+".tmp", path)
}

// loadLogFrom reads what a former process saved. It never returns nil. A file that cannot be read as a whole counts as
// missing, because a line that lacks would make an index too high.
func (m *Mover) loadLogFrom() (*logFrom, error) {
	path := filepath.Join(m.cfg.Dir, LogFromFile)
	size, err := m.cfg.FS.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &logFrom{}, nil
	}
	if err != nil || size > maxLogFrom {
		return &logFrom{}, cmp.Or(err, fmt.Errorf("%s has %d bytes", path, size))
	}
	f, err := m.cfg.FS.Open(path)
	if err != nil {
		return &logFrom{}, err
	}
	defer f.Close()
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err != nil && !errors.Is(err, io.EOF) {
		return &logFrom{}, err
	}
	l, ok := parseLogFrom(string(b))
	if !ok {
		return &logFrom{}, fmt.Errorf("%s is damaged", path)
	}
	return l, nil
}

func parseLogFrom(text string) (l *logFrom, ok bool) {
	text, ok = strings.CutPrefix(text, logFromHead)
	text, end := strings.CutSuffix(text, "end\n")
	l = &logFrom{seen: true, tables: map[uint64]tableFrom{}}
	if n, err := fmt.Sscanf(text, "applied %d\n", &l.applied); !ok || !end || n != 1 || err != nil {
		return nil, false
	}
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		var id uint64
		var t tableFrom
		var h heldFrom
		if n, _ := fmt.Sscanf(line, "table %d %d %d %t\n", &id, &t.cut, &t.index, &t.stays); n == 4 {
			l.tables[id] = t
			continue
		}
		if n, _ := fmt.Sscanf(line, "held %d %d %d %d\n", &h.table, &h.after, &h.cut, &h.index); n != 4 {
			return nil, false
		}
		l.held = append(l.held, h)
	}
	return l, true
}
