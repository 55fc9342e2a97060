package pipeline

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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/replay"
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
		Short: "Send stored rejected records through a pipeline again",
		Long: `Send rejected records again to the tables that they were meant for, through the newest version of
their pipeline or through another one (--to). Records that skip_error drops are stored in
svc_private.rejects if the server runs with --on-reject store, or if the request has
on_reject=store. Records that fail again are counted, but not stored twice; the exit status is 1 if
there are any.

A record is stored once, however often the command runs, and however many run at once: stored
records are listed in svc_private.replayed and left out from then on, unless --again sends them
again. A killed command may be run again within 15 minutes. Later, or with another pipeline, up to
64 records that were being sent when it was killed may be stored twice. --since with the time in the
last line of output only avoids reading old records. That time is an hour earlier than the last
record, because a rejected record has the time at which its request started.`,
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
	f.StringVar(&o.kind, "kind", "", "only records that failed at this `STEP`: "+strings.Join(replay.Kinds(), ", "))
	f.StringVar(&o.since, "since", "", "only records rejected at this `TIME` or later, in UTC")
	f.StringVar(&o.until, "until", "", "only records rejected before this `TIME`, in UTC")
	f.IntVar(&o.limit, "limit", 0, "maximum `NUMBER` of records, the oldest first; 0 means all")
	f.StringVar(&o.to, "to", "", "`PIPELINE` to send them through; by default the one that rejected them")
	f.StringVar(&o.toTable, "to-table", "", "`TABLE` to send them to; by default the one that they were meant for")
	f.StringVar(&o.onReject, "on-reject", "drop", "`WHAT` to do with records that fail again: "+
		"drop, as they are stored already, or store, with the new reason instead of the old one")
	f.BoolVar(&o.count, "count", false,
		"only count them, by pipeline, table and reason, including those that were sent again")
	f.BoolVar(&o.list, "list", false,
		"only print those that were not sent again successfully, as NDJSON: time, table, pipeline, error and record")
	f.BoolVar(&o.again, "again", false, "also send records that an earlier run stored")
	cmd.MarkFlagsMutuallyExclusive("count", "list")
	return cmd
}

// request returns the flags as a request to the server.
func (o *replayOptions) request() *replay.Request {
	return &replay.Request{
		Pipeline: o.pipeline, DB: o.db, Table: o.table, Kind: o.kind, Since: o.since, Until: o.until, Limit: o.limit,
		ToPipeline: o.to, ToDB: o.toDB, ToTable: o.toTable, OnReject: o.onReject, Again: o.again,
	}
}

// check returns an error for contradictory flags.
func (o *replayOptions) check() error {
	for _, c := range []struct {
		flag  string
		wrong bool
		want  string
	}{
		{"--on-reject " + o.onReject, o.onReject != "drop" && o.onReject != "store", "use drop or store"},
		{fmt.Sprintf("--limit %d", o.limit), o.limit < 0, "want 0 or more"},
		{
			"--kind " + o.kind, o.kind != "" && !slices.Contains(replay.Kinds(), o.kind),
			"use " + strings.Join(replay.Kinds(), ", "),
		},
	} {
		if c.wrong {
			return cli.WrongUsage(fmt.Errorf("%s: %s", c.flag, c.want))
		}
	}
	for _, c := range []struct{ flag, value string }{{"--since", o.since}, {"--until", o.until}} {
		if c.value == "" {
			continue
		}
		if _, err := replay.ParseTime(c.value); err != nil {
			return cli.WrongUsage(fmt.Errorf("%s: %w", c.flag, err))
		}
	}
	return nil
}

func runReplay(cmd *cobra.Command, o *replayOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.names(cmd); err != nil {
		return err
	}
	req := o.request()
	where, err := req.Where()
	if err != nil {
		return cli.WrongUsage(err)
	}
	a, err := newAPI(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case o.count:
		return a.countRejects(ctx, cmd, o, where)
	case o.list:
		return a.listRejects(ctx, cmd, where, o)
	}
	end, err := a.replay(ctx, req)
	for _, reason := range end.Reasons {
		fmt.Fprintf(cmd.ErrOrStderr(), "failed again: %s (%s)\n", reason.Reason, cli.Count(reason.Count, "record"))
	}
	if err == nil && end.Until == nil {
		a.hintAtNames(ctx, cmd, o)
	}
	printReplayed(cmd.OutOrStdout(), end, err == nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: run the command again within 15 minutes, and nothing is stored twice")
	case err == nil && end.Failed > 0:
		return cli.ExitWith(cli.ExitFailed)
	}
	return err
}

