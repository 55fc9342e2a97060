package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// world is a cluster in memory: metadata by the rules of package meta, groups by those of
// raft, and nodes that open, fill and delete replicas as time goes by. It checks, at each
// change, what must always hold.
type world struct {
	t  testing.TB
	mu sync.Mutex

	nodes    map[string]*metapb.Node
	down     map[string]time.Time // since when
	stopping map[string]bool
	// unheard are nodes that have not reported to this leader, used the bytes on the disks of nodes.
	// unreached are the nodes that cannot reach one, shut has those that nobody reaches.
	unheard   map[string]bool
	unreached map[string][]string
	// mute are the nodes that do not answer one.
	mute   map[string][]string
	shut   map[string]bool
	used   map[string]int64
	shards map[uint32]*metapb.Shard
	groups map[uint32]*fakeGroup
	// retired are shards that were taken away, lastShard the highest number that one had, and reads how many
	// queries and backups read a shard, keys until when it remembers keys of requests, keysSaid for how long its
	// replicas say so, if not as long.
	retired   map[uint32]*metapb.Shard
	lastShard uint32
	reads     map[uint32]uint32
	keys      map[uint32]time.Time
	keysSaid  map[uint32]time.Duration
	tables    map[uint64]*schema.Table
	ops       map[uint64]*metapb.Operation
	settings  *metapb.Settings
	version   uint32
	lastOp    uint64
	voters    []string // of the metadata group
	learners  []string
	bytes     int64
	ingest    map[uint64]float64 // bytes a second, by table
	began     time.Time
	skew      time.Duration // of the proposer's clock, against the leader's
	frozen    bool          // nobody is elected
	late      time.Duration // by which copies are complete later
	changed   chan struct{}
	defined   map[uint32]map[uint64]uint32 // shard, table: epoch

	copies    map[uint64]map[uint32]*fakeCopy // of tables that are handed over, by shard
	lastCopy  uint64
	restarted map[string]time.Time
	anew      uint32         // a shard that is made anew when a copy has caught up
	givenUp   []uint64       // copies
	broken    map[string]int // questions about copies that a node answers with an error

	// effects counts the calls that change something; at killAt the caller dies, with its
	// call made or not.
	effects, killAt int
	applied         bool
	kill            func()
	// raiseAt is the number of effects at which the cluster's version rises to the newest.
	raiseAt int
	// cancelAt has all operations cancelled after so many effects.
	cancelAt int
	// tick is the coordinator's.
	tick time.Duration
}

type fakeGroup struct {
	voters, learners []string
	leader           string
	leaderLost       time.Time
	ledFor           time.Duration        // for how long it has this leader; 0: for long
	deaf             map[string]bool      // replicas that have not heard from the leader yet
	ready            map[string]time.Time // when a learner has caught up
	opened           map[string]time.Time // when a replica is open
	gone             map[string]time.Time // when a removed one is deleted
	aside            map[string][]*metapb.AsideRows
	damaged          map[string]string    // replicas with damaged files: segment, or log
	stuck            map[string]time.Time // since when the flushes of replicas fail
}

// The damage of a replica: it lacks rows, or does not open.
const damagedSegment, damagedLog = "segment", "log"

// stick has the flushes of the replica of a shard on a node fail from now on.
func (w *world) stick(shard uint32, node string) *world {
	w.groups[shard].stuck[node] = time.Now()
	return w
}

// damage damages the replica of a shard on a node.
func (w *world) damage(shard uint32, node, what string) *world {
	w.groups[shard].damaged[node] = what
	return w
}

// votes counts the votes of the voters that work.
func (w *world) votes(g *fakeGroup) int {
	return w.living(slices.DeleteFunc(slices.Clone(g.voters), func(id string) bool { return g.damaged[id] == damagedLog }))
}

