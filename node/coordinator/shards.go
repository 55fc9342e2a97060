package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// lastShard returns the highest id that a shard has or had before it was retired, since ids are not
// reused.
func lastShard(snap *snapshot.Snapshot) uint32 {
	last := snap.Status.GetLastShardId() // 0 if the leader of the metadata runs an older program
	for id := range snap.Shards {
		last = max(last, id)
	}
	return last
}

// These steps belong to shard-add and replica-change only.
const (
	stepMake  = "make"
	stepStart = "start"
	stepWant  = "want"
)

// openTime is the time for which shard-add waits for all replicas of shards that have leaders.
const openTime = 10 * time.Second

// maxNewShards is the maximum number of shards of one shard-add.
const maxNewShards = 256

// addShards creates new shards, each on the nodes with the lowest load.
func addShards(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	p := op.GetShardAdd()
	count := int(max(p.GetCount(), 1))
	if count > maxNewShards {
		return failed("end", "%d shards were requested: from 1 to %d can be created at a time", count, maxNewShards)
	}
	if other := snap.FindRunning(func(o *metapb.Operation) bool {
		return o.Kind == operation.ShardAdd && o.Id < op.Id
	}); other != nil {
		if op.Cancel && !p.GetBegun() {
			return cancelled("no shard was created")
		}
		return wait(orStep(op, stepMake), "operation %d creates shards first", other.Id)
	}
	if !p.GetBegun() {
		return decision{step: stepMake, reason: "begins", again: true}.remember(func(op *metapb.Operation) {
			p := operation.ShardAddProgress(op)
			p.Begun, p.Base = true, lastShard(snap)
		})
	}
	var made []uint32
	for id := range snap.Shards {
		if id > p.Base {
			made = append(made, id)
		}
	}
	slices.Sort(made)
	if op.Cancel && len(made) < count {
		d := cancelled("%d of %d shards were created, and stay: %s", len(made), count, shardNames(made))
		d.toShards = made
		return d
	}
	if len(made) < count {
		return makeShard(snap, op, len(made), count)
	}
	d := awaitNewShards(snap, op, made)
	d.toShards = made
	return d
}

// awaitNewShards waits until the new shards have leaders, and for a limited time until all their
// replicas are ready.
func awaitNewShards(snap *snapshot.Snapshot, op *metapb.Operation, made []uint32) decision {
	for _, id := range made {
		if snap.Groups[id].Leader == "" {
			if op.Cancel {
				return finished("created %s; shard %d has no leader yet", shardNames(made), id)
			}
			return wait(stepStart, "%s", snap.WhyLeaderless(snap.Shards[id]))
		}
	}
	for _, id := range made { // all replicas should be ready when the first rows arrive
		if s := snap.Shards[id]; !op.Cancel && snap.UnchangedFor[op.Id] < openTime &&
			len(snap.ReadyVoters(s, s.Replicas)) < len(snap.LivingReplicas(s)) {
			return wait(stepStart, "not all replicas of shard %d are ready yet", id)
		}
	}
	return finished("made %s", shardNames(made))
}

func makeShard(snap *snapshot.Snapshot, op *metapb.Operation, made, count int) decision {
	replicas := int(cmp.Or(op.Want, snap.Status.GetSettings().GetReplication(), 1))
	nodes, why := snapshot.Homes(snap, replicas, op.ToNode)
	if why != "" {
		return wait(stepMake, "%d of %d shards are created; %s", made, count, why)
	}
	return call(stepMake, fmt.Sprintf("%d of %d shards are created", made, count),
		&act{what: "create shard", propose: command(snap, func(c *metapb.Command) {
			c.Op = &metapb.Command_CreateShard{
				CreateShard: &metapb.CreateShard{Replicas: nodes, Want: uint32(replicas), ShardId: lastShard(snap) + 1},
			}
		})})
}
