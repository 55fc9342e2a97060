package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/httpapi/clusterapi"
)

// Start implements clusterapi.Cluster.
func (a *Admin) Start(ctx context.Context, r *clusterapi.Request, user string) (*clusterapi.Answer, error) {
	snap, err := a.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if r.WithRows && r.Kind != operation.TableMove && r.Kind != operation.TablePartition {
		return nil, bad("with_rows is only for table-move and table-partition")
	}
	if r.Plan && r.Kind != operation.ShardRemove {
		return nil, bad("plan is only for shard-remove; GET /v1/cluster/plan shows what a rebalance would do")
	}
	switch r.Kind {
	case operation.RequestUndrain:
		return a.undrain(ctx, snap, r)
	case operation.RequestRemove:
		return a.removeNode(ctx, snap, r)
	case operation.RequestPause, operation.RequestResume:
		return a.pause(ctx, snap, r.Kind == operation.RequestPause)
	}
	op, err := a.operation(snap, r)
	if err != nil {
		return nil, err
	}
	if answer := consent(snap, op, r); answer != nil {
		return answer, nil
	}
	// The decision shows whether the operation is possible at all.
	if d := decide(snap, op); d.end == metapb.OperationState_OPERATION_STATE_FAILED {
		return nil, errs.New(errs.InvalidArguments, "%s", snap.Relabel(d.reason))
	}
	if r.Plan {
		return a.planRemoval(ctx, snap, op)
	}
	op.State, op.RequestedBy, op.Reason = metapb.OperationState_OPERATION_STATE_RUNNING, cmp.Or(user, "anonymous"),
		"waits for the leader of the metadata to start it"
	result, err := a.meta.Propose(ctx, putOperation(snap, op))
	if err != nil {
		return nil, err
	}
	d := view.Operation(snap, operation.Read(result.Operation))
	return &clusterapi.Answer{Operation: &d}, nil
}

// consent returns a request for confirmation of an irreversible operation. It returns nil if it was
// confirmed, or needs no confirmation.
func consent(snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) *clusterapi.Answer {
	if op.Kind != operation.ShardDrop || decide(snap, op).end == metapb.OperationState_OPERATION_STATE_FAILED {
		return nil
	}
	id := strconv.FormatUint(uint64(op.GetShardDrop().GetShardId()), 10)
	if r.Confirm == id {
		return nil
	}
	return &clusterapi.Answer{Confirm: id, Message: fmt.Sprintf(
		"The rows of shard %s are given up for good: %s. The shard is created again without rows, so that its tables can be "+
			"written and "+
			"read again. If its node comes back, its files stay on its disk and are not used. "+
			"Requests with an Idempotency-Key that are repeated may be stored again",
		id, op.GetShardDrop().GetLoss())}
}

func bad(format string, args ...any) error { return errs.New(errs.InvalidArguments, format, args...) }

// operation returns the record of a requested operation.
func (a *Admin) operation(snap *snapshot.Snapshot, r *clusterapi.Request) (*metapb.Operation, error) {
	check, ok := requests[r.Kind]
	if !ok {
		return nil, bad("there is no operation %.40q: there are %s", r.Kind, strings.Join(kinds, ", "))
	}
	op := &metapb.Operation{Kind: r.Kind, ShardId: r.Shard, ToShards: r.ToShards}
	for _, n := range []struct {
		text string
		id   *string
	}{{r.Node, &op.NodeId}, {r.From, &op.FromNode}, {r.To, &op.ToNode}} {
		if n.text == "" {
			continue
		}
		id, err := findNode(snap, n.text)
		if err != nil {
			return nil, err
		}
		*n.id = id
	}
	for _, id := range slices.Concat([]uint32{r.Shard}, r.ToShards) {
		if err := refuse(whyNoShard(snap, id)); err != nil && id != 0 { // some kinds need no shard
			return nil, err
		}
	}
	if err := check(a, snap, op, r); err != nil {
		return nil, err
	}
	return op, nil
}