// whole counts the voters that work and have all rows.
func (w *world) whole(g *fakeGroup) int {
	return w.living(slices.DeleteFunc(slices.Clone(g.voters), func(id string) bool { return g.damaged[id] != "" }))
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, nodes: map[string]*metapb.Node{}, down: map[string]time.Time{}, stopping: map[string]bool{},
		shards: map[uint32]*metapb.Shard{}, groups: map[uint32]*fakeGroup{},
		tables: map[uint64]*schema.Table{}, ops: map[uint64]*metapb.Operation{}, settings: &metapb.Settings{},
		version: metapb.MaxProtocol, bytes: 10 << 20,
		ingest: map[uint64]float64{}, began: time.Now(), changed: make(chan struct{}),
		defined: map[uint32]map[uint64]uint32{},
		copies:  map[uint64]map[uint32]*fakeCopy{}, lastCopy: 1000, restarted: map[string]time.Time{},
		broken:  map[string]int{},
		retired: map[uint32]*metapb.Shard{}, reads: map[uint32]uint32{}, keys: map[uint32]time.Time{},
	}
}

// node adds nodes, from words such as "a", "b/zone" or "c/zone:meta".
func (w *world) node(words ...string) *world {
	for _, word := range words {
		word, roles, _ := strings.Cut(word, ":")
		id, zone, _ := strings.Cut(word, "/")
		w.nodes[id] = &metapb.Node{
			Id: id, Name: "node-" + id, Zone: zone, Roles: strings.Split(cmp.Or(roles, "router,meta,shard"), ","),
			RegisteredUnixNano: time.Now().Add(-time.Hour).UnixNano(), MaxProtocol: metapb.MaxProtocol,
		}
	}
	return w
}

// shard adds a shard whose group works.
func (w *world) shard(want uint32, nodes ...string) *world {
	w.lastShard++
	id := w.lastShard
	w.shards[id] = &metapb.Shard{Id: id, Incarnation: 1, Replicas: nodes, Want: want, Version: 1}
	g := &fakeGroup{
		voters: nodes, leader: nodes[0], ready: map[string]time.Time{}, opened: map[string]time.Time{},
		gone: map[string]time.Time{}, damaged: map[string]string{}, stuck: map[string]time.Time{},
	}
	for _, n := range nodes {
		g.ready[n], g.opened[n] = time.Now(), time.Now()
	}
	w.groups[id] = g
	return w
}

func (w *world) table(id uint64, options map[string]string, shards ...uint32) *world {
	if options == nil {
		options = map[string]string{"append_mode": "true"}
	}
	w.tables[id] = &schema.Table{
		ID: id, Database: "public", Name: fmt.Sprint("t", id), Options: options,
		Placement: []schema.Placement{{Epoch: 1, ShardID: shards[0], More: shards[1:]}},
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Errorf(format, args...)
}

// effect counts a call that changes something; the error says that the caller died first.
func (w *world) effect(apply func() error) error {
	w.effects++
	if w.effects == w.raiseAt {
		w.version = metapb.MaxProtocol
	}
	if w.killAt != 0 && w.effects == w.killAt {
		if w.applied {
			_ = apply()
			w.settle()
		}
		w.kill()
		return errors.New("the process died")
	}
	err := apply()
	w.settle()
	w.tell()
	if w.cancelAt != 0 && w.effects == w.cancelAt {
		for _, op := range w.ops {
			if op.State == metapb.OperationState_OPERATION_STATE_RUNNING && op.Parent == 0 {
				op.Cancel = true
				op.Version++
			}
		}
	}
	return err
}

// settle brings the nodes and groups to where they are now.
func (w *world) settle() {
	now := time.Now()
	for id, s := range w.shards {
		g := w.groups[id]
		for _, n := range slices.Concat(s.Replicas, s.Learners) {
			if _, ok := g.opened[n]; !ok && w.down[n].IsZero() {
				g.opened[n] = now.Add(500 * time.Millisecond)
			}
		}
		for _, n := range slices.Clone(s.Removed) {
			switch at, ok := g.gone[n]; {
			case !w.down[n].IsZero():
			case !ok:
				g.gone[n] = now.Add(time.Second)
			case !now.Before(at):
				s.Removed = slices.DeleteFunc(s.Removed, func(x string) bool { return x == n })
				s.Version++
				delete(g.gone, n)
				delete(g.opened, n)
				delete(g.ready, n)
				delete(g.damaged, n)
				delete(g.stuck, n)
			}
		}
		w.elect(s, g, now)
		if len(g.voters) == 0 {
			w.fail("shard %d has no voters", id)
		}
	}
	w.settleRetired(now)
}

// settleRetired has the nodes that are up delete their replicas of retired shards.
func (w *world) settleRetired(now time.Time) {
	for id, s := range w.retired {
		g := w.groups[id]
		for _, n := range slices.Clone(s.Removed) {
			switch at, ok := g.gone[n]; {
			case !w.down[n].IsZero():
			case !ok:
				g.gone[n] = now.Add(time.Second)
			case !now.Before(at):
				s.Removed = slices.DeleteFunc(s.Removed, func(x string) bool { return x == n })
				s.Version++
			}
		}
	}
}

// tell wakes those who wait for a change.
func (w *world) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) living(voters []string) int {
	n := 0
	for _, v := range voters {
		if w.down[v].IsZero() {
			n++
		}
	}
	return n
}

