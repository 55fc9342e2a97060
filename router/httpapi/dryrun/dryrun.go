// Package dryrun has the handler of POST /v1/pipelines/_dryrun. It runs records through a pipeline and shows the rows
// that would be stored. It writes nothing and creates nothing.
//
// Without trace, the answer is an array with an element for each table:
//
//	[{"table_name":"dry_run","schema":[{"name","data_type","column_type","fulltext","index"}],
//	  "rows":[[{"key","value","data_type","semantic_type"}]]}]
//
// "index" is fulltext, skipping or inverted. It is missing if a column has no index.
//
// A record that fails makes the request fail, unless skip_error is set. The headers x-svc-skipped and
// x-svc-skip-reasons report skipped records.
//
// With trace=true, records never make the request fail, and the answer describes every step:
//
//	{"tables":[{"table_name","schema","rows",    as above, and for each table
//	   "database","options":{"ttl":"7days"},     that it would be created with
//	   "exists":false,                           whether there is such a table
//	   "refused":"Table …",                      why one could not be created, if so
//	   "new_columns":["a"],                      what an existing one would get
//	   "different_options":[{"option","wanted","table"}],
//	   "rows_cut":0}],                           rows that are not shown
//	 "records":[{"index":0,"input":{…},"outcome":"stored|dropped|failed",
//	   "steps":[{"index":0,"line":3,"took_us":12,"pipeline":"p","step":"processors[0] date","record":{…},
//	             "added":[],"changed":[],"removed":[]}],   the record after the step
//	   "rows":[{"table":"dry_run","row":0,"options":{},"record":{…},"stored":{…}}],
//	   "error":{"pipeline","step","position","line","field","value","offset","reason"}}],
//	 "conflicts":[{"table","column","type","outcome":"aside|refused","records":3,"example"}],
//	 "skipped":0,"cut":false,"execution_time_ms":1}
//
// Steps are described for the first 10 records, or for the records in trace_records. The answer has at most about 4
// MiB. "cut" says that something is missing, and is also set in each step, row or record from which something is
// missing.
//
// By default, the tables are named dry_run with a suffix, and none of them exists. If the request has table=T (and
// db=D), the records are compared with the existing tables.
//
// A Handler may be used concurrently.
package dryrun

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
)

const (
	// maxRecords is the maximum number of records of a dry run.
	maxRecords = 100
	// maxTraced is the maximum number of records that are described step by step: the first ones, unless
	// trace_records lists others.
	maxTraced = 10
	// maxTime limits how long the pipelines of a dry run may work.
	maxTime = 10 * time.Second
	// maxWaiting and maxWaitingPerUser are how many dry runs may wait, of all users and of one, and maxWait is for how
	// long.
	maxWaiting, maxWaitingPerUser = 64, 16
	maxWait                       = 10 * time.Second
	// defaultTable is the name of the table, without suffixes, if the request does not name one.
	defaultTable = "dry_run"
)

// request is a request for a dry run.
type request struct {
	name        string             // name of a stored or built-in pipeline; "" if the request contains the pipeline
	pipeline    *pipeline.Pipeline // nil means svc_identity
	data        []byte
	kind        native.Kind
	options     pipeline.Request
	real        bool             // whether records are compared with existing tables
	catalog     pipeline.Catalog // the existing tables, if real is set
	trace       bool
	wanted      []int // the records whose steps are described; nil means the first ones
	traced      []pipeline.RecordTrace
	skipReasons []pipeline.Reason
	warnings    []string // about headers without effect, and about values that are stored in another form
}

// Config has the settings of a Handler. All fields are required, except Gate and Time.
type Config struct {
	// Catalog has the tables that records are compared with.
	Catalog ingest.Catalog
	// Compiled has the stored pipelines, and Options are the options for compiling others.
	Compiled *ingest.Pipelines
	Options  pipeline.Options
	// Bodies reads the bodies of requests.
	Bodies *body.Reader
	// Gate limits the dry runs at a time, because every user may start them, and ingestion needs the processors too. By
	// default as many run as half of the processors, but at least two; one user may have three quarters of them.
	Gate *turns.Gate
	// Time is how long the pipelines of a dry run may work. The default value is 10 s.
	Time time.Duration
	// Now is the clock.
	Now func() time.Time

	// The following settings are the same as for ingestion.

	MaxColumns, MaxMadeColumns, MaxNewColumns int
	PipelineSteps                             int64
	TimestampColumn                           string
	NoClientVariables, NoAutoCreate           bool
}

// Handler answers dry runs. See the package comment.
type Handler struct{ cfg Config }

// New returns a Handler.
func New(cfg Config) *Handler {
	cfg.Time = cmp.Or(cfg.Time, maxTime)
	if cfg.Gate == nil {
		cfg.Gate = turns.New(turns.Config{
			Running: max(2, runtime.GOMAXPROCS(0)/2), Waiting: maxWaiting, WaitingPerUser: maxWaitingPerUser, MaxWait: maxWait,
		})
	}
	return &Handler{cfg: cfg}
}

