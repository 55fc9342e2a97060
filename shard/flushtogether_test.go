package shard

import (
	"context"
	"fmt"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/schemapb"
	"cordwood/shard/shardtest"
	"cordwood/shard/store"
)

// takingGroup returns a group whose followers take segments of any size, and the registry of each node.
func takingGroup(t testing.TB, change func(node string, cfg *Config)) (*group, map[string]*prometheus.Registry) {
	registries := map[string]*prometheus.Registry{}
	g := newGroup(t, func(node string, cfg *Config) {
		registries[node] = prometheus.NewRegistry()
		cfg.TakeBytes, cfg.Registerer, cfg.holdLimit = 1, registries[node], 10*time.Second
		if change != nil {
			change(node, cfg)
		}
	}, "n1", "n2", "n3")
	return g, registries
}

// taken returns how many segments a replica has taken.
func taken(t testing.TB, registries map[string]*prometheus.Registry, o *opened) float64 {
	return shardtest.Metric(t, registries[o.cfg.NodeID], "cordwood_shard_segments_taken_total")
}

// content lists the segments of a replica by checksum.
func (o *opened) content() (out []string) {
	for _, l := range o.store.Status.Segments() {
		out = append(out, fmt.Sprintf("%08x %d rows", l.FileCRC, l.Rows))
	}
	slices.Sort(out)
	return out
}

// TestFollowersTakeSegments checks that followers have the files of the leader after a flush, and all rows.
func TestFollowersTakeSegments(t *testing.T) {
	t.Parallel()
	g, registries := takingGroup(t, nil)
	leader := g.leader()
	var want []string
	for i := range uint64(3) {
		row := fmt.Sprint("row ", i)
		g.put(batch(head(1, 9, i+1), row))
		want = append(want, row)
		for _, o := range g.followers(leader) {
			g.caughtUp(o)
		}
		leader.flush()
		for _, o := range g.followers(leader) {
			o.flush() // waits for the running flush
			if diff := cmp.Diff(leader.content(), o.content()); diff != "" {
				t.Errorf("node %s has other segments than the leader (-leader +node):\n%s", o.cfg.NodeID, diff)
			}
			if got := taken(t, registries, o); got != float64(i+1) {
				t.Errorf("node %s has taken %v segments, want %d", o.cfg.NodeID, got, i+1)
			}
			g.wantRows(o, 1, want...)
		}
	}
	for _, o := range g.followers(leader) {
		back := o.reopenIn(g)
		g.wantRows(back, 1, want...)
	}
}

// reopenIn crashes a replica and opens it again.
func (o *opened) reopenIn(g *group) *opened {
	g.stop(o.cfg.NodeID)
	return g.open(o.cfg.NodeID, nil)
}

// faultyConn is a connection whose calls may fail before they are sent.
type faultyConn struct {
	grpc.ClientConnInterface
	fault func(ctx context.Context, method string) error
}

