package rpcport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cordwood/node/secret"
	"cordwood/proto/metapb"
)

const (
	ours   = "the secret of this cluster, 0123456789"
	theirs = "the secret of another cluster, abcdefg"
)

// knows returns the credentials of a node with a secret.
func knows(t *testing.T, node, text string) *secret.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), secret.FileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.Open(secret.Config{File: file, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens the port of node me of cluster c. raft receives the raft connections.
func open(t *testing.T, cfg Config, raft func(net.Conn, string)) *Port {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	p, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	p.Join(Member{ClusterID: "c", NodeID: "me", Lowest: 1, Highest: 2}, raft)
	return p
}

func call(t *testing.T, p *Port, d Dialer, node string) (net.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := d.Dial(ctx, Target{Addr: p.Addr().String(), Node: node})
	if err == nil {
		t.Cleanup(func() { conn.Close() })
		err = conn.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return conn, err
}

// TestProvenNode checks that the port passes on the id in the certificate, and refuses a greeting with
// another id.
func TestProvenNode(t *testing.T) {
	raft := make(chan string, 1)
	p := open(t, Config{Credentials: knows(t, "me", ours)}, func(conn net.Conn, node string) {
		raft <- node
		conn.Close()
	})
	d := Dialer{Credentials: knows(t, "you", ours)}
	conn, err := call(t, p, d, "me")
	if err != nil {
		t.Fatal(err)
	}
	if d.Proven(conn) != "me" || IsPlain(conn) {
		t.Errorf("the other side proved to be %q", d.Proven(conn))
	}
	if _, err := conn.Write([]byte(magicRaft)); err != nil {
		t.Fatal(err)
	}
	if got := <-raft; got != "you" {
		t.Errorf("raft received node %q", got)
	}
	for name, want := range map[string]string{"you": "", "somebody else": "its certificate is for node you"} {
		conn, err := call(t, p, d, "me")
		if err != nil {
			t.Fatal(err)
		}
		err = Greet(t.Context(), conn, Member{ClusterID: "c", NodeID: name, Lowest: 1, Highest: 2}, "me")
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want)) {
			t.Errorf("greeting of %s: %v", name, err)
		}
		if want != "" {
			continue
		}
		taken, err := p.Calls().Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		if NodeOf(taken.RemoteAddr()) != "you" {
			t.Errorf("a call comes from %v", taken.RemoteAddr())
		}
	}
	if _, err := call(t, p, d, "she"); !errors.Is(err, secret.ErrOtherNode) ||
		!strings.Contains(err.Error(), "out of date") {
		t.Errorf("another node than the intended one: %v", err)
	}
}

// TestUnprovenDialer checks the error of a node that has another secret, or that dials a node without a secret.
func TestUnprovenDialer(t *testing.T) {
	p := open(t, Config{Credentials: knows(t, "me", ours)}, func(conn net.Conn, _ string) { conn.Close() })
	plain := open(t, Config{}, func(conn net.Conn, _ string) { conn.Close() })
	var unproven *Unproven
	_, err := call(t, p, Dialer{Credentials: knows(t, "you", theirs)}, "me")
	if !errors.As(err, &unproven) || !strings.Contains(err.Error(), "the secret of the cluster differs") ||
		!strings.Contains(err.Error(), "--cluster-secret-file") {
		t.Errorf("another secret: %v", err)
	}
	_, err = call(t, plain, Dialer{Credentials: knows(t, "you", ours)}, "me")
	if !errors.As(err, &unproven) || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("a node without a secret: %v", err)
	}
	clients := httptest.NewServer(http.NotFoundHandler())
	defer clients.Close()
	dialer := Dialer{Credentials: knows(t, "you", ours)}
	_, err = dialer.Dial(t.Context(), Target{Addr: clients.Listener.Addr().String()})
	if unproven = nil; err == nil || errors.As(err, &unproven) ||
		!strings.Contains(err.Error(), "an HTTP server answers there") ||
		!strings.Contains(err.Error(), "--rpc-addr") {
		t.Errorf("the port for clients: %v", err)
	}
	conn, err := call(t, plain, Dialer{Credentials: knows(t, "you", ours), Insecure: true}, "me")
	if err != nil || !IsPlain(conn) {
		t.Errorf("a node without a secret, with Insecure: %v", err)
	}
	conn, err = call(t, p, Dialer{Credentials: knows(t, "you", ours), Insecure: true}, "me")
	if err != nil || IsPlain(conn) {
		t.Errorf("a node with the secret, with Insecure: plain, %v", err)
	}
}

