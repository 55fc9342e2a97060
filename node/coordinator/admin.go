package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/coordinator/view"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi/clusterapi"
)

// Catalog is this node's copy of the metadata. Admin uses it if no leader answers.
type Catalog interface {
	Meta
	Table(database, name string) (*schema.Table, bool)
	Nodes() []*metapb.Node
	Shards() []*metapb.Shard
	Operations() []*metapb.Operation
	Operation(id uint64) (*metapb.Operation, bool)
	Settings() *metapb.Settings
	ClusterVersion() uint32
	ClusterID() string
}

// Admin is the interface for users. It describes the cluster, and starts and cancels operations. For this it writes
// records to the metadata, which the coordinator on the leader executes. It is safe for concurrent use, on any node.
type Admin struct {
	meta   Catalog
	shards Shards
	node   string // the node on which it runs, or empty if unknown
	limits snapshot.Limits
}

// Shards sends the requests of Admin to the shards.
type Shards interface {
	// Stats asks all nodes for the statistics of their replicas. If some do not answer, it returns the other answers
	// and an error.
	Stats(ctx context.Context, req *shardpb.StatsRequest) ([]*shardpb.ShardStats, error)
}

// NewAdmin returns an Admin.
func NewAdmin(meta Catalog) *Admin {
	return &Admin{meta: meta, limits: snapshot.Limits{}.WithDefaults()}
}

// WithShards sets the client that asks shards for the sizes of tables, which some plans show.
func (a *Admin) WithShards(s Shards) *Admin {
	a.shards = s
	return a
}

// On sets the node on which the Admin runs.
func (a *Admin) On(node string) *Admin {
	a.node = node
	return a
}

var _ clusterapi.Cluster = (*Admin)(nil)

// statusTimeout is the time limit of the request to the leader.
const statusTimeout = 5 * time.Second

// snapshot asks the leader for the state of the cluster.
func (a *Admin) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, err := a.meta.Status(ctx)
	if err != nil {
		return nil, err
	}
	return a.snapshotOf(status), nil
}

func (a *Admin) snapshotOf(status *metapb.StatusResponse) *snapshot.Snapshot {
	var tables []*schema.Table
	for _, d := range a.meta.Databases() {
		tables = append(tables, a.meta.Tables(d.Name)...)
	}
	snap := snapshot.New(time.Now(), a.limits, status, tables, nil)
	for _, n := range status.Nodes {
		for _, r := range n.GetReport().GetReplicas() {
			if r.State == snapshot.StateLeader && !n.Down {
				// The counters start at 0 when the process starts. This is sufficient for shares of a whole.
				snap.Rates.Shard[r.ShardId] = float64(r.IngestedBytes)
			}
		}
	}
	return snap
}

// Status implements clusterapi.Cluster.
func (a *Admin) Status(ctx context.Context) (*clusterapi.Status, error) {
	snap, err := a.snapshot(ctx)
	if err != nil {
		return a.withoutLeader(err), nil
	}
	snap.Trusting = true
	out := view.Describe(snap)
	out.Problems = view.Diagnose(snap)
	out.Health = view.Health(snap, out.Problems)
	return out, nil
}

// withoutLeader describes the cluster from this node's own knowledge.
func (a *Admin) withoutLeader(err error) *clusterapi.Status {
	status := &metapb.StatusResponse{
		ClusterId: a.meta.ClusterID(), ClusterVersion: a.meta.ClusterVersion(), Settings: a.meta.Settings(),
		Shards: a.meta.Shards(), Operations: a.meta.Operations(),
	}
	for _, n := range a.meta.Nodes() {
		status.Nodes = append(status.Nodes, &metapb.NodeStatus{Node: n})
	}
	return view.DescribeAlone(a.snapshotOf(status), a.node, err)
}

