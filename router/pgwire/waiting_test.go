package pgwire

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/router/body"
	"cordwood/router/query"
)

// withBudget sets a memory budget, and the time in which clients must make progress.
func withBudget(t *testing.T, bytes int64, stall time.Duration) (*body.Reader, func(*Config)) {
	t.Helper()
	bodies, err := body.New(body.Config{MaxInFlight: bytes, Policy: body.Fail})
	if err != nil {
		t.Fatal(err)
	}
	return bodies, func(c *Config) { c.Bodies, c.StallTime = bodies, stall }
}

// TestMemoryBeforeSignIn checks that clients that have not signed in take no memory from the budget, and that the
// memory of a message whose client disconnects is returned.
func TestMemoryBeforeSignIn(t *testing.T) {
	bodies, limited := withBudget(t, 64<<20, time.Minute)
	f := start(t, limited, withUsers(t, "ann=secret"))
	bind := "B\x01\x00\x00\x00" // 16 MiB
	for range 8 {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		r := &raw{nc, pgproto3.NewFrontend(nc, nc)}
		r.send(t, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "nobody"}})
		r.until(t, "AuthenticationSASL")
		if _, err := nc.Write([]byte(bind)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.until(t, "ErrorResponse"), ","); got != "ErrorResponse FATAL 08P01" {
			t.Errorf("a Bind in place of the password: %s", got)
		}
		if n := bodies.InFlight(); n != 0 {
			t.Fatalf("%d bytes are taken", n)
		}
	}
	waitFor(t, func() bool { return f.count() == 0 })
}

// TestCopyThatWaits checks that a COPY whose client sends no more gives its memory back: complete rows are stored, and
// an incomplete row ends the COPY, but not the connection.
func TestCopyThatWaits(t *testing.T) {
	bodies, limited := withBudget(t, 4<<20, time.Second)
	f := start(t, limited)
	r := f.raw(t)
	r.send(t, &pgproto3.Query{String: "COPY logs (host) FROM STDIN"})
	r.until(t, "CopyInResponse")
	r.send(t, &pgproto3.CopyData{Data: []byte(strings.Repeat("v", 200_000) + "\n")})
	waitFor(t, func() bool { return len(f.service.rows()) == 1 })
	waitFor(t, func() bool { return bodies.InFlight() == 0 })
	r.send(t, &pgproto3.CopyData{Data: []byte(strings.Repeat("v", 200_000))})
	got := strings.Join(r.until(t, "ReadyForQuery"), ",")
	if !strings.HasSuffix(got, "ErrorResponse ERROR 57014,ReadyForQuery I") {
		t.Errorf("a row that does not end: %s", got)
	}
	waitFor(t, func() bool { return bodies.InFlight() == 0 })
	r.send(t, &pgproto3.Query{String: "SELECT 1"})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); strings.Contains(got, "Error") {
		t.Errorf("the next statement: %s", got)
	}
}

// TestPortalsThatDoNotRun checks that portals that are bound and never run give their memory back, and that all of them
// together leave a part of the budget to others.
func TestPortalsThatDoNotRun(t *testing.T) {
	bodies, limited := withBudget(t, 4<<20, time.Second)
	f := start(t, limited)
	value := []byte(strings.Repeat("v", 200_000))
	refused := 0
	var all []*raw
	for range 3 {
		r := f.raw(t)
		all = append(all, r)
		r.send(t, &pgproto3.Query{String: "BEGIN"})
		r.until(t, "ReadyForQuery")
		r.send(t, &pgproto3.Parse{Name: "s", Query: "INSERT INTO logs (host) VALUES ($1)"})
		for i := range maxPortals {
			r.send(t, &pgproto3.Bind{
				DestinationPortal: "p" + itoa(int64(i)), PreparedStatement: "s", Parameters: [][]byte{value},
			})
		}
		r.send(t, &pgproto3.Sync{})
		got := r.until(t, "ReadyForQuery")
		refused += strings.Count(strings.Join(got, ","), "53200")
		if n := f.parked.held(); n > 4<<20/parkedPart {
			t.Errorf("portals have %d bytes", n)
		}
	}
	if refused == 0 {
		t.Error("all portals were bound")
	}
	waitFor(t, func() bool { return bodies.InFlight() == 0 && f.parked.held() == 0 })
	r := all[0]
	r.send(t, &pgproto3.Query{String: "ROLLBACK"})
	r.until(t, "ReadyForQuery")
	r.send(t, &pgproto3.Query{String: "BEGIN"})
	r.until(t, "ReadyForQuery")
	r.send(t, &pgproto3.Bind{DestinationPortal: "late", PreparedStatement: "s", Parameters: [][]byte{value}},
		&pgproto3.Flush{})
	r.until(t, "BindComplete")
	waitFor(t, func() bool { return bodies.InFlight() == 0 })
	r.send(t, &pgproto3.Execute{Portal: "late"}, &pgproto3.Sync{})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); got != "ErrorResponse ERROR 34000,ReadyForQuery E" {
		t.Errorf("a portal that runs too late: %s", got)
	}
}

