package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta/placement"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/httpapi"
)

// Catalog is what Admin needs of the metadata, beside Meta: this node's copy, for when no
// leader answers.
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

// Admin is the side of users: it describes the cluster, and begins and cancels operations
// by records in the metadata, which the coordinator of the leader then carries out. It may
// be used concurrently, on any node.
type Admin struct {
	meta Catalog
	cfg  Config
}

// NewAdmin returns an Admin.
func NewAdmin(meta Catalog) *Admin { return &Admin{meta: meta, cfg: Config{}.withDefaults()} }

var _ httpapi.Cluster = (*Admin)(nil)

// statusTimeout bounds the question to the leader.
const statusTimeout = 5 * time.Second

// picture asks the leader how the cluster is.
func (a *Admin) picture(ctx context.Context) (*picture, error) {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	status, err := a.meta.Status(ctx)
	if err != nil {
		return nil, err
	}
	return a.pictureOf(status), nil
}

func (a *Admin) pictureOf(status *metapb.StatusResponse) *picture {
	var tables []*schema.Table
	for _, d := range a.meta.Databases() {
		tables = append(tables, a.meta.Tables(d.Name)...)
	}
	p := newPicture(time.Now(), a.cfg, status, tables, nil)
	for _, n := range status.Nodes {
		for _, r := range n.GetReport().GetReplicas() {
			if r.State == stateLeader && !n.Down {
				// Since the process began: good enough for shares of a whole.
				p.rates.shard[r.ShardId] = float64(r.IngestedBytes)
			}
		}
	}
	return p
}

// Status implements httpapi.Cluster.
func (a *Admin) Status(ctx context.Context) (*httpapi.ClusterStatus, error) {
	p, err := a.picture(ctx)
	if err != nil {
		return a.withoutLeader(err), nil
	}
	p.trusting = true
	out := a.describe(p)
	out.Problems = diagnose(p)
	out.Health = p.health(out.Problems)
	return out, nil
}

// withoutLeader is what this node knows by itself.
func (a *Admin) withoutLeader(err error) *httpapi.ClusterStatus {
	status := &metapb.StatusResponse{
		ClusterId: a.meta.ClusterID(), ClusterVersion: a.meta.ClusterVersion(), Settings: a.meta.Settings(),
		Shards: a.meta.Shards(), Operations: a.meta.Operations(),
	}
	for _, n := range a.meta.Nodes() {
		status.Nodes = append(status.Nodes, &metapb.NodeStatus{Node: n})
	}
	p := a.pictureOf(status)
	out := a.describe(p)
	var members []string
	for _, n := range status.Nodes {
		if inMeta(n.Node) {
			members = append(members, n.Node.Id)
		}
	}
	for i := range out.Shards {
		out.Shards[i].State = "unknown"
	}
	out.Health, out.FailureTolerance, out.LimitedBy, out.UnderReplicated = healthBroken, -1, "the metadata group", 0
	out.Problems = []httpapi.ClusterProblem{{
		Severity: critical,
		Text:     fmt.Sprintf("no leader of the metadata group answers (%v); what is shown is what this node knew before. Rows of tables that exist are still written and read where their shards work; schemas and placement cannot change", p.spell(err.Error())),
		Advice:   fmt.Sprintf("start the nodes with the role meta (%s): more than half of its voters must answer; if they are lost for good, see 'cordwood recover --help'", p.labels(members)),
	}}
	return out
}

