package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/pires/go-proxyproto"

	"cordwood/proto/errs"
	"cordwood/router/query"
)

// TestSimple runs statements of the simple protocol.
func TestSimple(t *testing.T) {
	c := start(t).connect(t, "")
	for _, tt := range []struct {
		sql, tag, state string
		rows            [][]string
	}{
		{sql: "SELECT 2", tag: "SELECT 2", rows: [][]string{{"1", "row 1"}, {"2", "row 2"}}},
		{sql: "SELECT 1; SELECT 1 -- ;\n", tag: "SELECT 1", rows: [][]string{{"1", "row 1"}}},
		{sql: "-- ping", tag: ""},
		{sql: " ; ;", tag: ""},
		{sql: "INSERT INTO logs VALUES ('1970-01-01', 'a;b', 2, x'00'), (now(), $$x;$$, 3, NULL)", tag: "INSERT 0 2"},
		{sql: "CREATE TABLE t (ts TIMESTAMP TIME INDEX)", tag: "CREATE TABLE"},
		{sql: "CREATE SCHEMA s", tag: "CREATE DATABASE"},
		{sql: "DROP SCHEMA s CASCADE", tag: "DROP DATABASE"},
		{sql: "CREATE TEMP TABLE t (a int)", state: "0A000"},
		{sql: "CREATE LOCAL TEMPORARY TABLE t (a int)", state: "0A000"},
		{sql: "UPDATE logs SET host = ''", state: "0A000"},
		{sql: "SELECT nope", state: "42703"},
		{sql: "SELEC 1", state: "42601"},
		{sql: "SELECT 'abc", state: "42601"},
		{sql: "LISTEN x", state: "0A000"},
		{sql: "NOTIFY x, 'y'", state: "0A000"},
		{sql: "INSERT INTO logs VALUES (1767607200, 'a', 2, NULL)", state: "42804"},
		{sql: "INSERT INTO logs (ts) VALUES (1.5)", state: "42804"},
		{sql: "INSERT INTO logs (ts) VALUES ('1767607200')", state: "22007"},
		{sql: "INSERT INTO logs (ts) VALUES ('20260105')", tag: "INSERT 0 1"},
		{sql: "UNLISTEN *", tag: "UNLISTEN"},
		{sql: "DISCARD ALL", tag: "DISCARD ALL"},
		{sql: strings.Repeat(";SELECT 1", 101), state: "54000"},
	} {
		rows, tag, err := exec(t, c, tt.sql)
		if state(err) != tt.state || err == nil && tag != tt.tag || tt.rows != nil && cmp.Diff(tt.rows, rows) != "" {
			t.Errorf("%s: %v %q %v", tt.sql, rows, tag, err)
		}
	}
}

// TestAdviceOfErrors checks that errors say what to do in words that fit a client of PostgreSQL.
func TestAdviceOfErrors(t *testing.T) {
	c := start(t).connect(t, "")
	for sql, want := range map[string]string{
		"CREATE VIEW v AS SELECT 1":      "WITH name AS",
		"CREATE TEMP TABLE t (a int)":    "WITH name AS",
		"CREATE INDEX i ON logs (host)":  "ALTER TABLE",
		"COPY logs TO STDOUT (FORMAT x)": "text, csv or binary",
	} {
		_, _, err := exec(t, c, sql)
		if e := (*pgconn.PgError)(nil); !errors.As(err, &e) || !strings.Contains(e.Hint, want) {
			t.Errorf("%s: got %v, want a hint with %q", sql, err, want)
		}
	}
	for text, want := range map[string]string{
		`Scalar Function with name row_number does not exist! Did you mean "row"?`:                     "OVER (ORDER BY",
		"syntax error: NameListToString NOT IMPLEMENTED":                                               "database.table",
		"Could not convert string 'web-0' to INT32 when casting from source column host":               "in quotes",
		"UNNEST not supported here":                                                                    "in FROM",
		`Type with name "inet" is not in the catalog, but it exists in the inet extension.`:            "are texts",
		"the function @@ does not exist":                                                               "matches(",
		"the function pg_notify does not exist":                                                        "no notifications",
		"the function pg_advisory_lock does not exist":                                                 "no advisory locks",
		"the function jsonb_path_query_first does not exist":                                           "->>",
		"No function matches the given name and argument types '@>(JSON, VARCHAR)'.":                   "literal document",
		"No function matches the given name and argument types '-(TIMESTAMP_NS, STRING_LITERAL)'.":     "INTERVAL",
		`invalid timestamp field format: "yesterday", expected format is (YYYY-MM-DD HH:MM:SS)`:        "::timestamptz",
		"syntax error: SELECT INTO not supported!":                                                     "INSERT INTO",
		"Table Function with name jsonb_to_recordset is not in the catalog, the function is not there": "doc->>",
	} {
		if e := asError(errs.New(errs.PlanQuery, "%s", text), nil); !strings.Contains(e.Hint, want) {
			t.Errorf("%s: hint %q, want %q", text, e.Hint, want)
		}
	}
	late := errs.New(errs.QueryTimeout, "the query was cancelled after 1s, when its time was up%s", query.MoreTime)
	e := asError(late, nil)
	if e.Hint != "request less, or allow more time by SET statement_timeout" || strings.Contains(e.Detail, "header") {
		t.Errorf("a timeout: detail %q, hint %q", e.Detail, e.Hint)
	}
}