// held returns the bytes of parked memory.
func (p *parked) held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// TestThousandConnections connects 1,000 clients at once. Some sign in, within the limit; the others are told that
// there are too many; and when all have left, nothing is left of them.
func TestThousandConnections(t *testing.T) {
	const clients, most = 1000, 50
	f := start(t, func(c *Config) { c.MaxConnections, c.MaxPerAddress = most, most })
	var mu sync.Mutex // guards open and others
	var open []*pgconn.PgConn
	others := map[string]int{}
	var tried sync.WaitGroup
	for range clients {
		tried.Go(func() {
			c, err := f.dial("")
			mu.Lock()
			defer mu.Unlock()
			switch own := (*pgconn.PgError)(nil); {
			case err == nil:
				open = append(open, c)
			case errors.As(err, &own):
				others[own.Code]++
			default: // the connection was closed before the client had sent its packet
				others["closed"]++
			}
		})
	}
	tried.Wait()
	if n := len(open); n == 0 || n > most {
		t.Errorf("%d clients have signed in, of %d that may", n, most)
	}
	for code, n := range others {
		if code != "53300" && code != "closed" {
			t.Errorf("%d clients got %s", n, code)
		}
	}
	if others["53300"] == 0 {
		t.Errorf("no client was told why: %v", others)
	}
	for _, c := range open {
		if rows, _, err := exec(t, c, "SELECT 1"); err != nil || len(rows) != 1 {
			t.Errorf("a client that has signed in: %v", err)
		}
		_ = c.Close(t.Context())
	}
	waitFor(t, func() bool { return f.count() == 0 })
	f.mu.Lock()
	left := len(f.byPID) + len(f.byAddress) + f.starting + f.refusing
	f.mu.Unlock()
	if left != 0 {
		t.Errorf("%d things are left of connections that have ended", left)
	}
	if rows, _, err := exec(t, f.connect(t, ""), "SELECT 1"); err != nil || len(rows) != 1 {
		t.Errorf("a client after them: %v", err)
	}
}

// TestRowsStoredBefore checks that an error says how many rows its statement has stored, whatever ended the statement.
func TestRowsStoredBefore(t *testing.T) {
	stored := &query.StoredError{Rows: 7}
	for want, cause := range map[string]error{
		"rows stored before: 7":            errUserCancel,
		"code 7005; rows stored before: 7": errs.New(errs.AccessDenied, "the right select on public.logs was withdrawn"),
	} {
		if got := asError(stored, cause); got.Detail != want {
			t.Errorf("%v: %+v, want %s", cause, got, want)
		}
	}
	if got := asError(stored, errStopping); got.Detail != "rows stored before: 7" || got.Severity != "FATAL" {
		t.Errorf("%+v", got)
	}
}

// TestLegibleErrors checks that errors have only text that the protocol allows: a zero would end it.
func TestLegibleErrors(t *testing.T) {
	got := failure("22P02", "no \x00 and no \xff").withHint("\x00").response()
	if got.Message != "no \uFFFD and no \uFFFD" || got.Hint != "\uFFFD" {
		t.Errorf("%+v", got)
	}
}
