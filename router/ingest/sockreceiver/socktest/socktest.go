// Package socktest runs receivers over TCP and UDP for tests, on 127.0.0.1, with a store in memory.
package socktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/ingesttest"
	"cordwood/router/ingest/sockreceiver"
)

// maxWait is how long a test waits for an expected event.
const maxWait = 30 * time.Second

// Fixture has the parts of a receiver under test.
type Fixture struct {
	Config   sockreceiver.Config
	Store    *ingesttest.Store
	Registry *prometheus.Registry
	Log      *Log
}

// New returns the settings of a receiver whose senders may write.
func New(t testing.TB, change ...func(*ingest.Config)) *Fixture {
	t.Helper()
	s, st := ingesttest.New(t, change...)
	bodies, err := body.New(body.Config{MaxBytes: 64 << 20, MaxInFlight: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	f := &Fixture{Store: st, Registry: prometheus.NewRegistry(), Log: &Log{}}
	f.Config = sockreceiver.Config{
		Ingestion: s, Bodies: bodies,
		Sender: func(context.Context, sockreceiver.Peer) (*access.Caller, error) {
			return ingesttest.Caller(access.WriteOnly), nil
		},
		BatchDelay: 2 * time.Millisecond, Drain: maxWait,
		Now:    func() time.Time { return ingesttest.Now },
		Logger: slog.New(slog.NewTextHandler(f.Log, &slog.HandlerOptions{Level: slog.LevelDebug})), Registerer: f.Registry,
	}
	return f
}

// Server is a receiver.
type Server interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
}

// TCP serves a receiver on a separate port until the test ends, and returns its address.
func TCP(t testing.TB, s Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, func() error { return s.Serve(l) })
	return l.Addr().String()
}

// UDP is like TCP, for datagrams.
func UDP(t testing.TB, s interface {
	Server
	ServePacket(p net.PacketConn) error
},
) string {
	t.Helper()
	p, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, s, func() error { return s.ServePacket(p) })
	return p.LocalAddr().String()
}

// serve runs a call until the test ends.
func serve(t testing.TB, s Server, run func() error) {
	ended := make(chan error, 1)
	go func() { ended <- run() }()
	t.Cleanup(func() {
		Stop(t, s)
		if err := <-ended; !errors.Is(err, sockreceiver.ErrClosed) {
			t.Errorf("serving ended with %v", err)
		}
	})
}

// Stop stops a receiver, which then stores what it has read.
func Stop(t testing.TB, s Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// Dial connects to a server until the test ends. Reads and writes fail after some time.
func Dial(t testing.TB, network, address string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(maxWait)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Send sends a text over a separate connection, and waits until the server closes it.
func Send(t testing.TB, address, text string) {
	t.Helper()
	c := Dial(t, "tcp", address)
	_, _ = io.WriteString(c, text) // the server may close it before everything is written
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c)
}

// Write writes a text.
func Write(t testing.TB, c io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// Await waits until a condition holds.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	end := time.NewTimer(maxWait)
	defer end.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-end.C:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// Diff returns the differences between two lists of rows. Their order is ignored, because batches are stored
// concurrently.
func Diff(want, got []ingesttest.Row) string {
	return cmp.Diff(want, got, cmpopts.SortSlices(func(a, b ingesttest.Row) bool { return fmt.Sprint(a) < fmt.Sprint(b) }))
}

// Texts returns the texts in a column of rows, in order.
func Texts(rows []ingesttest.Row, column string) []string {
	var out []string
	for _, row := range rows {
		text, _ := row[column].(string)
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// Rows waits until a table has n rows, and returns them, in any order.
func (f *Fixture) Rows(t testing.TB, table string, n int) []ingesttest.Row {
	t.Helper()
	Await(t, table+" has its rows", func() bool { return len(f.Store.Rows(table)) >= n })
	rows := f.Store.Rows(table)
	if len(rows) != n {
		t.Fatalf("%s has %d rows, want %d", table, len(rows), n)
	}
	return rows
}

// Metric returns the value of a counter or gauge with the label values; 0 if there is none.
func (f *Fixture) Metric(t testing.TB, name string, values ...string) float64 {
	t.Helper()
	families, err := f.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var have []string
			for _, l := range m.GetLabel() {
				have = append(have, l.GetValue())
			}
			if strings.Join(have, ",") == strings.Join(values, ",") {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// Log collects log output.
type Log struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Split returns the records that a Splitter finds in data, if a connection receives step bytes at a time and has
// room bytes.
func Split(find sockreceiver.Splitter, data []byte, step, room int) []string {
	var out []string
	var have []byte
	for rest := data; ; {
		n := min(step, len(rest), room-len(have))
		have, rest = append(have, rest[:n]...), rest[n:]
		before := len(have)
		for len(have) > 0 {
			n, record := find.Next(have, len(rest) == 0 || len(have) == room && len(have) == before)
			if n == 0 {
				break
			}
			if have = have[n:]; len(record) > 0 {
				out = append(out, string(record))
			}
		}
		if len(rest) == 0 {
			return out
		}
	}
}
