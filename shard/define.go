package shard

import (
	"context"
	"fmt"

	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// DefineTable gives the shard definitions: those that are newer than what it knows
// take effect, on all replicas, before it returns nil. Definitions that come with
// writes do the same; DefineTable is for changes that no write brings, such as of options.
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
			return fmt.Errorf("shard %d: define %d tables, %q.%q first: %w", s.cfg.ID, n, tables[0].Database,
				tables[0].Name, err)
		}
		encoded, tables = encoded[n:], tables[n:]
	}
	return nil
}