func (w *world) elect(s *metapb.Shard, g *fakeGroup, now time.Time) {
	quorum := w.votes(g) >= snapshot.Majority(len(g.voters))
	if g.leader != "" && quorum && g.damaged[g.leader] != damagedLog && w.down[g.leader].IsZero() &&
		slices.Contains(g.voters, g.leader) {
		g.leaderLost = time.Time{}
		return
	}
	g.leader = ""
	if g.leaderLost.IsZero() {
		g.leaderLost = now
	}
	if !quorum || w.frozen || now.Sub(g.leaderLost) < 2*time.Second {
		return
	}
	for _, v := range g.voters {
		if at, ok := g.opened[v]; ok && g.damaged[v] != damagedLog && w.down[v].IsZero() && !now.Before(at) {
			g.leader = v
			return
		}
	}
}

// process is a coordinator's side of the world.
type process struct {
	w     *world
	leads bool
	stop  context.CancelFunc
}

func (p *process) Changed() <-chan struct{} {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.w.changed
}

func (p *process) Databases() []*schemapb.Database { return []*schemapb.Database{{Name: "public"}} }

func (p *process) Tables(string) []*schema.Table {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.w.tables), func(a, b *schema.Table) int { return cmp.Compare(a.ID, b.ID) })
}

func (p *process) Status(ctx context.Context) (*metapb.StatusResponse, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.w.settle()
	return p.w.status(), nil
}

