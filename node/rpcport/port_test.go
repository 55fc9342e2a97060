package rpcport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"cordwood/proto/handshake"
)

func listen(t *testing.T, timeout time.Duration) *Port {
	t.Helper()
	p, err := Listen(Config{Addr: "127.0.0.1:0", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *Port) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, err := Dialer{}.Dial(ctx, Target{Addr: p.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// read accepts the next connection of l and reads its first n bytes.
func read(t *testing.T, l net.Listener, n int) string {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	b := make([]byte, n)
	if _, err := io.ReadFull(conn, b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSort(t *testing.T) {
	p := listen(t, 10*time.Second)
	me := Member{ClusterID: "c", NodeID: "me", Lowest: 1, Highest: 2}
	you := Member{ClusterID: "c", NodeID: "you", Lowest: 2, Highest: 3}

	if err := Greet(t.Context(), dial(t, p), you, "me"); !errors.Is(err, ErrRefused) ||
		!strings.Contains(err.Error(), "no cluster yet") {
		t.Errorf("before Join: %v, want a refusal", err)
	}
	raft := make(chan string, 1)
	p.Join(me, func(conn net.Conn, _ string) {
		defer conn.Close()
		b, err := io.ReadAll(io.LimitReader(conn, 6))
		if err != nil {
			t.Error(err)
		}
		raft <- string(b)
	})

	conn := dial(t, p)
	if _, err := conn.Write([]byte("PRI * HTTP/2.0")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.CallsWithoutGreeting(), 14); got != "PRI * HTTP/2.0" {
		t.Errorf("the first bytes of a call without a greeting are %q", got)
	}
	conn = dial(t, p)
	if _, err := conn.Write([]byte("CWRTxy")); err != nil {
		t.Fatal(err)
	}
	if got := <-raft; got != "CWRTxy" {
		t.Errorf("raft's first bytes are %q", got)
	}
	conn = dial(t, p)
	if err := Greet(t.Context(), conn, you, "me"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.Calls(), 5); got != "hello" {
		t.Errorf("after the greeting, got %q", got)
	}

	for name, c := range map[string]struct {
		from Member
		to   string
		want string
	}{
		"another cluster":  {Member{ClusterID: "other", NodeID: "you", Lowest: 1, Highest: 2}, "me", "cluster other"},
		"another node":     {you, "her", "out of date"},
		"a newer program":  {Member{ClusterID: "c", NodeID: "you", Lowest: 3, Highest: 4}, "me", "upgrade the older"},
		"an older program": {Member{ClusterID: "c", NodeID: "you"}, "me", "upgrade the older"},
	} {
		if err := Greet(t.Context(), dial(t, p), c.from, c.to); !errors.Is(err, ErrRefused) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a refusal with %q", name, err, c.want)
		}
	}
	conn = dial(t, p)
	if _, err := conn.Write([]byte("what is this?\r\n")); err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(conn); len(b) > 0 { // closed or reset
		t.Errorf("an unknown client is answered with %q", b)
	}
}

// TestSilent checks that a client that does not identify itself is disconnected, both at the beginning and within a
// greeting.
func TestSilent(t *testing.T) {
	p := listen(t, 50*time.Millisecond)
	p.Join(Member{ClusterID: "c", NodeID: "me", Highest: 1}, func(conn net.Conn, _ string) { conn.Close() })
	for _, head := range []string{"", "CW", "CWPC", "CWPC\x01\x00\x01\x00\x05ab"} {
		conn := dial(t, p)
		if _, err := conn.Write([]byte(head)); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(conn); len(b) > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("after %q: %q, %v; want the end of the connection", head, b, err)
		}
	}
}

// TestCloseEndsUndecided checks that Close does not wait for connections that have not identified themselves.
func TestCloseEndsUndecided(t *testing.T) {
	p := listen(t, time.Hour)
	conn := dial(t, p)
	if _, err := conn.Write([]byte("C")); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func FuzzGreeting(f *testing.F) {
	g := greeting{Member: Member{ClusterID: "c", NodeID: "n", Lowest: 1, Highest: 2}, to: "m"}
	f.Add(g.append(nil)[4:])
	f.Add([]byte{})
	f.Add([]byte{1, 0, 2, 0, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := readGreeting(bytes.NewReader(b))
		if err != nil {
			return
		}
		out := g.append(nil)[4:]
		if !bytes.HasPrefix(b, out) {
			t.Fatalf("%x read and written is %x", b, out)
		}
		_, reason := (&Member{ClusterID: "c", NodeID: "m", Lowest: 1, Highest: 2}).judge(g, "")
		if len(reason) > handshake.MaxReason {
			t.Fatalf("a reason of %d bytes", len(reason))
		}
	})
}
