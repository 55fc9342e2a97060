package sockreceiver_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/ingest/sockreceiver/socktest"
)

const table = "public.lines"

// lines is a protocol of lines. A line "boom" causes its whole batch to be refused permanently.
type lines struct{}

// Next implements sockreceiver.Splitter.
func (lines) Next(data []byte, whole bool) (int, []byte) {
	if end := bytes.IndexByte(data, '\n'); end >= 0 {
		return end + 1, data[:end]
	}
	if whole {
		return len(data), data
	}
	return 0, nil
}

var errBoom = errs.New(errs.InvalidArguments, "boom")

// server returns a server of lines.
func server(t testing.TB, change ...func(*sockreceiver.Config)) (*sockreceiver.Server, *socktest.Fixture) {
	t.Helper()
	f := socktest.New(t)
	for _, c := range change {
		c(&f.Config)
	}
	s, err := sockreceiver.New(f.Config, sockreceiver.Receiver{
		Protocol: ingest.Syslog, Target: httpreceiver.Target{Table: "lines", Pipeline: ingest.IdentityPipeline},
		Stream: func(c *sockreceiver.Conn) error { return c.Split(lines{}, 1<<20, c.Add) },
		Input: func(records []sockreceiver.Record, _ bool) ingest.Input {
			return ingest.Records(func(to *ingest.Sink) error {
				for i := range records {
					if string(records[i].Data) == "boom" {
						return errBoom
					}
					if err := to.Text(records[i].Data); err != nil {
						return err
					}
				}
				return nil
			})
		},
		HalfClose: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func dropped(t *testing.T, f *socktest.Fixture, why sockreceiver.Reason) float64 {
	return f.Metric(t, "cordwood_syslog_dropped_total", string(why))
}

// A batch is stored when it is full, without a delay.
func TestBatches(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*sockreceiver.Config)
		writes int
	}{
		{"records", func(c *sockreceiver.Config) { c.BatchRecords = 10 }, 10},
		{"bytes", func(c *sockreceiver.Config) { c.BatchBytes = 25 * 6 }, 4},
	} {
		s, f := server(t, func(c *sockreceiver.Config) { c.BatchDelay = time.Hour }, c.change)
		socktest.Send(t, socktest.TCP(t, s), strings.Repeat("a line\n", 100))
		f.Rows(t, table, 100)
		if n := f.Store.Writes(); n != c.writes {
			t.Errorf("%s: %d writes, want %d", c.name, n, c.writes)
		}
	}
}

// When a server stops, it stores its batches and everything that clients have sent.
func TestShutdown(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.BatchDelay = time.Hour })
	c := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	socktest.Write(t, c, "one\ntwo\nhalf")
	socktest.Await(t, "a batch", func() bool { return f.Metric(t, "cordwood_syslog_batches") == 1 })
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		socktest.Stop(t, s)
	}()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the client does not learn of it: %v", err)
	}
	socktest.Write(t, c, " a line\nlast\n") // data that arrives meanwhile
	c.Close()
	<-stopped
	if n := len(f.Store.Rows(table)); n != 4 {
		t.Errorf("%d rows", n)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); !errors.Is(err, sockreceiver.ErrClosed) {
		t.Errorf("serving again: %v", err)
	}
	socktest.Stop(t, s)
}

// A client that continues to send does not keep the server from stopping.
func TestShutdownEnds(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.Drain = 10 * time.Millisecond })
	address := socktest.TCP(t, s)
	socktest.Dial(t, "tcp", address)
	busy := socktest.Dial(t, "tcp", address)
	socktest.Await(t, "both are there", func() bool { return f.Metric(t, "cordwood_syslog_connections") == 2 })
	go func() {
		for {
			if _, err := busy.Write(bytes.Repeat([]byte("a line\n"), 1000)); err != nil {
				return
			}
		}
	}()
	socktest.Stop(t, s)
}

