package host

import (
	"context"
	"slices"

	"cordwood/proto/schemapb"
	"cordwood/shard"
)

// updateTables notifies a shard that this node leads of its changed and dropped tables. A failure is retried at the
// next change. It does nothing about a table that the metadata neither list nor have dropped: an unknown table must
// not be removed.
func (h *Host) updateTables(ctx context.Context, s *shard.Shard) {
	var changed []*schemapb.Table
	dropped := h.cfg.Catalog.DroppedTables()
	for _, id := range s.Store().Definitions.TableIDs() {
		t, ok := h.cfg.Catalog.TableByID(id)
		if ok {
			if version, epoch, known := s.Store().Definitions.Table(id); known &&
				(version < t.Version || version == t.Version && epoch < t.Writable().Epoch) {
				changed = append(changed, t.ToProto())
			}
			continue
		}
		if _, gone := slices.BinarySearch(dropped, id); !gone {
			continue
		}
		if err := s.DropTable(ctx, id); err != nil && ctx.Err() == nil {
			h.cfg.Logger.Warn("rows of a dropped table stay for now", "shard", s.ID(), "table", id, "error", err)
		}
	}
	if len(changed) == 0 {
		return
	}
	if err := s.DefineTable(ctx, changed...); err != nil && ctx.Err() == nil {
		h.cfg.Logger.Warn("changes of tables do not take effect yet", "shard", s.ID(), "tables", len(changed), "error", err)
	}
}