// printReplayed prints a line about the records that were sent. If all were, the line says where the next run starts.
func printReplayed(w io.Writer, end replay.End, all bool) {
	fmt.Fprintf(w, "%s sent again: %s written, %d failed again", cli.Count(end.Stored+end.Failed, "record"),
		cli.Count(end.Rows, "row"), end.Failed)
	if end.Before > 0 {
		fmt.Fprintf(w, "; %d were stored by an earlier run", end.Before)
	}
	if end.Forbidden > 0 {
		fmt.Fprintf(w, "; %d were left out, because their senders may not store them (--kind permission sends them with "+
			"your rights)", end.Forbidden)
	}
	if all && end.Until != nil {
		fmt.Fprintf(w, "; next time: --since '%s'", end.Until.UTC().Add(-replayOverlap).Format("2006-01-02 15:04:05"))
	}
	fmt.Fprintln(w)
}

// replay requests that the server sends records again. The result is valid even with an error.
func (a *api) replay(ctx context.Context, req *replay.Request) (end replay.End, err error) {
	body, err := json.Marshal(req)
	if err != nil {
		return end, err
	}
	// The request may be repeated: stored records are left out then.
	resp, err := a.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/rejects/replay", Body: body, Reads: true,
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		return end, err
	}
	defer resp.Body.Close()
	err = cli.EachLine(resp.Body, func(line []byte) error {
		end = replay.End{} // each line has the complete state
		return json.Unmarshal(line, &end)
	})
	switch {
	case err != nil:
		return end, fmt.Errorf("reading the progress of the replay: %w", err)
	case end.Error != "":
		return end, errors.New(end.Error)
	case !end.End:
		return end, errors.New("the answer was cut off: run the command again within 15 minutes, and nothing " +
			"is stored twice")
	}
	return end, nil
}

// listRejects prints the records that a replay did not store.
func (a *api) listRejects(ctx context.Context, cmd *cobra.Command, where string, o *replayOptions) error {
	done := map[string]bool{}
	if !o.again {
		err := a.eachRow(ctx, "SELECT id FROM svc_private.replayed", func(line []byte) error {
			var row struct{ ID string }
			err := json.Unmarshal(line, &row)
			done[row.ID] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	var ids replay.IDs
	n := 0
	err := a.eachRow(ctx, replay.Select(where), func(line []byte) error {
		var r replay.Reject
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading a kept record: %w", err)
		}
		if done[ids.Of(&r)] || o.limit > 0 && n == o.limit {
			return nil
		}
		n++
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", line)
		return err
	})
	if err == nil && ids.Last().IsZero() {
		a.hintAtNames(ctx, cmd, o)
	}
	return err
}

// eachRow calls f with each row of a query of the rejects, as JSON.
func (a *api) eachRow(ctx context.Context, sql string, f func(line []byte) error) error {
	rows, err := a.selectRejects(ctx, sql, "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	return cli.EachLine(rows, f)
}

// replayOverlap is how far before the last record the next run should start: the time of a record
// is the start of its request, and the record is visible when the request ends.
const replayOverlap = time.Hour

// names parses the names of tables in the flags.
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

// selectRejects queries the rejects. It returns nil if their table does not exist, so that none are
// stored.
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
		_, err = fmt.Fprintln(out, "no rejected records are stored")
		return err
	}
	defer rows.Close()
	if _, err = io.Copy(out, rows); err == nil {
		a.hintAtNames(ctx, cmd, o)
	}
	return err
}

// maxRejectNames is the maximum number of names that hintAtNames requests.
const maxRejectNames = 1000

// hintAtNames prints a hint if no rejected record has the table, database or pipeline of the flags. The name may be
// mistyped.
func (a *api) hintAtNames(ctx context.Context, cmd *cobra.Command, o *replayOptions) {
	for _, c := range []struct{ flag, column, value string }{
		{"db", "table_schema", o.db}, {"table", "table_name", o.table}, {"pipeline", "pipeline", o.pipeline},
	} {
		if c.value == "" {
			continue
		}
		names, err := a.rejectNames(ctx, c.column)
		if err != nil || slices.Contains(names, c.value) || len(names) >= maxRejectNames {
			continue // the hint is optional
		}
		hint := fmt.Sprintf("hint: --%s %s: no rejected record of it is stored", c.flag, cli.ShellWord(c.value))
		switch like := nearest.DidYouMean(": ", c.value, names); {
		case like != "":
			hint += like
		case len(names) > 0:
			hint += "; there are " + strings.Join(names[:min(len(names), maxHinted)], ", ")
			if c.flag == "pipeline" { // the flag filters records, and is not their destination
				hint += fmt.Sprintf("; to send records of those through %[1]s, use --to %[1]s", cli.ShellWord(c.value))
			}
		default:
			hint += ", nor of any other: servers store rejects with --on-reject store, or if a request sets on_reject=store"
		}
		fmt.Fprintln(cmd.ErrOrStderr(), hint)
	}
}

// maxHinted is the maximum number of names in a hint.
const maxHinted = 10

// rejectNames returns the distinct values of a column of svc_private.rejects.
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