// Records that were not stored before the server stopped are counted and logged.
func TestGivenUp(t *testing.T) {
	s, f := server(t)
	f.Store.Refuse(table, errs.New(errs.ShardNotReady, "no leader"))
	socktest.Send(t, socktest.TCP(t, s), "one\ntwo\n")
	socktest.Await(t, "an attempt", func() bool { return f.Store.Writes() > 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	if n := dropped(t, f, sockreceiver.Stopped); n != 2 || !strings.Contains(f.Log.String(), "messages are lost") {
		t.Errorf("%v counted, log %s", n, f.Log)
	}
}

// While rows cannot be stored, the server does not read from clients. They can send only as much as the buffers hold,
// and everything is stored later.
func TestBackPressure(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.BatchRecords, c.MaxBatches = 1000, 2 })
	f.Store.Refuse(table, errs.New(errs.ShardNotReady, "no leader"))
	c := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	piece := strings.Repeat(strings.Repeat("x", 999)+"\n", 1000)
	var sent atomic.Int64
	const pieces = 40 // more than the kernel buffers
	done := make(chan error, 1)
	go func() {
		for range pieces {
			if _, err := io.WriteString(c, piece); err != nil {
				done <- err
				return
			}
			sent.Add(1)
		}
		done <- c.(*net.TCPConn).CloseWrite()
	}()
	socktest.Await(t, "attempts", func() bool { return f.Store.Writes() > 3 })
	if n := f.Metric(t, "cordwood_syslog_batches"); n != 2 {
		t.Errorf("%v batches", n)
	}
	if sent.Load() == pieces {
		t.Error("the client could send everything")
	}
	f.Store.Refuse(table, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.Rows(t, table, pieces*1000)
	// The rows are visible a moment before their batch frees its memory.
	socktest.Await(t, "the memory is free", func() bool { return f.Config.Bodies.InFlight() <= 1<<20 })
}

// If a batch is refused permanently, only the records that cause it are left out.
func TestRefused(t *testing.T) {
	s, f := server(t)
	text := ""
	for i := range 100 {
		text += "a line\n"
		if i == 30 || i == 77 {
			text += "boom\n"
		}
	}
	socktest.Send(t, socktest.TCP(t, s), text)
	f.Rows(t, table, 100)
	if n := dropped(t, f, sockreceiver.Refused); n != 2 {
		t.Errorf("%v refused", n)
	}
}

// If all records are refused, few attempts are needed to find that out.
func TestAllRefused(t *testing.T) {
	s, f := server(t)
	socktest.Send(t, socktest.TCP(t, s), strings.Repeat("boom\n", 5000))
	socktest.Await(t, "all are refused", func() bool { return dropped(t, f, sockreceiver.Refused) == 5000 })
}

// If an operator can fix the cause, the server waits.
func TestNoPipeline(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.Target = httpreceiver.Target{Pipeline: "p"} })
	socktest.Send(t, socktest.TCP(t, s), "one\n")
	socktest.Await(t, "it is said", func() bool { return strings.Contains(f.Log.String(), "cannot be stored yet") })
	f.Store.Put("p", "version: 2\nprocessors:\n  - vrl:\n      source: |\n        .\n")
	f.Rows(t, table, 1)
}

// A sender who may not write is disconnected, at once or when it loses the right.
func TestForbidden(t *testing.T) {
	var right atomic.Int32
	s, f := server(t, func(c *sockreceiver.Config) {
		c.Sender = func(_ context.Context, from sockreceiver.Peer) (*access.Caller, error) {
			if right.Load() == 2 {
				return nil, errs.New(errs.UserPasswordMismatch, "wrong")
			}
			return ingesttest.Caller([]access.Right{access.WriteOnly, access.ReadOnly}[right.Load()]), nil
		}
	})
	address := socktest.TCP(t, s)
	c := socktest.Dial(t, "tcp", address)
	socktest.Write(t, c, "one\n")
	f.Rows(t, table, 1)
	right.Store(1)
	socktest.Write(t, c, "two\n")
	socktest.Await(t, "it is refused", func() bool { return dropped(t, f, sockreceiver.Forbidden) == 1 })
	_, _ = io.WriteString(c, "three\n") // it may be closed already
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the connection is open: %v", err)
	}
	for _, r := range []int32{1, 2} {
		right.Store(r)
		socktest.Send(t, address, "four\n")
	}
	right.Store(0)
	socktest.Send(t, address, "five\n")
	f.Rows(t, table, 2)
}

