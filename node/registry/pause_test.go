package registry

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/metapb"
)

// TestDeadNodeIsDialedSeldom checks that a node that is down is dialed only a few times a second, whatever the number
// of callers, and at once when it reports again.
func TestDeadNodeIsDialedSeldom(t *testing.T) {
	r := newRegistry(t, "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	var dials atomic.Int64
	go func() { // accept connections and close them: each dial fails and is counted
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dials.Add(1)
			c.Close()
		}
	}()
	r.Seen("a", addr, nil)
	conn, err := r.Dial("a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	begin := time.Now()
	var wg sync.WaitGroup
	for range 4 { // like routers, which retry requests for a shard that the node led
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = metapb.NewDiscoveryClient(conn).Hello(ctx, &metapb.HelloRequest{}) // the node is down
				conn.(*grpc.ClientConn).ResetConnectBackoff()
				_ = r.Knock(ctx, "a")
				<-time.After(time.Millisecond)
			}
		})
	}
	wg.Wait()
	// The 4 callers may dial at the same time before one of them records a failure.
	most := int64(4 * (4 + time.Since(begin)/mostPause + 1))
	if n := dials.Load(); n == 0 || n > most {
		t.Errorf("the node was dialed %d times in %s, want some and at most %d", n,
			time.Since(begin).Round(time.Millisecond), most)
	}
	if err := r.Knock(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "node a: ") {
		t.Errorf("a dial of a node that is down: %v", err)
	}
	l.Close()
	_, stop := node(t, "a", addr)
	defer stop()
	r.mu.Lock()
	r.nodes["a"].absence.until = time.Now().Add(time.Hour)
	r.mu.Unlock()
	if err := r.Knock(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "a moment ago") {
		t.Errorf("a dial right after one that failed: %v", err)
	}
	r.Seen("a", addr, nil)
	if err := r.Knock(t.Context(), "a"); err != nil {
		t.Errorf("a dial of a node that was just heard from: %v", err)
	}
}

// TestMuteNode checks the error of a node that accepts connections and sends nothing, as a suspended one does.
func TestMuteNode(t *testing.T) {
	r := newRegistry(t, "")
	r.cfg.DialTimeout = 20 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r.Seen("a", l.Addr().String(), nil)
	want := "node a: " + l.Addr().String() + " accepted a connection, but did not answer within 20ms"
	if err := r.Knock(t.Context(), "a"); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
