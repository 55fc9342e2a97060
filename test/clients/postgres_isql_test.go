package clients

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// isql is the isql of Debian's package unixodbc, over psqlODBC of its package odbc-postgresql.
type isql struct{}

var pgODBCClients = []pgClient{pgClient{name: "isql", run: pgFunctions(map[string]func(*testing.T, pgTarget) error{
	pgConnect: isql{}.connect, pgSchema: isql{}.schema, pgErrors: isql{}.errors,
})}.except(allBut(pgConnect, pgSchema, pgErrors)...)}

func needISQL(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("isql"); err != nil {
		t.Skip("Debian's package unixodbc is not installed: ", err)
	}
	cmd := exec.CommandContext(t.Context(), "odbcinst", "-q", "-d", "-n", "PostgreSQL Unicode")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skip("Debian's package odbc-postgresql is not installed: ", string(out))
	}
}

// run sends lines to isql, and returns its output.
func (isql) run(t *testing.T, to pgTarget, password string, lines ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "isql", "-k", fmt.Sprintf(
		"Driver=PostgreSQL Unicode;Servername=%s;Port=%s;Database=%s;UID=%[3]s;PWD=%s;SSLmode=disable", to.host, to.port,
		to.database, password), "-b", "-v", "-x0x7c")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	out, _ := cmd.CombinedOutput() // the status does not tell about statements
	return string(out)
}

// has checks that the output of a line contains texts.
func (i isql) has(t *testing.T, to pgTarget, line string, texts ...string) error {
	t.Helper()
	out := i.run(t, to, pgPassword, line)
	for _, text := range texts {
		if !strings.Contains(out, text) {
			return fmt.Errorf("%s: %q, want %q", line, out, text)
		}
	}
	return nil
}

func (i isql) connect(t *testing.T, to pgTarget) error {
	if out := i.run(t, to, "wrong", "SELECT 1"); !strings.Contains(out, "password authentication failed") {
		return fmt.Errorf("a wrong password: %q", out)
	}
	return i.has(t, to, "SELECT current_user, 1 + 1 AS two", to.database+"|2")
}

func (i isql) schema(t *testing.T, to pgTarget) error {
	return errors.Join(i.has(t, to, "help", to.database+"|types|TABLE", to.database+"|merged|TABLE"),
		i.has(t, to, "help merged", "merged|ts|", "timestamptz"))
}

func (i isql) errors(t *testing.T, to pgTarget) error {
	return errors.Join(i.has(t, to, "SELECT nosuch FROM merged", "[42703]", `no column "nosuch"`),
		i.has(t, to, "SELECT * FROM nosuch", "[42P01]"))
}
