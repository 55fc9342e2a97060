// Package sql has the subcommand that sends SQL to a server: one statement, a script, or a prompt.
//
// A session (sql.go) runs statements and prints rows. The prompt (prompt.go) collects lines into
// statements and runs its own commands (commands.go); complete.go completes input.
package sql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/query/statement"
)

// NewCommand returns the command sql.
func NewCommand() *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "sql [STATEMENT]",
		Short: "Run SQL",
		Long: `Run one or more statements, separated by semicolons. Without an argument, statements are read from
standard input. On a terminal this is a prompt: Tab completes words and names, the arrow keys recall
statements, long output goes through $PAGER, and \? lists commands such as \d, \x, \watch and \e.

The command ends at the first statement that fails; the prompt continues.

If the server cannot run a statement now, the statement is sent again until its time limit, to the
next server of --server if there are several. Rows of an INSERT are stored once however often it is
sent, because it has an idempotency key. Other statements with changes are not sent again once they
may have been executed.

SET TIME ZONE 'Europe/Berlin' applies to all later statements, as --timezone does from the start: it
is the time zone of times that are written without one. Answers are in UTC.`,
		Example: `  cordwood sql 'SELECT count(*) FROM app'
  cordwood sql --output csv "SELECT * FROM app WHERE level = 'error'" > errors.csv
  cordwood sql --consistency any --server http://n1:4000,http://n2:4000 'SELECT count(*) FROM app'
  cordwood sql --timezone Europe/Berlin "SELECT count(*) FROM app WHERE ts >= '2026-03-29 00:00'"
  cordwood sql < schema.sql
  cordwood sql`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := newSQLSession(cmd, &o)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return s.script(cmd.Context(), strings.NewReader(args[0]))
			}
			if in, isFile := cmd.InOrStdin().(*os.File); isFile && term.IsTerminal(int(in.Fd())) {
				once, err := cli.NewClient(cmd, func(string) {}, func(c *client.Config) { c.Attempts = 1 })
				if err != nil {
					return err
				}
				if s.db, err = cli.DatabaseName(cmd, s.client, s.db); err != nil {
					return err
				}
				return runPrompt(cmd.Context(), s, once)
			}
			return s.script(cmd.Context(), cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.db, "db", "",
		"default `DATABASE` of tables; the default database of the user or token by default")
	f.StringVarP(&o.output, "output", "o", "table", "`FORMAT` of rows: table, json, yaml, csv or ndjson")
	f.StringVar(&o.zone, "timezone", "",
		"time `ZONE` of times without a zone, such as Europe/Berlin or +01:00; UTC by default")
	f.StringVar(&o.timeout, "timeout", "",
		"time limit for all tries of a statement, as a `DURATION` such as 5m; 30s by default")
	f.StringVar(&o.read.consistency, "consistency", "", "`WHICH` rows are read: "+
		"linear, everything that was acknowledged (default), or any, the rows of some replica")
	f.StringVar(&o.read.maxStaleness, "max-staleness", "",
		"with --consistency any, rows may be older by this `DURATION`, from 2s to 24h; 10s by default")
	f.BoolVar(&o.read.allowPartial, "allow-partial", false,
		"leave out rows that cannot be read, with a warning, instead of failing")
	f.StringVar(&o.key, "idempotency-key", "", "idempotency `KEY` of the INSERTs, which the server remembers for 15 "+
		"minutes: "+
		"repeated with the same key, they store nothing twice; random by default")
	return cmd
}

// sqlOptions are the flags of the command.
type sqlOptions struct {
	db, output, timeout, key, zone string
	read                           readFlags
}

// sqlSession runs statements and prints their rows.
type sqlSession struct {
	client  *client.Client
	db      string // empty means the default database of the user, which the server knows
	output  string
	timeout time.Duration // 0 means the server's default
	key     string        // of INSERTs; empty means a random one for each
	zone    string        // of times without a zone; empty means UTC
	read    readFlags
	out     io.Writer
	errOut  io.Writer

	// screen is set at a prompt on a terminal, and in its tests.
	screen   *screen
	expanded expandedMode

	statements int // number of executed statements
}

// outputFormats maps the output formats to the formats that are requested from the server.
var outputFormats = map[string]string{
	"table": "table", "json": "ndjson", "yaml": "ndjson", "csv": "csvWithNames", "ndjson": "ndjson",
}