// whyNoShard returns a text that says that there is no shard with an id, and lists the shards. It is empty if the
// shard exists.
func whyNoShard(snap *snapshot.Snapshot, id uint32) string {
	if snap.Shards[id] != nil {
		return ""
	}
	var ids []string
	for _, other := range slices.Sorted(maps.Keys(snap.Shards)) {
		ids = append(ids, strconv.FormatUint(uint64(other), 10))
	}
	if len(ids) == 0 {
		return "there is no shard yet"
	}
	if id <= snap.Status.GetLastShardId() {
		return fmt.Sprintf("shard %d no longer exists: it was removed, and its number is not used again; there are %s",
			id, snapshot.Few(ids))
	}
	return fmt.Sprintf("there is no shard %d: there are %s", id, snapshot.Few(ids))
}

// requests has, for each kind of operation that a user can request, the function that checks the
// request and sets the fields of the record that only this kind has.
var requests = map[string]func(*Admin, *snapshot.Snapshot, *metapb.Operation, *clusterapi.Request) error{
	operation.ShardAdd:         requestShards,
	operation.ShardMove:        requestMove,
	operation.ShardSplitHot:    requestSplit,
	operation.ShardDrop:        requestDrop,
	operation.ShardRemove:      requestShardRemove,
	operation.ReplicaChange:    requestReplicas,
	operation.ReplicaRebuild:   requestRebuild,
	operation.TableMove:        (*Admin).requestTable,
	operation.TablePartition:   (*Admin).requestTable,
	operation.NodeDrain:        requestDrain,
	operation.NodeDecommission: requestDecommission,
	operation.Rebalance:        requestRebalance,
}

func requestShards(_ *Admin, snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	count := cmp.Or(r.Count, 1)
	if count < 1 || count > maxNewShards {
		return bad("%d shards were requested: 1 to %d can be created at a time", count, maxNewShards)
	}
	if r.Replicas != 0 {
		if why := refuseReplicas(r.Replicas); why != "" {
			return bad("%s", why)
		}
	}
	replicas := int(cmp.Or(uint32(r.Replicas), snap.Status.GetSettings().GetReplication(), 1))
	if _, why := snapshot.Homes(snap, replicas, ""); why != "" {
		return bad("%s", why)
	}
	op.Want = uint32(r.Replicas)
	operation.ShardAddProgress(op).Count = uint32(count)
	return nil
}

func requestMove(_ *Admin, _ *snapshot.Snapshot, _ *metapb.Operation, r *clusterapi.Request) error {
	if r.Shard == 0 || r.From == "" || r.To == "" {
		return bad("shard-move needs shard, from and to")
	}
	return nil
}

func requestSplit(_ *Admin, _ *snapshot.Snapshot, _ *metapb.Operation, r *clusterapi.Request) error {
	if r.Shard == 0 {
		return bad("shard-split-hot needs shard")
	}
	return nil
}

func requestDrop(_ *Admin, snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	s := snap.Shards[r.Shard]
	if s == nil {
		return bad("shard-drop needs shard")
	}
	givesUp := func(o *metapb.Operation) bool { return o.Kind == operation.ShardDrop && operation.About(o) == s.Id }
	if other := snap.FindRunning(givesUp); other != nil {
		return bad("operation %d already gives up shard %d", other.Id, s.Id)
	}
	op.ShardId = 0
	p := operation.ShardDropProgress(op)
	p.ShardId, p.Incarnation, p.Loss = s.Id, s.Incarnation, lossWords(snap, s)
	return nil
}

func requestShardRemove(_ *Admin, snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	if r.Shard == 0 {
		return bad("shard-remove needs shard")
	}
	s := snap.Shards[r.Shard]
	op.ShardId = 0
	operation.ShardRemoveProgress(op).ShardId = s.Id
	return refuse(cmp.Or(whyNoRemoval(snap, op, s), whyShardStays(snap, s)))
}

func requestReplicas(_ *Admin, _ *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	if r.Shard == 0 {
		return bad("replica-change needs shard and replicas")
	}
	if why := refuseReplicas(r.Replicas); why != "" {
		return bad("%s", why)
	}
	op.Want = uint32(r.Replicas)
	return nil
}

