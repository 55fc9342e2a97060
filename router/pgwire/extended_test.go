package pgwire

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/httpapi/auth"
)

func withUserFile(t testing.TB, file string) func(*Config) {
	t.Helper()
	p, err := auth.Open(auth.Config{UserFile: file, Scram: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Users = p }
}

// TestPortals checks that rows can be fetched in parts.
func TestPortals(t *testing.T) {
	f := start(t)
	r := f.raw(t)
	r.send(t, &pgproto3.Parse{Name: "s", Query: "SELECT 5"}, &pgproto3.Describe{ObjectType: 'S', Name: "s"},
		&pgproto3.Bind{PreparedStatement: "s"}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2},
		&pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Sync{})
	want := []string{
		"ParseComplete", "ParameterDescription", "RowDescription", "BindComplete", "DataRow", "DataRow", "PortalSuspended",
		"DataRow", "DataRow", "PortalSuspended", "DataRow", "CommandComplete SELECT 1", "CommandComplete SELECT 0",
		"ReadyForQuery I",
	}
	if d := cmp.Diff(want, r.until(t, "ReadyForQuery")); d != "" {
		t.Error(d)
	}
	// A Sync closes portals outside of a transaction, but not within one.
	r.send(t, &pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s"}, &pgproto3.Execute{Portal: "p", MaxRows: 1},
		&pgproto3.Sync{}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{})
	r.until(t, "ReadyForQuery")
	if d := cmp.Diff([]string{"ErrorResponse ERROR 34000", "ReadyForQuery I"}, r.until(t, "ReadyForQuery")); d != "" {
		t.Error(d)
	}
	waitFor(t, func() bool { return f.service.open.Load() == 0 })
	r.send(t, &pgproto3.Query{String: "BEGIN"}, &pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s"},
		&pgproto3.Execute{Portal: "p", MaxRows: 1}, &pgproto3.Sync{}, &pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{},
		&pgproto3.Query{String: "COMMIT"})
	r.until(t, "ReadyForQuery")
	r.until(t, "ReadyForQuery")
	got := r.until(t, "ReadyForQuery")
	if d := cmp.Diff([]string{
		"DataRow", "DataRow", "DataRow", "DataRow", "CommandComplete SELECT 4", "ReadyForQuery T",
	}, got); d != "" {
		t.Error(d)
	}
	r.until(t, "ReadyForQuery")
}

