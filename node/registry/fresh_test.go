package registry

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/metapb"
)

// relay forwards connections to addr. After stall, the existing connections deliver nothing, as after a lost route,
// but new ones work.
func relay(t *testing.T, addr string) (relayed string, stall func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	dead := make(chan struct{})
	pass := func(to, from net.Conn, dead <-chan struct{}) {
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			select {
			case <-dead: // swallowed
			default:
				if _, err := to.Write(buf[:n]); err != nil {
					return
				}
			}
		}
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", addr)
			if err != nil {
				in.Close()
				continue
			}
			mu.Lock()
			open = append(open, in, out)
			go pass(out, in, dead)
			go pass(in, out, dead)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close()
		}
	})
	return l.Addr().String(), func() {
		mu.Lock()
		defer mu.Unlock()
		close(dead)
		dead = make(chan struct{})
	}
}

// TestDialFresh checks that a node is reached over a new connection if the existing one is dead but still open.
func TestDialFresh(t *testing.T) {
	r := newRegistry(t, "")
	addr, stop := node(t, "a", "127.0.0.1:0")
	defer stop()
	relayed, stall := relay(t, addr)
	r.Seen("a", relayed, nil)

	ask := func(conn grpc.ClientConnInterface, wait time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		_, err := metapb.NewDiscoveryClient(conn).Hello(ctx, &metapb.HelloRequest{}, grpc.WaitForReady(true))
		return err
	}
	kept, err := r.Dial("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(kept, 20*time.Second); err != nil {
		t.Fatal(err)
	}
	stall()
	if ask(kept, 100*time.Millisecond) == nil {
		t.Fatal("the relay does not stall")
	}
	fresh, closeFresh, err := r.DialFresh("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := ask(fresh, 20*time.Second); err != nil {
		t.Errorf("a new connection: %v", err)
	}
	closeFresh()
	if ask(fresh, time.Second) == nil {
		t.Error("a call over a closed connection succeeded")
	}
	if again, err := r.Dial("a"); err != nil || again != kept {
		t.Errorf("Dial returns another connection than before: %v", err)
	}
	if _, _, err := r.DialFresh("nobody"); err == nil || !strings.Contains(err.Error(), "it is not known") {
		t.Errorf("an unknown node: %v", err)
	}
}
