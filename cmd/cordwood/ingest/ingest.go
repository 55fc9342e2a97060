// Package ingest has the subcommand that sends files to a server.
//
// A job (job.go) reads files, splits them into batches of whole records (split.go; stream.go for
// input that pauses), and sends several batches at a time. The commands for pipelines use the same
// code to read files.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
)

// ingestOptions are the flags of the command.
type ingestOptions struct {
	db, table       string
	pipeline        string
	version         string
	format          string
	batch           string
	parallel        int
	flushAfter      time.Duration
	forever         bool
	skipError       bool
	onReject        string
	timeout         string
	customTimeIndex string
	hints           []string
	force           bool
}

// NewCommand returns the command ingest.
func NewCommand() *cobra.Command {
	var o ingestOptions
	cmd := &cobra.Command{
		Use:   "ingest FILE…",
		Short: "Send files of logs to a server",
		Long: `Send files, or standard input for "-", to a server. Files may be compressed with gzip or zstd. They
are sent in batches, several at a time, that end at line ends, or between the values of a JSON file.
Rows of one file may therefore be stored in another order.

If the server is too busy for a batch, the batch is sent again, up to 10 times, or until --timeout.
If the server refuses a batch, the command fails, unless --skip-error drops the records that fail.
The command also fails if a file cannot be read to its end. Batches that were sent before stay
stored, and the last line counts their rows. If --skip-error drops all records, the exit status is
1. If a file cannot be opened, nothing is sent. Each batch has an idempotency key: a batch without
an answer is sent again, and is not stored twice.

A pipe may pause: a batch is sent when its first record has waited for --flush-after. With
--forever, the command waits without limit for a server that is down or busy. The pipe then waits
too.`,
		Example: `  cordwood ingest --table app app.ndjson
  cordwood ingest --table access --pipeline nginx /var/log/nginx/access.log.*.gz
  cordwood ingest --table audit --hint ttl=90d --hint on_type_conflict=aside audit.ndjson
  journalctl -o json --follow | cordwood ingest --forever --table journal --custom-time-index ` +
			`'__REALTIME_TIMESTAMP;epoch;us' -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.WrongUsage(fmt.Errorf("give the files to send, or - for standard input, as in: "+
					"some-program | cordwood ingest --table %s -", cmp.Or(o.table, "TABLE")))
			}
			return runIngest(cmd, args, &o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.db, "db", "",
		"`DATABASE` to write to; the default database of the user or token by default")
	f.StringVar(&o.table, "table", "", "`TABLE` to write to, or DATABASE.TABLE; it is created if it does "+
		"not exist; required, except with a token for one table")
	f.StringVar(&o.pipeline, "pipeline", "",
		"`PIPELINE` that transforms the records; by default the pipeline of a token for one pipeline, or "+
			"svc_identity, which stores them unchanged")
	f.StringVar(&o.version, "pipeline-version", "", "`VERSION` of the pipeline; the latest by default")
	f.StringVar(&o.format, "format", "auto", "`FORMAT` of the files: auto, json, ndjson or text")
	f.StringVar(&o.batch, "batch", "4MiB", "`SIZE` of a batch; longer lines are sent alone")
	f.IntVar(&o.parallel, "parallel", min(4, runtime.GOMAXPROCS(0)), "`NUMBER` of batches to send at a time")
	f.DurationVar(&o.flushAfter, "flush-after", time.Second,
		"send records from a pipe after `DURATION`, even in a batch that is not full; 0 waits for full batches")
	f.BoolVar(&o.forever, "forever", false, "retry without limit while the server is down or busy")
	f.StringVar(&o.timeout, "timeout", "",
		"time limit for all tries of a batch, as a `DURATION` such as 5m; by default it is tried 10 times")
	f.BoolVar(&o.skipError, "skip-error", false, "drop records that fail instead of refusing their batch")
	f.StringVar(&o.onReject, "on-reject", "", "`WHAT` to do with records that --skip-error drops: "+
		"drop, or store in svc_private.rejects; the server's setting by default")
	f.BoolVar(&o.force, "force", false,
		"send files even if their content does not match their names (.gz, .zst), or has NUL bytes, as binary files do")
	f.StringVar(&o.customTimeIndex, "custom-time-index", "",
		"`FIELD;KIND;CONFIG` of the time of each record, such as ts;epoch;ms (svc_identity only)")
	f.StringArrayVar(&o.hints, "hint", nil, "option `KEY=VALUE` of a table that the records create, such as ttl=7d, "+
		"append_mode=false or on_type_conflict=aside; may be repeated")
	return cmd
}

// stopGrace is the time for sending the remaining records of a pipe after a signal.
const stopGrace = 10 * time.Second

// job returns the job that the flags describe, or the error of the flags.
func (o *ingestOptions) job(cmd *cobra.Command) (*ingestJob, error) {
	var err error
	if o.table != "" {
		if o.db, o.table, err = cli.TableName(cmd, o.db, o.table); err != nil {
			return nil, err
		}
	} else if !cli.SendsToken(cmd) {
		return nil, cli.WrongUsage(errNoTable)
	}
	format, err := ParseInputFormat(o.format)
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	batch, err := cli.ParseSize(o.batch)
	if err != nil {
		return nil, cli.WrongUsage(fmt.Errorf("--batch: %w", err))
	}
	hints, err := hintList(o.hints)
	if err != nil {
		return nil, cli.WrongUsage(err)
	}
	timeout, err := cli.ParseDuration("timeout", o.timeout)
	if err != nil {
		return nil, err
	}
	if timeout > 0 && o.forever {
		return nil, cli.WrongUsage(errors.New("--timeout and --forever exclude each other: give one of them"))
	}
	if err := o.checkRanges(batch); err != nil {
		return nil, cli.WrongUsage(err)
	}
	return &ingestJob{
		hints: hints, format: format, batch: int(batch), parallel: o.parallel,
		timeout: timeout, after: o.flushAfter, stdin: cmd.InOrStdin(), force: o.force,
	}, nil
}

var errNoTable = errors.New("give the table to write to: --table TABLE")

// choose sets the table and pipeline that no flag names, if the token has one of each.
func (o *ingestOptions) choose(cmd *cobra.Command, c *client.Client) error {
	var d cli.Defaults
	if cli.SendsToken(cmd) && (o.table == "" || o.pipeline == "") {
		var err error
		if d, err = cli.AskDefaults(cmd.Context(), c); err != nil {
			return err
		}
	}
	switch {
	case o.table == "" && d.Table == "":
		return cli.WrongUsage(fmt.Errorf("%w: the token is not for one table; 'cordwood whoami' shows its tables",
			errNoTable))
	case o.table == "" && o.db != "" && o.db != d.Database:
		return cli.WrongUsage(fmt.Errorf("%w: the token is for the table %s, and --db is %s", errNoTable,
			schema.FormatTableName(d.Database, d.Table), o.db))
	}
	o.table = cmp.Or(o.table, d.Table)
	o.pipeline = cmp.Or(o.pipeline, d.Pipeline, "svc_identity")
	return nil
}

// checkRanges returns an error for a flag with an impossible value.
func (o *ingestOptions) checkRanges(batch int64) error {
	switch {
	case batch < 1<<10 || batch > maxRecord:
		return fmt.Errorf("--batch %s: it must be 1KiB to %dMiB", o.batch, maxRecord>>20)
	case o.flushAfter < 0 || o.flushAfter > time.Hour:
		return fmt.Errorf("--flush-after %v: it must be 0 to 1h", o.flushAfter)
	case o.onReject != "" && o.onReject != "drop" && o.onReject != "store":
		return fmt.Errorf("--on-reject %s: use drop or store", o.onReject)
	case o.parallel < 1 || o.parallel > 64:
		return errors.New("--parallel: it must be 1 to 64")
	}
	return nil
}

func runIngest(cmd *cobra.Command, files []string, o *ingestOptions) error {
	job, err := o.job(cmd)
	if err != nil {
		return err
	}
	signalled, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	progress := newProgress(cmd.ErrOrStderr(), totalSize(files))
	job.progress, job.stop = progress, signalled.Done()
	if job.client, err = cli.NewClient(cmd, progress.note, func(c *client.Config) { c.Forever = o.forever }); err != nil {
		return err
	}
	if err := checkFiles(files); err != nil {
		return err
	}
	if err := o.choose(cmd, job.client); err != nil {
		return err
	}
	job.query = o.query()
	defer context.AfterFunc(signalled, func() {
		stop() // a second signal ends the program at once
		if job.live.Load() {
			// The records of a pipe cannot be read again, so they are still sent.
			time.AfterFunc(stopGrace, cancel)
		} else {
			cancel()
		}
	})()
	started := time.Now()
	progress.start()
	err = job.run(ctx, files)
	progress.stop()
	job.summary(cmd.OutOrStdout(), cmd.ErrOrStderr(), time.Since(started))
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted: the rows counted in the last line are stored, and batches in flight may be too")
	}
	if err == nil && job.written == 0 && job.skipped > 0 {
		return fmt.Errorf("nothing was stored: the server skipped %s, which were all records",
			cli.Count(job.skipped, "record"))
	}
	return err
}

// hintList returns the value of the header x-svc-hints. The server only warns of an unknown option, and creates the
// table without it. hintList returns an error before anything is sent.
func hintList(hints []string) (string, error) {
	for _, hint := range hints {
		key, value, ok := strings.Cut(hint, "=")
		if !ok || strings.TrimSpace(key) == "" || strings.TrimSpace(value) == "" {
			return "", fmt.Errorf("--hint %q: want KEY=VALUE, as in ttl=7d", hint)
		}
		if strings.ContainsFunc(hint, func(c rune) bool { return c == ',' || c < ' ' || c == 0x7f }) {
			return "", fmt.Errorf("--hint %q: it cannot have a comma or a control character; repeat --hint for another option",
				hint)
		}
		if _, known := schema.HintName(strings.TrimSpace(key)); !known {
			names := schema.HintNames()
			return "", fmt.Errorf("--hint %q: there is no such option%s; there are %s", hint,
				nearest.DidYouMean(": ", strings.TrimSpace(key), names), strings.Join(names, ", "))
		}
	}
	return strings.Join(hints, ","), nil
}

// query returns the query parameters with the destination of the records.
func (o *ingestOptions) query() url.Values {
	q := url.Values{}
	cli.SetParameter(q, "db", o.db)
	cli.SetParameter(q, "table", o.table)
	cli.SetParameter(q, "pipeline_name", o.pipeline)
	if o.version != "" {
		q.Set("version", o.version)
	}
	if o.skipError {
		q.Set("skip_error", "true")
	}
	if o.onReject != "" {
		q.Set("on_reject", o.onReject)
	}
	if o.customTimeIndex != "" {
		q.Set("custom_time_index", o.customTimeIndex)
	}
	return q
}

// summary prints the number of stored rows, and the server's warnings.
func (j *ingestJob) summary(out, errOut io.Writer, took time.Duration) {
	for _, reason := range j.reasons {
		fmt.Fprintf(errOut, "skipped: %s\n", reason)
	}
	if more := j.skipped - int64(len(j.reasons)); more > 0 && len(j.reasons) > 0 {
		fmt.Fprintf(errOut, "skipped: and %d more\n", more)
	}
	for _, w := range j.warnings {
		fmt.Fprintf(errOut, "warning: %s\n", w)
	}
	if more := j.warned - len(j.warnings); more > 0 {
		fmt.Fprintf(errOut, "warning: the answers to batches had %d more warnings like these\n", more)
	}
	seconds := max(took.Seconds(), 1e-3)
	dropped := ""
	if j.dropped > 0 {
		dropped = fmt.Sprintf(" %d dropped by the pipeline,", j.dropped)
	}
	fmt.Fprintf(out, "%s written, %d skipped,%s %s in %.1f s (%.0f rows/s)\n",
		cli.Count(j.written, "row"), j.skipped, dropped, cli.FormatSize(j.sent), seconds, float64(j.written)/seconds)
}

// totalSize returns the size of all files together, or -1 if it is unknown.
func totalSize(files []string) int64 {
	total := int64(0)
	for _, f := range files {
		info, err := os.Stat(f)
		if f == "-" || err != nil || !info.Mode().IsRegular() {
			return -1
		}
		total += info.Size()
	}
	return total
}
