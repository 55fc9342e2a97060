package backup

import (
	"context"
	"fmt"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file handles restores that replace tables. Each table is created and filled under a temporary name. When all
// of them are complete, one change of the metadata renames them to their final names and drops the tables that had
// these names. A failure before that change leaves the cluster's tables unchanged.

// maxReplaced is the maximum number of tables that one change of the metadata replaces.
const maxReplaced = 5000

// asideName returns the temporary name of a table of a backup while it is filled. It is the same in
// every run, and differs between the tables of a backup.
func asideName(backupID string, t *schemapb.Table) string {
	name := fmt.Sprintf("_restore_%s_%d_%s", backupID[max(0, len(backupID)-6):], t.Id, t.Name)
	return name[:min(len(name), schema.MaxNameBytes)]
}

// asidesOf returns the tables that restores created to replace other tables, by the names of these other tables.
func asidesOf(tables []*schemapb.Table) map[string][]*schemapb.Table {
	out := map[string][]*schemapb.Table{}
	for _, t := range tables {
		if replaces := t.Restored.GetReplaces(); replaces != "" {
			name := schema.FormatTableName(t.Database, replaces)
			out[name] = append(out[name], t)
		}
	}
	return out
}

// planAside plans the work on a table that is filled under a temporary name: fill it, continue an earlier run, or, if
// the table is complete, only rename it. old is the table that it replaces, or nil. asides are the tables that
// restores have left.
func (s *restoration) planAside(rt *restoredTable, old *schemapb.Table, asides []*schemapb.Table) {
	rt.as = asideName(s.b.Id, rt.from)
	if old != nil {
		rt.replaced = schema.OriginOf(old)
	}
	for _, t := range asides {
		switch {
		case t.Restored.BackupId != s.b.Id || t.Name != rt.as || s.cfg.MetadataOnly:
			s.leftovers = append(s.leftovers, t)
		case t.Restored.Complete:
			rt.to = schema.FromProto(t)
		default:
			rt.had = t
		}
	}
	if rt.to != nil {
		s.out.Complete = append(s.out.Complete, rt.name())
	} else {
		s.tables = append(s.tables, rt)
		s.byID[rt.from.Id] = rt
	}
	s.asides = append(s.asides, rt)
}

// dropLeftovers drops tables that unfinished restores left and that this restore creates again.
func (s *restoration) dropLeftovers(ctx context.Context) error {
	err := s.each(ctx, s.leftovers, func(ctx context.Context, t *schemapb.Table) error {
		_, err := s.propose(ctx, s.cfg.Now().UnixNano(),
			&metapb.Command{
				Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: t.Database, Name: t.Name, IfExists: true}},
			})
		return err
	})
	if err != nil {
		return fmt.Errorf("drop the tables of an earlier restore: %w", err)
	}
	for _, t := range s.leftovers {
		s.out.Removed = append(s.out.Removed, schema.FormatTableName(t.Database, t.Name))
	}
	slices.Sort(s.out.Removed)
	return nil
}

// replace renames the filled tables to the names of the old ones.
func (s *restoration) replace(ctx context.Context) error {
	for tables := range slices.Chunk(s.asides, maxReplaced) {
		cmd := &metapb.ReplaceTables{BackupId: s.b.Id, WithoutRows: s.cfg.MetadataOnly}
		for _, rt := range tables {
			cmd.Tables = append(cmd.Tables, &metapb.TableReplacement{
				Database: rt.from.Database, From: rt.as, FromId: rt.to.Origin(), Name: rt.from.Name, ReplacedId: rt.replaced,
			})
		}
		_, err := s.propose(ctx, s.cfg.Now().UnixNano(),
			&metapb.Command{Op: &metapb.Command_ReplaceTables{ReplaceTables: cmd}})
		if err != nil {
			return fmt.Errorf("rename the restored tables: %w", err)
		}
		s.out.Replaced += len(tables)
	}
	return nil
}

// checkReplace refuses a restore that replaces tables if not all nodes of the cluster support it.
func (s *restoration) checkReplace() error {
	if v := s.cfg.Target.meta.ClusterVersion(); s.cfg.Existing == Replace && v < metapb.ProtocolReplace {
		return errs.New(errs.Unsupported, "--replace needs a cluster that uses protocol version %d, and this one "+
			"uses %d: upgrade all nodes, which raises the version, or drop the tables "+
			"yourself and restore with --into-existing", metapb.ProtocolReplace, v)
	}
	return nil
}