// Operations implements clusterapi.Cluster.
func (a *Admin) Operations(ctx context.Context) ([]clusterapi.Operation, error) {
	snap, err := a.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	out := []clusterapi.Operation{}
	for _, op := range snap.Operations {
		out = append(out, view.Operation(snap, op))
	}
	slices.SortFunc(out, func(a, b clusterapi.Operation) int { return cmp.Compare(b.ID, a.ID) })
	return out, nil
}

// planMeasure is the time for which ingest rates are measured for a requested plan. A description by a leader uses
// the rates of the last minute.
const planMeasure = 2 * time.Second

// Plan implements clusterapi.Cluster.
func (a *Admin) Plan(ctx context.Context) (*clusterapi.Plan, error) {
	before, err := a.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(planMeasure):
	}
	snap, err := a.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	snap.Rates.Shard = between(before.Status, snap.Status, time.Since(begin))
	plan := snapshot.PlanReplicas(snap, placement.Limits{})
	out := &clusterapi.Plan{
		Moves:   []clusterapi.Move{},
		Blocked: []string{},
		Paused:  snap.Status.GetSettings().GetRebalancePaused(),
	}
	out.Nodes, out.Even = []clusterapi.Load{}, snap.Relabel(plan.Even)
	ingest := 0.0
	for _, l := range plan.Loads {
		ingest += l.Ingest
	}
	for _, l := range plan.Loads {
		load := clusterapi.Load{
			Node:         snap.Label(l.Node),
			Replicas:     l.Replicas,
			DiskUsed:     l.Used,
			DiskCapacity: l.Capacity,
			Load:         l.Score,
		}
		if ingest > 0 {
			load.IngestShare = l.Ingest / ingest
		}
		out.Nodes = append(out.Nodes, load)
	}
	slices.SortFunc(out.Nodes, func(a, b clusterapi.Load) int { return cmp.Compare(a.Node, b.Node) })
	for _, m := range plan.Moves {
		move := clusterapi.Move{Shard: m.Shard, Bytes: m.Bytes, Reason: snap.Relabel(m.Reason)}
		if m.From != "" {
			move.From = snap.Label(m.From)
		}
		if m.To != "" {
			move.To = snap.Label(m.To)
		}
		out.Moves = append(out.Moves, move)
	}
	for _, b := range plan.Blocked {
		out.Blocked = append(out.Blocked, fmt.Sprintf("shard %d: %s", b.Shard, snap.Relabel(b.Reason)))
	}
	return out, nil
}

// Cancel implements clusterapi.Cluster.
func (a *Admin) Cancel(ctx context.Context, id uint64) (*clusterapi.Answer, error) {
	for range 5 { // the coordinator may change the operation first
		snap, err := a.snapshot(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(snap.Operations, func(op *metapb.Operation) bool { return op.Id == id })
		if i < 0 {
			return nil, errs.New(errs.InvalidArguments, "there is no operation %d: it never existed, or is no longer stored",
				id).WithStatus(http.StatusNotFound)
		}
		op := snap.Operations[i]
		switch {
		case op.State != metapb.OperationState_OPERATION_STATE_RUNNING:
			return nil, errs.New(errs.IllegalState, "operation %d has ended: it is %s", id,
				operation.StateName(op.State)).WithStatus(http.StatusConflict)
		case op.Cancel:
			d := view.Operation(snap, op)
			return &clusterapi.Answer{Operation: &d, Message: "it is being cancelled already"}, nil
		}
		result, err := a.meta.Propose(ctx, cancelOperation(snap, op))
		if errs.CodeOf(err) == errs.RequestOutdated {
			continue
		}
		if err != nil {
			return nil, err
		}
		d := view.Operation(snap, operation.Read(result.Operation))
		return &clusterapi.Answer{
			Operation: &d,
			Message:   "it ends at the next safe step; steps that cannot be undone are completed",
		}, nil
	}
	return nil, errs.New(errs.RequestOutdated, "operation %d changes too quickly: try again",
		id).WithStatus(http.StatusConflict)
}