// TestTargetOfToken checks that records go to the only table of the sender's token, unless the listener names a table,
// and to the default database of a user.
func TestTargetOfToken(t *testing.T) {
	for _, c := range []struct {
		name, table, want string
		sender            access.Sender
	}{
		{"a token for one table", "", "shop.web", access.Sender{Fixed: access.Fixed{Database: "shop", Table: "web"}}},
		{"a table of the listener", "own", "shop.own", access.Sender{Fixed: access.Fixed{Database: "shop", Table: "web"}}},
		{"a token for one database", "", "shop.lines", access.Sender{Fixed: access.Fixed{Database: "shop"}}},
		{"a user", "", "shop.lines", access.Sender{Database: "shop"}},
		{"nothing", "", "public.lines", access.Sender{}},
	} {
		s, f := server(t, func(cfg *sockreceiver.Config) {
			cfg.Target.Table = c.table
			cfg.Sender = func(context.Context, sockreceiver.Peer) (*access.Caller, error) {
				caller := ingesttest.Caller(access.WriteOnly)
				caller.Fixed, caller.Database = c.sender.Fixed, c.sender.Database
				return caller, nil
			}
		})
		socktest.Send(t, socktest.TCP(t, s), "one\n")
		socktest.Await(t, c.name+": "+c.want+" has a row", func() bool { return len(f.Store.Rows(c.want)) == 1 })
	}
}

// A connection is closed if a message is not complete in time, or if nothing arrives.
func TestSlow(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.Patience, c.Idle = 10*time.Millisecond, time.Hour })
	slow := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	socktest.Write(t, slow, "whole\nhalf")
	if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
	if n := dropped(t, f, sockreceiver.Slow); n != 1 {
		t.Errorf("%v counted", n)
	}
	f.Rows(t, table, 2)

	s, f = server(t, func(c *sockreceiver.Config) { c.Idle = 10 * time.Millisecond })
	idle := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	if _, err := idle.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection is open: %v", err)
	}
	if n := dropped(t, f, sockreceiver.Slow); n != 0 {
		t.Errorf("%v counted", n)
	}
}

// When all allowed connections are in use, a further connection is refused.
func TestTooMany(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.MaxConnections = 2 })
	address := socktest.TCP(t, s)
	for range 2 {
		socktest.Write(t, socktest.Dial(t, "tcp", address), "one\n")
	}
	f.Rows(t, table, 2)
	third := socktest.Dial(t, "tcp", address)
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("the third was not refused")
	}
	if n := dropped(t, f, sockreceiver.Full); n != 1 {
		t.Errorf("%v refused", n)
	}
}

// The memory for a long line is reserved, and freed afterwards.
func TestLongLine(t *testing.T) {
	s, f := server(t)
	c := socktest.Dial(t, "tcp", socktest.TCP(t, s))
	socktest.Write(t, c, strings.Repeat("x", 500_000))
	socktest.Await(t, "memory is held", func() bool { return f.Config.Bodies.InFlight() >= 500_000 })
	socktest.Write(t, c, "\nnext\n")
	if got := socktest.Texts(f.Rows(t, table, 2), "message"); len(got[1]) != 500_000 {
		t.Errorf("a line of %d bytes", len(got[1]))
	}
	socktest.Write(t, c, "last\n")
	f.Rows(t, table, 3)
	socktest.Await(t, "memory is given back", func() bool { return f.Config.Bodies.InFlight() == 0 })
}

// Datagrams are dropped and counted if a sender exceeds its rate, and while all batches are full.
func TestDatagrams(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.Rate = 10 })
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	for range 15 {
		socktest.Write(t, c, "a line")
	}
	f.Rows(t, table, 10) // the clock of the test stands still
	socktest.Await(t, "the others are counted", func() bool { return dropped(t, f, sockreceiver.Rate) == 5 })
	if n := strings.Count(f.Log.String(), "datagrams of a sender were dropped"); n != 1 {
		t.Errorf("logged %d times: %s", n, f.Log)
	}

	s, f = server(t, func(c *sockreceiver.Config) { c.MaxBatches, c.BatchRecords = 1, 3 })
	f.Store.Refuse(table, errs.New(errs.ShardNotReady, "no leader"))
	c = socktest.Dial(t, "udp", socktest.UDP(t, s))
	for range 8 {
		socktest.Write(t, c, "a line")
	}
	socktest.Await(t, "the others are counted", func() bool { return dropped(t, f, sockreceiver.Busy) >= 5 })
	f.Store.Refuse(table, nil)
	f.Rows(t, table, 8-int(dropped(t, f, sockreceiver.Busy)))
}

