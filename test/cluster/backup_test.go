package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// command runs the program with arguments and returns its output.
func command(t testing.TB, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := exec.Command(Binary(t), args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("cordwood %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), err
}

func mustCommand(t testing.TB, args ...string) string {
	t.Helper()
	out, err := command(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// made is the output of 'cordwood backup --json'.
type made struct {
	ID          string `json:"id"`
	Rows        int64  `json:"rows"`
	Segments    int64  `json:"segments"`
	NewSegments int64  `json:"new_segments"`
}

func backUp(t testing.TB, n *Node, repository string, more ...string) made {
	t.Helper()
	var m made
	out := mustCommand(t, append([]string{"backup", repository, "--server", n.HTTP, "--json"}, more...)...)
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return m
}

// TestBackupUnderLoad backs up a server during writes, and restores the backup into a server with another number of
// shards. Every row that was acknowledged before the backup started must be restored once, unchanged.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	source := New(t, "--shards", "4", "--shard-flush-bytes", "1MiB")
	source.Start()
	repository := filepath.Join(t.TempDir(), "repository")

	// Rows (writer, seq) with a text that depends on both.
	var acked [3]atomic.Int64
	var stop atomic.Bool
	var writers sync.WaitGroup
	for w := range acked {
		writers.Go(func() {
			for seq := int64(0); !stop.Load(); {
				var body bytes.Buffer
				for range 100 {
					fmt.Fprintf(&body, `{"w":%d,"seq":%d,"text":"row %d of %d"}`+"\n", w, seq, seq, w)
					seq++
				}
				if err := source.Ingest(fmt.Sprint("load", w), body.Bytes()); err != nil {
					t.Error(err)
					return
				}
				acked[w].Store(seq)
			}
		})
	}
	defer writers.Wait()
	defer stop.Store(true)
	until(t, "rows to be written", func() bool {
		return acked[0].Load() > 5000 && acked[1].Load() > 5000 && acked[2].Load() > 5000
	})
	first := backUp(t, source, repository)
	var before [3]int64
	for w := range acked {
		before[w] = acked[w].Load()
	}
	second := backUp(t, source, repository)
	stop.Store(true)
	writers.Wait()
	if second.Rows <= first.Rows {
		t.Errorf("the first backup has %d rows, the second, under load, %d", first.Rows, second.Rows)
	}
	mustCommand(t, "backup", "verify", repository, "--deep")

	target := New(t, "--shards", "7")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP, "--backup", second.ID)
	total := int64(0)
	for w := range acked {
		rows := target.Rows(t, fmt.Sprintf("SELECT count(*), count(DISTINCT seq), max(seq), count(*) FILTER (text <> "+
			"'row ' || seq || ' of %d' OR w <> %d) FROM load%d", w, w, w))
		count, distinct, last, wrong := number(t, rows[0][0]), number(t, rows[0][1]), number(t, rows[0][2]),
			number(t, rows[0][3])
		if count < before[w] || count != distinct || last != count-1 || wrong != 0 {
			t.Errorf("writer %d: %d rows acknowledged before the backup; %d rows restored, %d of them distinct, up to "+
				"%d, %d of them changed",
				w, before[w], count, distinct, last, wrong)
		}
		total += count
	}
	if total != second.Rows {
		t.Errorf("%d rows restored, the backup has %d", total, second.Rows)
	}
}

func number(t testing.TB, v any) int64 {
	t.Helper()
	n, err := v.(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// until waits until ok returns true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// TestRestoreKeepsEverything compares the results of SQL on two servers, one restored from the
// other.
func TestRestoreKeepsEverything(t *testing.T) {
	t.Parallel()
	source := New(t, "--shards", "3")
	source.Start()
	for _, sql := range []string{
		"CREATE DATABASE web WITH (ttl='90d')",
		"CREATE TABLE web.t (ts TIMESTAMP(9) TIME INDEX, host STRING, path STRING SKIPPING INDEX, n BIGINT DEFAULT " +
			"7, f DOUBLE NOT NULL, b BOOLEAN, raw BINARY, j JSON, u TINYINT UNSIGNED, PRIMARY KEY (host)) WITH " +
			"(append_mode='true', ttl='forever', comment='it''s')",
		"INSERT INTO web.t (ts, host, path, n, f, b, u) VALUES (1, 'a', '/x', 1, 1.5, true, 200), (2, NULL, NULL, " +
			"NULL, -0.25, NULL, NULL), (3, 'ü', '', -9, 1e300, false, 0)",
		"ALTER TABLE web.t ADD COLUMN late STRING",
		"INSERT INTO web.t (ts, host, f, late) VALUES (4, 'a', 2, 'here')",
		"ALTER TABLE web.t DROP COLUMN b",
		"CREATE TABLE last (ts TIMESTAMP TIME INDEX, id STRING PRIMARY KEY, a STRING, b STRING) WITH (append_mode='false')",
		"CREATE TABLE nonnull (ts TIMESTAMP TIME INDEX, id STRING PRIMARY KEY, a STRING, b STRING) WITH " +
			"(append_mode='false', merge_mode='last_non_null')",
		"CREATE TABLE empty (ts TIMESTAMP TIME INDEX)",
		"CREATE TABLE short (ts TIMESTAMP TIME INDEX, v BIGINT) WITH (append_mode='true')",
		"INSERT INTO short VALUES (1000, 1), (now(), 2)",
		"CREATE TABLE phy (ts TIMESTAMP TIME INDEX, v BIGINT) WITH (append_mode='true')",
		"CREATE TABLE log1 (ts TIMESTAMP TIME INDEX, v BIGINT) WITH (append_mode='true', physical_table='phy')",
		"INSERT INTO log1 VALUES (1, 11), (2, 12)",
	} {
		source.Rows(t, sql)
	}
	// Write files at several times, so that the order in which they are restored matters.
	repository := filepath.Join(t.TempDir(), "repository")
	for _, round := range []string{
		"INSERT INTO %s VALUES (1, 'x', 'old', 'old'), (1, 'y', 'old', NULL), (1, 'z', 'gone', 'gone')",
		"INSERT INTO %s VALUES (1, 'x', 'new', NULL), (1, 'w', NULL, 'only')",
		"DELETE FROM %s WHERE id = 'z'",
		"INSERT INTO %s VALUES (1, 'y', NULL, 'late')",
	} {
		for _, table := range []string{"last", "nonnull"} {
			if _, err := source.Query(fmt.Sprintf(round, table)); err != nil {
				t.Fatal(err)
			}
		}
		backUp(t, source, repository)
	}
	source.Rows(t, "ALTER TABLE short SET 'ttl'='1d'")
	for _, text := range []string{"first", "second"} {
		a, err := source.Do("POST", "/v1/pipelines/p?note=why",
			strings.NewReader("processors:\n  - filter:\n      field: message\n      targets: ["+text+
				"]\ntransform:\n  - field: message\n    type: string\n"), "Content-Type", "application/x-yaml")
		if err != nil || a.Status != 200 {
			t.Fatalf("pipeline: %v %s", err, a.Body)
		}
	}
	a, err := source.Do("PUT", "/v1/saved/search/kept", strings.NewReader(`{"q":"level:error"}`), "If-None-Match", "*")
	if err != nil || a.Status != 200 {
		t.Fatalf("save a search: %v %s", err, a.Body)
	}
	backUp(t, source, repository)

	target := New(t, "--shards", "5")
	target.Start()
	mustCommand(t, "restore", repository, "--server", target.HTTP)
	for _, sql := range []string{
		"SELECT * FROM web.t ORDER BY ts", "DESCRIBE TABLE web.t", "SHOW CREATE TABLE web.t", "SHOW TABLES FROM web",
		"SHOW TABLES",
		"SELECT * FROM last ORDER BY id", "SELECT * FROM nonnull ORDER BY id", "SELECT v FROM short",
		"SELECT * FROM log1 ORDER BY ts",
		"SHOW CREATE TABLE last", "SHOW CREATE TABLE nonnull", "SHOW CREATE TABLE log1", "SHOW CREATE TABLE empty",
		"SHOW CREATE TABLE short",
	} {
		want, got := source.Rows(t, sql), target.Rows(t, sql)
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s:\n source %v\n target %v", sql, want, got)
		}
	}
	if rows := target.Rows(t, "SELECT v FROM short"); len(rows) != 1 {
		t.Errorf("the expired row is back: %v", rows)
	}
	versions := func(n *Node) string { // with notes, and with objects that users have saved
		a, err := n.Do("GET", "/v1/pipelines/p", nil)
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Pipelines json.RawMessage `json:"pipelines"`
		}
		if err := json.Unmarshal(a.Body, &list); err != nil {
			t.Fatal(err)
		}
		saved, err := n.Do("GET", "/v1/saved/search/kept", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _, ok := strings.Cut(string(saved.Body), `,"execution_time_ms"`)
		if !ok || saved.Status != 200 {
			t.Errorf("the saved search: %d %s", saved.Status, saved.Body)
		}
		return string(list.Pipelines) + text + mustCommand(t, "pipeline", "versions", "p", "--server", n.HTTP)
	}
	if want, got := versions(source), versions(target); want != got {
		t.Errorf("pipelines:\n source %s\n target %s", want, got)
	}

	// A second restore finds all tables complete. Other tables are an obstacle only for a restore
	// from the beginning.
	if out := mustCommand(t, "restore", repository, "--server", target.HTTP); !strings.Contains(out,
		"7 tables were complete") {
		t.Errorf("second restore: %s", out)
	}
	_, err = command(t, "restore", repository, "--server", source.HTTP)
	if err == nil || !strings.Contains(err.Error(), "public.last") {
		t.Errorf("restore over the source: %v, want an error with public.last", err)
	}
	source.Rows(t, "INSERT INTO last VALUES (1, 'x', 'changed', 'changed')")
	mustCommand(t, "restore", repository, "--server", source.HTTP, "--table", "last", "--replace")
	sql := "SELECT * FROM last ORDER BY id"
	if want, got := target.Rows(t, sql), source.Rows(t, sql); fmt.Sprint(want) != fmt.Sprint(got) {
		t.Errorf("replaced table: %v, want %v", got, want)
	}
	// A restored table is an ordinary table.
	target.Rows(t, "INSERT INTO web.t (ts, host, f) VALUES (5, 'n', 3)")
	target.Stop()
	target.Start()
	if rows := target.Rows(t, "SELECT count(*) FROM web.t"); number(t, rows[0][0]) != 5 {
		t.Errorf("after an insert and a restart: %v rows, want 5", rows)
	}
}

// TestInterruptedRestore kills restores before they end. The next one must restore incomplete tables
// from the beginning.
func TestInterruptedRestore(t *testing.T) {
	t.Parallel()
	source := New(t, "--shards", "2", "--shard-flush-bytes", "1MiB")
	source.Start()
	const tables, rows = 6, 20_000
	for i := range tables {
		var body bytes.Buffer
		for seq := range rows {
			fmt.Fprintf(&body, `{"seq":%d,"text":"%s"}`+"\n", seq, strings.Repeat(fmt.Sprint(seq, "-"), 10))
		}
		if err := source.Ingest(fmt.Sprint("t", i), body.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	repository := filepath.Join(t.TempDir(), "repository")
	backUp(t, source, repository)
	source.Stop()
	target := New(t, "--shards", "3")
	target.Start()
	killed := 0
	for i := range 4 {
		cmd := exec.Command(Binary(t), "restore", repository, "--server", target.HTTP, "--parallel", "1", "--rate", "100KiB")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		want := int64(i * rows)
		until(t, "some rows", func() bool {
			out, err := target.Query("SELECT sum(n) FROM (SELECT count(*) n FROM t0 UNION ALL SELECT count(*) FROM t5)")
			if err != nil || len(out) == 0 || out[0][0] == nil {
				return cmd.ProcessState != nil
			}
			n, _ := out[0][0].(json.Number).Int64()
			return n > min(want, rows)
		})
		_ = cmd.Process.Kill() // it may be done by now
		if cmd.Wait() != nil {
			killed++
		}
	}
	if killed < 2 {
		t.Errorf("%d restores were killed before they were done, want at least 2", killed)
	}
	mustCommand(t, "restore", repository, "--server", target.HTTP)
	for i := range tables {
		out := target.Rows(t, fmt.Sprintf("SELECT count(*), count(DISTINCT seq), sum(seq) FROM t%d", i))
		if n := number(t, out[0][0]); n != rows || number(t, out[0][1]) != rows {
			t.Errorf("table t%d: %v, want %d rows, each once", i, out[0], rows)
		}
	}
}

// TestBackupPermissions requests backups as users without the permission.
func TestBackupPermissions(t *testing.T) {
	t.Parallel()
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, []byte("all=secret-all\nreader:ro=secret-ro\nwriter:wo=secret-wo\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	n := New(t, "--user-file", users)
	n.Start()
	repository := filepath.Join(t.TempDir(), "repository")
	for _, tt := range []struct {
		user string
		want string // part of the error; "" for success
		args []string
	}{
		{"", "401", []string{"backup", repository}},
		{"all:wrong", "401", []string{"backup", repository}},
		{"writer:secret-wo", "403", []string{"backup", repository}},
		{"reader:secret-ro", "", []string{"backup", repository}},
		{"all:secret-all", "", []string{"backup", repository}},
		{"reader:secret-ro", "needs the right rw", []string{"restore", repository, "--into-existing"}},
		{"all:secret-all", "", []string{"restore", repository, "--into-existing"}},
	} {
		out, err := command(t, append(slices.Clone(tt.args), "--server", n.HTTP, "--user", tt.user)...)
		switch {
		case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s as %q: %v, want %q", tt.args[0], tt.user, err, tt.want)
		case slices.ContainsFunc([]string{"secret-all", "secret-ro", "secret-wo"}, func(password string) bool {
			return strings.Contains(out+n.Log(), password)
		}):
			t.Errorf("%s as %q: a password is in the output or in the log", tt.args[0], tt.user)
		}
	}
	a, err := n.Do("GET", "/admin/rpc", nil, "Authorization", "Basic cmVhZGVyOnNlY3JldC1ybw==")
	if err != nil || a.Status != 426 {
		t.Errorf("a request that upgrades nothing: %v %v, want 426", a, err)
	}
}
