// Package tail has the subcommand that follows the rows of a table.
//
// A follower (tail.go) reads the rows that the server sends, and requests the missed rows after a
// connection broke; a printer (print.go) writes them.
package tail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// NewCommand returns the command tail.
func NewCommand() *cobra.Command {
	var db, searched, where, since, output string
	cmd := &cobra.Command{
		Use:   "tail TABLE",
		Short: "Follow the rows of a table as they are written",
		Long: `Print the rows of a table as they are committed, until interrupted. With --since, stored rows of at
most that age are printed first. No row is missed, and none is printed twice, where they meet the
new rows.

A tail follows one table. To follow several, run one command for each.

--search is a text to search for: words, "phrases", begin*, field:value, level:>=warn,
status:500..599, -not and OR. --where is a condition as in SQL, on the columns of the table. The
server applies both.

If the connection breaks, or the server reports that this client is too slow, tail reconnects,
requests the missed rows by time, and prints a message on standard error. Rows that arrive again are
not printed again. The command ends when the table is dropped.`,
		Example: `  cordwood tail app
  cordwood tail nginx --where 'status >= 500' --since 10m
  cordwood tail --db prod app --where "matches_term(message, 'timeout')" | jq .message
  cordwood tail app --search 'level:>=warn -host:test* "connection refused"'
  cordwood tail app -o table --where "level = 'error'"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.WrongUsage(fmt.Errorf("a tail follows one table, but %d are given: run one command for each", len(args)))
			}
			if output != "table" && output != "ndjson" {
				return cli.WrongUsage(fmt.Errorf("--output %s: use ndjson or table", output))
			}
			if _, err := cli.ParseDuration("since", since); err != nil {
				return err
			}
			database, table, err := cli.TableName(cmd, db, args[0])
			if err != nil {
				return err
			}
			c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
			if err != nil {
				return err
			}
			color, err := cli.WantsColor(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			f := &follower{
				client: c, query: url.Values{
					"table": {table}, "search": {searched}, "where": {where}, "since": {since},
				},
				out: newPrinter(cmd.OutOrStdout(), output, color), errOut: cmd.ErrOrStderr(), now: time.Now, pause: time.Second,
				silence: 45 * time.Second,
			}
			cli.SetParameter(f.query, "db", database)
			return f.run(ctx)
		},
	}
	f := cmd.Flags()
	f.StringVar(&db, "db", "",
		"`DATABASE` of the table; the default database of the user or token by default")
	f.StringVar(&searched, "search", "", "search `TEXT`, such as level:error or \"disk full\"")
	f.StringVar(&where, "where", "", "SQL `CONDITION` on the columns of the table")
	f.StringVar(&since, "since", "", "`AGE` of the oldest stored rows to print first, such as 10m; none by default")
	f.StringVarP(&output, "output", "o", "ndjson", "`FORMAT` of rows: ndjson or table")
	cli.ColorFlag(cmd, "levels of -o table")
	return cmd
}

// follower follows a table and reconnects.
type follower struct {
	client *client.Client
	query  url.Values
	out    *printer
	errOut io.Writer
	now    func() time.Time
	// pause is the wait before reconnecting, silence the time limit without a heartbeat.
	pause, silence time.Duration

	heard time.Time // when the server last sent something
	seen  recent
	// again has the rows printed before that the server may send again, until new rows come.
	again map[string]int
}

// overlap is the time before the last heartbeat from which stored rows are requested, because rows are stored some
// time after the time in their time column.
const overlap = 30 * time.Second

// run follows until ctx ends or the server returns an error that a retry does not avoid.
func (f *follower) run(ctx context.Context) error {
	for {
		err := f.follow(ctx)
		if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) {
			return nil
		}
		if !followAgain(err) || f.heard.IsZero() {
			return err
		}
		fmt.Fprintf(f.errOut, "tail: %v; following again\n", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(f.pause):
		}
		missed := f.now().Sub(f.heard) + overlap
		f.query.Set("since", missed.Round(time.Millisecond).String())
		f.again = f.seen.counts()
	}
}

// finalError is the last line of a tail that the server ended.
type finalError struct {
	Code int
	Msg  string
}

func (e *finalError) Error() string { return fmt.Sprintf("%s (code %d)", e.Msg, e.Code) }

// followAgain reports whether a new connection may succeed.
func followAgain(err error) bool {
	if final := (*finalError)(nil); errors.As(err, &final) {
		switch final.Code {
		case 6001, 5000, 5003, 4008, 4009, 4010:
			return true
		}
		return false
	}
	if answer := (*client.Error)(nil); errors.As(err, &answer) {
		return answer.Status >= 500 || answer.Status == http.StatusTooManyRequests
	}
	return true
}

// errSilence ends a connection on which the server stopped sending heartbeats, which are due every
// 10 s.
var errSilence = errors.New("the server sent nothing for a while, not even a heartbeat")

// follow follows the table over one connection. It never returns nil.
func (f *follower) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := f.client.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/tail", Query: f.query})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f.heard = f.now()
	dead := time.AfterFunc(f.silence, func() { cancel(errSilence) })
	defer dead.Stop()
	err = eachLine(resp.Body, func(line []byte) error {
		f.heard = f.now()
		dead.Reset(f.silence)
		if len(line) == 0 {
			f.again = nil // the following rows are new
			return nil
		}
		if final := parseFinal(line); final != nil {
			return final
		}
		if n := f.again[string(line)]; n > 0 {
			f.again[string(line)] = n - 1
			return nil
		}
		f.seen.add(line)
		return f.out.row(line)
	}, f.out.flush)
	if ferr := f.out.flush(); err == nil {
		err = ferr
	}
	if errors.Is(context.Cause(ctx), errSilence) {
		return errSilence
	}
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the server ended the connection")
	}
	return err
}

// parseFinal returns the error in the last line of a tail, or nil if the line is a row. Rows with columns error and
// code are not mistaken for it: they have other columns too, or their code is not an error code.
func parseFinal(line []byte) error {
	if len(line) < 10 || string(line[:9]) != `{"error":` {
		return nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil || len(fields) != 2 {
		return nil
	}
	e := &finalError{}
	if json.Unmarshal(fields["error"], &e.Msg) != nil || json.Unmarshal(fields["code"], &e.Code) != nil || e.Code < 1000 {
		return nil
	}
	return e
}

// recent remembers the last printed rows.
type recent struct {
	lines []string // a ring
	next  int
}

// The maximum number and length of the remembered rows.
const (
	maxRecent     = 20_000
	maxRecentLine = 8 << 10
)

func (r *recent) add(line []byte) {
	if len(line) > maxRecentLine {
		return
	}
	if len(r.lines) < maxRecent {
		r.lines = append(r.lines, string(line))
		return
	}
	r.lines[r.next] = string(line)
	r.next = (r.next + 1) % maxRecent
}

func (r *recent) counts() map[string]int {
	m := make(map[string]int, len(r.lines))
	for _, line := range r.lines {
		m[line]++
	}
	return m
}