func newSQLSession(cmd *cobra.Command, o *sqlOptions) (*sqlSession, error) {
	if err := checkOutput(o.output); err != nil {
		return nil, cli.WrongUsage(err)
	}
	timeout, err := cli.ParseDuration("timeout", o.timeout)
	if err != nil {
		return nil, err
	}
	if err := o.read.check(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(o.key) != o.key || len(o.key) > maxKey {
		return nil, cli.WrongUsage(fmt.Errorf("--idempotency-key: want 1 to %d characters, without a space at the ends",
			maxKey))
	}
	s := &sqlSession{
		db: o.db, output: o.output, timeout: timeout, key: o.key, zone: strings.TrimSpace(o.zone), read: o.read,
		out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr(),
	}
	s.client, err = cli.NewClient(cmd, func(text string) { fmt.Fprintln(s.errOut, text) })
	return s, err
}

// maxKey is the maximum length of --idempotency-key: a number is added for each statement after the
// first.
const maxKey = 240

func checkOutput(output string) error {
	if _, found := outputFormats[output]; !found {
		return fmt.Errorf("--output %s: use table, json, yaml, csv or ndjson", output)
	}
	return nil
}

// maxScript is the maximum size of a script.
const maxScript = 64 << 20

// script runs all statements of r, until one fails.
func (s *sqlSession) script(ctx context.Context, r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return fmt.Errorf("reading the statements: %w", err)
	}
	if len(text) > maxScript {
		return fmt.Errorf("the statements are longer than %d MiB: use 'cordwood ingest' for rows", maxScript>>20)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	all := string(text)
	rest, ran := all, 0
	for {
		var text string
		begin := len(all) - len(rest)
		if text, rest, _ = statement.Cut(rest); statement.IsBlank(text) {
			if rest != "" {
				continue
			}
			break
		}
		ran++
		several := ran > 1 || !statement.IsBlank(rest)
		if several { // the server counts lines and columns from the start of the text that it receives
			trimmed := strings.TrimLeft(text, " \t\r\n")
			begin += len(text) - len(trimmed)
			text = trimmed
		}
		if command, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.HasPrefix(command, `\`) {
			return cli.WrongUsage(fmt.Errorf("%s is a command of the prompt, which 'cordwood sql' opens at a terminal; "+
				"SHOW TABLES and DESCRIBE TABLE list tables and columns", command))
		}
		if err := s.run(ctx, text); err != nil {
			if several {
				return fmt.Errorf("statement %d, from line %d: %w", ran, 1+strings.Count(all[:begin], "\n"), err)
			}
			return err
		}
	}
	if ran == 0 {
		return cli.WrongUsage(errors.New("no statement: write one as the argument or on standard input"))
	}
	return nil
}

// nextKey returns the key of the next INSERT; empty means a random one.
func (s *sqlSession) nextKey() string {
	if s.key == "" {
		return ""
	}
	if s.statements++; s.statements > 1 {
		return s.key + " " + strconv.Itoa(s.statements)
	}
	return s.key
}

// run runs one statement.
func (s *sqlSession) run(ctx context.Context, text string) error {
	as, show := s.view(text)
	r := within(sqlRequest(s.db, as, text, s.nextKey()), s.timeout)
	s.read.set(r.Query)
	if s.zone != "" {
		r.Header.Set("X-Svc-Timezone", s.zone)
	}
	resp, err := s.client.Do(ctx, r)
	if err == nil {
		defer resp.Body.Close()
		cli.PrintWarnings(s.errOut, resp.Header)
		if missing := resp.Header.Get("X-Svc-Partial"); missing != "" {
			fmt.Fprintf(s.errOut, "not all rows could be read, without: %s\n", missing)
		}
		if err = show(resp.Body); err == nil {
			s.keepZone(text)
		}
	}
	stored := client.MayBeDone(err)
	switch {
	case errors.Is(err, errPagerLeft):
		return nil
	case err != nil && ctx.Err() != nil:
		err = errors.New("interrupted")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the answer was cut off: rows are missing; the server's log has the reason")
	}
	if stored {
		return explainUnknown(err, &r)
	}
	return err
}

// keepZone records the time zone that a statement has set. The server forgets it when the request
// ends, so later statements are sent with it.
func (s *sqlSession) keepZone(text string) {
	statements, err := statement.Parse(text)
	if err != nil {
		return // only a newer server knows the statement
	}
	for _, st := range statements {
		if set, ok := st.(*statement.SetTimeZone); ok {
			s.zone = set.Zone
		}
	}
}

// view returns the requested format of a statement's answer, and the function that prints it.
func (s *sqlSession) view(text string) (as string, show func(body io.Reader) error) {
	plan := s.output == "table" && explains(text)
	as = outputFormats[s.output]
	switch {
	case plan:
		as = "ndjson"
	case s.screen != nil && s.output == "table":
		as = "arrow"
	}
	return as, func(body io.Reader) error {
		out := s.out
		if s.screen != nil && out == s.screen.out {
			p := s.screen.page()
			defer p.Close()
			out = p
		}
		switch {
		case plan:
			return printExplained(out, body)
		case as == "arrow":
			return s.printScreen(out, body)
		}
		return cli.PrintRows(out, s.output, body)
	}
}

// printScreen prints rows on the screen.
func (s *sqlSession) printScreen(out io.Writer, body io.Reader) error {
	rows, err := rowsFrom(body)
	if err != nil {
		return err
	}
	if n, ok := affected(rows); ok {
		text := "OK\n"
		if n > 0 {
			text = fmt.Sprintf("OK, %s\n", cli.Count(int(n), "row"))
		}
		if err := rows.Err(); err != nil {
			return err
		}
		_, err := io.WriteString(out, text)
		return err
	}
	width, _ := s.screen.size()
	return printTable(out, rows, s.expanded, width)
}