// TestRefusedInWords checks that a client without TLS receives the reason for the refusal, in each protocol.
func TestRefusedInWords(t *testing.T) {
	p := open(t, Config{Credentials: knows(t, "me", ours)}, func(net.Conn, string) { t.Error("raft was reached") })
	go func() {
		if c, err := p.Calls().Accept(); err == nil {
			t.Error("the services of nodes were reached")
			_ = c.Close() // only needed if the test has failed
		}
	}()
	go func() {
		if c, err := p.CallsWithoutGreeting().Accept(); err == nil {
			t.Error("Discovery was reached")
			_ = c.Close() // only needed if the test has failed
		}
	}()
	err := Greet(t.Context(), dial(t, p), Member{ClusterID: "c", NodeID: "you", Lowest: 1, Highest: 2}, "me")
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "--cluster-secret-file") {
		t.Errorf("calls: %v", err)
	}
	conn := dial(t, p)
	if _, err := conn.Write([]byte(magicRaft + "\x01\x00\x01\x00\x01\x01c\x03you\x02me")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), magicRaft+"\x00\x00") ||
		!strings.Contains(string(answer), "--cluster-secret-file") {
		t.Errorf("raft: %q, %v", answer, err)
	}
	client, err := grpc.NewClient("passthrough:///"+p.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		_, err = metapb.NewDiscoveryClient(client).Hello(ctx, &metapb.HelloRequest{NodeId: "you"}, grpc.WaitForReady(true))
		cancel()
		if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "--cluster-secret-file") {
			t.Errorf("Discovery: %v", err)
		}
	}
}