func (w *world) status() *metapb.StatusResponse {
	now := time.Now()
	st := &metapb.StatusResponse{
		ClusterId: "c", Leader: "meta-leader", Settings: proto.CloneOf(w.settings), ClusterVersion: w.version,
		LeadingNanos: int64(now.Sub(w.began)),
	}
	if len(w.voters) > 0 {
		st.Leader = w.voters[0]
	}
	for i, id := range slices.Concat(w.voters, w.learners) {
		m := &metapb.MemberStatus{NodeId: id, Voter: i < len(w.voters), SilentNanos: int64(100 * time.Millisecond)}
		if since := w.down[id]; !since.IsZero() {
			m.SilentNanos = int64(now.Sub(since))
		}
		st.Members = append(st.Members, m)
	}
	for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
		n := &metapb.NodeStatus{Node: proto.CloneOf(w.nodes[id]), Report: &metapb.ReportRequest{
			NodeId: id, Process: 1, DiskCapacity: 1 << 40, DiskUsed: 1 << 30, MaxProtocol: metapb.MaxProtocol,
			Stopping: w.stopping[id],
		}}
		if since := w.down[id]; !since.IsZero() {
			n.SilentNanos = int64(now.Sub(since))
			n.Down = now.Sub(since) > 10*time.Second
		}
		if used := w.used[id]; used > 0 {
			n.Report.DiskUsed = used
		}
		n.Report.Unreachable = w.shut[id]
		for _, from := range w.mute[id] {
			n.Report.Unreached = append(n.Report.Unreached, &metapb.Unreached{NodeId: from, Silent: true})
		}
		for _, from := range w.unreached[id] {
			n.Report.Unreached = append(n.Report.Unreached, &metapb.Unreached{NodeId: from, Reason: "dial tcp: i/o timeout"})
		}
		for _, sid := range slices.Sorted(maps.Keys(w.shards)) {
			g := w.groups[sid]
			at, open := g.opened[id]
			if !open || now.Before(at) {
				continue
			}
			r := &metapb.ReplicaReport{
				ShardId: sid, Incarnation: w.shards[sid].Incarnation, State: "Follower", Leader: g.leader,
				SegmentBytes: w.bytes, LastIndex: 1000, AppliedIndex: 1000,
			}
			ready, has := g.ready[id]
			r.CaughtUp = has && !now.Before(ready)
			if !r.CaughtUp {
				r.State, r.AppliedIndex, r.SegmentBytes = "Installing", 0, 0
				r.InstallTotalBytes, r.InstallDoneBytes = w.bytes, w.bytes/2
			}
			if g.deaf[id] {
				r.CaughtUp, r.Leader, r.CommitIndex = false, "", 0
			}
			r.Pins, r.KeysNanos = w.reads[sid], max(0, int64(w.keys[sid].Sub(now)), int64(w.keysSaid[sid]))
			r.Aside, r.AsideTables = g.aside[id], uint32(len(g.aside[id]))
			switch g.damaged[id] {
			case damagedSegment:
				r.DamagedSegments, r.Damaged = 2, []*metapb.DamagedSegment{
					{File: "shards/1/segments/7.parquet", Rows: 99, Reason: "checksum"},
				}
			case damagedLog:
				r = &metapb.ReplicaReport{
					ShardId: sid, Incarnation: w.shards[sid].Incarnation, State: snapshot.StateFailed, FilesDamaged: true,
					Reason: "the log is damaged",
				}
			}
			if since, ok := g.stuck[id]; ok {
				r.FlushError, r.FlushFailingNanos = "no file for you", int64(now.Sub(since))
			}
			if g.leader == id && w.down[id].IsZero() {
				r.State, r.Voters, r.Learners, r.Term = "Leader", slices.Clone(g.voters), slices.Clone(g.learners), 5
				for _, tid := range slices.Sorted(maps.Keys(w.tables)) {
					takes := w.tables[tid].Writable().Shards()
					if slices.Contains(takes, sid) {
						b := int64(w.ingest[tid] * now.Sub(w.began).Seconds() / float64(len(takes)))
						r.Tables = append(r.Tables, &metapb.TableIngest{TableId: tid, Bytes: b})
						r.IngestedBytes += b
					}
				}
			}
			n.Report.Replicas = append(n.Report.Replicas, r)
		}
		if w.unheard[id] {
			n.Report = nil
		}
		st.Nodes = append(st.Nodes, n)
	}
	for _, id := range slices.Sorted(maps.Keys(w.shards)) {
		st.Shards = append(st.Shards, proto.CloneOf(w.shards[id]))
		led := &metapb.ShardLed{ShardId: id, LedNanos: int64(cmp.Or(w.groups[id].ledFor, time.Hour))}
		if lost := w.groups[id].leaderLost; !lost.IsZero() {
			led.SilentNanos = int64(now.Sub(lost))
		}
		st.ShardsLed = append(st.ShardsLed, led)
	}
	st.LastShardId = w.lastShard
	for _, id := range slices.Sorted(maps.Keys(w.retired)) {
		if s := w.retired[id]; len(s.Removed) > 0 {
			st.RetiredShards = append(st.RetiredShards, proto.CloneOf(s))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.ops)) {
		st.Operations = append(st.Operations, proto.CloneOf(w.ops[id]))
	}
	return st
}

func (p *process) Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.leads || ctx.Err() != nil {
		return nil, errors.New("this process does not lead")
	}
	var result *metapb.Result
	err := p.w.effect(func() (err error) {
		result, err = p.w.apply(proto.CloneOf(cmd))
		return err
	})
	return result, err
}

