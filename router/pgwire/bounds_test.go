package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/router/body"
)

// TestNoStatementRunsItself checks that no statement can prepare, execute or copy itself without end.
func TestNoStatementRunsItself(t *testing.T) {
	c := start(t).connect(t, "")
	for _, one := range []struct{ sql, state string }{
		{"PREPARE a AS EXECUTE a", "42601"},
		{"PREPARE a AS PREPARE a AS SELECT 1", "42601"},
		{"PREPARE a AS COPY (EXECUTE a) TO STDOUT", "42601"},
		{"COPY (EXECUTE a) TO STDOUT", "42601"},
		{"COPY " + strings.Repeat("(COPY ", 30_000) + "(SELECT 1)" + strings.Repeat(" TO STDOUT)", 1), "42601"},
		{"DECLARE a CURSOR WITH HOLD FOR FETCH a", "42601"},
	} {
		if _, _, err := exec(t, c, one.sql); state(err) != one.state {
			t.Errorf("%.40s: %v", one.sql, err)
		}
	}
	if _, err := c.Prepare(t.Context(), "a", "EXECUTE a", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := exec(t, c, "EXECUTE a"); state(err) != "0A000" {
		t.Errorf("a statement that executes itself: %v", err)
	}
}

// TestNamesAndSettings checks the limits on names and settings of a session.
func TestNamesAndSettings(t *testing.T) {
	c := start(t).connect(t, "")
	long := strings.Repeat("x", 100_000)
	for _, one := range []struct{ sql, state string }{
		{"BEGIN; SAVEPOINT " + long, "42622"},
		{"ROLLBACK; DECLARE " + long + " CURSOR WITH HOLD FOR SELECT 1", "42622"},
		{"PREPARE " + long + " AS SELECT 1", "42622"},
		{"SET lc_time = '" + long + "'", "54000"},
		{"SET a.b = '" + long + "'", "54000"},
		{"SET search_path = '" + long + "'", "54000"},
	} {
		if _, _, err := exec(t, c, one.sql); state(err) != one.state {
			t.Errorf("%.40s: %v", one.sql, err)
		}
	}
	if _, err := c.Prepare(t.Context(), long, "SELECT 1", nil); state(err) != "42622" {
		t.Errorf("a long name of a statement: %v", err)
	}
	for _, set := range []string{"SET", "SET LOCAL"} {
		var err error
		for i := 0; i < 100 && err == nil; i++ {
			if i == 0 {
				_, _, err = exec(t, c, "BEGIN")
			}
			if err == nil {
				_, _, err = exec(t, c, set+" my.name_"+itoa(int64(i))+" = 'x'")
			}
		}
		if state(err) != "54000" {
			t.Errorf("%s of many names: %v", set, err)
		}
		if _, _, err := exec(t, c, "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWeightOfPrepared checks that parameter types count as memory even if the statement does not use them.
func TestWeightOfPrepared(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	oids := make([]uint32, 65_535)
	for i := range maxPrepared {
		if _, err := c.Prepare(t.Context(), "s"+itoa(int64(i)), "SELECT 1", oids); err != nil {
			if state(err) != "53400" || i < 2 || i > 20 {
				t.Errorf("statement %d: %v", i, err)
			}
			return
		}
	}
	t.Error("the number of prepared statements is not limited")
}

// TestPanic checks that a panic fails only the statement in which it happens.
func TestPanic(t *testing.T) {
	c := start(t).connect(t, "")
	if _, _, err := exec(t, c, "SELECT panic"); state(err) != "XX000" {
		t.Errorf("a panic: %v", err)
	}
	if rows, _, err := exec(t, c, "SELECT 2"); err != nil || len(rows) != 2 {
		t.Errorf("afterwards: %d rows, %v", len(rows), err)
	}
}

// TestGoneWhileRowsAreAwaited checks that a statement that waits for rows ends when its client disconnects.
func TestGoneWhileRowsAreAwaited(t *testing.T) {
	f := start(t)
	for _, messages := range [][]pgproto3.FrontendMessage{
		{&pgproto3.Query{String: "SELECT rows that wait"}},
		{&pgproto3.Query{String: "COPY (SELECT rows that wait) TO STDOUT"}},
		{&pgproto3.Query{String: "BEGIN; DECLARE c CURSOR FOR SELECT rows that wait; MOVE ALL c"}},
		{&pgproto3.Query{String: "BEGIN; DECLARE c CURSOR FOR SELECT rows that wait; FETCH 1 c"}},
		{
			&pgproto3.Parse{Query: "SELECT rows that wait"}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 1},
			&pgproto3.Flush{},
		},
	} {
		r := f.raw(t)
		r.send(t, messages...)
		waitFor(t, func() bool { return f.service.open.Load() == 1 })
		r.Conn.Close()
		waitFor(t, func() bool { return f.service.open.Load() == 0 && f.count() == 0 })
	}
}

// TestTimeOfSlowReader checks that a statement ends at its timeout if the client does not read the rows.
func TestTimeOfSlowReader(t *testing.T) {
	f := start(t, func(c *Config) { c.StallTime = time.Hour })
	r := f.raw(t)
	r.send(t, &pgproto3.Query{String: "SET statement_timeout = 300"})
	r.until(t, "ReadyForQuery")
	r.send(t, &pgproto3.Query{String: "SELECT -1"})
	if _, err := io.CopyN(io.Discard, r, 64<<10); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return f.service.open.Load() == 0 })
}

// TestTimeIsUp checks that each kind of timeout of a statement is reported with PostgreSQL's message.
func TestTimeIsUp(t *testing.T) {
	for _, err := range []error{
		errs.New(errs.QueryTimeout, "after a time"), errs.Wrap(errs.DeadlineExceeded, context.DeadlineExceeded, "too late"),
		context.DeadlineExceeded,
	} {
		e := asError(err, nil)
		if e.State != "57014" || e.Text != "canceling statement due to statement timeout" {
			t.Errorf("%v: %s %s", err, e.State, e.Text)
		}
	}
}

// TestManyThatAreRefused checks that some refused connections get an error, and that the others are closed.
func TestManyThatAreRefused(t *testing.T) {
	f := start(t, func(c *Config) { c.StartTime = time.Hour })
	f.mu.Lock()
	f.lineTime = 100 * time.Millisecond
	f.mu.Unlock()
	for range maxStarting + maxRefusing + 50 {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
	}
	waitFor(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.starting == maxStarting && f.refusing == 0 // the refused connections end after a time
	})
}

