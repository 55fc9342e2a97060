package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// world is a cluster in memory: metadata by the rules of package meta, groups by the rules of raft,
// and nodes that open, fill and delete replicas over time. It checks the invariants at each change.
type world struct {
	t  testing.TB
	mu sync.Mutex

	nodes    map[string]*metapb.Node
	down     map[string]time.Time // since when each node is down
	stopping map[string]bool
	// unheard are the nodes that have not reported to this leader. used is the disk usage of nodes. unreached lists,
	// for a node, the nodes that cannot reach it. shut are the nodes that no other node can reach.
	unheard   map[string]bool
	unreached map[string][]string
	// mute lists, for a node, the nodes from which it gets no answer.
	mute   map[string][]string
	shut   map[string]bool
	used   map[string]int64
	shards map[uint32]*metapb.Shard
	groups map[uint32]*fakeGroup
	// retired are retired shards. lastShard is the highest shard number so far. reads is the number of queries and
	// backups that read a shard. keys is the time until which a shard remembers keys of requests. keysSaid is the
	// time that its replicas report, if it differs.
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
	voters    []string // voters of the metadata group
	learners  []string
	bytes     int64
	ingest    map[uint64]float64 // bytes a second, by table
	began     time.Time
	skew      time.Duration // difference between the proposer's clock and the leader's
	frozen    bool          // no leader is elected
	late      time.Duration // delay until copies are complete
	changed   chan struct{}
	defined   map[uint32]map[uint64]uint32 // epochs by shard and table

	copies    map[uint64]map[uint32]*fakeCopy // copies of tables that are being moved, by shard
	lastCopy  uint64
	restarted map[string]time.Time
	recreate  uint32         // a shard that is created again when a copy has caught up
	givenUp   []uint64       // ids of copies
	broken    map[string]int // number of requests about copies that a node answers with an error

	// effects is the number of calls that have changed something. At call killAt the caller dies, before or after the
	// call.
	effects, killAt int
	applied         bool
	kill            func()
	// raiseAt is the number of effects at which the cluster's version rises to the newest.
	raiseAt int
	// cancelAt is the number of effects after which all operations are cancelled.
	cancelAt int
	// tick is the interval of the coordinator.
	tick time.Duration
}

type fakeGroup struct {
	voters, learners []string
	leader           string
	leaderLost       time.Time
	ledFor           time.Duration        // how long it has had this leader; 0 means long
	deaf             map[string]bool      // replicas that have not heard from the leader yet
	ready            map[string]time.Time // when a learner has caught up
	opened           map[string]time.Time // when a replica is open
	gone             map[string]time.Time // when a removed replica is deleted
	aside            map[string][]*metapb.AsideRows
	damaged          map[string]string    // what is damaged of a replica: segment, or log
	stuck            map[string]time.Time // since when the flushes of replicas fail
}

// The damage of a replica: it lacks rows, or does not open.
const damagedSegment, damagedLog = "segment", "log"

// stick makes the flushes of a replica fail from now on.
func (w *world) stick(shard uint32, node string) *world {
	w.groups[shard].stuck[node] = time.Now()
	return w
}

// damage damages the replica of a shard on a node.
func (w *world) damage(shard uint32, node, what string) *world {
	w.groups[shard].damaged[node] = what
	return w
}

// votes counts the votes of the working voters.
func (w *world) votes(g *fakeGroup) int {
	return w.living(slices.DeleteFunc(slices.Clone(g.voters), func(id string) bool { return g.damaged[id] == damagedLog }))
}

// whole counts the working voters that have all rows.
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

// effect counts a call that changes something. It returns an error if the caller dies before the call.
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
	w.wake()
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

// settle advances the nodes and groups to the current time.
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

// settleRetired makes the running nodes delete their replicas of retired shards.
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

// wake resumes the goroutines that wait for a change.
func (w *world) wake() {
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