// TestInsecure checks that --rpc-insecure accepts calls with and without TLS.
func TestInsecure(t *testing.T) {
	p := open(t, Config{Credentials: knows(t, "me", ours), Insecure: true}, func(conn net.Conn, _ string) { conn.Close() })
	for name, d := range map[string]Dialer{"plain": {}, "with the secret": {Credentials: knows(t, "you", ours)}} {
		conn, err := call(t, p, d, "me")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := Greet(t.Context(), conn, Member{ClusterID: "c", NodeID: "you", Lowest: 1, Highest: 2}, "me"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		taken, err := p.Calls().Accept()
		if err != nil {
			t.Fatal(err)
		}
		taken.Close()
	}
}

// TestRecheck checks that connections end when their secret is no longer accepted.
func TestRecheck(t *testing.T) {
	source := knows(t, "me", ours)
	source.OnChange(func() {})
	taken := make(chan struct{})
	p := open(t, Config{Credentials: source}, func(conn net.Conn, _ string) {
		close(taken)
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	})
	source.OnChange(p.Recheck)
	conn, err := call(t, p, Dialer{Credentials: knows(t, "you", ours)}, "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(magicRaft)); err != nil {
		t.Fatal(err)
	}
	<-taken // the client's handshake ends before the server has seen its certificate
	for _, text := range []string{ours + "\n" + theirs, theirs + "\n" + ours, theirs} {
		if err := os.WriteFile(source.File(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := source.Reload(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, ours) {
			if _, err := conn.Write([]byte("still open")); err != nil {
				t.Errorf("while both are accepted: %v", err)
			}
		}
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the change: %v, want the end of the connection", err)
	}
}

// changing returns credentials whose secret changes between a handshake and the check of the peer.
type changing struct {
	Credentials
	change func()
}

func (c changing) Node(state tls.ConnectionState) string {
	c.change()
	return c.Credentials.Node(state)
}

// TestChangeDuringHandshake checks that a connection ends if its secret was removed after the
// handshake, before the connection was registered.
func TestChangeDuringHandshake(t *testing.T) {
	source := knows(t, "me", ours)
	p := open(t, Config{Credentials: changing{source, func() {
		if err := os.WriteFile(source.File(), []byte(theirs), 0o600); err != nil {
			t.Error(err)
		}
		if err := source.Reload(); err != nil {
			t.Error(err)
		}
	}}}, func(conn net.Conn, _ string) {
		t.Error("raft got the connection")
		conn.Close()
	})
	source.OnChange(p.Recheck)
	conn, err := call(t, p, Dialer{Credentials: knows(t, "you", ours)}, "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(magicRaft)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("after the change: %v, want the end of the connection", err)
	}
}

// TestBounds checks that at most maxUndecided unauthenticated connections are open, that authenticated ones replace
// them, and that connections are closed in time wherever they stall.
func TestBounds(t *testing.T) {
	p := open(t, Config{Credentials: knows(t, "me", ours), Timeout: time.Minute}, func(conn net.Conn, _ string) {
		conn.Close()
	})
	for range maxUndecided + 50 {
		conn := dial(t, p)
		if _, err := conn.Write([]byte{recordHandshake, 3, 1, 0xff, 0xff}); err != nil { // announces a record of 64 KiB
			t.Fatal(err)
		}
	}
	conn, err := call(t, p, Dialer{Credentials: knows(t, "you", ours)}, "me")
	if err != nil {
		t.Fatalf("while other connections are unauthenticated: %v", err)
	}
	if err := Greet(t.Context(), conn, Member{ClusterID: "c", NodeID: "you", Lowest: 1, Highest: 2}, "me"); err != nil {
		t.Errorf("while other connections are unauthenticated: %v", err)
	}
	taken, err := p.Calls().Accept()
	if err != nil {
		t.Fatal(err)
	}
	taken.Close()
	p.mu.Lock()
	undecided := len(p.undecided)
	p.mu.Unlock()
	if undecided > maxUndecided {
		t.Errorf("%d connections are undecided", undecided)
	}

	quick := open(t, Config{Credentials: knows(t, "me", ours), Timeout: 100 * time.Millisecond},
		func(conn net.Conn, _ string) { conn.Close() })
	hello := "\x16\x03\x01"
	for _, head := range []string{
		"", "\x16", hello, hello + "\x40\x00", magicHTTP2,
		magicHTTP2 + "* HTTP/2.0\r\n\r\nSM\r\n\r\n", magicCalls, magicRaft,
	} {
		conn := dial(t, quick)
		if _, err := conn.Write([]byte(head)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("after %q the connection stays open", head)
		}
	}
	// The same limits apply within TLS.
	secure, err := call(t, quick, Dialer{Credentials: knows(t, "you", ours)}, "me")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secure.Write([]byte("CW")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(secure.(*tls.Conn)); err != nil && strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection of a node that sends nothing stays open")
	}
}

// FuzzRefuseCall checks the answer to random requests of callers without TLS.
func FuzzRefuseCall(f *testing.F) {
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add([]byte(
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82"))
	f.Add([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\x00\x00\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		conn := &script{in: strings.NewReader(string(in))}
		_ = refuseCall(conn, reasonPlain)
		if conn.out > 64*len(in)+4096 {
			t.Fatalf("%d bytes answered with %d", len(in), conn.out)
		}
	})
}

type script struct {
	in  io.Reader
	out int
}

func (s *script) Read(b []byte) (int, error) { return s.in.Read(b) }

func (s *script) Write(b []byte) (int, error) {
	s.out += len(b)
	return len(b), nil
}
