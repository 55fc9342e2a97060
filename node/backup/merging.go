package backup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// This file handles tables whose merge rule was changed. Rows are restored under the rule under which they were
// written: the table is created with the options of its oldest rows. When all rows of one rule are acknowledged, the
// table is altered to the next rule, in the order of the original changes.

// merging describes how the rows of a restored table merge.
type merging struct {
	// final is the merge rule in the table's definition in the backup.
	final query.Merge
	// changes means that some of its rows merge by another rule.
	changes bool
	// now is the rule by which the table in the cluster merges new writes.
	now query.Merge
}

// erasOf returns the merge eras of the tables of a shard of the backup.
func erasOf(shard *backuppb.Shard) map[uint64][]*shardpb.MergeEra {
	out := make(map[uint64][]*shardpb.MergeEra, len(shard.Merging))
	for _, m := range shard.Merging {
		out[m.TableId] = m.Eras
	}
	return out
}

// rule returns how the rows of a segment merge. Backups of older versions do not record it.
func (m *merging) rule(eras []*shardpb.MergeEra, order uint64) query.Merge {
	for _, e := range eras {
		if order >= e.Before {
			continue
		}
		switch e.Rule {
		case shardpb.MergeRule_MERGE_RULE_LAST_ROW:
			return query.LastRow
		case shardpb.MergeRule_MERGE_RULE_LAST_NON_NULL:
			return query.LastNonNull
		default:
			return query.Append
		}
	}
	return m.final
}

// planMerging finds the tables whose merge rule was changed, and the rule of their first rows.
func (s *restoration) planMerging() error {
	for _, t := range s.tables {
		t.final = query.MergeOf(&schema.Table{Options: t.from.Options})
		t.now = t.final
	}
	if s.cfg.MetadataOnly {
		return nil
	}
	eras := map[uint32]map[uint64][]*shardpb.MergeEra{}
	for _, shard := range s.b.Shards {
		eras[shard.Id] = erasOf(shard)
		for _, m := range shard.Merging {
			for _, e := range m.Eras {
				if _, ok := shardpb.MergeRule_name[int32(e.Rule)]; !ok {
					return fmt.Errorf("backup %s: rows of shard %d merge by a rule of number %d: %w", s.b.Id, shard.Id,
						e.Rule, ErrNewer)
				}
			}
			if t := s.byID[m.TableId]; t != nil && slices.ContainsFunc(m.Eras, func(e *shardpb.MergeEra) bool {
				return t.rule([]*shardpb.MergeEra{e}, 0) != t.final
			}) {
				t.changes = true
			}
		}
	}
	for _, t := range s.tables {
		if t.changes {
			t.now = t.first(s.inPlacementOrder(t), eras)
		}
	}
	return nil
}

// first returns the merge rule of the rows that are written first. Rows that merge come before rows that are all
// kept.
func (t *restoredTable) first(shards []*backuppb.Shard, eras map[uint32]map[uint64][]*shardpb.MergeEra) query.Merge {
	for _, shard := range shards {
		for _, seg := range inOrder(shard) {
			for _, span := range spans(seg) {
				if span.TableID != t.from.Id {
					continue
				}
				if rule := t.rule(eras[shard.Id][span.TableID], seg.Segment.Order); rule != query.Append {
					return rule
				}
			}
		}
	}
	return query.Append
}

// mergeOptions are the table options that determine how rows merge.
var mergeOptions = []string{schema.OptionAppendMode, schema.OptionMergeMode, schema.OptionPartitions}

// options returns the options of the table while rows of one merge rule are written. A table whose rule changes stays
// on one shard until all rows are written.
func (t *restoredTable) options(rule query.Merge) map[string]string {
	if !t.changes {
		return t.from.Options
	}
	out := maps.Clone(t.from.Options)
	delete(out, schema.OptionPartitions)
	if rule == t.final {
		return out
	}
	out[schema.OptionAppendMode], out[schema.OptionMergeMode] = "false", schema.MergeLastRow
	switch rule {
	case query.Append:
		out[schema.OptionAppendMode] = "true"
	case query.LastNonNull:
		out[schema.OptionMergeMode] = schema.MergeLastNonNull
	}
	return out
}

func sameMerging(a, b map[string]string) bool {
	return !slices.ContainsFunc(mergeOptions, func(key string) bool { return a[key] != b[key] })
}

// switchTo changes the table's merge rule for the following writes. All earlier writes must be
// acknowledged.
func (s *restoration) switchTo(ctx context.Context, t *restoredTable, rule query.Merge) error {
	if !t.changes || rule == t.now {
		return nil
	}
	if err := s.alter(ctx, t, t.options(rule)); err != nil {
		return err
	}
	t.mergeAs(rule)
	return nil
}

// settle gives the table its options in the backup.
func (s *restoration) settle(ctx context.Context, t *restoredTable) error {
	if !t.changes {
		return nil
	}
	return s.alter(ctx, t, t.from.Options)
}

// mergeAs records how the table merges, which determines whether its rows may be deletions.
func (t *restoredTable) mergeAs(rule query.Merge) {
	t.now = rule
	if rule == query.Append {
		delete(t.columns, schema.DeletedColumnID)
	} else {
		t.columns[schema.DeletedColumnID] = schema.DeletedColumn()
	}
}

// alter gives the table in the cluster the merge options of want.
func (s *restoration) alter(ctx context.Context, t *restoredTable, want map[string]string) error {
	set := map[string]string{}
	var unset []string
	for _, key := range mergeOptions {
		value, ok := want[key]
		switch have, has := t.to.Options[key]; {
		case ok && value != have:
			set[key] = value
		case !ok && has:
			unset = append(unset, key)
			if key == schema.OptionMergeMode {
				set[key] = schema.MergeLastRow // valid with every append_mode
			}
		}
	}
	var changes []*metapb.AlterTable
	if len(set) > 0 {
		changes = append(changes, &metapb.AlterTable{
			Change: &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: set}},
		})
	}
	if len(unset) > 0 {
		changes = append(changes, &metapb.AlterTable{
			Change: &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: unset}},
		})
	}
	for _, c := range changes {
		c.Database, c.Name = t.from.Database, t.as
		result, err := s.propose(ctx, s.cfg.Now().UnixNano(), &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: c}})
		if err != nil {
			return fmt.Errorf("alter how its rows merge: %w", err)
		}
		if len(result.Tables) != 1 || result.Tables[0].Id != t.to.ID {
			return errors.New("alter how its rows merge: another client replaced the table while it was restored")
		}
		t.to = schema.FromProto(result.Tables[0])
	}
	return nil
}