func requestRebuild(_ *Admin, _ *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	if r.Shard == 0 || r.Node == "" {
		return bad("replica-rebuild needs shard and node")
	}
	op.NodeId, op.FromNode, op.ToNode = "", op.NodeId, op.NodeId
	return nil
}

func requestDrain(_ *Admin, snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	if r.Node == "" {
		return bad("node-drain needs node")
	}
	if r.ForRestart {
		operation.NodeProgress(op).ForRestart = true
		return nil
	}
	return refuse(whyNotEmptied(snap, op.NodeId))
}

func requestDecommission(_ *Admin, snap *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	switch {
	case r.Node == "":
		return bad("node-decommission needs node")
	case r.ForRestart:
		return bad("for_restart is only for node-drain")
	}
	if err := refuse(whyNotEmptied(snap, op.NodeId)); err != nil || r.Force {
		return err
	}
	return refuse(whyMetaWeaker(snap, op.NodeId))
}

func requestRebalance(_ *Admin, snap *snapshot.Snapshot, _ *metapb.Operation, _ *clusterapi.Request) error {
	if snap.Status.GetSettings().GetRebalancePaused() {
		return bad("rebalancing is paused: 'cordwood cluster resume rebalance' lets it continue")
	}
	return nil
}

// refuse returns an error with a reason, or nil if the reason is empty.
func refuse(why string) error {
	if why == "" {
		return nil
	}
	return bad("%s", why)
}

// refuseReplicas returns the reason why a shard cannot have this number of replicas, or an empty text.
func refuseReplicas(n int) string {
	switch {
	case n < 1 || n > 7:
		return fmt.Sprintf("%d replicas were requested: 1, 3, 5 or 7 are possible", n)
	case n%2 == 0:
		return fmt.Sprintf("%d replicas survive the loss of %s, as %d would, since more than half must be up to write: "+
			"use %d or %d", n, words.Count(n/2-1, "node"), n-1, n-1, n+1)
	}
	return ""
}

var kinds = []string{
	operation.ShardAdd, operation.ShardMove, operation.ShardSplitHot, operation.ShardDrop, operation.ShardRemove,
	operation.ReplicaChange, operation.ReplicaRebuild, operation.TableMove, operation.TablePartition, operation.NodeDrain,
	operation.RequestUndrain, operation.NodeDecommission, operation.RequestRemove, operation.Rebalance,
	operation.RequestPause, operation.RequestResume,
}

func (a *Admin) requestTable(_ *snapshot.Snapshot, op *metapb.Operation, r *clusterapi.Request) error {
	database, name, err := schema.ParseTableName(r.Table)
	if err != nil || database == "" {
		return bad("%s needs table, as DATABASE.TABLE, with quotes around a name that has a dot", r.Kind)
	}
	t, found := a.meta.Table(database, name)
	if !found {
		return errs.New(errs.TableNotFound, "table %s does not exist", r.Table)
	}
	p := operation.TableProgress(op)
	op.TableId, p.Name, p.WithRows = t.ID, t.Database+"."+t.Name, r.WithRows
	switch {
	case op.Kind == operation.TableMove && len(r.ToShards) == 0:
		return bad("table-move needs to_shards")
	case op.Kind == operation.TablePartition && (r.Partitions < 1 || r.Partitions > 256):
		return bad("table-partition needs partitions, from 1 to 256")
	case op.Kind == operation.TablePartition:
		p.Partitions = uint32(r.Partitions)
	}
	if set := t.Options[schema.OptionPartitions]; set != "" && set != schema.PartitionsAuto &&
		op.Kind == operation.TableMove && set != strconv.Itoa(len(r.ToShards)) {
		return bad("table %s has the option partitions=%s, and %s given: give that number of shards, or change the option "+
			"with 'cordwood table set %s partitions=%d'", r.Table, set,
			words.Say(len(r.ToShards), "shard is", "shards are"), r.Table, len(r.ToShards))
	}
	return nil
}