// TestHalfOpenOfAnotherAddress checks that an address whose connections do not sign in cannot keep the clients of other
// addresses out, and that a client is not replaced by others of its own address.
func TestHalfOpenOfAnotherAddress(t *testing.T) {
	f := start(t, func(c *Config) { c.StartTime = time.Hour })
	f.mu.Lock()
	f.lineTime = 100 * time.Millisecond
	f.mu.Unlock()
	dial := func(from string) net.Conn {
		nc, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", f.addr)
		if err != nil {
			t.Skip(err) // not every system has the whole of 127.0.0.0/8
		}
		t.Cleanup(func() { _ = nc.Close() })
		if err := nc.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return nc
	}
	first := dial("127.0.0.2")
	waitFor(t, func() bool { return f.count() == 1 })
	for range maxStarting - 1 {
		dial("127.0.0.2")
	}
	waitFor(t, func() bool { return f.count() == maxStarting })
	one := dial("127.0.0.2")
	if _, err := one.Write([]byte("\x00\x00\x00\x12\x00\x03\x00\x00user\x00ann\x00\x00")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(one); err != nil || !strings.Contains(string(answer), "C53300\x00") {
		t.Errorf("one more of the same address: %q, %v", answer, err)
	}
	f.connect(t, "") // from 127.0.0.1
	if _, err := io.ReadAll(first); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the oldest connection stays open: %v", err)
	}
	waitFor(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.starting == maxStarting-1 && len(f.conns) == maxStarting
	})
}

// TestStopWhileSomeSignIn checks that Shutdown does not wait for clients that have not signed in.
func TestStopWhileSomeSignIn(t *testing.T) {
	f := start(t, func(c *Config) { c.StartTime = time.Hour })
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	waitFor(t, func() bool { return f.count() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := f.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// TestStopBeforeSignIn checks that a connection that begins while the server stops does not get the time to sign in.
func TestStopBeforeSignIn(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	cfg := Config{StartTime: time.Hour}.withDefaults()
	l := newLink(&cfg, here)
	l.endWhenIdle(fatal("57P01", "terminating connection: the server is stopping"))
	if err := l.begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection ended with %v", err)
	}
}

// TestWrongKeys checks that cancel requests from an address are ignored after too many wrong keys.
func TestWrongKeys(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	key := binary.BigEndian.Uint32(c.SecretKey())
	cancel := func(key uint32) {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		msg := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 16, 4, 0xd2, 0x16, 0x2e}, c.PID())
		if _, err := nc.Write(binary.BigEndian.AppendUint32(msg, key)); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, nc) // until the server closes the connection
	}
	wait := func() chan error {
		done := make(chan error, 1)
		go func() {
			_, err := c.Exec(t.Context(), "SELECT wait").ReadAll()
			done <- err
		}()
		<-f.service.waiting
		return done
	}
	done := wait()
	for range maxWrongKeys - 1 {
		cancel(key + 1)
	}
	cancel(key)
	if err := <-done; state(err) != "57014" {
		t.Errorf("the right key: %v", err)
	}
	done = wait()
	cancel(key + 1)
	cancel(key)
	select {
	case err := <-done:
		t.Errorf("after many wrong keys the right one is looked at: %v", err)
	default:
	}
	f.Cancel(c.PID(), key)
	if err := <-done; state(err) != "57014" {
		t.Errorf("canceled by the server: %v", err)
	}
}

