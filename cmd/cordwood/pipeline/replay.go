package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// replayOptions are the flags of the command.
type replayOptions struct {
	pipeline, table, db, kind string
	since, until              string
	to, toDB, toTable         string
	onReject                  string
	limit                     int
	count, list, again        bool
}

func newReplayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay-rejects",
		Short: "Send records that were dropped and kept through a pipeline again",
		Long: `Records that skip_error drops are kept in svc_private.rejects if the server runs with
--on-reject store, or the request says on_reject=store. This sends them again, to the
table that they were meant for and through the newest version of their pipeline, or
through another one (--to). Records that fail again are counted, and not kept twice; the exit
status is 1 if there are any.

A record is stored once however often the command runs, and however many of them run at once:
what is stored is noted in svc_private.replayed, and left out from then on, unless --again sends
it once more. A command that was killed may be run again within 15 minutes; later, or with
another pipeline, up to 64 records that were under way when it was killed may be stored
again. --since with the time that the
last line names only saves reading old records; it goes back an hour, because a request that
took long is kept with the time at which it began.`,
		Example: `  cordwood pipeline replay-rejects --pipeline nginx --count
  cordwood pipeline replay-rejects --pipeline nginx --list
  cordwood pipeline replay-rejects --pipeline nginx --since '2024-07-04 08:00:00'
  cordwood pipeline replay-rejects --table access --to nginx2`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runReplay(cmd, &o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.pipeline, "pipeline", "", "only records that this `PIPELINE` rejected")
	f.StringVar(&o.db, "db", "", "only records meant for this `DATABASE`")
	f.StringVar(&o.table, "table", "", "only records meant for this `TABLE`")
	f.StringVar(&o.kind, "kind", "", "only records that failed at this `STEP`: "+strings.Join(rejectKinds(), ", "))
	f.StringVar(&o.since, "since", "", "only records rejected at this `TIME` or later, in UTC")
	f.StringVar(&o.until, "until", "", "only records rejected before this `TIME`, in UTC")
	f.IntVar(&o.limit, "limit", 0, "`NUMBER` of records at most, the oldest first; 0: all")
	f.StringVar(&o.to, "to", "", "`PIPELINE` to send them through; that which rejected them by default")
	f.StringVar(&o.toTable, "to-table", "", "`TABLE` to send them to; that which they were meant for by default")
	f.StringVar(&o.onReject, "on-reject", "drop", "`WHAT` becomes of those that fail again: "+
		"drop, as they are kept already, or store, with the new reason in place of the old")
	f.BoolVar(&o.count, "count", false,
		"only count them, by pipeline, table and reason, those that were sent again included")
	f.BoolVar(&o.list, "list", false,
		"only print those that were not sent again with success, as NDJSON: time, table, pipeline, error and record")
	f.BoolVar(&o.again, "again", false, "send records too that an earlier run stored")
	cmd.MarkFlagsMutuallyExclusive("count", "list")
	return cmd
}

// rejectKinds returns the values of the column kind of svc_private.rejects.
func rejectKinds() []string {
	var names []string
	for _, kind := range pipeline.SkipKinds() {
		names = append(names, kind.String())
	}
	return names
}

// where returns the condition of the flags.
func (o *replayOptions) where() (string, error) {
	if o.kind != "" && !slices.Contains(rejectKinds(), o.kind) {
		return "", cli.WrongUsage(fmt.Errorf("--kind %s: use %s", o.kind, strings.Join(rejectKinds(), ", ")))
	}
	conditions := []string{"true"}
	for _, c := range []struct{ column, value string }{
		{"pipeline", o.pipeline}, {"table_schema", o.db}, {"table_name", o.table}, {"kind", o.kind},
	} {
		if c.value != "" {
			conditions = append(conditions, c.column+" = "+cli.Literal(c.value))
		}
	}
	for _, c := range []struct{ flag, op, value string }{{"since", ">=", o.since}, {"until", "<", o.until}} {
		if c.value == "" {
			continue
		}
		at, err := parseMoment(c.value)
		if err != nil {
			return "", cli.WrongUsage(fmt.Errorf("--%s: %w", c.flag, err))
		}
		conditions = append(conditions,
			fmt.Sprintf("rejected_at %s TIMESTAMP_NS '%s'", c.op, at.Format("2006-01-02 15:04:05.000000000")))
	}
	return strings.Join(conditions, " AND "), nil
}

// parseMoment reads a time for people: RFC 3339, with a space or a T, UTC without a zone.
func parseMoment(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"2006-01-02",
	} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write it like 2024-07-04 08:31:00", text)
}

