package simulation

import (
	"fmt"

	"github.com/hashicorp/raft"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// contents maps the id of a table to the rows of a shard, and how often each row is stored.
type contents map[uint64]map[rowID]int

func (c contents) table(id uint64) map[rowID]int {
	if c[id] == nil {
		c[id] = map[rowID]int{}
	}
	return c[id]
}

// ledger computes the expected content of a shard from its log. It is a second, simple implementation of the rules of
// admission: a batch is appended once if the shard takes writes of its epoch, and a write is stored completely or not
// at all.
type ledger struct {
	shard   uint32
	tables  map[uint64]*schema.Table
	dropped map[uint64]bool
	seen    map[[2]uint64]bool
	rows    contents
	// late contains the rows that arrived with an epoch that was sealed before, and the reasons why they must not be
	// stored.
	late map[uint64]map[rowID]string
}

func newLedger(id uint32) *ledger {
	return &ledger{
		shard: id, tables: map[uint64]*schema.Table{}, dropped: map[uint64]bool{}, seen: map[[2]uint64]bool{},
		rows: contents{}, late: map[uint64]map[rowID]string{},
	}
}

// replay applies the log of a shard from its beginning.
func replay(id uint32, entries []*raft.Log) (*ledger, error) {
	l := newLedger(id)
	for _, e := range entries {
		if e.Type != raft.LogCommand {
			continue
		}
		writes, dropped, err := rules.ReadEntry(e.Data)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", e.Index, err)
		}
		if dropped != 0 {
			l.dropped[dropped] = true
			delete(l.tables, dropped)
			delete(l.rows, dropped)
		}
		for _, w := range writes {
			if err := l.write(e.Index, w.Tables, w.Batches); err != nil {
				return nil, fmt.Errorf("entry %d: %w", e.Index, err)
			}
		}
	}
	return l, nil
}

func (l *ledger) write(index uint64, tables []*schemapb.Table, batches [][]byte) error {
	for _, p := range tables {
		t := schema.FromProto(p)
		have := l.tables[t.ID]
		if !l.dropped[t.ID] && (have == nil || t.Version > have.Version || t.Version == have.Version &&
			t.Writable().Epoch > have.Writable().Epoch) {
			l.tables[t.ID] = t
		}
	}
	var take []*column.Batch
	ids := map[[2]uint64]bool{}
	for _, data := range batches {
		b, err := column.Decode(data, nil)
		if err != nil {
			return err
		}
		id := [2]uint64{b.Session, b.Seq}
		if b.Session != 0 && (l.seen[id] || ids[id]) {
			continue
		}
		t := l.tables[b.TableID]
		if t == nil || b.SchemaVersion > t.Version || b.SchemaVersion < t.MinWriterVersion {
			return nil
		}
		if now := t.Writable(); len(t.Placement) > 0 && (b.Epoch != now.Epoch || !now.Takes(l.shard)) {
			l.refuse(index, b, t)
			return nil
		}
		ids[id] = true
		take = append(take, b)
	}
	for _, b := range take {
		l.seen[[2]uint64{b.Session, b.Seq}] = true
		count(b, l.tables[b.TableID], l.rows.table(b.TableID))
	}
	return nil
}

func (l *ledger) refuse(index uint64, b *column.Batch, t *schema.Table) {
	if b.Epoch >= t.Writable().Epoch {
		return
	}
	rows := map[rowID]int{}
	count(b, t, rows)
	for row := range rows {
		if l.late[t.ID] == nil {
			l.late[t.ID] = map[rowID]string{}
		}
		l.late[t.ID][row] = fmt.Sprintf("accepted with epoch %d at entry %d, after epoch %d was sealed in shard %d",
			b.Epoch, index, t.Writable().Epoch-1, l.shard)
	}
}

// compare compares the rows of a replica with the ledger. For tables that merge rows, it ignores how often a row is
// stored.
func (l *ledger) compare(have contents) (out []string) {
	for id, t := range l.tables {
		want, got := l.rows.table(id), have.table(id)
		merges := !t.AppendMode()
		n := 0
		for row, k := range got {
			if why := l.late[id][row]; why != "" && want[row] == 0 {
				out = append(out, fmt.Sprintf("fence: row %v of table %d was %s", row, id, why))
			} else if want[row] != k && (!merges || want[row] == 0) {
				n++
			}
		}
		for row := range want {
			if got[row] == 0 {
				n++
			}
		}
		if n > 0 {
			out = append(out,
				fmt.Sprintf("shard %d: %d rows of table %d are stored another number of times than in its log: %s",
					l.shard, n, id, difference(want, got)))
		}
	}
	return out
}
