package shard

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/replica"
	"cordwood/shard/server"
	"cordwood/shard/store"
)

func TestThreeReplicas(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1", "n2", "n3")
	first := g.leader()
	g.put(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	for _, o := range g.followers(first) {
		if err := o.WaitReady(wait(t)); err != nil {
			t.Fatal(err)
		}
		g.wantRows(o, 1, "a")
		o.flush()
		if len(o.files("segments")) == 0 {
			t.Error("a follower flushed, but has no segments")
		}
		_, err := o.put(batch(head(1, 9, 3), "c"))
		if e := errs.From(err); e.Reason != errs.NotLeader || e.Leader != first.cfg.NodeID {
			t.Errorf("a follower answers a write with %v (%s, leader %q)", err, e.Reason, e.Leader)
		}
		if _, err := o.ReadBarrier(wait(t)); errs.ReasonOf(err) != errs.NotLeader {
			t.Errorf("a follower answers a read barrier with %v", err)
		}
	}
	r := first.Report()
	if want := []string{"n1", "n2", "n3"}; !slices.Equal(r.Voters, want) || r.State != "Leader" || !r.CaughtUp ||
		r.Tables[0].Bytes == 0 {
		t.Errorf("report of the leader: %v", r)
	}

	// The leader dies. The next leader recognises a repetition of an acknowledged write.
	g.stop(first.cfg.NodeID)
	second := g.leader()
	g.put(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	g.put(batch(head(1, 9, 4), "d"))
	g.wantRows(second, 1, "a", "d")

	// The former leader returns and follows. Leadership is transferred to it.
	back := g.open(first.cfg.NodeID, nil)
	g.wantRows(back, 1, "a", "d")
	g.wantRows(back, 2, "b")
	g.change(second, replica.Lead, back.cfg.NodeID)
	// The former leader believes that it leads until it hears of the new term.
	if err := back.replica.WaitLeader(wait(t)); err != nil {
		t.Errorf("node %s does not lead: %v", back.cfg.NodeID, err)
	}
	g.put(batch(head(1, 9, 4), "d"), batch(head(1, 9, 5), "e"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "d", "e")
	}
}

// TestCutOffLeader cuts the leader off from the other replicas. The outcome of a write that it then
// takes is unknown, and the write takes effect at most once.
func TestCutOffLeader(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1", "n2", "n3")
	old := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	n := g.node(old.cfg.NodeID)
	n.setCut(true)
	_, err := old.put(batch(head(1, 9, 2), "b"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("a leader that was cut off answers %v", err)
	}
	next := g.leader()
	if next.Shard == old.Shard {
		t.Fatal("the leader that was cut off still leads")
	}
	g.put(batch(head(1, 9, 2), "b"))
	n.setCut(false)
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "b")
	}
}

// TestUnreadyReplicaIsSkipped checks that a query does not wait for a restarted replica that has
// not caught up, because another one can answer. The error must make the caller ask other replicas.
func TestUnreadyReplicaIsSkipped(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1", "n2", "n3")
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	id := g.followers(leader)[0].cfg.NodeID
	g.stop(id)
	n := g.node(id)
	n.setCut(true)
	g.open(id, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	s := server.New(server.Config{Shards: server.Find(n.get)})
	err := scan(ctx, s, &shardpb.ScanRequest{Table: def(1)})
	if errs.From(err).Code != errs.ShardNotReady {
		t.Errorf("a replica that knows no leader: %v, want ShardNotReady", err)
	}
	if ctx.Err() != nil {
		t.Error("the query waited for the replica, although others could have been asked")
	}
}

// TestAnyReplica checks that a read which any replica may answer is answered by a follower, even
// without a leader, unless its state is too old or its age is unknown.
func TestAnyReplica(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1", "n2", "n3")
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	followers := g.followers(leader)
	o := followers[0]
	g.barrier(leader, o)
	s := server.New(server.Config{Shards: server.Find(g.node(o.cfg.NodeID).get), Engine: &fakeEngine{}})
	known := func() bool { _, known := o.replica.Staleness(); return known }
	for ctx := wait(t); !known(); {
		select {
		case <-ctx.Done():
			t.Fatal("the follower never knew how old its rows may be")
		case <-time.After(10 * time.Millisecond):
		}
	}
	read := func(most time.Duration) error {
		return scan(t.Context(), s, &shardpb.ScanRequest{Table: def(1), AnyReplica: true, MaxStalenessNanos: int64(most)})
	}
	if err := read(time.Hour); err != nil {
		t.Errorf("a follower: %v", err)
	}

	// Table 5 is being moved to the shard: its rows are copied, but may be incomplete.
	copied := def(5)
	copied.Placement[0].Epoch = 1
	if _, _, err := leader.Write(wait(t), [][]byte{
		batch(column.Header{TableID: 5, Epoch: 1, SchemaVersion: 1, Session: 9, Seq: 9}, "c"),
	}, []*schemapb.Table{copied}); err != nil {
		t.Fatal(err)
	}
	handed := def(5)
	handed.Version, handed.OriginId = 2, 4
	anyRead := func(o *opened) error {
		g.barrier(leader, o)
		s := server.New(server.Config{Shards: server.Find(g.node(o.cfg.NodeID).get), Engine: &fakeEngine{}})
		return scan(t.Context(), s, &shardpb.ScanRequest{
			Table: handed, AnyReplica: true, MaxStalenessNanos: int64(time.Hour),
		})
	}
	if err := anyRead(o); errs.ReasonOf(err) != errs.NotLeader {
		t.Errorf("a follower that has a copy, perhaps not all of it: %v, want to be sent to the leader", err)
	}
	if err := anyRead(leader); err != nil {
		t.Errorf("the leader, which has all of the copy: %v", err)
	}
	if _, err := leader.Seal(wait(t), []*schemapb.Table{handed}); err != nil {
		t.Fatal(err)
	}
	if err := anyRead(o); err != nil {
		t.Errorf("a follower that knows that it has all of the copy: %v", err)
	}

	if err := read(1); errs.ReasonOf(err) != errs.NotLeader || !strings.Contains(err.Error(), "behind") {
		t.Errorf("a follower that is too far behind: %v, want to be sent to another one", err)
	}
	if err := scan(t.Context(), s, &shardpb.ScanRequest{Table: def(1)}); errs.ReasonOf(err) != errs.NotLeader {
		t.Errorf("a follower and a query that needs all rows: %v", err)
	}
	g.stop(leader.cfg.NodeID)
	g.stop(followers[1].cfg.NodeID)
	if err := read(time.Hour); err != nil {
		t.Errorf("a follower without a leader: %v", err)
	}
	g.stop(o.cfg.NodeID)
	g.open(o.cfg.NodeID, nil)
	if err := read(time.Hour); err == nil || !strings.Contains(err.Error(), "not known how far it is behind") {
		t.Errorf("a replica that has heard from no leader: %v", err)
	}
}

// TestFullDiskTransfersLeadership fills the disk of the leader. Another replica must become leader
// and take rows.
func TestFullDiskTransfersLeadership(t *testing.T) {
	t.Parallel()
	var full sync.Map
	g := newGroup(t, func(node string, cfg *Config) {
		cfg.Space = func() store.Space {
			if _, ok := full.Load(node); ok {
				return store.SpaceFull
			}
			return store.SpaceOK
		}
	}, "n1", "n2", "n3")
	first := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	changed := first.LeadsChanged()
	full.Store(first.cfg.NodeID, true)
	select {
	case <-changed:
	case <-wait(t).Done():
		t.Fatal("the leader did not change")
	}
	g.put(batch(head(1, 9, 2), "b"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "b")
	}
}

// TestRecover loses two of three replicas. The third continues alone as a new incarnation. The
// others join it again without their old state.
func TestRecover(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "n1", "n2", "n3")
	g.put(batch(head(1, 9, 1), "a"))
	g.leader().flush()
	g.put(batch(head(1, 9, 2), "b"))
	n3 := g.node("n3")
	g.caughtUp(n3.open)
	for _, id := range []string{"n1", "n2", "n3"} {
		g.stop(id)
	}
	got, err := Recover(n3.cfg.Dir, testShard, "n3")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"n1", "n2", "n3"}; !slices.Equal(got.Voters, want) || got.Before != 1 || got.Incarnation != 2 ||
		got.LastIndex == 0 {
		t.Errorf("recovered: %+v", got)
	}
	if _, recovered, err := FolderIncarnation(n3.cfg.Dir); err != nil || !recovered {
		t.Errorf("the folder has no record of its recovery (%v)", err)
	}
	if _, err := Open(g.joined(n3)); err == nil || !strings.Contains(err.Error(), "incarnation 2") {
		t.Errorf("the replica of a later incarnation opens as the first one: %v", err)
	}
	g.incarnation = 2
	leader := g.open("n3", nil)
	g.put(batch(head(1, 9, 2), "b"), batch(head(1, 9, 3), "c"))
	for _, id := range []string{"n1", "n2"} {
		dir := g.node(id).cfg.Dir
		o := g.open(id, nil)
		if _, err := os.Stat(dir + ".incarnation-1/raft"); err != nil {
			t.Errorf("the replica of the lost group is not kept: %v", err)
		}
		g.change(leader, replica.AddLearner, id)
		g.change(leader, replica.Promote, id)
		g.wantRows(o, 1, "a", "b", "c")
	}
}

// TestHighestTable checks that the report has the highest id of all tables that the shard knows.
func TestHighestTable(t *testing.T) {
	t.Parallel()
	g := newGroup(t, nil, "a")
	l := g.leader()
	if got := l.Report().HighestTableId; got != 0 {
		t.Errorf("an empty shard reports table %d", got)
	}
	for seq, table := range []uint64{7, 57, 3} {
		if _, err := l.put(batch(head(table, 9, uint64(seq+1)), "row")); err != nil {
			t.Fatal(err)
		}
	}
	l.highest.at = time.Time{}
	if got := l.Report().HighestTableId; got != 57 {
		t.Errorf("the report says %d, want 57", got)
	}
}
