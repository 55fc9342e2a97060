package shard

import (
	"context"
	"fmt"

	"cordwood/proto/schemapb"
)

// Table tells what the shard knows of a table: its version and the epoch of the
// placement that takes its writes; false if it has no definition of it.
func (s *Shard) Table(id uint64) (version, epoch uint32, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.state.tables[id]
	if d == nil {
		return 0, 0, false
	}
	return d.Version, d.Writable().Epoch, true
}

// Tables lists the ids of the tables that the shard has definitions of, unsorted.
func (s *Shard) Tables() []uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ids := make([]uint64, 0, len(s.state.tables))
	for id := range s.state.tables {
		ids = append(ids, id)
	}
	return ids
}

// DefineTable tells the shard of definitions: those that are newer than what it knows
// take effect, on all replicas, before it returns nil. Definitions that come with
// writes do the same; DefineTable is for changes that no write tells of, as of options.
func (s *Shard) DefineTable(ctx context.Context, tables ...*schemapb.Table) error {
	encoded, err := marshalTables(tables)
	if err != nil {
		return fmt.Errorf("shard %d: define: %w", s.cfg.ID, err)
	}
	for len(encoded) > 0 {
		n, bytes := 0, 0
		for n < len(encoded) && (n == 0 || bytes+len(encoded[n]) <= s.cfg.GroupBytes) {
			bytes += len(encoded[n]) + 4
			n++
		}
		e := entry{kind: kindDefine, time: s.entryTime(), tables: encoded[:n]}
		if _, err := s.replica.Propose(ctx, appendEntry(nil, &e)); err != nil {
			return fmt.Errorf("shard %d: define %d tables, %q.%q first: %w", s.cfg.ID, n, tables[0].Database, tables[0].Name, err)
		}
		encoded, tables = encoded[n:], tables[n:]
	}
	return nil
}
