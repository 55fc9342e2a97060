package shard

import (
	"context"
	"fmt"

	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// Table tells what the shard knows of a table: its version and the epoch of the
// placement that takes its writes; false if it has no definition of it.
func (s *Shard) Table(id uint64) (version, epoch uint32, known bool) { return s.tables.table(id) }

func (tb *tables) table(id uint64) (version, epoch uint32, known bool) {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.state.Tables[id]
	if d == nil {
		return 0, 0, false
	}
	return d.Version, d.Writable().Epoch, true
}

// Tables lists the ids of the tables that the shard has definitions of, unsorted.
func (s *Shard) Tables() []uint64 { return s.tables.tableIDs() }

func (tb *tables) tableIDs() []uint64 {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	ids := make([]uint64, 0, len(tb.state.Tables))
	for id := range tb.state.Tables {
		ids = append(ids, id)
	}
	return ids
}

// DefineTable tells the shard of definitions: those that are newer than what it knows
// take effect, on all replicas, before it returns nil. Definitions that come with
// writes do the same; DefineTable is for changes that no write tells of, as of options.
func (s *Shard) DefineTable(ctx context.Context, tables ...*schemapb.Table) error {
	encoded, err := rules.MarshalTables(tables)
	if err != nil {
		return fmt.Errorf("shard %d: define: %w", s.cfg.ID, err)
	}
	for len(encoded) > 0 {
		n, bytes := 0, 0
		for n < len(encoded) && (n == 0 || bytes+len(encoded[n]) <= s.cfg.GroupBytes) {
			bytes += len(encoded[n]) + 4
			n++
		}
		e := rules.Entry{Kind: rules.KindDefine, Time: s.clock.entryTime(), Tables: encoded[:n]}
		if _, err := s.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
			return fmt.Errorf("shard %d: define %d tables, %q.%q first: %w", s.cfg.ID, n, tables[0].Database, tables[0].Name, err)
		}
		encoded, tables = encoded[n:], tables[n:]
	}
	return nil
}

// HasKey reports whether a batch of a request with a key was appended, as far as the shard
// remembers and this replica has applied.
func (s *Shard) HasKey(session, seq uint64) bool { return s.tables.hasKey(session, seq) }

func (tb *tables) hasKey(session, seq uint64) bool {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.state.HasKey(session, seq)
}
