package clients

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// psql is the psql of Debian's package postgresql-client.
type psql struct{}

// run runs commands, and returns the standard output and standard error of psql.
func (psql) run(ctx context.Context, to pgTarget, password, options string, commands ...string) (string, error) {
	args := []string{"-X", "-q", "-A", "-v", "VERBOSITY=verbose", fmt.Sprintf(
		"host=%s port=%s dbname=%s user=%[3]s sslrootcert=%s %s", to.host, to.port, to.database, to.ca, options)}
	for _, c := range commands {
		args = append(args, "-c", c)
	}
	cmd := exec.CommandContext(ctx, "psql", args...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+password, "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// prints runs commands without TLS, and compares the output.
func (p psql) prints(t *testing.T, to pgTarget, want string, commands ...string) error {
	commands = append([]string{`\pset tuples_only`}, commands...)
	got, err := p.run(t.Context(), to, pgPassword, "sslmode=disable", commands...)
	if err != nil || strings.TrimSpace(got) != want {
		return fmt.Errorf("%q: %w: %q, want %q", commands, err, got, want)
	}
	return nil
}

// has runs a command, and checks that the output contains texts.
func (p psql) has(t *testing.T, to pgTarget, command string, texts ...string) error {
	got, err := p.run(t.Context(), to, pgPassword, "sslmode=disable", command)
	for _, text := range texts {
		if err != nil || !strings.Contains(got, text) {
			return fmt.Errorf("%s: %w: %q, want %q", command, err, got, text)
		}
	}
	return nil
}

func (p psql) connect(t *testing.T, to pgTarget) error {
	out, err := p.run(t.Context(), to, "wrong", "sslmode=disable", "SELECT 1")
	if err == nil || !strings.Contains(out, "password authentication failed") {
		return fmt.Errorf("a wrong password: %w: %s", err, out)
	}
	return errors.Join(p.prints(t, to, to.database+"|"+to.database, "SELECT current_database(), current_user"),
		p.has(t, to, `\conninfo`, to.database), p.prints(t, to, "public", `\c public`, "SELECT current_schema()"))
}

func (p psql) tls(t *testing.T, to pgTarget) error {
	out, err := p.run(t.Context(), to, pgPassword, "sslmode=verify-full channel_binding=require", `\conninfo`)
	if err != nil || !strings.Contains(out, "SSL connection") {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (p psql) schema(t *testing.T, to pgTarget) error {
	return errors.Join(
		p.has(t, to, `\d`, to.database+"|merged|table|", to.database+"|types|table|"),
		p.has(t, to, `\dt`, "|types|table|"), p.has(t, to, `\dt public.*`, "public|many|table|"),
		p.has(t, to, `\l`, to.database+"|", "UTF8"), p.has(t, to, `\dn`, to.database+"|", "public|"),
		p.has(t, to, `\df date_trunc`, "date_trunc"), p.has(t, to, `\du`, to.database),
		p.has(t, to, `\d types`, "ts|timestamp with time zone||not null|", "u64|numeric(20,0)|||", "j|json|||"),
		p.has(t, to, `\d+ merged`, "took|double precision|||1.5|", "merged_pkey", `("ts", "host")`),
		p.has(t, to, `\dt+ merged`, "rows by host"), p.has(t, to, `\di`, "merged_pkey"),
		p.has(t, to, `\dv`), p.has(t, to, `\dT int8`, "bigint"), p.has(t, to, `\dp`), p.has(t, to, `\dx`, "plpgsql"))
}

func (p psql) parameters(t *testing.T, to pgTarget) error {
	return p.prints(t, to, "3|a'b", `PREPARE s(int, text) AS SELECT $1 + 1, $2 || 'b'`, `EXECUTE s(2, 'a''')`)
}

func (p psql) types(t *testing.T, to pgTarget) error {
	insert := "INSERT INTO types (ts, id, ms, us, i64, u64, f64, b, t, bin, j) VALUES "
	return p.prints(t, to, "1|1969-12-31 23:59:59.999999+00|9999-12-31 23:59:59.999+00|1600-02-29 00:00:00.000001+00|"+
		"-9223372036854775808|18446744073709551615|NaN|t|it's ☃|\\x00ff|{\"a\":[1,null]}\n"+
		"2|2026-01-05 10:00:00+00|||||-Infinity||||",
		insert+`('1969-12-31 23:59:59.999999', 1, '9999-12-31 23:59:59.999', '1600-02-29 00:00:00.000001', `+
			`-9223372036854775808, 18446744073709551615, 'NaN', true, 'it''s ☃', '\x00ff', '{"a":[1,null]}')`,
		insert+`('2026-01-05 10:00:00', 2, NULL, NULL, NULL, NULL, '-Infinity', NULL, NULL, NULL, NULL)`,
		"SELECT id, ts, ms, us, i64, u64, f64, b, t, bin, j FROM types WHERE id < 3 ORDER BY id")
}

func (p psql) fetch(t *testing.T, to pgTarget) error {
	out, err := p.run(t.Context(), to, pgPassword, "sslmode=disable", `\pset tuples_only`, `\set FETCH_COUNT 1000`, pgWalk)
	if n := strings.Count(out, "\n"); err != nil || n != pgMany || !strings.HasSuffix(out, "99999|row 99999\n") {
		return fmt.Errorf("%d lines: %w", n, err)
	}
	return nil
}

func (p psql) cancel(t *testing.T, to pgTarget) error {
	args := fmt.Sprintf("host=%s port=%s dbname=%s user=%[3]s sslmode=disable", to.host, to.port, to.database)
	cmd := exec.CommandContext(t.Context(), "psql", "-X", "-v", "VERBOSITY=verbose", args, "-c", `\echo disturbAt`,
		"-c", pgSlow)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+pgPassword)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = bufio.NewReader(out).ReadString('\n')
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()              // psql ends with status 1, and the output has the reason
	ticker := time.NewTicker(500 * time.Millisecond) // the first signal may be sent before the statement runs
	defer ticker.Stop()
	for end := time.Now().Add(20 * time.Second); err == nil; {
		select {
		case status := <-ended:
			if !strings.Contains(said.String(), "57014") {
				return fmt.Errorf("%w: %s", status, said.String())
			}
			return nil
		case <-ticker.C:
			err = cmd.Process.Signal(os.Interrupt) // like Ctrl-C
			if time.Now().After(end) {
				err = errors.New("the statement still runs")
			}
		}
	}
	_ = cmd.Process.Kill()
	return err
}

func (p psql) errors(t *testing.T, to pgTarget) error {
	out, err := p.run(t.Context(), to, pgPassword, "sslmode=disable", `\pset tuples_only`,
		`\set ON_ERROR_STOP 0`, "SELECT 'é', missing FROM types",
		"SELECT 7")
	if err != nil || !strings.Contains(out, "ERROR:  42703:") || !strings.Contains(out, "LINE 1: SELECT 'é', missing") ||
		!strings.HasSuffix(out, "7\n") {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (p psql) copy(t *testing.T, to pgTarget) error {
	in, out := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(in, []byte("ts,id,t\n2026-02-01,100,\"a,\"\"b\"\n2026-02-02,101,\n"), 0o600); err != nil {
		return err
	}
	err := p.prints(t, to, "", fmt.Sprintf(`\copy types (ts, id, t) FROM '%s' WITH (FORMAT csv, HEADER)`, in),
		fmt.Sprintf(`\copy (SELECT id, t FROM types WHERE id >= 100 ORDER BY id) TO '%s' WITH (FORMAT csv)`, out))
	text, rerr := os.ReadFile(out)
	if want := "100,\"a,\"\"b\"\n101,\n"; err == nil && string(text) != want {
		err = fmt.Errorf("the file has %q, want %q", text, want)
	}
	return errors.Join(err, rerr)
}

var pgShellClients = []pgClient{{name: "psql", run: pgFunctions(map[string]func(*testing.T, pgTarget) error{
	pgConnect: psql{}.connect, pgTLS: psql{}.tls, pgSchema: psql{}.schema, pgParameters: psql{}.parameters,
	pgTypes: psql{}.types, pgFetch: psql{}.fetch, pgCancel: psql{}.cancel, pgErrors: psql{}.errors, pgCopy: psql{}.copy,
})}}

func needPSQL(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("the clients cannot be installed: Debian's package postgresql-client is missing: ", err)
	}
}