// TestMalformedInCopy checks that a malformed message ends the connection, also during COPY.
func TestMalformedInCopy(t *testing.T) {
	f := start(t)
	for _, bytes := range []string{"z\x00\x00\x00\x04", "d\x00\x00\x00\x00", "d\x7f\xff\xff\xff", "B\x00\x00\x00\x04"} {
		r := f.raw(t)
		r.send(t, &pgproto3.Query{String: "COPY logs (host) FROM STDIN"})
		r.until(t, "CopyInResponse")
		if _, err := r.Write([]byte(bytes)); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(r.until(t, "ReadyForQuery"), ","); got != "ErrorResponse FATAL 08P01,end" {
			t.Errorf("%q: %s", bytes, got)
		}
	}
}

// TestMemoryOfMessages checks that large messages take memory from the budget that all protocols share, and return it.
func TestMemoryOfMessages(t *testing.T) {
	bodies, err := body.New(body.Config{MaxInFlight: 1 << 20, Policy: body.Fail})
	if err != nil {
		t.Fatal(err)
	}
	f := start(t, func(c *Config) { c.Bodies = bodies })
	large := []byte(strings.Repeat("v", 2<<20))
	c := f.connect(t, "")
	res := c.ExecParams(t.Context(), "INSERT INTO logs (host) VALUES ($1)", [][]byte{large}, nil, nil, nil).Read()
	if state(res.Err) != "53200" {
		t.Errorf("a message larger than all memory: %v", res.Err)
	}
	// The server ends that connection.
	waitFor(t, func() bool { return bodies.InFlight() == 0 })
	// A client that announces a large message takes no memory for what it does not send.
	half := f.raw(t)
	if _, err := half.Write([]byte("B\x00\x0d\xbb\xa0begun")); err != nil {
		t.Fatal(err)
	}
	c = f.connect(t, "")
	for range 10 {
		res = c.ExecParams(t.Context(), "INSERT INTO logs (host) VALUES ($1)", [][]byte{large[:400_000]}, nil, nil, nil).
			Read()
		if res.Err != nil {
			t.Fatalf("one that fits: %v", res.Err)
		}
	}
	r := f.raw(t)
	r.send(t, &pgproto3.Parse{Name: "s", Query: "INSERT INTO logs (host) VALUES ($1)"}, &pgproto3.Sync{})
	r.until(t, "ReadyForQuery")
	for i := range maxPortals {
		r.send(t, &pgproto3.Bind{
			DestinationPortal: "p" + itoa(int64(i)), PreparedStatement: "s", Parameters: [][]byte{large[:200_000]},
		}, &pgproto3.Flush{})
	}
	r.send(t, &pgproto3.Sync{})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); !strings.Contains(got, "ErrorResponse ERROR 53200") {
		t.Errorf("many portals: %s", got)
	}
	r.send(t, &pgproto3.Query{String: "COPY logs (host) FROM STDIN"})
	r.until(t, "CopyInResponse")
	r.send(t, &pgproto3.CopyData{Data: large[:900_000]}, &pgproto3.CopyData{Data: large[:900_000]}, &pgproto3.CopyDone{})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); !strings.Contains(got, "ErrorResponse ERROR 53200") {
		t.Errorf("a long row of COPY: %s", got)
	}
	_ = c.Close(t.Context())
	r.Conn.Close()
	half.Conn.Close()
	waitFor(t, func() bool { return f.count() == 0 })
	if n := bodies.InFlight(); n != 0 {
		t.Errorf("%d bytes are still taken", n)
	}
}

// TestNoSync checks that the server answers any number of messages without a Sync.
func TestNoSync(t *testing.T) {
	r := start(t).raw(t)
	var sent []byte
	const n = 20_000
	for range n {
		for _, m := range []pgproto3.FrontendMessage{
			&pgproto3.Parse{Query: "SELECT 1"}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{},
			&pgproto3.Close{ObjectType: 'S'},
		} {
			sent, _ = m.Encode(sent) // encoding cannot fail
		}
	}
	sent, _ = (&pgproto3.Flush{}).Encode(sent)
	go func() { _, _ = r.Write(sent) }() // the responses are read at the same time
	closed := 0
	for closed < n {
		if err := r.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		m, err := r.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *pgproto3.CloseComplete:
			closed++
		case *pgproto3.ErrorResponse:
			t.Fatal(m.Message)
		}
	}
}

// TestFailedPortal checks that a failed portal cannot be run again.
func TestFailedPortal(t *testing.T) {
	r := start(t).raw(t)
	r.send(t, &pgproto3.Query{String: "BEGIN; SAVEPOINT s"})
	r.until(t, "ReadyForQuery")
	r.send(t, &pgproto3.Parse{Name: "s", Query: "SELECT panic"},
		&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s"},
		&pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{})
	r.until(t, "ReadyForQuery")
	r.send(t, &pgproto3.Parse{Query: "ROLLBACK TO s"}, &pgproto3.Bind{}, &pgproto3.Execute{},
		&pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); !strings.Contains(got, "ErrorResponse ERROR 55000") {
		t.Errorf("it answers %s", got)
	}
}

// TestLongStatement checks that a statement that is too long is refused before it is described.
func TestLongStatement(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	text := "SELECT nope" + strings.Repeat("+1", maxStatement/2)
	if _, err := c.Prepare(t.Context(), "", text, nil); state(err) != "54000" {
		t.Errorf("%v", err)
	}
}