func runReplay(cmd *cobra.Command, o *replayOptions) error {
	if o.onReject != "drop" && o.onReject != "store" {
		return cli.WrongUsage(fmt.Errorf("--on-reject %s: use drop or store", o.onReject))
	}
	if o.limit < 0 {
		return cli.WrongUsage(fmt.Errorf("--limit %d: want 0 or more", o.limit))
	}
	if err := o.names(cmd); err != nil {
		return err
	}
	where, err := o.where()
	if err != nil {
		return err
	}
	a, err := newAPI(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.count {
		return a.countRejects(ctx, cmd, o, where)
	}
	job := &replay{
		api:     a,
		options: o,
		begun:   map[destination]bool{},
		seen:    map[[sha256.Size]byte]int{},
	}
	out := cmd.OutOrStdout()
	if o.list {
		job.list = out
	}
	err = job.run(ctx, where)
	if err == nil && job.last.IsZero() {
		a.hintAtNames(ctx, cmd, o)
	}
	if o.list {
		return err
	}
	for _, reason := range job.reasons {
		fmt.Fprintf(cmd.ErrOrStderr(), "failed again: %s\n", reason)
	}
	fmt.Fprintf(out, "%s sent again: %s written, %d failed again", cli.Count(job.records, "record"),
		cli.Count(job.written, "row"), job.skipped)
	if job.before > 0 {
		fmt.Fprintf(out, "; %d were stored by an earlier run", job.before)
	}
	if err == nil && !job.last.IsZero() {
		fmt.Fprintf(out, "; next time: --since '%s'", job.last.Add(-replayOverlap).Format("2006-01-02 15:04:05"))
	}
	fmt.Fprintln(out)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: run the command again within 15 minutes, and nothing is stored twice")
	case err == nil && job.skipped > 0:
		return cli.ExitWith(cli.ExitFailed)
	}
	return err
}

// replayOverlap is how far before the last record the next run is told to begin: the time of a
// record is the time at which its request began, and it is there when the request ends.
const replayOverlap = time.Hour

// names reads the names of tables in the flags.
func (o *replayOptions) names(cmd *cobra.Command) (err error) {
	if o.table != "" {
		if o.db, o.table, err = cli.TableName(cmd, o.db, o.table); err != nil {
			return err
		}
	}
	if o.toTable != "" {
		if o.toDB, o.toTable, err = schema.ParseTableName(o.toTable); err != nil {
			return cli.WrongUsage(err)
		}
	}
	return nil
}

// selectRejects runs a query of the rejects. It returns nil if there is no table of them, and so none is kept.
func (a *api) selectRejects(ctx context.Context, sql, format string) (io.ReadCloser, error) {
	resp, err := a.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: url.Values{"format": {format}}, Body: []byte(sql),
		Header: http.Header{"Content-Type": {"application/sql"}, "X-Svc-Timeout": {"1h"}}, Reads: true,
	})
	const tableNotFound = 4001
	if e := (*client.Error)(nil); errors.As(err, &e) && e.Code == tableNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (a *api) countRejects(ctx context.Context, cmd *cobra.Command, o *replayOptions, where string) error {
	out := cmd.OutOrStdout()
	rows, err := a.selectRejects(ctx, "SELECT pipeline, table_schema AS db, table_name, kind, count(*) AS records, "+
		"min(rejected_at) AS first, max(rejected_at) AS last, any_value(error) AS example"+
		" FROM svc_private.rejects WHERE "+where+" GROUP BY ALL ORDER BY records DESC", "table")
	if err != nil {
		return err
	}
	if rows == nil {
		_, err = fmt.Fprintln(out, "no rejected records are kept")
		return err
	}
	defer rows.Close()
	if _, err = io.Copy(out, rows); err == nil {
		a.hintAtNames(ctx, cmd, o)
	}
	return err
}

// maxRejectNames bounds the names that hintAtNames asks for.
const maxRejectNames = 1000

// hintAtNames says that no rejected record has the table, database or pipeline that the flags name: the name may
// be mistyped.
func (a *api) hintAtNames(ctx context.Context, cmd *cobra.Command, o *replayOptions) {
	for _, c := range []struct{ flag, column, value string }{
		{"db", "table_schema", o.db}, {"table", "table_name", o.table}, {"pipeline", "pipeline", o.pipeline},
	} {
		if c.value == "" {
			continue
		}
		names, err := a.rejectNames(ctx, c.column)
		if err != nil || slices.Contains(names, c.value) || len(names) >= maxRejectNames {
			continue // the hint is a help, not what was asked for
		}
		hint := fmt.Sprintf("hint: --%s %s: no rejected record of it is kept", c.flag, cli.ShellWord(c.value))
		switch like := nearest.DidYouMean(": ", c.value, names); {
		case like != "":
			hint += like
		case len(names) > 0:
			hint += "; there are " + strings.Join(names[:min(len(names), maxHinted)], ", ")
		default:
			hint += ", nor any other: servers keep them with --on-reject store, or if a request says on_reject=store"
		}
		fmt.Fprintln(cmd.ErrOrStderr(), hint)
	}
}

// maxHinted is how many names a hint lists.
const maxHinted = 10

// rejectNames returns what a column of svc_private.rejects has.
func (a *api) rejectNames(ctx context.Context, column string) ([]string, error) {
	rows, err := a.selectRejects(ctx, fmt.Sprintf("SELECT DISTINCT %s AS n FROM svc_private.rejects ORDER BY 1 LIMIT %d",
		column, maxRejectNames), "ndjson")
	if err != nil || rows == nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	err = cli.EachLine(rows, func(line []byte) error {
		var row struct {
			N string `json:"n"`
		}
		err := json.Unmarshal(line, &row)
		names = append(names, row.N)
		return err
	})
	return names, err
}