func refused(format string, args ...any) error {
	return errs.New(errs.InvalidArguments, format, args...)
}

func (w *world) apply(cmd *metapb.Command) (*metapb.Result, error) {
	switch op := cmd.Op.(type) {
	case *metapb.Command_PutOperation:
		return w.putOperation(op.PutOperation.Operation, cmd.TimeUnixNano)
	case *metapb.Command_DropOperations:
		ended := []uint64{}
		for _, id := range slices.Sorted(maps.Keys(w.ops)) {
			if w.ops[id].State != metapb.OperationState_OPERATION_STATE_RUNNING {
				ended = append(ended, id)
			}
		}
		for _, id := range ended[:max(0, len(ended)-int(op.DropOperations.Keep))] {
			delete(w.ops, id)
		}
	case *metapb.Command_SetSettings:
		w.settings = op.SetSettings.Settings
	case *metapb.Command_SetClusterVersion:
		w.version = op.SetClusterVersion.Version
	case *metapb.Command_SetNodeState:
		for _, s := range w.shards {
			if op.SetNodeState.State == metapb.NodeState_NODE_STATE_DRAINED &&
				slices.Contains(slices.Concat(s.Replicas, s.Learners), op.SetNodeState.NodeId) {
				return nil, refused("node %s has replicas", op.SetNodeState.NodeId)
			}
		}
		w.nodes[op.SetNodeState.NodeId].State = op.SetNodeState.State
	case *metapb.Command_RemoveNode:
		for _, s := range w.shards {
			if slices.Contains(slices.Concat(s.Replicas, s.Learners), op.RemoveNode.NodeId) {
				return nil, refused("node %s has replicas", op.RemoveNode.NodeId)
			}
			s.Removed = slices.DeleteFunc(s.Removed, func(n string) bool { return n == op.RemoveNode.NodeId })
		}
		delete(w.nodes, op.RemoveNode.NodeId)
	case *metapb.Command_CreateShard:
		if int(op.CreateShard.ShardId) != int(w.lastShard)+1 {
			return nil, refused("another shard was made")
		}
		w.shard(op.CreateShard.Want, op.CreateShard.Replicas...)
		w.settings.InitialShards = max(w.settings.InitialShards, 1) - 1
	case *metapb.Command_ChangeShard:
		return &metapb.Result{}, w.changeShard(op.ChangeShard)
	case *metapb.Command_RetireShard:
		return &metapb.Result{}, w.retire(op.RetireShard)
	case *metapb.Command_PlaceTable:
		return w.place(op.PlaceTable, cmd.TimeUnixNano)
	default:
		w.fail("an unknown command: %v", cmd)
	}
	return &metapb.Result{}, nil
}

func (w *world) putOperation(op *metapb.Operation, now int64) (*metapb.Result, error) {
	if op.Progress != nil && w.version < metapb.ProtocolProgress {
		w.t.Errorf("typed progress %v is stored in a cluster of version %d", op.Progress, w.version)
	}
	running := op.State == metapb.OperationState_OPERATION_STATE_RUNNING
	if op.Id != 0 {
		had := w.ops[op.Id]
		if had == nil || had.Version != op.Version || had.State != metapb.OperationState_OPERATION_STATE_RUNNING {
			return nil, refused("operation %d was changed meanwhile", op.Id)
		}
	} else {
		for _, other := range w.ops {
			if other.State != metapb.OperationState_OPERATION_STATE_RUNNING || op.Parent == other.Id && op.Parent != 0 {
				continue
			}
			if op.ShardId != 0 && op.ShardId == other.ShardId || op.TableId != 0 && op.TableId == other.TableId ||
				op.NodeId != "" && op.NodeId == other.NodeId ||
				op.Kind == operation.Rebalance && other.Kind == operation.Rebalance {
				return nil, refused("operation %d excludes it", other.Id)
			}
		}
		w.lastOp++
		op.Id = w.lastOp
		op.CreatedUnixNano = now
	}
	op.Version++
	op.UpdatedUnixNano = now
	if !running {
		op.EndedUnixNano = now
	}
	w.ops[op.Id] = op
	return &metapb.Result{Operation: proto.CloneOf(op)}, nil
}