// TestPositionOfTable checks the position of a table that does not exist.
func TestPositionOfTable(t *testing.T) {
	for text, want := range map[string]int{
		"SELECT missing FROM missing": 20, `SELECT 1 FROM a JOIN shop."missing" m ON true`: 21, "TABLE missing": 6,
		"SELECT missing": -1,
	} {
		e := failure("42P01", "table shop.missing does not exist, did you mean \"miss\"?")
		if got := e.placeOf(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestPosition checks the position of an error in the client's text, in characters.
func TestPosition(t *testing.T) {
	c := start(t).connect(t, "")
	for sql, want := range map[string]int32{
		"SELECT nope": 8, "SELECT 1; SELECT 'ü', nope": 23, "SELECT 1;\nSELEC 1": 11, "SET x y": 7,
	} {
		_, _, err := exec(t, c, sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Position != want {
			t.Errorf("%s: %+v, want position %d", sql, e, want)
		}
	}
}

// TestSessions starts sessions with many kinds of parameters.
func TestSessions(t *testing.T) {
	f := start(t)
	for _, tt := range []struct{ options, state, schema, database string }{
		{"", "", "public", "ann"},
		{"dbname=shop", "", "shop", "shop"},
		{"dbname=postgres", "", "public", "postgres"},
		{"dbname=nope", "3D000", "", ""},
		{"application_name=x options='-c search_path=shop --statement-timeout=5s'", "", "shop", "ann"},
		{"options='-c nonsense=1'", "42704", "", ""},
		{"options='-x'", "42601", "", ""},
		{"replication=database", "0A000", "", ""},
		{"client_encoding=latin1", "22023", "", ""},
	} {
		c, err := f.dial(tt.options)
		if state(err) != tt.state && (err == nil || !strings.Contains(err.Error(), tt.state)) {
			t.Errorf("%s: %v", tt.options, err)
		}
		if err != nil {
			continue
		}
		if v := c.ParameterStatus("server_version"); v != "15.0 (cordwood 1.2.3)" {
			t.Errorf("%s: version %q", tt.options, v)
		}
		if _, _, err := exec(t, c, "SELECT 1"); err != nil || f.service.last().Database != tt.schema {
			t.Errorf("%s: database %q, %v", tt.options, f.service.last().Database, err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestSignIn signs in by SCRAM, with and without TLS, and checks that wrong passwords are refused.
func TestSignIn(t *testing.T) {
	conf := certificate(t)
	const bcrypt = "$2a$04$abcdefghijklmnopqrstuuK3pCXPBdQIs/uCtdDBMCfWTJWV6YWMy"
	f := start(t, withUsers(t, "ann=secret,bob:ro=secret,eve="+bcrypt), func(c *Config) { c.TLS = conf })
	for _, tt := range []struct{ options, state string }{
		{"user=ann password=secret", ""},
		{"user=ann password=secret sslmode=require", ""},
		{"user=ann password=secret sslmode=require channel_binding=require", ""},
		{"user=ann password=wrong", "28P01"},
		{"user=ann password=wrong sslmode=require", "28P01"},
		{"user=nobody password=secret", "28P01"},
		{"user=eve password=secret", "28000"},
		{"user=eve password=wrong sslmode=require", "28P01"},
	} {
		c, err := f.dial(tt.options)
		if tt.state == "" && err != nil || tt.state != "" && (err == nil || !strings.Contains(err.Error(), tt.state)) {
			t.Errorf("%s: %v", tt.options, err)
		}
		if c != nil {
			if _, _, err := exec(t, c, "SELECT 1"); err != nil {
				t.Errorf("%s: %v", tt.options, err)
			}
			if err := c.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	for range 10 {
		_, _ = f.dial("user=ann password=wrong")
	}
	if _, err := f.dial("user=ann password=secret"); err == nil || !strings.Contains(err.Error(), "53400") {
		t.Errorf("after too many failures: %v", err)
	}
	if _, err := f.dial("user=bob password=secret"); err != nil {
		t.Errorf("another user: %v", err)
	}
}

// TestRights checks that package query decides what a user may do, and that clients learn that a user may only read.
func TestRights(t *testing.T) {
	f := start(t, withUsers(t, "ann=secret,bob:ro=secret,sam:wo=secret"))
	bob := f.connect(t, "user=bob password=secret")
	if v := bob.ParameterStatus("default_transaction_read_only"); v != "on" {
		t.Errorf("a user who reads: %q", v)
	}
	for _, tt := range []struct{ options, sql, state string }{
		{"user=bob password=secret", "INSERT INTO logs VALUES (1,'',1,NULL)", "42501"},
		{"user=bob password=secret", "SET default_transaction_read_only = off", "42501"},
		{"user=bob password=secret", "SELECT 1", ""},
		{"user=sam password=secret", "SELECT 1", "42501"},
		{"user=sam password=secret", "INSERT INTO logs VALUES (now(),'',1,NULL)", ""},
		{"user=sam password=secret", "DROP TABLE logs", "42501"},
		{"user=bob password=secret", "DELETE FROM logs WHERE n = 1", "42501"},
		{"user=bob password=secret", "TRUNCATE logs", "42501"},
		{"user=bob password=secret", "PREPARE p AS INSERT INTO logs (host) VALUES ($1); EXECUTE p('a')", "42501"},
		{"user=bob password=secret", "COPY (SELECT 1) TO STDOUT", ""},
		// The right is checked before the columns, and so before the client sends rows.
		{"user=bob password=secret", "COPY logs (nope) FROM STDIN", "42501"},
		{"user=sam password=secret", "COPY logs (nope) FROM STDIN", "42703"},
		{"user=sam password=secret", "COPY (SELECT 1) TO STDOUT", "42501"},
		{"user=sam password=secret", "BEGIN; DECLARE c CURSOR FOR SELECT 1", "42501"},
		{"user=ann password=secret", "BEGIN READ ONLY; INSERT INTO logs VALUES (1,'',1,NULL)", "25006"},
	} {
		_, _, err := exec(t, f.connect(t, tt.options), tt.sql)
		if state(err) != tt.state {
			t.Errorf("%s: %s: %v", tt.options, tt.sql, err)
		}
	}
}

// startWithUsers starts a server with a user file. write changes the content of the file.
func startWithUsers(t *testing.T, text string) (f *fixture, write func(text string)) {
	t.Helper()
	file := t.TempDir() + "/users"
	write = func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	return start(t, withUserFile(t, file)), write
}

// TestRightIsLost checks that prepared statements and COPY are refused after the user has lost the right to run them.
func TestRightIsLost(t *testing.T) {
	f, write := startWithUsers(t, "ann=secret\n")
	c, r := f.connect(t, "user=ann password=secret"), f.connect(t, "user=ann password=secret")
	for _, conn := range []*pgconn.PgConn{c, r} {
		if _, err := conn.Prepare(t.Context(), "p", "INSERT INTO logs (host) VALUES ($1)", nil); err != nil {
			t.Fatal(err)
		}
	}
	insert := func(conn *pgconn.PgConn) error {
		return conn.ExecPrepared(t.Context(), "p", [][]byte{[]byte("a")}, nil, nil).Read().Err
	}
	if err := insert(c); err != nil {
		t.Fatal(err)
	}
	write("ann:ro=secret\n")
	if err := f.users.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := insert(c); state(err) != "42501" {
		t.Errorf("what was prepared: %v", err)
	}
	if _, err := r.CopyFrom(t.Context(), strings.NewReader("a\n"), "COPY logs (host) FROM STDIN"); state(err) != "42501" {
		t.Errorf("COPY: %v", err)
	}
	if n := len(f.service.rows()); n != 1 {
		t.Errorf("%d rows are stored", n)
	}
}

// TestCursorWhenRightIsLost checks that the next fetch from a cursor fails after the user has lost the right to read,
// although rows that the query has already returned are left.
func TestCursorWhenRightIsLost(t *testing.T) {
	f, write := startWithUsers(t, "ann=secret\n")
	fetch := map[*pgconn.PgConn]string{}
	for _, next := range []string{"FETCH 2 FROM c", "MOVE 2 FROM c", "FETCH ALL FROM c"} {
		c := f.connect(t, "user=ann password=secret")
		_, tag, err := exec(t, c, "BEGIN; DECLARE c CURSOR FOR SELECT 10; FETCH 2 FROM c")
		if err != nil || tag != "FETCH 2" {
			t.Fatal(tag, err)
		}
		fetch[c] = next
	}
	write("ann:wo=secret\n")
	if err := f.users.Reload(); err != nil {
		t.Fatal(err)
	}
	for c, next := range fetch {
		rows, _, err := exec(t, c, next)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code != "42501" || e.Detail != "code 7005" || len(rows) > 0 {
			t.Errorf("%s: %d rows, %+v", next, len(rows), err)
		}
	}
}

// TestUserRemoved checks that the connections of removed users end, idle or not.
func TestUserRemoved(t *testing.T) {
	f, write := startWithUsers(t, "ann=secret\nbob=secret\n")
	idle, busy := f.connect(t, "user=ann password=secret"), f.connect(t, "user=ann password=secret")
	other := f.connect(t, "user=bob password=secret")
	done := make(chan error, 1)
	go func() {
		_, _, err := exec(t, busy, "SELECT wait")
		done <- err
	}()
	<-f.service.waiting
	write("bob=secret\n")
	if err := f.users.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the statement went on")
	}
	if _, _, err := exec(t, idle, "SELECT 1"); state(err) != "28000" && !idle.IsClosed() {
		t.Errorf("the idle connection: %v", err)
	}
	if _, _, err := exec(t, other, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

// TestCancel ends a statement by a cancel request, and by its timeout.
func TestCancel(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	done := make(chan error, 1)
	run := func(sql string) {
		go func() {
			_, _, err := exec(t, c, sql)
			done <- err
		}()
		<-f.service.waiting
	}
	run("SELECT wait")
	f.Cancel(c.PID(), 12345)
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; state(err) != "57014" || !strings.Contains(err.Error(), "user request") {
		t.Errorf("canceled: %v", err)
	}
	if f.Cancel(c.PID(), 0) && binary.BigEndian.Uint32(c.SecretKey()) != 0 {
		t.Error("a wrong key is taken")
	}
	run("SET statement_timeout = 20; SELECT wait")
	if err := <-done; state(err) != "57014" || !strings.Contains(err.Error(), "statement timeout") {
		t.Errorf("timed out: %v", err)
	}
	if rows, _, err := exec(t, c, "SELECT 1"); err != nil || len(rows) != 1 {
		t.Errorf("afterwards: %v", err)
	}
}

// TestClientGone checks that a statement ends when its client disconnects.
func TestClientGone(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	go func() { _, _ = c.Exec(t.Context(), "SELECT wait").ReadAll() }()
	<-f.service.waiting
	if err := c.Conn().Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return f.service.open.Load() == 0 && f.count() == 0 })
}

// TestClientGoneWithMoreMessages checks that a statement ends when its client disconnects, although more messages than
// the connection buffers follow the statement.
func TestClientGoneWithMoreMessages(t *testing.T) {
	f := start(t)
	var many []pgproto3.FrontendMessage
	for range 40 {
		many = append(many, &pgproto3.Query{String: "SELECT 1 /*" + strings.Repeat("x", 1<<10) + "*/"})
	}
	r := f.raw(t)
	r.send(t, &pgproto3.Query{String: "SELECT wait"})
	<-f.service.waiting
	r.send(t, many...)
	if err := r.Conn.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return f.service.open.Load() == 0 && f.count() == 0 })
}

// TestDeparted checks what is known of a socket with unread data, behind a proxy or not.
func TestDeparted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, headers := range []bool{false, true} {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if headers {
			server = proxyproto.NewConn(server)
		}
		if _, err := client.Write([]byte("unread")); err != nil {
			t.Fatal(err)
		}
		if departed(server) {
			t.Errorf("behind a proxy %t: the client is there", headers)
		}
		client.Close()
		waitFor(t, func() bool { return departed(server) })
	}
}

// waitFor waits until so returns true.
func waitFor(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !so(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("the condition is still false")
		}
	}
}

// TestConnections checks the limits on all connections, on those from one address, and on those that have not signed
// in.
func TestConnections(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxConnections, c.MaxPerAddress, c.StartTime = 4, 3, 300*time.Millisecond })
	var open []*pgconn.PgConn
	for range 3 {
		open = append(open, f.connect(t, ""))
	}
	if _, err := f.dial(""); err == nil || !strings.Contains(err.Error(), "53300") {
		t.Errorf("one too many: %v", err)
	}
	if err := open[0].Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return f.count() == 2 })
	f.connect(t, "")
	waitFor(t, func() bool { return f.count() == 3 })
}

// TestHalfOpen checks that connections that do not sign in are closed in time and leave places for others.
func TestHalfOpen(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxConnections, c.MaxPerAddress, c.StartTime = 1000, 1000, 200*time.Millisecond })
	var conns []net.Conn
	for range maxStarting + 30 {
		nc, err := net.Dial("tcp", f.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		conns = append(conns, nc)
	}
	for i, nc := range conns {
		if err := nc.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, nc); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatalf("connection %d is not closed: %v", i, err)
		}
	}
	waitFor(t, func() bool { return f.count() == 0 })
	f.connect(t, "")
}

