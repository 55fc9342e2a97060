package meta_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// leaseConn is a connection that counts the calls of ReadIndex, and whose watch a test can stop.
type leaseConn struct {
	grpc.ClientConnInterface
	reads *atomic.Int64
	deaf  *deaf
}

func (c leaseConn) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	if method == metapb.Meta_ReadIndex_FullMethodName {
		c.reads.Add(1)
	}
	return c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...)
}

func (c leaseConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := c.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	return deafStream{s, c.deaf}, err
}

// deaf stops a watch from delivering.
type deaf struct {
	mu     sync.Mutex
	closed chan struct{} // not nil while nothing is delivered
}

func (d *deaf) set(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on {
		d.closed = make(chan struct{})
	} else if d.closed != nil {
		close(d.closed)
		d.closed = nil
	}
}

type deafStream struct {
	grpc.ClientStream
	deaf *deaf
}

func (s deafStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.deaf.mu.Lock()
	closed := s.deaf.closed
	s.deaf.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-s.Context().Done():
		}
	}
	return err
}

// leaseClient starts a client whose calls are counted and whose watch can be stopped.
func (g *group) leaseClient(order ...string) (*metaclient.Client, *atomic.Int64, *deaf) {
	reads, d := &atomic.Int64{}, &deaf{}
	g.t.Cleanup(func() { d.set(false) })
	return g.clientOf(metaclient.Config{
		Members: func() []string { return order }, TryTimeout: time.Second,
		Dial: func(id string) (grpc.ClientConnInterface, error) {
			conn, err := g.connect(id)
			if err != nil {
				return nil, err
			}
			return leaseConn{conn, reads, d}, nil
		},
	}), reads, d
}

// TestLeasesAskNobody checks that a client with a lease sees every acknowledged change without asking the leader.
func TestLeasesAskNobody(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	ids := g.ids()
	a := g.client(ids...)
	b, reads, _ := g.leaseClient(ids[1], ids[2], ids[0])
	const rounds, statements = 20, 50
	for i := range rounds {
		name := fmt.Sprintf("t%d", i)
		g.propose(a, ensure(name))
		if i > 0 {
			g.propose(a, drop(fmt.Sprintf("t%d", i-1)))
		}
		for range statements {
			if err := b.Acknowledged(within(t)); err != nil {
				t.Fatal(err)
			}
			if !has(b, name) || i > 0 && has(b, fmt.Sprintf("t%d", i-1)) {
				t.Fatalf("round %d: the client does not see what was acknowledged", i)
			}
		}
	}
	if n := reads.Load(); n > rounds*statements/4 {
		t.Errorf("%d statements asked the leader %d times", rounds*statements, n)
	}
}

// TestKeepLease checks that a client can renew its lease before it ends.
func TestKeepLease(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 3, nil)
	ids := g.ids()
	b, reads, _ := g.leaseClient(ids[1], ids[2], ids[0])
	for range 3 {
		before := reads.Load()
		if err := b.KeepLease(within(t)); err != nil {
			t.Fatal(err)
		}
		if reads.Load() == before {
			t.Error("the lease was not renewed")
		}
	}
}

// TestLeaseOfASilentClient checks that a change is acknowledged only after the lease of a client that
// did not receive it has expired, under the same leader and under the next one.
func TestLeaseOfASilentClient(t *testing.T) {
	t.Parallel()
	for _, next := range []bool{false, true} {
		t.Run(fmt.Sprintf("next leader %t", next), func(t *testing.T) {
			t.Parallel()
			g := newGroup(t, 3, nil)
			ids := g.ids()
			a := g.client(ids...)
			b, _, d := g.leaseClient(ids...)
			g.propose(a, ensure("first"))
			// A lease is short. If it expired because the machine is slow, try again.
			for i := 0; ; i++ {
				name := fmt.Sprintf("second%d", i)
				for !has(b, "first") {
					time.Sleep(time.Millisecond) // polling, not a timeout
				}
				if err := b.Acknowledged(within(t)); err != nil {
					t.Fatal(err)
				}
				d.set(true)
				begin := time.Now()
				if next {
					if err := g.member(g.leader()).StepDown(within(t)); err != nil {
						t.Fatal(err)
					}
				}
				moved := time.Since(begin)
				g.propose(a, ensure(name))
				took := time.Since(begin)
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
				err := b.Acknowledged(ctx)
				cancel()
				if err == nil {
					t.Fatalf("a change was answered after %s, and a client that cannot have heard of it reads on", took)
				}
				d.set(false)
				if moved < 200*time.Millisecond {
					if took < 300*time.Millisecond {
						t.Errorf("the change was answered after %s", took)
					}
					return
				}
				until(t, b, name, func() bool { return has(b, name) })
			}
		})
	}
}

// TestOldProgramsGiveNoLeases checks that there are no leases while a member may be of a version without them.
func TestOldProgramsGiveNoLeases(t *testing.T) {
	t.Parallel()
	m, err := meta.Open(meta.Config{Dir: t.TempDir(), NodeID: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close() //nolint:errcheck // the test has ended
	if err := m.WaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	resp, err := m.ReadIndex(within(t), &metapb.ReadIndexRequest{Holder: "r1"})
	if err != nil || resp.LeaseNanos != 0 {
		t.Errorf("a lease of %d ns, %v", resp.GetLeaseNanos(), errs.FromGRPC(err))
	}
}