func (w *world) changeShard(c *metapb.ChangeShard) error {
	s := w.shards[c.ShardId]
	if s == nil || s.Version != c.Version {
		return refused("shard %d was changed meanwhile", c.ShardId)
	}
	g := w.groups[c.ShardId]
	cut := func(list []string, id string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
	}
	switch x := c.Change.(type) {
	case *metapb.ChangeShard_AddLearner:
		if slices.Contains(slices.Concat(s.Replicas, s.Learners, s.Removed), x.AddLearner) {
			return refused("it has one")
		}
		s.Learners = append(s.Learners, x.AddLearner)
	case *metapb.ChangeShard_Promote:
		if !slices.Contains(s.Learners, x.Promote) {
			return refused("no learner")
		}
		if !slices.Contains(g.voters, x.Promote) {
			w.fail("shard %d: the metadata list node %s as voter before the group does", s.Id, x.Promote)
		}
		s.Learners, s.Replicas = cut(s.Learners, x.Promote), append(s.Replicas, x.Promote)
	case *metapb.ChangeShard_Remove:
		if slices.Contains(slices.Concat(g.voters, g.learners), x.Remove) {
			w.fail("shard %d: node %s is to delete its replica, which is still a member", s.Id, x.Remove)
		}
		if !slices.Contains(slices.Concat(s.Replicas, s.Learners), x.Remove) {
			return refused("it has none")
		}
		s.Learners, s.Replicas, s.Removed = cut(s.Learners, x.Remove), cut(s.Replicas, x.Remove), append(s.Removed, x.Remove)
		if len(s.Replicas) == 0 {
			w.fail("shard %d is listed nowhere", s.Id)
		}
	case *metapb.ChangeShard_MadeAnew:
		if w.votes(g) >= snapshot.Majority(len(g.voters)) {
			w.fail("shard %d is made anew although it works", s.Id)
		}
		if slices.ContainsFunc(x.MadeAnew.NodeIds, func(id string) bool { return slices.Contains(s.Removed, id) }) {
			return refused("it has one still")
		}
		s.Want = max(s.Want, uint32(len(s.Replicas)))
		s.Incarnation += 1000
		s.Replicas, s.Learners, s.Founders = x.MadeAnew.NodeIds, nil, x.MadeAnew.NodeIds
		w.groups[s.Id] = &fakeGroup{
			voters: s.Replicas, ready: map[string]time.Time{}, opened: map[string]time.Time{},
			gone: map[string]time.Time{}, damaged: map[string]string{}, stuck: map[string]time.Time{},
		}
		for _, n := range s.Replicas {
			w.groups[s.Id].ready[n] = time.Now()
		}
	case *metapb.ChangeShard_Retiring:
		if x.Retiring && w.staying(s.Id) == 0 {
			return refused("no other shard stays")
		}
		s.Retiring = x.Retiring
	case *metapb.ChangeShard_Want:
		s.Want = x.Want
	case *metapb.ChangeShard_Forget:
		s.Removed = cut(s.Removed, x.Forget)
	}
	s.Version++
	return nil
}

func (p *process) ChangeMembers(_ context.Context, node string,
	change metapb.ChangeMembersRequest_Change,
) (string, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	w := p.w
	return "", w.effect(func() error {
		before := w.living(w.voters) - snapshot.Majority(len(w.voters))
		if before < 0 {
			return errors.New("nobody leads")
		}
		w.learners = slices.DeleteFunc(w.learners, func(x string) bool { return x == node })
		if change != metapb.ChangeMembersRequest_CHANGE_LEAD {
			w.voters = slices.DeleteFunc(w.voters, func(x string) bool { return x == node })
		}
		switch change {
		case metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER:
			w.learners = append(w.learners, node)
		case metapb.ChangeMembersRequest_CHANGE_PROMOTE:
			w.voters = append(w.voters, node)
		case metapb.ChangeMembersRequest_CHANGE_LEAD:
			i := slices.Index(w.voters, node)
			w.voters[0], w.voters[i] = w.voters[i], w.voters[0]
		}
		if after := w.living(w.voters) - snapshot.Majority(len(w.voters)); after < 0 {
			w.fail("the metadata group has no majority after %s of %s (tolerated %d before): %v", change, node, before, w.voters)
		}
		return nil
	})
}