func (c faultyConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if err := c.fault(ctx, path.Base(method)); err != nil {
		return err
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func (c faultyConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	if err := c.fault(ctx, path.Base(method)); err != nil {
		return nil, err
	}
	return c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

// TestFollowersWriteSegments checks that followers write their own segments if they cannot take the leader's, and take
// them again later.
func TestFollowersWriteSegments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, fails string }{
		{"an earlier version", "FreezeMemtable"}, // answers Unimplemented to the leader
		{"the leader cannot be reached", "Pin"},
		{"a file cannot be fetched", "ReadSegment"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			g, registries := takingGroup(t, func(_ string, cfg *Config) {
				peers := cfg.Peers
				cfg.Peers = func(node string) (grpc.ClientConnInterface, error) {
					conn, err := peers(node)
					return faultyConn{conn, func(_ context.Context, method string) error {
						if broken.Load() && method == test.fails {
							return status.Error(codes.Unimplemented, "this call fails")
						}
						return nil
					}}, err
				}
			})
			leader := g.leader()
			g.put(batch(head(1, 9, 1), "a"))
			for _, o := range g.followers(leader) {
				g.caughtUp(o)
			}
			broken.Store(true)
			leader.flush()
			for _, o := range g.followers(leader) {
				o.flush()
				if files := o.content(); len(files) != 1 {
					t.Errorf("node %s has the segments %v, want one of its own", o.cfg.NodeID, files)
				}
				if got := taken(t, registries, o); got != 0 {
					t.Errorf("node %s has taken %v segments", o.cfg.NodeID, got)
				}
			}
			broken.Store(false)
			var want []string
			for i := range uint64(2) { // after the first flush, all memtables begin at the same index
				g.put(batch(head(1, 9, i+2), "b"))
				for _, o := range g.followers(leader) {
					g.caughtUp(o)
				}
				leader.flush()
				want = append(want, "b")
			}
			for _, o := range g.followers(leader) {
				o.flush()
				g.wantRows(o, 1, append([]string{"a"}, want...)...)
				if got := taken(t, registries, o); got == 0 {
					t.Errorf("node %s takes no segments any more", o.cfg.NodeID)
				}
			}
		})
	}
}

// TestOwnFreeze checks that a follower which froze its memtable elsewhere writes its own segments, without
// a row twice or missing.
func TestOwnFreeze(t *testing.T) {
	t.Parallel()
	g, _ := takingGroup(t, nil)
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	other := g.followers(leader)[0]
	g.caughtUp(other)
	other.flush()
	g.put(batch(head(1, 9, 2), "b"))
	g.caughtUp(other)
	leader.flush()
	other.flush()
	if diff := cmp.Diff(leader.content(), other.content()); diff == "" {
		t.Error("the follower flushed in two parts, but has the segments of the leader")
	}
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "b")
		g.wantRows(o.reopenIn(g), 1, "a", "b")
	}
}

// TestMergedRowsAreNotTaken checks that each replica writes the rows of tables that merge rows: their order is
// that of the files.
func TestMergedRowsAreNotTaken(t *testing.T) {
	t.Parallel()
	g, registries := takingGroup(t, nil)
	leader := g.leader()
	d := def(1)
	d.Options = map[string]string{"append_mode": "false", "merge_mode": "last_row"}
	if _, _, err := leader.Write(t.Context(), [][]byte{batch(head(1, 9, 1), "a")}, []*schemapb.Table{d}); err != nil {
		t.Fatal(err)
	}
	for _, o := range g.followers(leader) {
		g.caughtUp(o)
	}
	leader.flush()
	for _, o := range g.followers(leader) {
		o.flush()
		if got := taken(t, registries, o); got != 0 {
			t.Errorf("node %s has taken %v segments", o.cfg.NodeID, got)
		}
		g.wantRows(o, 1, "a")
	}
}

// TestCloseWhileTaking checks that a follower which waits for the leader's segments writes its own when it is closed.
func TestCloseWhileTaking(t *testing.T) {
	t.Parallel()
	waits := make(chan string, 2)
	g, _ := takingGroup(t, func(node string, cfg *Config) {
		peers := cfg.Peers
		cfg.Peers = func(to string) (grpc.ClientConnInterface, error) {
			conn, err := peers(to)
			return faultyConn{conn, func(ctx context.Context, method string) error {
				if method == "Pin" {
					waits <- node
					<-ctx.Done()
				}
				return ctx.Err()
			}}, err
		}
	})
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	for _, o := range g.followers(leader) {
		g.caughtUp(o)
	}
	leader.flush()
	id := <-waits
	ctx, cancel := context.WithTimeout(t.Context(), store.TakeLimit/2)
	defer cancel()
	o := g.node(id).open
	if err := o.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if files := o.files("segments"); len(files) != 1 {
		t.Errorf("node %s has the files %v, want one with the row", id, files)
	}
}
