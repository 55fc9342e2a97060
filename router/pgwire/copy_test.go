package pgwire

import (
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/body"
)

// TestCopyCountsForItsDatabase checks that the memory of rows that wait counts for the database of their table.
func TestCopyCountsForItsDatabase(t *testing.T) {
	var asked sync.Map
	bodies, err := body.New(body.Config{MaxInFlight: 16 << 20, Policy: body.Fail, Known: func(database string) bool {
		asked.Store(database, true)
		return true
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, func(cfg *Config) { cfg.Bodies = bodies }).connect(t, "")
	rows := strings.NewReader(strings.Repeat(strings.Repeat("x", 1000)+"\n", 2*smallBytes/1000))
	if _, err := c.CopyFrom(t.Context(), rows, "COPY logs (host) FROM STDIN"); err != nil {
		t.Fatal(err)
	}
	if _, ok := asked.Load("public"); !ok {
		t.Error("the rows count for no database")
	}
}

// TestCopyOut writes rows in each format.
func TestCopyOut(t *testing.T) {
	c := start(t).connect(t, "")
	for sql, want := range map[string]string{
		"COPY logs (n) TO STDIN WITH DELIMITER AS ';' NULL AS '-'":                        "1;row 1\n",
		"COPY (SELECT 2) TO STDOUT":                                                       "1\trow 1\n2\trow 2\n",
		"COPY logs TO STDOUT WITH (FORMAT csv, HEADER)":                                   "n,t\n1,row 1\n",
		"COPY (SELECT 1) TO STDOUT CSV DELIMITER ';' FORCE QUOTE *":                       "\"1\";\"row 1\"\n",
		"COPY (SELECT 1) TO STDOUT WITH (FORMAT csv, DELIMITER ' ', QUOTE '''')":          "1 'row 1'\n",
		"COPY (SELECT 10) TO STDOUT (DELIMITER 'r', NULL 'nothing')":                      "10rnothing\n",
		"COPY logs (n, t) TO STDOUT WITH (FORMAT csv, HEADER, FORCE_QUOTE (t), NULL '-')": "n,t\n1,\"row 1\"\n",
	} {
		var out strings.Builder
		if _, err := c.CopyTo(t.Context(), &out, sql); err != nil || !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %q %v, want %q", sql, out.String(), err, want)
		}
	}
	var out strings.Builder
	if _, err := c.CopyTo(t.Context(), &out, "COPY (SELECT 1) TO STDOUT (FORMAT binary)"); err != nil ||
		hex.EncodeToString([]byte(out.String())) != hex.EncodeToString([]byte(binaryHead))+
			"0002000000080000000000000001"+"00000005726f772031"+"ffff" {
		t.Errorf("%x %v", out.String(), err)
	}
}

// TestCopyOutBinary checks that the header is in the same message as the first row or the trailer. psycopg 3 relies on
// it.
func TestCopyOutBinary(t *testing.T) {
	r := start(t).raw(t)
	for sql, want := range map[string]int{
		"COPY (SELECT 1) TO STDOUT (FORMAT binary)": 2, "COPY (SELECT 0) TO STDOUT (FORMAT binary)": 1,
	} {
		r.send(t, &pgproto3.Query{String: sql})
		got := 0
		for _, m := range r.until(t, "ReadyForQuery") {
			if m == "CopyData" {
				got++
			}
		}
		if got != want {
			t.Errorf("%s: %d messages with data, want %d", sql, got, want)
		}
	}
}

// TestCopyIn reads rows in each format, and stores nothing of a batch with a bad row.
func TestCopyIn(t *testing.T) {
	binary := binaryHead + "\x00\x02" + "\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07" +
		"\x00\x00\x00\x03a\tb" + "\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00" + "\xff\xff"
	for _, tt := range []struct {
		sql, data, state string
		want             [][]string
	}{
		{
			"COPY logs (n, host, b) FROM STDIN", "7\ta\\tb\t\\N\n\\N\t\t\\\\x00ff\n\\.\n", "",
			[][]string{{"'7'", "'a\tb'", "NULL"}, {"NULL", "''", "x'00ff'"}},
		},
		{
			"COPY logs (n, host) FROM STDIN CSV HEADER", "n,host\n1,\"a\"\"b\nc\"\n2,\n", "",
			[][]string{{"'1'", "'a\"b\nc'"}, {"'2'", "NULL"}},
		},
		{
			"COPY logs (n, host) FROM STDIN (FORMAT binary)", binary, "",
			[][]string{{"'7'", "'a\tb'"}, {"NULL", "''"}},
		},
		{
			"COPY logs (n, host) FROM STDIN (FORMAT csv, HEADER match)", "n,\"host\"\n1,a\n", "",
			[][]string{{"'1'", "'a'"}},
		},
		{"COPY logs (n, host) FROM STDIN (FORMAT csv, HEADER match)", "host,n\n1,a\n", "22P04", nil},
		{"COPY logs (n, host) FROM STDIN (HEADER match)", "n\n1\ta\n", "22P04", nil},
		{"COPY logs (n) TO STDOUT (FORMAT csv, HEADER match)", "", "0A000", nil},
		{"COPY logs (n, host) FROM STDIN CSV", "1,a,b\n", "22P04", nil},
		{"COPY logs (n, host) FROM STDIN CSV", "1\n", "22P04", nil},
		{"COPY logs (n, host) FROM STDIN CSV", "1,\"a", "22P04", nil},
		{"COPY logs (n, host) FROM STDIN", "1\t\xff\n", "22021", nil},
		{"COPY logs (n, host) FROM STDIN", "1\t\\xff\n", "22021", nil},
		{"COPY logs (n, host) FROM STDIN", "1\ta\\000b\n", "22021", nil},
		{"COPY logs FROM STDIN (FORMAT binary)", "nonsense that is long enough", "22P04", nil},
		{"COPY logs (n, host) FROM STDIN (FORMAT binary)", binary[:len(binary)-8], "22P04", nil},
		{"COPY logs (nope) FROM STDIN", "", "42703", nil},
		{"COPY nope FROM STDIN", "", "42P01", nil},
		{"COPY logs FROM '/etc/passwd'", "", "0A000", nil},
		{"COPY logs FROM PROGRAM 'x'", "", "0A000", nil},
		{"COPY logs FROM STDIN (FORMAT xml)", "", "22023", nil},
		{"COPY logs FROM STDIN (ON_ERROR ignore)", "", "0A000", nil},
	} {
		f := start(t)
		c := f.connect(t, "")
		_, err := c.CopyFrom(t.Context(), strings.NewReader(tt.data), tt.sql)
		if state(err) != tt.state {
			t.Errorf("%s: %v, want %s", tt.sql, err, tt.state)
		}
		if d := cmp.Diff(tt.want, f.service.rows()); d != "" {
			t.Errorf("%s: %s", tt.sql, d)
		}
		if rows, _, err := exec(t, c, "SELECT 1"); err != nil || len(rows) != 1 {
			t.Errorf("%s: afterwards %v", tt.sql, err)
		}
	}
}

// TestCopyInBatches stores many rows in batches.
func TestCopyInBatches(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	rows := strings.NewReader(strings.Repeat("1\tx\n", 25_000))
	tag, err := c.CopyFrom(t.Context(), rows, "COPY logs (n, host) FROM STDIN")
	if err != nil || tag.RowsAffected() != 25_000 || len(f.service.rows()) != 25_000 {
		t.Fatal(tag, err, len(f.service.rows()))
	}
	f.service.mu.Lock()
	defer f.service.mu.Unlock()
	if n := len(f.service.requests); n != 3 {
		t.Errorf("%d batches", n)
	}
}

// TestCopyIsCanceled checks that a request to cancel ends a COPY that waits for rows, or has just stored some: those
// that come later are not stored. The same connection can be used afterwards.
func TestCopyIsCanceled(t *testing.T) {
	for _, when := range []string{"waits for rows", "has stored a batch"} {
		t.Run(when, func(t *testing.T) {
			f := start(t)
			c := f.connect(t, "")
			cancel := func() {
				if err := c.CancelRequest(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if when == "has stored a batch" {
				f.service.inserted = sync.OnceFunc(cancel)
			}
			read, write := io.Pipe()
			done := make(chan error, 1)
			go func() {
				_, err := c.CopyFrom(t.Context(), read, "COPY logs (host) FROM STDIN")
				_ = read.CloseWithError(io.EOF)
				done <- err
			}()
			if _, err := io.WriteString(write, strings.Repeat("x\n", copyBatchRows)); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return len(f.service.rows()) == copyBatchRows && f.service.open.Load() == 0 })
			if f.service.inserted == nil {
				cancel()
			}
			_, _ = io.WriteString(write, strings.Repeat("y\n", copyBatchRows)) // fails if COPY has ended already
			_ = write.Close()
			var got *pgconn.PgError
			if err := <-done; !errors.As(err, &got) || got.Code != "57014" || !strings.Contains(got.Message, "user request") ||
				got.Detail != "rows stored before: 10000" {
				t.Errorf("canceled: %v, %+v", err, got)
			}
			if n := len(f.service.rows()); n != copyBatchRows {
				t.Errorf("%d rows are stored", n)
			}
			if rows, _, err := exec(t, c, "SELECT 1"); err != nil || len(rows) != 1 {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// TestCopyWhenTheServerStops checks that a client whose COPY ends with the connection learns how many rows were stored.
func TestCopyWhenTheServerStops(t *testing.T) {
	f := start(t)
	c := f.connect(t, "")
	read, write := io.Pipe()
	defer write.Close()
	done := make(chan error, 1)
	go func() {
		_, err := c.CopyFrom(t.Context(), read, "COPY logs (host) FROM STDIN")
		_ = read.CloseWithError(io.EOF)
		done <- err
	}()
	if _, err := io.WriteString(write, strings.Repeat("x\n", copyBatchRows)); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return len(f.service.rows()) == copyBatchRows })
	if err := f.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got *pgconn.PgError
	if err := <-done; !errors.As(err, &got) || got.Code != "57P01" || got.Detail != "rows stored before: 10000" {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestCopyInLine finds the line of a bad row: the server has read lines after it, and counts rows in each batch anew.
func TestCopyInLine(t *testing.T) {
	for _, tt := range []struct{ options, data, want string }{
		{"CSV HEADER", "n,host\n1,a\n2,refused\n3,c\n", "row 2 is refused / COPY logs, row 1 is line 2"},
		{"", "1\trefused\n2\ta\n\\.\n", "row 1 is refused / COPY logs, row 1 is line 1"},
		{
			"", strings.Repeat("1\tx\n", 10_001) + "2\trefused\n",
			"row 2 is refused / COPY logs, row 1 is line 10001",
		},
		{"", strings.Repeat("1\tx\n", 10_001) + "2\n", `missing data for column "host" / COPY logs, line 10002`},
	} {
		c := start(t).connect(t, "")
		_, err := c.CopyFrom(t.Context(), strings.NewReader(tt.data), "COPY logs (n, host) FROM STDIN "+tt.options)
		var got *pgconn.PgError
		if !errors.As(err, &got) || got.Message+" / "+got.Where != tt.want {
			t.Errorf("%s: %v, %+v, want %s", tt.options, err, got, tt.want)
		}
	}
}
