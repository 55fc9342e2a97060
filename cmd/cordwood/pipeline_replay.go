package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/router/pipeline"
)

// replayOptions are the flags of the command.
type replayOptions struct {
	pipeline, table, db, kind string
	since, until              string
	to, toTable               string
	onReject                  string
	limit                     int
	count                     bool
}

func newPipelineReplayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay-rejects",
		Short: "Send records that were dropped and kept through a pipeline again",
		Long: `Records that skip_error drops are kept in svc_private.rejects if the server runs with
--on-reject store, or the request says on_reject=store. This sends them again, to the
table that they were meant for and through the newest version of their pipeline, or
through another one (--to). Records that fail again are counted, and not kept twice.

The kept records stay until their ttl, and are sent again the next time: use --since with
the time that the last line names.`,
		Example: `  cordwood pipeline replay-rejects --pipeline nginx --count
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
	f.StringVar(&o.onReject, "on-reject", "drop", "`WHAT` becomes of those that fail again: drop, as they are kept already, or store")
	f.BoolVar(&o.count, "count", false, "only count them, by pipeline, table and reason")
	return cmd
}

// rejectKinds are the values of the column kind of svc_private.rejects.
func rejectKinds() []string {
	var names []string
	for _, kind := range pipeline.SkipKinds() {
		names = append(names, kind.String())
	}
	return names
}

// where is the condition of the flags.
func (o *replayOptions) where() (string, error) {
	if o.kind != "" && !slices.Contains(rejectKinds(), o.kind) {
		return "", usageError{fmt.Errorf("--kind %s: use %s", o.kind, strings.Join(rejectKinds(), ", "))}
	}
	conditions := []string{"true"}
	for _, c := range []struct{ column, value string }{
		{"pipeline", o.pipeline}, {"table_schema", o.db}, {"table_name", o.table}, {"kind", o.kind},
	} {
		if c.value != "" {
			conditions = append(conditions, c.column+" = "+sqlText(c.value))
		}
	}
	for _, c := range []struct{ flag, op, value string }{{"since", ">=", o.since}, {"until", "<", o.until}} {
		if c.value == "" {
			continue
		}
		at, err := parseMoment(c.value)
		if err != nil {
			return "", usageError{fmt.Errorf("--%s: %w", c.flag, err)}
		}
		conditions = append(conditions, fmt.Sprintf("rejected_at %s TIMESTAMP_NS '%s'", c.op, at.Format("2006-01-02 15:04:05.000000000")))
	}
	return strings.Join(conditions, " AND "), nil
}

// parseMoment reads a time for people: RFC 3339, with a space or a T, UTC without a zone.
func parseMoment(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write it like 2024-07-04 08:31:00", text)
}

func sqlText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func runReplay(cmd *cobra.Command, o *replayOptions) error {
	if o.onReject != "drop" && o.onReject != "store" {
		return usageError{fmt.Errorf("--on-reject %s: use drop or store", o.onReject)}
	}
	if o.limit < 0 {
		return usageError{fmt.Errorf("--limit %d: want 0 or more", o.limit)}
	}
	where, err := o.where()
	if err != nil {
		return err
	}
	a, err := newPipelineAPI(cmd)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.count {
		return a.countRejects(ctx, cmd.OutOrStdout(), where)
	}
	job := &replay{api: a, options: o, reasons: map[string]int{}}
	err = job.run(ctx, where)
	out := cmd.OutOrStdout()
	for _, reason := range job.order {
		fmt.Fprintf(cmd.ErrOrStderr(), "failed again, %d times or more: %s\n", job.reasons[reason], reason)
	}
	fmt.Fprintf(out, "%d records sent again: %d rows written, %d failed again", job.records, job.written, job.skipped)
	if job.records > 0 {
		fmt.Fprintf(out, "; next time: --since '%s'", job.last.Add(1).Format("2006-01-02 15:04:05.000000000"))
	}
	fmt.Fprintln(out)
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: what the last line counts is stored, the last batch may be too")
	}
	return err
}

// select runs a query of the rejects. That there is no such table means that there are none.
func (a *pipelineAPI) selectRejects(ctx context.Context, sql, format string) (io.ReadCloser, error) {
	resp, err := a.client.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: url.Values{"format": {format}}, Body: []byte(sql),
		Header: http.Header{"Content-Type": {"application/sql"}, "X-Svc-Timeout": {"1h"}},
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

func (a *pipelineAPI) countRejects(ctx context.Context, out io.Writer, where string) error {
	rows, err := a.selectRejects(ctx, "SELECT pipeline, table_schema AS db, table_name, kind, count(*) AS records, min(rejected_at) AS first, max(rejected_at) AS last, any_value(error) AS example"+
		" FROM svc_private.rejects WHERE "+where+" GROUP BY ALL ORDER BY records DESC", "table")
	if err != nil {
		return err
	}
	if rows == nil {
		_, err = fmt.Fprintln(out, "no rejected records are kept")
		return err
	}
	defer rows.Close()
	_, err = io.Copy(out, rows)
	return err
}

// rejected is a kept record.
type rejected struct {
	At        time.Time `json:"rejected_at"`
	DB        string    `json:"table_schema"`
	Table     string    `json:"table_name"`
	Pipeline  string    `json:"pipeline"`
	TimeIndex *string   `json:"custom_time_index"`
	Format    string    `json:"format"`
	Record    string    `json:"record"`
}

// destination is what records of one request must have in common.
type destination struct{ db, table, pipeline, timeIndex, format string }

// Batches end at so many records or bytes.
const (
	replayRecords = 5000
	replayBytes   = 4 << 20
)

// replay sends kept records again.
type replay struct {
	api     *pipelineAPI
	options *replayOptions

	to      destination
	body    bytes.Buffer
	pending int

	last                      time.Time // of the records that were sent
	seen                      time.Time // of those in the batch too
	records, written, skipped int64
	reasons                   map[string]int
	order                     []string
}

func (j *replay) run(ctx context.Context, where string) error {
	sql := "SELECT rejected_at, table_schema, table_name, pipeline, custom_time_index, format, record FROM svc_private.rejects WHERE " + where + " ORDER BY rejected_at"
	if j.options.limit > 0 {
		sql += " LIMIT " + strconv.Itoa(j.options.limit)
	}
	rows, err := j.api.selectRejects(ctx, sql, "ndjson")
	if err != nil || rows == nil {
		return err
	}
	defer rows.Close()
	err = eachLine(rows, func(line []byte) error {
		var r rejected
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("reading a kept record: %w", err)
		}
		return j.add(ctx, &r)
	})
	if err != nil {
		return err
	}
	return j.send(ctx)
}

// add puts a record into the batch for its destination.
func (j *replay) add(ctx context.Context, r *rejected) error {
	to := destination{db: r.DB, table: r.Table, pipeline: r.Pipeline, format: r.Format}
	if r.TimeIndex != nil {
		to.timeIndex = *r.TimeIndex
	}
	if j.options.to != "" {
		to.pipeline = j.options.to
	}
	if j.options.toTable != "" {
		to.table = j.options.toTable
	}
	if to != j.to || j.pending >= replayRecords || j.body.Len() >= replayBytes {
		if err := j.send(ctx); err != nil {
			return err
		}
		j.to = to
	}
	// Every record goes on a line of its own, so that a malformed one spoils no other.
	if r.Format == "json" && json.Valid([]byte(r.Record)) {
		if err := json.Compact(&j.body, []byte(r.Record)); err != nil {
			return fmt.Errorf("reading a kept record: %w", err)
		}
	} else {
		j.body.WriteString(strings.NewReplacer("\r", " ", "\n", " ").Replace(r.Record))
	}
	j.body.WriteByte('\n')
	j.pending, j.seen = j.pending+1, r.At
	return nil
}

// send sends the batch.
func (j *replay) send(ctx context.Context) error {
	if j.pending == 0 {
		return nil
	}
	contentType := contentTypes[formatNDJSON]
	if j.to.format == "text" {
		contentType = contentTypes[formatText]
	}
	query := url.Values{
		"db": {j.to.db}, "table": {j.to.table}, "pipeline_name": {j.to.pipeline},
		"skip_error": {"true"}, "on_reject": {j.options.onReject},
	}
	if j.to.timeIndex != "" {
		query.Set("custom_time_index", j.to.timeIndex)
	}
	var answer struct {
		ingested
		Skipped struct {
			Count   int64 `json:"count"`
			Reasons []struct {
				Error string `json:"error"`
			} `json:"reasons"`
		} `json:"skipped"`
	}
	_, err := j.api.call(ctx, client.Request{
		Method: http.MethodPost, Path: "/v1/ingest", Query: query,
		// With a key the client may send the batch again if it is unknown whether it was stored.
		Header: http.Header{"Content-Type": {contentType}, "Idempotency-Key": {"replay-" + rand.Text()}}, Body: j.body.Bytes(),
	}, &answer)
	if err != nil {
		return fmt.Errorf("to table %s through %s: %w", j.to.table, j.to.pipeline, err)
	}
	j.records, j.last = j.records+int64(j.pending), j.seen.UTC()
	j.skipped += answer.Skipped.Count
	for _, o := range answer.Output {
		j.written += o.AffectedRows
	}
	for _, r := range answer.Skipped.Reasons {
		if j.reasons[r.Error] == 0 {
			if len(j.order) == maxReasons {
				continue
			}
			j.order = append(j.order, r.Error)
		}
		j.reasons[r.Error]++
	}
	j.body.Reset()
	j.pending = 0
	return nil
}
