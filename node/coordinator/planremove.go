package coordinator

import (
	"context"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi/clusterapi"
)

// planRemoval returns the effect of a requested shard-remove. The functions that execute it compute the plan.
func (a *Admin) planRemoval(ctx context.Context, snap *snapshot.Snapshot,
	op *metapb.Operation,
) (*clusterapi.Answer, error) {
	s := snap.Shards[op.GetShardRemove().GetShardId()]
	moves := removals(snap, s.Id)
	plan := &clusterapi.Removal{Shard: s.Id, Tables: []clusterapi.TableMove{}, Waits: []string{}}
	sizes, err := a.tableSizes(ctx, moves)
	if err != nil {
		plan.Waits = append(plan.Waits, "the sizes of tables are not complete: "+snap.Spell(err.Error()))
	}
	for _, m := range moves {
		t := clusterapi.TableMove{
			Table: m.table.Database + "." + m.table.Name,
			Bytes: sizes[m.table.ID],
			From:  m.table.Shards(),
			To:    append([]uint32{}, m.to...),
		}
		plan.Tables = append(plan.Tables, t)
		plan.Bytes += t.Bytes
		if m.why != "" {
			plan.Waits = append(plan.Waits, m.why)
		}
	}
	if why := whyNeeded(snap, op, s); why != "" {
		plan.Waits = append(plan.Waits, snap.Relabel(why))
	}
	return &clusterapi.Answer{Removal: plan}, nil
}

// tableSizes asks the shards for the sizes of tables in bytes. For each shard, the largest replica counts.
func (a *Admin) tableSizes(ctx context.Context, moves []removal) (map[uint64]int64, error) {
	out := map[uint64]int64{}
	if a.shards == nil || len(moves) == 0 {
		return out, nil
	}
	wanted := map[uint64]bool{}
	for _, m := range moves {
		wanted[m.table.ID] = true
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	stats, err := a.shards.Stats(ctx, &shardpb.StatsRequest{})
	type piece struct {
		shard uint32
		table uint64
	}
	largest := map[piece]int64{}
	for _, st := range stats {
		for _, t := range st.Tables {
			if at := (piece{st.ShardId, t.TableId}); wanted[t.TableId] {
				largest[at] = max(largest[at], t.SegmentBytes+t.MemtableBytes)
			}
		}
	}
	for at, n := range largest {
		out[at.table] += n
	}
	return out, err
}