// ServeHTTP answers a dry run.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange.Of(r)
	out, d, err := h.answer(x, r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	header := w.Header()
	header.Set(exchange.HeaderExecutionTime, strconv.FormatInt(x.Millis(), 10))
	header.Set(exchange.HeaderSkipped, strconv.Itoa(len(d.skipReasons)))
	if len(d.skipReasons) > 0 {
		header.Set(exchange.HeaderSkipReasons, exchange.HeaderText(ingest.FirstReasons(d.skipReasons)))
	}
	for _, warning := range d.warnings {
		header.Add(exchange.HeaderWarnings, exchange.HeaderText(warning))
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}

func (h *Handler) answer(x *exchange.Exchange, r *http.Request) ([]byte, *request, error) {
	query, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, nil, err
	}
	body, err := h.cfg.Bodies.Receive(x, r, x.Start, x.Deadline)
	if err != nil {
		return nil, nil, err
	}
	defer body.Release()
	leave, err := h.enter(r.Context())
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), h.cfg.Time)
	defer cancel()
	r = r.WithContext(ctx)
	d, err := h.readRequest(r, query, body.Data)
	if err != nil {
		return nil, nil, err
	}
	out, tables, err := h.run(r, d)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !x.TimedOut() {
		err = errs.New(errs.DeadlineExceeded, "the dry run was stopped because its pipelines worked for more than %s; send "+
			"fewer or smaller records, or a pipeline of fewer steps", h.cfg.Time)
	}
	if err != nil {
		return nil, nil, err
	}
	defer out.release()
	if x.TimedOut() { // even if the pipeline ended before it noticed
		return nil, nil, context.DeadlineExceeded
	}
	if d.trace {
		return h.traceAnswer(x, d, tables), d, nil
	}
	if err := h.refuseTables(d, tables); err != nil {
		return nil, nil, err
	}
	return appendTables(nil, tables, nil), d, nil
}

// enter waits until the dry run may begin.
func (h *Handler) enter(ctx context.Context) (leave func(), err error) {
	leave, err = h.cfg.Gate.Enter(ctx, access.From(ctx).Share())
	if errs.CodeOf(err) == errs.ShardBusy {
		err = errs.New(errs.RateLimited, "too many dry runs are running or waiting: try again later, or send fewer at the "+
			"same time").WithRetryAfter(time.Second)
	}
	return leave, err
}

// output has a run's output and the function that frees its memory.
type output struct{ release func() }

// run runs the records.
func (h *Handler) run(r *http.Request, d *request) (*output, []*tableResult, error) {
	failed := func(err error) error {
		if code := errs.CodeOf(err); code == errs.DeadlineExceeded || code == errs.Cancelled {
			return err
		}
		return errs.Wrap(errs.InvalidArguments, err, "Failed to exec pipeline")
	}
	q := d.options
	q.TellAbsent = true
	if d.pipeline != nil {
		d.warnings = append(d.warnings, d.pipeline.Warnings()...)
	}
	q.OnSkip = func(reason pipeline.Reason) { d.skipReasons = append(d.skipReasons, reason) }
	if d.trace {
		q.WholeRecords = !q.SkipError
		q.SkipError = true
		q.Trace = func(t pipeline.RecordTrace) { d.traced = append(d.traced, t) }
		q.TraceSteps, q.TraceBytes = d.describes, maxTraceBytes
	}
	runner, err := ingest.Runner(d.pipeline, &q, h.cfg.Compiled.ReadLookup(r.Context()))
	if err != nil {
		return nil, nil, failed(err)
	}
	counted := &countedRunner{Runner: runner}
	err = native.Read(d.data, d.kind, native.Options{SkipError: q.SkipError, IgnoreErrors: q.IgnoreErrors}, counted)
	if counted.full {
		err = errs.New(errs.InvalidArguments, "at most %d records can be tried at once", maxRecords)
	} else if err != nil {
		err = failed(err)
	}
	if err != nil {
		runner.Release()
		return nil, nil, err
	}
	out, err := runner.Finish()
	if err != nil {
		runner.Release()
		return nil, nil, failed(err)
	}
	d.warnings = append(d.warnings, out.Warnings...)
	for _, t := range out.Tables {
		if d.real {
			d.warnings = append(d.warnings, t.AsideWarnings()...)
		}
	}
	_, expired := ingest.ExpiredRows(out)
	d.warnings = append(d.warnings, expired...)
	return &output{runner.Release}, joinTables(out), nil
}

// countedRunner is a runner that refuses more than maxRecords records.
type countedRunner struct {
	pipeline.Runner
	records int
	full    bool
}

var errTooManyRecords = errs.New(errs.InvalidArguments, "too many records")

func (c *countedRunner) count() error {
	if c.full = c.full || c.records == maxRecords; c.full {
		return errTooManyRecords
	}
	c.records++
	return nil
}

func (c *countedRunner) ScanRecord(data []byte, pos int) (int, error) {
	if err := c.count(); err != nil {
		return pos, err
	}
	return c.Runner.ScanRecord(data, pos)
}

func (c *countedRunner) ScanLine(line []byte) error {
	if err := c.count(); err != nil {
		return err
	}
	return c.Runner.ScanLine(line)
}

func (c *countedRunner) TextRecord(line []byte) error {
	if err := c.count(); err != nil {
		return err
	}
	return c.Runner.TextRecord(line)
}