// Without a right to write, datagrams are dropped and counted. When the right is back, they are stored.
func TestForbiddenDatagrams(t *testing.T) {
	var forbidden atomic.Bool
	forbidden.Store(true)
	s, f := server(t, func(c *sockreceiver.Config) {
		c.Sender = func(context.Context, sockreceiver.Peer) (*access.Caller, error) {
			if forbidden.Load() {
				return ingesttest.Caller(access.ReadOnly), nil
			}
			return ingesttest.Caller(access.WriteOnly), nil
		}
	})
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	socktest.Write(t, c, "one")
	socktest.Await(t, "it is counted", func() bool { return dropped(t, f, sockreceiver.Forbidden) == 1 })
	forbidden.Store(false)
	socktest.Await(t, "a row", func() bool {
		socktest.Write(t, c, "again")
		return len(f.Store.Rows(table)) > 0
	})
}

// When a server stops, it stores the datagrams that have arrived.
func TestShutdownDatagrams(t *testing.T) {
	s, f := server(t, func(c *sockreceiver.Config) { c.BatchDelay = time.Hour })
	c := socktest.Dial(t, "udp", socktest.UDP(t, s))
	for range 100 {
		socktest.Write(t, c, "a line")
	}
	socktest.Await(t, "the socket is read", func() bool { return f.Metric(t, "cordwood_syslog_batches") == 1 })
	socktest.Stop(t, s)
	f.Rows(t, table, 100)
}

// certificate returns a certificate for 127.0.0.1.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &about, &about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// Over TLS, the function Sender receives the client's certificates. A connection without TLS is closed.
func TestTLS(t *testing.T) {
	cert := certificate(t)
	roots := x509.NewCertPool()
	roots.AddCert(cert.Leaf)
	asked := make(chan sockreceiver.Peer, 10)
	s, f := server(t, func(c *sockreceiver.Config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert}
		c.Sender = func(_ context.Context, from sockreceiver.Peer) (*access.Caller, error) {
			asked <- from
			return ingesttest.Caller(access.WriteOnly), nil
		}
	})
	address := socktest.TCP(t, s)
	plain := socktest.Dial(t, "tcp", address)
	socktest.Write(t, plain, "no TLS at all\n")
	_, _ = io.Copy(io.Discard, plain)
	c := tls.Client(socktest.Dial(t, "tcp", address), &tls.Config{
		RootCAs: roots, ServerName: "127.0.0.1", Certificates: []tls.Certificate{cert},
	})
	socktest.Write(t, c, "one\n")
	f.Rows(t, table, 1)
	if p := <-asked; p.TLS == nil || len(p.TLS.PeerCertificates) != 1 || !p.Address.IsLoopback() {
		t.Errorf("asked for %+v", p)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// New returns an error for invalid settings.
func TestConfig(t *testing.T) {
	f := socktest.New(t)
	receiver := sockreceiver.Receiver{Protocol: ingest.Syslog, Target: httpreceiver.Target{Table: "lines"}}
	for _, c := range []struct {
		change func(*sockreceiver.Config)
		want   string
	}{
		{func(c *sockreceiver.Config) { c.Bodies = nil }, "must be set"},
		{func(c *sockreceiver.Config) { c.Target.Table = "a table" }, "table of the listener"},
	} {
		cfg := f.Config
		c.change(&cfg)
		if _, err := sockreceiver.New(cfg, receiver); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// A connection that waits in the kernel when the server stops is still accepted, because its client has already
// sent data.
func TestShutdownTakesWaiting(t *testing.T) {
	s, f := server(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := socktest.Dial(t, "tcp", l.Addr().String())
	socktest.Write(t, c, "one\n")
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	late := &lateListener{TCPListener: l.(*net.TCPListener), asked: make(chan struct{}), goOn: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(late) }()
	<-late.asked
	go func() {
		socktest.Await(t, "the server stops", func() bool { return late.stopping.Load() })
		close(late.goOn)
	}()
	socktest.Stop(t, s)
	if err := <-ended; !errors.Is(err, sockreceiver.ErrClosed) {
		t.Errorf("serving ended with %v", err)
	}
	f.Rows(t, table, 1)
}

// lateListener accepts the first connection after the server starts to stop.
type lateListener struct {
	*net.TCPListener
	once        sync.Once
	stopping    atomic.Bool
	asked, goOn chan struct{}
}

func (l *lateListener) Accept() (net.Conn, error) {
	l.once.Do(func() {
		close(l.asked)
		<-l.goOn
	})
	return l.TCPListener.Accept()
}

func (l *lateListener) SetDeadline(t time.Time) error {
	l.stopping.Store(true)
	return l.TCPListener.SetDeadline(t)
}