// conn is a connection to a node of the world.
type conn struct {
	p    *process
	node string
}

func (p *process) dial(node string) (grpc.ClientConnInterface, error) {
	return conn{p, node}, nil
}

func (c conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams")
}

func (c conn) Invoke(ctx context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	w := c.p.w
	if req, ok := args.(*shardpb.HandOverRequest); ok {
		time.Sleep(time.Duration(req.WaitMillis/10) * time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.p.leads || ctx.Err() != nil {
		return errors.New("the caller is gone")
	}
	if !w.down[c.node].IsZero() {
		return errors.New("the node does not answer")
	}
	if req, ok := args.(*shardpb.HandOverRequest); ok && !req.Begin { // it changes nothing
		resp, err := w.handOver(c.node, req)
		proto.Merge(reply.(proto.Message), resp)
		return err
	}
	return w.effect(func() error {
		switch req := args.(type) {
		case *shardpb.HandOverRequest:
			resp, err := w.handOver(c.node, req)
			proto.Merge(reply.(proto.Message), resp)
			return err
		case *shardpb.ChangeReplicasRequest:
			if err := w.changeReplicas(c.node, req); err != nil {
				return err
			}
			g := w.groups[req.ShardId]
			proto.Merge(reply.(proto.Message), &shardpb.ChangeReplicasResponse{Voters: g.voters, Learners: g.learners})
		case *shardpb.DefineTablesRequest:
			if w.groups[req.ShardId].leader != c.node {
				return errors.New("it does not lead")
			}
			for _, t := range req.Tables {
				if w.defined[req.ShardId] == nil {
					w.defined[req.ShardId] = map[uint64]uint32{}
				}
				w.defined[req.ShardId][t.Id] = t.Placement[len(t.Placement)-1].Epoch
				w.seal(req.ShardId, t)
			}
		default:
			return fmt.Errorf("no such call: %T", args)
		}
		return nil
	})
}

func (w *world) changeReplicas(node string, req *shardpb.ChangeReplicasRequest) error {
	g, s := w.groups[req.ShardId], w.shards[req.ShardId]
	if g.leader != node {
		return errors.New("it does not lead")
	}
	id, now := req.NodeId, time.Now()
	voter, learner := slices.Contains(g.voters, id), slices.Contains(g.learners, id)
	cut := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
	}
	before := w.whole(g) - snapshot.Majority(len(g.voters))
	switch req.Change {
	case shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER:
		if at, open := g.opened[id]; !open || now.Before(at) {
			w.fail("shard %d: node %s joins without a replica", s.Id, id)
		}
		if !voter && !learner {
			g.learners = append(g.learners, id)
			g.ready[id] = now.Add(3 * time.Second)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_PROMOTE:
		if at, has := g.ready[id]; !voter && (!has || now.Before(at)) {
			w.fail("shard %d: node %s votes before it has the rows", s.Id, id)
		}
		if !voter {
			g.learners, g.voters = cut(g.learners), append(slices.Clone(g.voters), id)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_REMOVE:
		if id == g.leader {
			w.fail("shard %d: the leader is removed", s.Id)
		}
		g.learners, g.voters = cut(g.learners), cut(g.voters)
		delete(g.ready, id)
		after := w.whole(g) - snapshot.Majority(len(g.voters))
		if aim := int(s.Want) - snapshot.Majority(int(s.Want)); after < min(before, aim) {
			w.fail("shard %d tolerates %d failures after node %s was removed, and tolerated %d before", s.Id, after, id, before)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_LEAD:
		if !voter || !w.down[id].IsZero() || g.damaged[id] == damagedLog {
			return errors.New("it cannot lead")
		}
		g.leader = id
	}
	return nil
}
