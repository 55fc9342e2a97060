package meta_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// lossy loses the answer of one in n executed proposals.
func lossy(conn grpc.ClientConnInterface, one int) grpc.ClientConnInterface {
	return &lossyConn{ClientConnInterface: conn, one: one}
}

type lossyConn struct {
	grpc.ClientConnInterface
	one int
}

func (c *lossyConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	err := c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
	if err == nil && method == metapb.Meta_Propose_FullMethodName && rand.IntN(c.one) == 0 {
		return errs.ToGRPC(errs.New(errs.ShardUnreachable, "the answer was lost").WithReason(errs.OutcomeUnknown))
	}
	return err
}

// work makes clients do random operations on few tables, so that they conflict. The answers of one
// in lost proposals are lost.
func work(t *testing.T, g *group, seed uint64, lost, clients, each int, trouble func()) *recorder {
	t.Helper()
	r := &recorder{start: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	ids := g.ids()
	var running sync.WaitGroup
	for n := range clients {
		order := append(append([]string{}, ids[n%len(ids):]...), ids[:n%len(ids)]...)
		c := g.clientOf(metaclient.Config{
			Members: func() []string { return order }, TryTimeout: time.Second, ProposeTimeout: 20 * time.Second,
			Dial: func(id string) (grpc.ClientConnInterface, error) {
				conn, err := g.connect(id)
				if err != nil {
					return nil, err
				}
				return lossy(conn, lost), nil
			},
		})
		running.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			for range each {
				name := fmt.Sprintf("t%d", random.IntN(5))
				switch random.IntN(8) {
				case 0, 1, 2:
					r.read(ctx, n, c, name)
				case 3, 4, 5:
					types := []string{"string", "string", "int64"}
					columns := map[string]string{}
					for range 1 + random.IntN(2) {
						columns[fmt.Sprintf("c%d", random.IntN(6))] = types[random.IntN(len(types))]
					}
					r.ensure(ctx, n, c, name, columns)
				case 6:
					if seen := r.read(ctx, n, c, name); seen.id != 0 {
						r.place(ctx, n, c, name, seen, 1+random.Uint32N(4))
					}
				case 7:
					r.drop(ctx, n, c, name)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return r
		default:
			trouble()
		}
	}
}

// TestHistoryIsLinearizable checks that clients see a single copy of the state while leaders are
// stopped, cut off and replaced.
func TestHistoryIsLinearizable(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	g := newGroup(t, 3, nil)
	random := rand.New(rand.NewPCG(seed, 99))
	var troubles int
	r := work(t, g, seed, 10, 6, 120, func() {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // a pause between faults, not a wait for an outcome
		if troubles++; troubles > 6 {
			return
		}
		id := g.leader()
		switch random.IntN(3) {
		case 0:
			g.stop(id)
			g.leader()
			g.start(id, nil)
		case 1:
			g.isolate(id, true)
			g.leader(id)
			g.isolate(id, false)
		case 2:
			g.stall(id)
			g.leader(id)
			g.isolate(id, false)
			g.wake(g.member(id))
		}
	})
	if err := r.check(t); err != nil {
		t.Error(err)
	}
	g.same()
}

// TestHistoryShowsForgottenProposals checks that the checker notices members that execute a command
// each time that it is proposed.
func TestHistoryShowsForgottenProposals(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, meta.ForgetProposals)
	r := work(t, g, 7, 2, 4, 100, func() { time.Sleep(10 * time.Millisecond) })
	if err := r.check(t); err == nil {
		t.Error("commands were executed twice, and nobody noticed")
	}
}

// TestHistoryShowsStaleReads checks that the checker notices a leader that answers reads although
// it is cut off and others follow another one.
func TestHistoryShowsStaleReads(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		t.Run(fmt.Sprintf("wrong=%t", wrong), func(t *testing.T) {
			t.Parallel()
			// n1 believes for longer than others that it leads.
			g := newGroup(t, 3, func(c *meta.Config) {
				c.HeartbeatTimeout = 2 * time.Second
				if c.NodeID == "n1" {
					c.HeartbeatTimeout = 10 * time.Second
					if wrong {
						meta.ReadWithoutAsking(c)
					}
				}
			})
			c := g.client(g.ids()...)
			if _, err := c.ChangeMembers(within(t), "n1", metapb.ChangeMembersRequest_CHANGE_LEAD); err != nil {
				t.Fatal(err)
			}
			for l := g.leader(); l != "n1"; l = g.leader() {
			}
			r := &recorder{start: time.Now()}
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			old, others := g.client("n1"), g.client("n2", "n3")
			r.ensure(ctx, 0, others, "t", map[string]string{"a": "string"})
			r.read(ctx, 1, old, "t")
			g.isolate("n1", true)
			g.leader("n1")
			r.ensure(ctx, 0, others, "t", map[string]string{"b": "string"})
			short, end := context.WithTimeout(ctx, time.Second)
			defer end()
			stale := r.read(short, 1, old, "t")
			r.read(ctx, 0, others, "t")
			if err := r.check(t); (err != nil) != wrong {
				t.Errorf("wrong=%t, the old leader's client read %+v: %v", wrong, stale, err)
			}
		})
	}
}

