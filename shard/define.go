package shard

import (
	"context"
	"fmt"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// DefineTable gives the shard table definitions. When it returns nil, those that are newer than the
// known ones are in the log and in effect on this replica. Writes bring definitions too;
// DefineTable is for changes without a write, such as changed options.
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

// maxDefineTables is the maximum number of tables in one call of Seal.
const maxDefineTables = 10_000

// Seal puts the definitions that are newer than the shard's into the log, and returns an index. From this index on,
// the log has no more rows of a table whose definition sends writes to other shards, and the state shows which
// batches were accepted before.
func (s *Shard) Seal(ctx context.Context, tables []*schemapb.Table) (index uint64, err error) {
	if len(tables) > maxDefineTables {
		return 0, errs.New(errs.InvalidArguments, "shard %d: define %d tables: at most %d are allowed in one call", s.cfg.ID,
			len(tables), maxDefineTables)
	}
	if slices.ContainsFunc(tables, func(t *schemapb.Table) bool { return t.GetId() == 0 }) {
		return 0, errs.New(errs.InvalidArguments, "shard %d: define a table: the definition has no id", s.cfg.ID)
	}
	encoded, err := rules.MarshalTables(tables)
	if err != nil {
		return 0, errs.Wrap(errs.InvalidArguments, err, "shard %d: define", s.cfg.ID)
	}
	defs, err := rules.ParseTables(encoded)
	if err != nil {
		return 0, errs.Wrap(errs.InvalidArguments, err, "shard %d: define", s.cfg.ID)
	}
	news, index := s.store.Definitions.Newer(tables, defs)
	if len(news) == 0 {
		return index, nil
	}
	if err := s.DefineTable(ctx, news...); err != nil {
		return 0, fmt.Errorf("seal: %w", err)
	}
	return s.store.Tables.Applied(), nil
}