// TestErrorsSkip checks that messages after an error are ignored until the Sync.
func TestErrorsSkip(t *testing.T) {
	r := start(t).raw(t)
	r.send(t, &pgproto3.Parse{Query: "SELECT nope"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{},
		&pgproto3.Parse{Query: "SELECT 1"}, &pgproto3.Bind{}, &pgproto3.Execute{}, &pgproto3.Sync{})
	got := append(r.until(t, "ReadyForQuery"), r.until(t, "ReadyForQuery")...)
	want := []string{
		"ErrorResponse ERROR 42703", "ReadyForQuery I", "ParseComplete", "BindComplete", "DataRow",
		"CommandComplete SELECT 1", "ReadyForQuery I",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestExtendedErrors checks that each invalid message gets exactly one error.
func TestExtendedErrors(t *testing.T) {
	r := start(t).raw(t)
	parse := &pgproto3.Parse{Query: "SELECT $1"}
	for name, tt := range map[string]struct {
		messages []pgproto3.FrontendMessage
		state    string
	}{
		"two statements":  {[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT 1; SELECT 2"}}, "42601"},
		"parameter 0":     {[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT $0"}}, "42P02"},
		"parameter 70000": {[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT $70000"}}, "42P02"},
		"a hole":          {[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT $2"}}, "42P02"},
		"no statement":    {[]pgproto3.FrontendMessage{&pgproto3.Bind{PreparedStatement: "x"}}, "26000"},
		"no portal":       {[]pgproto3.FrontendMessage{&pgproto3.Execute{Portal: "x"}}, "34000"},
		"no value":        {[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{}}, "08P01"},
		"a bad value":     {[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{Parameters: [][]byte{[]byte("x")}}}, "22P02"},
		"a bad binary one": {
			[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{1, 2, 3}}}},
			"22P03",
		},
		"a bad format": {
			[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{ParameterFormatCodes: []int16{2}, Parameters: [][]byte{nil}}},
			"08P01",
		},
		"result formats": {
			[]pgproto3.FrontendMessage{parse, &pgproto3.Bind{Parameters: [][]byte{nil}, ResultFormatCodes: []int16{1, 1, 1}}},
			"08P01",
		},
		"no UTF-8": {[]pgproto3.FrontendMessage{&pgproto3.Parse{Query: "SELECT '\xff'"}}, "22021"},
	} {
		r.send(t, append(tt.messages, &pgproto3.Sync{})...)
		got := r.until(t, "ReadyForQuery")
		if !strings.Contains(strings.Join(got, ","), "ErrorResponse ERROR "+tt.state) ||
			got[len(got)-1] != "ReadyForQuery I" {
			t.Errorf("%s: %v, want %s", name, got, tt.state)
		}
	}
}

// TestFunctionCall checks that a FunctionCall message is refused, and that the client can go on without a Sync.
func TestFunctionCall(t *testing.T) {
	r := start(t).raw(t)
	for range 2 {
		r.send(t, &pgproto3.FunctionCall{Function: 1})
		got := r.until(t, "ReadyForQuery")
		if want := []string{"ErrorResponse ERROR 0A000", "ReadyForQuery I"}; !slices.Equal(got, want) {
			t.Error(got)
		}
	}
}

// TestPreparedAreBounded checks the limits on prepared statements, portals and their text.
func TestPreparedAreBounded(t *testing.T) {
	r := start(t).raw(t)
	refused := ""
	for i := range 10_000 {
		r.send(t, &pgproto3.Parse{Name: fmt.Sprintf("s%d", i), Query: "SELECT 1"}, &pgproto3.Sync{})
		got := r.until(t, "ReadyForQuery")
		if refused = got[0]; refused != "ParseComplete" {
			if i != maxPrepared || i <= 512 { // pgx keeps 512
				t.Errorf("refused after %d", i)
			}
			break
		}
	}
	if refused != "ErrorResponse ERROR 53400" {
		t.Error(refused)
	}
	// The engine does not describe a statement that is refused.
	r.send(t, &pgproto3.Parse{Name: "more", Query: "SELECT nope"}, &pgproto3.Sync{},
		&pgproto3.Query{String: "PREPARE more AS SELECT nope"})
	for range 2 {
		if got := r.until(t, "ReadyForQuery"); got[0] != "ErrorResponse ERROR 53400" {
			t.Error(got)
		}
	}
	r.send(t, &pgproto3.Query{String: "DEALLOCATE ALL"}, &pgproto3.Query{String: "BEGIN"},
		&pgproto3.Parse{Name: "s", Query: "SELECT 9"})
	r.until(t, "ReadyForQuery")
	r.until(t, "ReadyForQuery")
	for i := range maxPortals + 1 {
		r.send(t, &pgproto3.Bind{DestinationPortal: fmt.Sprint("p", i), PreparedStatement: "s"})
	}
	r.send(t, &pgproto3.Sync{})
	got := strings.Join(r.until(t, "ReadyForQuery"), ",")
	if strings.Count(got, "BindComplete") != maxPortals || !strings.Contains(got, "ErrorResponse ERROR 53300") {
		t.Error(got)
	}
	// The text counts, too.
	r.send(t, &pgproto3.Query{String: "ROLLBACK"})
	r.until(t, "ReadyForQuery")
	for i := range 20 {
		r.send(t, &pgproto3.Parse{Name: fmt.Sprintf("l%d", i), Query: "SELECT 1 --" + strings.Repeat("x", 250_000)})
	}
	r.send(t, &pgproto3.Sync{})
	if got := strings.Join(r.until(t, "ReadyForQuery"), ","); !strings.Contains(got, "ErrorResponse ERROR 53400") {
		t.Error(got)
	}
}

// TestCursorsAreBounded checks the limit on waiting portals of the whole server.
func TestCursorsAreBounded(t *testing.T) {
	f := start(t, func(c *Config) { c.MaxCursors = 2 })
	fetch := func(r *raw) string {
		r.send(t, &pgproto3.Query{String: "BEGIN"}, &pgproto3.Parse{Query: "SELECT 9"}, &pgproto3.Bind{},
			&pgproto3.Execute{MaxRows: 1}, &pgproto3.Sync{})
		r.until(t, "ReadyForQuery")
		return strings.Join(r.until(t, "ReadyForQuery"), ",")
	}
	one, two, three := f.raw(t), f.raw(t), f.raw(t)
	for _, r := range []*raw{one, two} {
		if got := fetch(r); !strings.Contains(got, "PortalSuspended") {
			t.Fatal(got)
		}
	}
	if got := fetch(three); !strings.Contains(got, "ErrorResponse ERROR 53300") {
		t.Error(got)
	}
	// A portal that has waited for long is replaced.
	f.cursors.mu.Lock()
	for x := range f.cursors.waiting {
		f.cursors.waiting[x] = time.Now().Add(-time.Hour)
	}
	f.cursors.mu.Unlock()
	three.send(t, &pgproto3.Query{String: "ROLLBACK"})
	three.until(t, "ReadyForQuery")
	if got := fetch(three); !strings.Contains(got, "PortalSuspended") {
		t.Error(got)
	}
	states := ""
	for _, r := range []*raw{one, two} {
		r.send(t, &pgproto3.Execute{}, &pgproto3.Sync{})
		states += strings.Join(r.until(t, "ReadyForQuery"), ",")
	}
	if strings.Count(states, "ErrorResponse ERROR 34000") != 1 || strings.Count(states, "CommandComplete SELECT 8") != 1 {
		t.Error(states)
	}
}

// TestSQLCursors checks DECLARE, FETCH, MOVE and CLOSE.
func TestSQLCursors(t *testing.T) {
	c := start(t).connect(t, "")
	for _, tt := range []struct{ sql, tag, state string }{
		{"DECLARE c CURSOR FOR SELECT 10", "", "25P01"},
		{"BEGIN; DECLARE c CURSOR FOR SELECT 10", "DECLARE CURSOR", ""},
		{"FETCH 3 FROM c", "FETCH 3", ""},
		{"FETCH NEXT IN c", "FETCH 1", ""},
		{"MOVE FORWARD 2 FROM c", "MOVE 2", ""},
		{"FETCH FORWARD ALL FROM c", "FETCH 4", ""},
		{"FETCH c", "FETCH 0", ""},
		{"CLOSE c", "CLOSE CURSOR", ""},
		{"COMMIT", "COMMIT", ""},
		{"DECLARE h CURSOR WITH HOLD FOR SELECT 2", "DECLARE CURSOR", ""},
		{"FETCH ALL h", "FETCH 2", ""},
		{"DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT 2", "", "55000"},
		{"FETCH PRIOR FROM h", "", "55000"},
		{"FETCH 1 FROM nope", "", "34000"},
		{"CLOSE ALL", "CLOSE CURSOR ALL", ""},
		{"PREPARE p (int) AS SELECT $1", "PREPARE", ""},
		{"EXECUTE p(3)", "SELECT 1", ""},
		{"EXECUTE p", "", "42601"},
		{"DEALLOCATE p", "DEALLOCATE", ""},
		{"EXECUTE p(1)", "", "26000"},
	} {
		_, tag, err := exec(t, c, tt.sql)
		if state(err) != tt.state || err == nil && tag != tt.tag {
			t.Errorf("%s: %q %v", tt.sql, tag, err)
		}
	}
}

// TestTransactions checks the state that the server reports for a transaction, although the server has no real
// transactions.
func TestTransactions(t *testing.T) {
	c := start(t).connect(t, "")
	for _, tt := range []struct {
		sql, tag, state string
		status          byte
	}{
		{"BEGIN", "BEGIN", "", 'T'},
		{"SELECT 1", "SELECT 1", "", 'T'},
		{"SAVEPOINT a", "SAVEPOINT", "", 'T'},
		{"SELECT nope", "", "42703", 'E'},
		{"SELECT 1", "", "25P02", 'E'},
		{"ROLLBACK TO a", "ROLLBACK", "", 'T'},
		{"SET LOCAL statement_timeout = '7s'", "SET", "", 'T'},
		{"SET search_path TO shop", "SET", "", 'T'},
		{"SELECT nope", "", "42703", 'E'},
		{"COMMIT", "ROLLBACK", "", 'I'},
		{"SHOW search_path", "SHOW", "", 'I'},
		{"COMMIT", "COMMIT", "", 'I'},
		{"BEGIN ISOLATION LEVEL SERIALIZABLE, READ ONLY", "BEGIN", "", 'T'},
		{"INSERT INTO logs VALUES (1,'',1,NULL)", "", "25006", 'E'},
		{"ROLLBACK", "ROLLBACK", "", 'I'},
		{"PREPARE TRANSACTION 'x'", "", "0A000", 'I'},
		{"RELEASE a", "", "25P01", 'I'},
	} {
		rows, tag, err := exec(t, c, tt.sql)
		if state(err) != tt.state || err == nil && tag != tt.tag || c.TxStatus() != tt.status {
			t.Errorf("%s: %q %v, status %c", tt.sql, tag, err, c.TxStatus())
		}
		if tt.sql == "SHOW search_path" && rows[0][0] != "public" {
			t.Errorf("a rollback leaves the search path at %q", rows[0][0])
		}
	}
}

// TestSettings checks SET and SHOW.
func TestSettings(t *testing.T) {
	c := start(t).connect(t, "")
	for _, tt := range []struct{ sql, want, state string }{
		{"SET TIME ZONE 'Europe/Berlin'; SHOW TimeZone", "UTC", ""},
		{`SET TIME ZONE "Etc/UTC"; SHOW TimeZone`, "UTC", ""}, // as pgcli sends it
		{`SET application_name = "a b"; SHOW application_name`, "a b", ""},
		{"SET TIME ZONE INTERVAL '+00:00' HOUR TO MINUTE; SHOW TimeZone", "UTC", ""},
		{"SET timezone = 'Europe/Atlantis'", "", "22023"},
		{"SET DateStyle = 'ISO, DMY'; SHOW datestyle", "ISO, DMY", ""},
		{"SET DateStyle = 'German'", "", "22023"},
		{"SET NAMES 'utf-8'; SHOW client_encoding", "UTF8", ""},
		{"SET statement_timeout = 5000; SHOW statement_timeout", "5s", ""},
		{"SET statement_timeout = '2h'", "", "22023"},
		{"SET statement_timeout = 0; SHOW statement_timeout", "0", ""},
		{"SET work_mem = '1GB'", "", ""},
		{"SHOW nonsense", "", "42704"},
		{"SET nonsense = 1", "", "42704"},
		{"SET server_version = '9'", "", "55P02"},
		{"SET myapp.user = 'x'; SHOW myapp.user", "x", ""},
		{"SET standard_conforming_strings = off", "", "0A000"},
		{"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SHOW default_transaction_read_only", "on", ""},
		{"RESET ALL; SHOW default_transaction_read_only", "off", ""},
		{"SET ROLE other", "", "42501"},
		{"SET SESSION AUTHORIZATION DEFAULT", "", ""},
		{"USE shop; SHOW search_path", `"shop"`, ""},
		{"SHOW TRANSACTION ISOLATION LEVEL", "read committed", ""},
		{"SET myapp.x = '" + strings.Repeat("x", 2000) + "'", "", "54000"},
	} {
		rows, _, err := exec(t, c, tt.sql)
		if state(err) != tt.state || tt.want != "" && (len(rows) != 1 || rows[0][0] != tt.want) {
			t.Errorf("%s: %v %v", tt.sql, rows, err)
		}
	}
	_, _, err := exec(t, c, "SET application_name = 'new'")
	if got := c.ParameterStatus("application_name"); err != nil || got != "new" {
		t.Errorf("the client does not learn of a change: %q %v", got, err)
	}
}

// TestBind checks the values of parameters.
func TestBind(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r := c.ExecParams(ctx, "SELECT $1, 'it''s $1', \"$1\"", [][]byte{[]byte("-5")}, nil, nil, []int16{1, 0}).Read()
	if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != "\x00\x00\x00\x00\x00\x00\x00\x01" {
		t.Fatalf("%v %v", r.Rows, r.Err)
	}
	if got := f.service.last().Texts[0]; got != "SELECT CAST((-5) AS BIGINT), 'it''s $1', \"$1\"" {
		t.Error(got)
	}
	r = c.ExecParams(ctx, "INSERT INTO logs (ts, host, n, b) VALUES ($1, $2, $3, $4)", [][]byte{
		[]byte("2026-01-05 10:00:00.123456789+02"), []byte("it's"), []byte("7"), []byte(`\x00ff`),
	}, nil, nil, nil).Read()
	if r.Err != nil || r.CommandTag.String() != "INSERT 0 1" {
		t.Fatalf("%v %v", r.CommandTag, r.Err)
	}
	want := []string{"'2026-01-05 08:00:00.123456789'", "'it''s'", "'7'", "x'00ff'"}
	if d := cmp.Diff([][]string{want}, f.service.rows()); d != "" {
		t.Error(d)
	}
	// Values that a client writes into the text have no types.
	const untyped = `INSERT INTO logs (ts, host, n, b) VALUES ('9999-12-31', '\x00', 7, '\x00ff')`
	if _, _, err := exec(t, c, untyped); err != nil {
		t.Fatal(err)
	}
	want = []string{"'9999-12-31'", `'\x00'`, "7", "x'00ff'"}
	if d := cmp.Diff(want, f.service.rows()[1]); d != "" {
		t.Error(d)
	}
}