// TestSchemaRace lets eight routers create fifty tables of fifty columns at once, with conflicting
// types. The result must be one table each and one type each, with few commands, and no client may
// get a server error.
func TestSchemaRace(t *testing.T) {
	t.Parallel()
	const clients, tables, columns = 8, 50, 50
	// On a busy machine a late heartbeat must not end the leadership.
	g := newGroup(t, 3, func(c *meta.Config) { c.HeartbeatTimeout = 2 * time.Second })
	ids := g.ids()
	before := g.member(g.leader()).Stats().AppliedIndex
	r := &recorder{start: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var running sync.WaitGroup
	var conflicts atomic.Int64
	all := make([]*metaclient.Client, clients)
	for n := range clients {
		order := append(append([]string{}, ids[n%3:]...), ids[:n%3]...)
		all[n] = g.clientOf(metaclient.Config{
			Members: func() []string { return order }, Dial: g.connect, ProposeTimeout: time.Minute,
		})
	}
	for n, c := range all {
		for i := range tables {
			running.Go(func() {
				name := fmt.Sprintf("t%d", i)
				// Each router brings half of the columns. One in ten of its types differs from most
				// routers' type, so that some race for the type.
				want := map[string]string{}
				for k := range columns {
					switch {
					case (k+n)%2 == 0:
					case k == (n*7+i)%columns:
						want[fmt.Sprintf("c%d", k)] = "int64"
					default:
						want[fmt.Sprintf("c%d", k)] = "string"
					}
				}
				out := r.do(n, ask{table: name, kind: "ensure", columns: columnText(want)}, func() (got, error) {
					return tryEnsure(ctx, t, c, name, want)
				})
				if out.refused != 0 {
					conflicts.Add(1)
					// As a router does, give conflicting columns the table's type.
					seen := r.read(ctx, n, c, name)
					have := columnsOf(seen.columns)
					for k := range want {
						if have[k] != "" {
							want[k] = have[k]
						}
					}
					r.ensure(ctx, n, c, name, want)
				}
			})
		}
	}
	running.Wait()
	commands := g.member(g.leader()).Stats().AppliedIndex - before
	t.Logf("%d log entries for %d tables, %d conflicts", commands, tables, conflicts.Load())
	if most := uint64(5 * tables); commands > most {
		t.Errorf("%d log entries for %d tables, want at most %d", commands, tables, most)
	}
	if conflicts.Load() == 0 {
		t.Error("no types disagreed: the race tests nothing")
	}
	seen := map[string]got{}
	for n, c := range all {
		for i := range tables {
			name := fmt.Sprintf("t%d", i)
			out := r.read(ctx, n, c, name)
			if n == 0 {
				seen[name] = out
			} else if seen[name] != out || out.id == 0 {
				t.Errorf("table %s is %+v at client %d and %+v at client 0", name, out, n, seen[name])
			}
		}
	}
	if err := r.check(t); err != nil {
		t.Error(err)
	}
	g.same()
}

// tryEnsure reports every error that is not the client's.
func tryEnsure(
	ctx context.Context, t *testing.T, c *metaclient.Client, name string, want map[string]string,
) (got, error) {
	res, err := c.Propose(ctx, ensure(name, strings.Fields(columnText(want))...))
	if err == nil {
		return tableAnswer(schema.FromProto(res.Tables[0])), nil
	}
	if code := errs.CodeOf(err); code != errs.InvalidArguments && code != errs.RequestOutdated {
		t.Errorf("table %s: a server's error: %v", name, err)
	}
	return got{}, err
}
