package backup

import (
	"errors"
	"maps"
	"testing"

	"cordwood/proto/backuppb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

const (
	ruleAppend  = shardpb.MergeRule_MERGE_RULE_UNSPECIFIED
	ruleLastRow = shardpb.MergeRule_MERGE_RULE_LAST_ROW
	ruleNonNull = shardpb.MergeRule_MERGE_RULE_LAST_NON_NULL
)

// planned returns a table of a backup. It has segments of orders 1 to 6 on shard 1, and of orders 1
// and 2 on shard 2, which received its writes first.
func planned(t *testing.T, options map[string]string, first, second []*shardpb.MergeEra) *restoredTable {
	t.Helper()
	rt := &restoredTable{
		from: &schemapb.Table{
			Id: 9, Options: options, Placement: []*schemapb.Placement{{ShardId: 2, Epoch: 1}, {ShardId: 1, Epoch: 2}},
		},
	}
	shard := func(id uint32, orders uint64, eras []*shardpb.MergeEra) *backuppb.Shard {
		out := &backuppb.Shard{Id: id}
		for o := orders; o > 0; o-- {
			out.Segments = append(out.Segments, &backuppb.Segment{Segment: &shardpb.PinnedSegment{Id: o, TableId: 9, Order: o}})
		}
		if eras != nil {
			out.Merging = []*shardpb.TableMerging{{TableId: 9, Eras: eras}}
		}
		return out
	}
	s := &restoration{
		b:      &backuppb.Backup{Shards: []*backuppb.Shard{shard(1, 6, first), shard(2, 2, second)}},
		tables: []*restoredTable{rt}, byID: map[uint64]*restoredTable{9: rt},
	}
	if err := s.planMerging(); err != nil {
		t.Fatal(err)
	}
	return rt
}

func TestPlanMerging(t *testing.T) {
	appends := map[string]string{schema.OptionAppendMode: "true", schema.OptionPartitions: "2"}
	merges := map[string]string{schema.OptionAppendMode: "false"}
	era := func(before uint64, rule shardpb.MergeRule) *shardpb.MergeEra {
		return &shardpb.MergeEra{Before: before, Rule: rule}
	}
	for name, c := range map[string]struct {
		options       map[string]string
		first, second []*shardpb.MergeEra
		changes       bool
		now           query.Merge
	}{
		"old backup, append":      {options: appends, now: query.Append},
		"old backup, merging":     {options: merges, now: query.LastRow},
		"merging without changes": {options: merges, first: []*shardpb.MergeEra{era(99, ruleLastRow)}, now: query.LastRow},
		"merged once": {
			options: appends, first: []*shardpb.MergeEra{era(3, ruleLastRow), era(99, ruleAppend)}, changes: true,
			now: query.LastRow,
		},
		"merging comes first": {
			options: appends, first: []*shardpb.MergeEra{era(3, ruleNonNull), era(99, ruleAppend)},
			second: []*shardpb.MergeEra{era(1, ruleLastRow), era(99, ruleAppend)}, changes: true, now: query.LastNonNull,
		},
		"the shard does not know the change": {
			options: appends, first: []*shardpb.MergeEra{era(99, ruleNonNull)}, changes: true, now: query.LastNonNull,
		},
		// Shard 2, which received the first writes, has no record of the change.
		"another way to merge": {
			options: merges, first: []*shardpb.MergeEra{era(3, ruleNonNull), era(99, ruleLastRow)}, changes: true,
			now: query.LastRow,
		},
	} {
		rt := planned(t, c.options, c.first, c.second)
		if rt.changes != c.changes || rt.now != c.now {
			t.Errorf("%s: changes %v, begins with %v; want %v, %v", name, rt.changes, rt.now, c.changes, c.now)
		}
		if options := rt.options(rt.final); !rt.changes && !maps.Equal(options, c.options) {
			t.Errorf("%s: created with %v, want %v", name, options, c.options)
		} else if rt.changes && options[schema.OptionPartitions] != "" {
			t.Errorf("%s: %v: spread before all rows are written", name, options)
		}
	}
}

func TestRuleOfNewerVersion(t *testing.T) {
	s := &restoration{
		b: &backuppb.Backup{
			Shards: []*backuppb.Shard{
				{Merging: []*shardpb.TableMerging{{TableId: 1, Eras: []*shardpb.MergeEra{{Before: 5, Rule: 3}}}}},
			},
		},
	}
	if err := s.planMerging(); !errors.Is(err, ErrNewer) {
		t.Errorf("a rule that is not known: %v, want ErrNewer", err)
	}
}