func (a *Admin) describe(p *picture) *httpapi.ClusterStatus {
	out := &httpapi.ClusterStatus{
		ClusterID: p.status.ClusterId, Version: p.status.ClusterVersion, Replication: max(p.status.GetSettings().GetReplication(), 1),
		RebalancePaused: p.status.GetSettings().GetRebalancePaused(),
		Nodes:           []httpapi.ClusterNode{}, Shards: []httpapi.ClusterShard{}, Operations: []httpapi.ClusterOperation{}, UnknownNodes: []string{},
	}
	if p.status.Leader != "" {
		out.Leader = p.label(p.status.Leader)
	}
	out.FailureTolerance, out.LimitedBy = p.clusterTolerance()
	led := p.led()
	for _, n := range p.status.Nodes {
		out.Nodes = append(out.Nodes, p.describeNode(n, led))
	}
	slices.SortFunc(out.Nodes, func(a, b httpapi.ClusterNode) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	for _, s := range p.status.Shards {
		d := p.describeShard(s)
		if d.State != conditionStarting && d.State != conditionUnknown && len(p.livingReplicas(s)) < want(s) {
			out.UnderReplicated++
		}
		out.Shards = append(out.Shards, d)
	}
	slices.SortFunc(out.Shards, func(a, b httpapi.ClusterShard) int { return cmp.Compare(a.ID, b.ID) })
	for _, op := range p.running() {
		out.Operations = append(out.Operations, p.describeOperation(op))
	}
	for _, id := range p.unknown() {
		out.UnknownNodes = append(out.UnknownNodes, p.label(id))
	}
	out.RowsAside = p.rowsAside()
	return out
}

func (p *picture) describeNode(n *metapb.NodeStatus, led map[string]int) httpapi.ClusterNode {
	id := n.GetNode().GetId()
	out := httpapi.ClusterNode{
		ID: id, Name: n.Node.GetName(), Zone: n.Node.GetZone(), Roles: n.Node.GetRoles(), State: "up",
		SilentSeconds: time.Duration(n.SilentNanos).Seconds(), RPCAddr: n.Node.GetRpcAddr(), HTTPAddr: n.Node.GetHttpAddr(),
		Version: cmp.Or(n.GetReport().GetVersion(), n.Node.GetVersion()), Leads: led[id],
		DiskUsed: n.GetReport().GetDiskUsed(), DiskCapacity: n.GetReport().GetDiskCapacity(),
	}
	for _, s := range p.status.Shards {
		if slices.Contains(s.Replicas, id) || slices.Contains(s.Learners, id) {
			out.Replicas++
			if r := p.replica(id, s); r != nil {
				out.Bytes += r.SegmentBytes + r.MemtableBytes + r.LogBytes
			}
		}
	}
	switch {
	case n.Down:
		out.State = "down"
	case p.hushed(id) && p.stops(id):
		out.State = "stopped"
	case p.hushed(id):
		out.State = "silent"
	case p.unreachable(id):
		out.State = "unreachable"
	case p.stops(id):
		out.State = "stopping"
	case n.Node.GetState() == metapb.NodeState_NODE_STATE_DRAINING:
		out.State = "draining"
	case n.Node.GetState() == metapb.NodeState_NODE_STATE_DRAINED:
		out.State = "drained"
	case p.isNew(id):
		out.State = "starting"
	case n.Report == nil:
		out.State = "unknown"
	}
	if m := p.member(id); m != nil {
		switch {
		case p.status.Leader == id:
			out.Meta = "leader"
		case m.Voter:
			out.Meta = "voter"
		default:
			out.Meta = "learner"
		}
	}
	return out
}

func (p *picture) describeShard(s *metapb.Shard) httpapi.ClusterShard {
	g := p.groups[s.Id]
	out := httpapi.ClusterShard{
		ID: s.Id, Want: want(s), State: "ok", Term: g.term, Index: g.last, Bytes: g.bytes, Replicas: []string{}, Learners: []string{}, Unready: []string{},
	}
	for _, id := range s.Replicas {
		out.Replicas = append(out.Replicas, p.label(id))
		if r := p.replica(id, s); r != nil && p.alive(id) && !r.CaughtUp && g.applied > r.AppliedIndex {
			out.Lag = max(out.Lag, g.applied-r.AppliedIndex)
		}
		if p.unready(id, s) != "" {
			out.Unready = append(out.Unready, p.label(id))
		}
	}
	for _, id := range s.Learners {
		out.Learners = append(out.Learners, p.label(id))
	}
	switch condition := p.condition(s); {
	case condition == conditionNone && g.leader != "":
		out.State = "leader silent"
	case condition != conditionLed:
		out.State = condition
	case len(p.livingReplicas(s)) < want(s):
		out.State = "under-replicated"
	case len(out.Unready) > 0:
		out.State = "catching up"
	case p.runs(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil:
		out.State = "moving"
	}
	if g.leader != "" {
		out.Leader = p.label(g.leader)
	}
	return out
}

func (p *picture) describeOperation(op *metapb.Operation) httpapi.ClusterOperation {
	out := httpapi.ClusterOperation{
		ID: op.Id, Kind: op.Kind, State: stateName(op.State), Subject: subject(p, op), Step: op.Step, Attempt: op.Attempt, Reason: op.Reason,
		Shard: about(op), ToShards: op.ToShards, Replicas: op.Want, DoneBytes: op.DoneBytes, TotalBytes: op.TotalBytes,
		Parent: op.Parent, By: op.RequestedBy, Cancel: op.Cancel, Created: time.Unix(0, op.CreatedUnixNano).UTC(), Updated: time.Unix(0, op.UpdatedUnixNano).UTC(),
	}
	for _, n := range []struct {
		id   string
		name *string
	}{{op.NodeId, &out.Node}, {op.FromNode, &out.From}, {op.ToNode, &out.To}} {
		if n.id != "" {
			*n.name = p.label(n.id)
		}
	}
	if t := p.tables[op.TableId]; t != nil {
		out.Table = t.Database + "." + t.Name
	} else if op.TableId != 0 {
		out.Table = op.Notes[noteName]
	}
	if op.EndedUnixNano != 0 {
		ended := endTime(op).UTC()
		out.Ended = &ended
	}
	out.ETASeconds = p.eta(op)
	return out
}

// eta is how long a running operation will take, by how long it took so far; nil: not known.
func (p *picture) eta(op *metapb.Operation) *float64 {
	since := op.CreatedUnixNano
	if copying, err := strconv.ParseInt(op.Notes[noteCopying], 10, 64); err == nil {
		since = copying
	}
	took := p.now.Sub(time.Unix(0, since)).Seconds()
	if op.State != metapb.OperationState_OPERATION_STATE_RUNNING || op.DoneBytes <= 0 || op.TotalBytes <= 0 || took < 1 {
		return nil
	}
	left := took * float64(max(op.TotalBytes-op.DoneBytes, 0)) / float64(op.DoneBytes)
	return &left
}

// Operations implements httpapi.Cluster.
func (a *Admin) Operations(ctx context.Context) ([]httpapi.ClusterOperation, error) {
	p, err := a.picture(ctx)
	if err != nil {
		return nil, err
	}
	out := []httpapi.ClusterOperation{}
	for _, op := range p.status.Operations {
		out = append(out, p.describeOperation(op))
	}
	slices.SortFunc(out, func(a, b httpapi.ClusterOperation) int { return cmp.Compare(b.ID, a.ID) })
	return out, nil
}

// planMeasure is for how long a plan that is asked for looks at what shards take in. Those that
// are made while the metadata are led know that of the last minute.
const planMeasure = 2 * time.Second

// Plan implements httpapi.Cluster.
func (a *Admin) Plan(ctx context.Context) (*httpapi.ClusterPlan, error) {
	before, err := a.picture(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(planMeasure):
	}
	p, err := a.picture(ctx)
	if err != nil {
		return nil, err
	}
	p.rates.shard = between(before.status, p.status, time.Since(begin))
	plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{})
	out := &httpapi.ClusterPlan{Moves: []httpapi.ClusterMove{}, Blocked: []string{}, Paused: p.status.GetSettings().GetRebalancePaused()}
	out.Nodes, out.Even = []httpapi.ClusterLoad{}, p.relabel(plan.Even)
	ingest := 0.0
	for _, l := range plan.Loads {
		ingest += l.Ingest
	}
	for _, l := range plan.Loads {
		load := httpapi.ClusterLoad{Node: p.label(l.Node), Replicas: l.Replicas, DiskUsed: l.Used, DiskCapacity: l.Capacity, Load: l.Score}
		if ingest > 0 {
			load.IngestShare = l.Ingest / ingest
		}
		out.Nodes = append(out.Nodes, load)
	}
	slices.SortFunc(out.Nodes, func(a, b httpapi.ClusterLoad) int { return cmp.Compare(a.Node, b.Node) })
	for _, m := range plan.Moves {
		move := httpapi.ClusterMove{Shard: m.Shard, Bytes: m.Bytes, Reason: p.relabel(m.Reason)}
		if m.From != "" {
			move.From = p.label(m.From)
		}
		if m.To != "" {
			move.To = p.label(m.To)
		}
		out.Moves = append(out.Moves, move)
	}
	for _, b := range plan.Blocked {
		out.Blocked = append(out.Blocked, fmt.Sprintf("shard %d: %s", b.Shard, p.relabel(b.Reason)))
	}
	return out, nil
}

// relabel calls the nodes in a text by their names.
func (p *picture) relabel(text string) string {
	for id := range p.nodes {
		text = strings.ReplaceAll(text, "node "+id, "node "+p.label(id))
	}
	return text
}

// Cancel implements httpapi.Cluster.
func (a *Admin) Cancel(ctx context.Context, id uint64) (*httpapi.ClusterAnswer, error) {
	for range 5 { // the coordinator may be quicker
		p, err := a.picture(ctx)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(p.status.Operations, func(op *metapb.Operation) bool { return op.Id == id })
		if i < 0 {
			return nil, errs.New(errs.InvalidArguments, "there is no operation %d: it never was, or is forgotten", id).WithStatus(http.StatusNotFound)
		}
		op := p.status.Operations[i]
		switch {
		case op.State != metapb.OperationState_OPERATION_STATE_RUNNING:
			return nil, errs.New(errs.IllegalState, "operation %d has ended: it is %s", id, stateName(op.State)).WithStatus(http.StatusConflict)
		case op.Cancel:
			d := p.describeOperation(op)
			return &httpapi.ClusterAnswer{Operation: &d, Message: "it is being cancelled already"}, nil
		}
		result, err := a.meta.Propose(ctx, p.cancel(op))
		if errs.CodeOf(err) == errs.RequestOutdated {
			continue
		}
		if err != nil {
			return nil, err
		}
		d := p.describeOperation(result.Operation)
		return &httpapi.ClusterAnswer{Operation: &d, Message: "it ends at the next step where it can; what cannot be undone any more is finished"}, nil
	}
	return nil, errs.New(errs.RequestOutdated, "operation %d changes too quickly: try again", id).WithStatus(http.StatusConflict)
}