// TestShutdown checks that idle connections end at once, and others when their statement ends.
func TestShutdown(t *testing.T) {
	f := start(t)
	idle, busy := f.connect(t, ""), f.connect(t, "")
	done := make(chan error, 1)
	go func() {
		_, _, err := exec(t, busy, "SELECT wait")
		done <- err
	}()
	<-f.service.waiting
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := f.Shutdown(ctx); err == nil {
		t.Error("the statement that runs was not noticed")
	}
	if err := <-done; state(err) != "57P01" {
		t.Errorf("the statement: %v", err)
	}
	if _, _, err := exec(t, idle, "SELECT 1"); state(err) != "57P01" && !idle.IsClosed() {
		t.Errorf("the idle connection: %v", err)
	}
}

// raw is a connection whose messages a test writes itself.
type raw struct {
	net.Conn
	*pgproto3.Frontend
}

// raw signs in without a library.
func (f *fixture) raw(t testing.TB) *raw {
	t.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	r := &raw{nc, pgproto3.NewFrontend(nc, nc)}
	r.send(t, &pgproto3.StartupMessage{ProtocolVersion: 196608, Parameters: map[string]string{"user": "ann"}})
	r.until(t, "ReadyForQuery")
	return r
}

func (r *raw) send(t testing.TB, messages ...pgproto3.FrontendMessage) {
	t.Helper()
	for _, m := range messages {
		r.Send(m)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
}

// until reads messages up to one of a type, and returns what they are, and the rows and errors in them.
func (r *raw) until(t testing.TB, last string) (got []string) {
	t.Helper()
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := r.Receive()
		if err != nil {
			return append(got, "end")
		}
		name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		said := name
		switch m := m.(type) {
		case *pgproto3.ErrorResponse:
			said += " " + m.Severity + " " + m.Code
		case *pgproto3.CommandComplete:
			said += " " + string(m.CommandTag)
		case *pgproto3.ReadyForQuery:
			said += " " + string(m.TxStatus)
		}
		if name != "ParameterStatus" {
			got = append(got, said)
		}
		if name == last {
			return got
		}
	}
}
