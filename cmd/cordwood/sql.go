package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"cordwood/cmd/cordwood/client"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

func newSQLCommand() *cobra.Command {
	var db, output, timeout string
	cmd := &cobra.Command{
		Use:   "sql [STATEMENT]",
		Short: "Run SQL",
		Long: `Run one or more statements, each ended by a semicolon, the last one perhaps not. Without
an argument statements are read from standard input; at a terminal that is a prompt with
history, in which \? lists what else it understands.

The first statement that fails ends the command, but not the prompt.`,
		Example: `  cordwood sql 'SELECT count(*) FROM app'
  cordwood sql --output csv "SELECT * FROM app WHERE level = 'error'" > errors.csv
  cordwood sql < schema.sql
  cordwood sql`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := newSQLSession(cmd, db, output, timeout)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return s.script(cmd.Context(), strings.NewReader(args[0]))
			}
			if in, isFile := cmd.InOrStdin().(*os.File); isFile && term.IsTerminal(int(in.Fd())) {
				return runPrompt(cmd.Context(), s)
			}
			return s.script(cmd.Context(), cmd.InOrStdin())
		},
	}
	f := cmd.Flags()
	f.StringVar(&db, "db", "public", "`DATABASE` of tables that are named without one")
	f.StringVarP(&output, "output", "o", "table", "`FORMAT` of rows: table, json, yaml, csv or ndjson")
	f.StringVar(&timeout, "timeout", "", "`DURATION` after which the server gives a statement up, such as 5m; 30s by default")
	return cmd
}

// sqlSession runs statements and prints their rows.
type sqlSession struct {
	client  *client.Client
	db      string
	output  string
	timeout string
	out     io.Writer
	errOut  io.Writer
}

// outputFormats are the formats of rows, with what the server is asked for.
var outputFormats = map[string]string{
	"table": "table", "json": "ndjson", "yaml": "ndjson", "csv": "csvWithNames", "ndjson": "ndjson",
}

func newSQLSession(cmd *cobra.Command, db, output, timeout string) (*sqlSession, error) {
	if err := checkOutput(output); err != nil {
		return nil, usageError{err}
	}
	if err := checkDuration("timeout", timeout); err != nil {
		return nil, err
	}
	s := &sqlSession{db: db, output: output, timeout: timeout, out: cmd.OutOrStdout(), errOut: cmd.ErrOrStderr()}
	var err error
	s.client, err = newClient(cmd, func(text string) { fmt.Fprintln(s.errOut, text) })
	return s, err
}

// checkDuration refuses what the server would not read as a duration: 30s, 1h30m, 2 days.
func checkDuration(flag, text string) error {
	d, err := time.ParseDuration(text)
	ttl, ttlErr := schema.ParseTTL(text)
	if text == "" || err == nil && d >= 0 || ttlErr == nil && ttl.D > 0 {
		return nil
	}
	return usageError{fmt.Errorf("--%s %s: want a duration, as 30s or 10m", flag, text)}
}

func checkOutput(output string) error {
	if _, found := outputFormats[output]; !found {
		return fmt.Errorf("--output %s: use table, json, yaml, csv or ndjson", output)
	}
	return nil
}

// maxScript bounds the text of statements that is read from a file.
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
	rest, ran := string(text), false
	for {
		var text string
		if text, rest, _ = statement.Cut(rest); statement.IsBlank(text) {
			if rest != "" {
				continue
			}
			break
		}
		ran = true
		if err := s.run(ctx, text); err != nil {
			return err
		}
	}
	if !ran {
		return usageError{errors.New("no statement: write one as the argument or on standard input")}
	}
	return nil
}

// run runs one statement.
func (s *sqlSession) run(ctx context.Context, statement string) error {
	header := http.Header{"Content-Type": {"application/sql"}}
	if s.timeout != "" {
		header.Set("x-svc-timeout", s.timeout)
	}
	resp, err := s.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql",
		Query:  url.Values{"db": {s.db}, "format": {outputFormats[s.output]}},
		Header: header, Body: []byte(statement),
	})
	if err == nil {
		defer resp.Body.Close()
		err = printRows(s.out, s.output, resp.Body)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the server broke the answer off: rows are missing; its log says why")
	}
	return err
}
