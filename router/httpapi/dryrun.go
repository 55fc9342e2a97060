package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
)

// The dry run: POST /v1/pipelines/_dryrun runs records through a pipeline and shows what
// would be stored. It writes nothing and creates nothing.
//
// Without trace the answer is an array with an element per table:
//
//	[{"table_name":"dry_run","schema":[{"name","data_type","column_type","fulltext","index"}],
//	  "rows":[[{"key","value","data_type","semantic_type"}]]}]
//
// "index" is fulltext, skipping or inverted; a column without an index has none.
//
// and a record that fails fails the request, unless skip_error is set; the headers
// x-svc-skipped and x-svc-skip-reasons count the skipped records.
//
// With trace=true no record fails the request, and the answer describes every step:
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
// Steps of the first 10 records are described, or of the records that trace_records names. The answer has about 4 MiB
// at most: "cut" says that something is missing, and a step, row or record from which something was left out
// says so too.
//
// The tables are named dry_run and a suffix, and none exists, unless the request says
// table=T (and db=D): then it is run as it would be with the tables that there are.

const (
	// maxDryRunRecords is the most records of a dry run.
	maxDryRunRecords = 100
	// dryRunTraced is the most records whose steps are described: the first ones, unless trace_records names others.
	dryRunTraced = 10
	// maxDryRunTime bounds how long the pipelines of a dry run may work.
	maxDryRunTime = 10 * time.Second
	// dryRunTable is the table, before suffixes, of a request that names none.
	dryRunTable = "dry_run"
)

// dryRun is a request for a dry run.
type dryRun struct {
	name        string             // of a stored or built-in pipeline; "" for one in the request
	pipeline    *pipeline.Pipeline // nil: svc_identity
	data        []byte
	kind        native.Kind
	request     pipeline.Request
	real        bool // the tables of the catalog count
	trace       bool
	wanted      []int // the records whose steps are told; nil: the first ones
	traced      []pipeline.RecordTrace
	skipReasons []pipeline.Reason
	warnings    []string // what headers say without effect, and what is stored otherwise than it came
}

// dryRunForm is the JSON form of a request, whose data is a text within.
type dryRunForm struct {
	Pipeline        *string         `json:"pipeline"`
	PipelineName    *string         `json:"pipeline_name"`
	PipelineVersion *string         `json:"pipeline_version"`
	DataType        *string         `json:"data_type"`
	Data            json.RawMessage `json:"data"`
	Table           *string         `json:"table"`
	DB              *string         `json:"db"`
	Trace           *bool           `json:"trace"`
	TraceRecords    []int           `json:"trace_records"`
}

func (s *Server) handleDryRun(w http.ResponseWriter, r *http.Request) {
	x := exchange.Of(r)
	out, d, err := s.dryRun(x, r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	h := w.Header()
	h.Set(exchange.HeaderExecutionTime, strconv.FormatInt(x.Millis(), 10))
	h.Set(exchange.HeaderSkipped, strconv.Itoa(len(d.skipReasons)))
	if len(d.skipReasons) > 0 {
		h.Set(exchange.HeaderSkipReasons, skipReasons(d.skipReasons))
	}
	for _, warning := range d.warnings {
		h.Add(exchange.HeaderWarnings, exchange.HeaderText(warning))
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}

func (s *Server) dryRun(x *exchange.Exchange, r *http.Request) ([]byte, *dryRun, error) {
	query, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, nil, err
	}
	body, err := s.cfg.Bodies.Receive(x, r, x.Start, x.Deadline)
	if err != nil {
		return nil, nil, err
	}
	defer body.Release()
	ctx, cancel := context.WithTimeout(r.Context(), s.cfg.dryRunTime)
	defer cancel()
	r = r.WithContext(ctx)
	d, err := s.readDryRun(r, query, body.Data)
	if err != nil {
		return nil, nil, err
	}
	out, tables, err := s.runDry(r, d)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !x.TimedOut() {
		err = errs.New(errs.DeadlineExceeded, "the dry run was stopped because its pipelines worked for more than %s; send "+
			"fewer or smaller records, or a pipeline of fewer steps", s.cfg.dryRunTime)
	}
	if err != nil {
		return nil, nil, err
	}
	defer out.release()
	if x.TimedOut() { // also if the pipeline ended before it looked at the time
		return nil, nil, context.DeadlineExceeded
	}
	if d.trace {
		return s.traceAnswer(x, d, tables), d, nil
	}
	if err := s.refuseTables(d, tables); err != nil {
		return nil, nil, err
	}
	return appendTables(nil, tables, nil), d, nil
}

// readDryRun reads a request in either form.
func (s *Server) readDryRun(r *http.Request, query params.Values, body []byte) (*dryRun, error) {
	if err := query.Once("pipeline_name", "version", "pipeline_version", "table", "db", "skip_error", "ignore_errors",
		"trace", "trace_records", "custom_time_index"); err != nil {
		return nil, err
	}
	d := &dryRun{}
	var err error
	if d.trace, err = query.Bool("trace", false); err != nil {
		return nil, err
	}
	if d.wanted, err = tracedRecords(query.Get("trace_records")); err != nil {
		return nil, err
	}
	if err := s.dryRunRequest(r, query, d); err != nil {
		return nil, err
	}
	name := params.Header(r.Header, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name")
	if name == "" {
		name = query.Get("pipeline_name")
	}
	version, hasVersion := query.Lookup("version")
	if !hasVersion {
		version, hasVersion = query.Lookup("pipeline_version")
	}
	contentType := params.Header(r.Header, "Content-Type")
	table, database := query.Get("table"), databaseOf(r, query)
	var source *string
	d.data = body
	form, err := readDryRunForm(contentType, body, name != "")
	if err != nil {
		return nil, err
	}
	if form != nil {
		contentType = "application/json"
		source = form.Pipeline
		setIf(&contentType, form.DataType)
		setIf(&name, form.PipelineName)
		setIf(&table, form.Table)
		setIf(&database, form.DB)
		if form.PipelineVersion != nil {
			version, hasVersion = *form.PipelineVersion, true
		}
		d.trace = d.trace || form.Trace != nil && *form.Trace
		if form.TraceRecords != nil {
			d.wanted = form.TraceRecords
		}
		if d.data, err = form.data(); err != nil {
			return nil, err
		}
	}
	if d.kind, err = native.KindOf(contentType); err != nil {
		return nil, err
	}
	if d.pipeline, err = s.dryRunPipeline(r, source, name, version, hasVersion); err != nil {
		return nil, err
	}
	if source == nil {
		d.name = name
	}
	return d, s.dryRunTarget(d, database, table)
}

// tracedRecords reads a list of numbers of records, from 0.
func tracedRecords(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n >= maxDryRunRecords {
			return nil, errs.New(errs.InvalidArguments, "trace_records=%s: want numbers of records from 0 to %d, joined by "+
				"commas", cutText(text), maxDryRunRecords-1)
		}
		list = append(list, n)
	}
	return list, nil
}

// tells reports whether the steps of a record are described.
func (d *dryRun) tells(index int) bool {
	if d.wanted != nil {
		return slices.Contains(d.wanted, index)
	}
	return index < dryRunTraced
}

func setIf(field, value *string) {
	if value != nil {
		*field = *value
	}
}

// dryRunRequest reads what concerns the run beside pipeline and data, as ingestion does.
func (s *Server) dryRunRequest(r *http.Request, query params.Values, d *dryRun) error {
	q := &d.request
	var err error
	if q.SkipError, err = query.Bool("skip_error", false); err != nil {
		return err
	}
	if q.IgnoreErrors, err = query.Bool("ignore_errors", false); err != nil {
		return err
	}
	extra := params.ParsePipelineParams(params.Header(r.Header, "X-Svc-Pipeline-Params"))
	q.Hints, d.warnings = params.ParseHints(r.Header)
	d.warnings = append(d.warnings, extra.Warnings...)
	if extra.HasSkipError {
		q.SkipError = extra.SkipError
	}
	q.MaxNestedLevels, q.MaxColumns, q.TimestampColumn = extra.MaxNestedLevels, s.cfg.MaxColumns, s.cfg.TimestampColumn
	q.MaxMadeColumns, q.MaxNewColumns = s.cfg.MaxMadeColumns, s.cfg.MaxNewColumns
	q.Ended, q.Steps = r.Context().Err, s.cfg.PipelineSteps
	q.Now, q.AutoCreate, q.NoClientVariables = s.cfg.Now, true, s.cfg.NoClientVariables
	if text, has := query.Lookup("custom_time_index"); has {
		q.TimeIndex, err = pipeline.ParseTimeIndex(text)
	}
	return err
}

// dryRunKeys are the keys of a dryRunForm.
var dryRunKeys = []string{
	"pipeline", "pipeline_name", "pipeline_version", "data_type", "data", "table", "db", "trace", "trace_records",
}

// readDryRunForm returns the request's JSON form, or nil if the body is data. named says
// that the pipeline is named outside the body, so that data may look like a form.
func readDryRunForm(contentType string, body []byte, named bool) (*dryRunForm, error) {
	if kind, err := native.KindOf(contentType); err != nil || kind != native.JSON {
		return nil, nil
	}
	form, keys := &dryRunForm{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(body, form); err != nil || json.Unmarshal(body, &keys) != nil {
		// Else the body is records, and the pipeline is missing.
		if !named && bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && bytes.Contains(body, []byte(`"pipeline`)) {
			return nil, errs.New(errs.InvalidArguments, "the body of a dry run cannot be read: %s", words.JSONFault(err))
		}
		return nil, nil
	}
	hasPipeline := form.Pipeline != nil || form.PipelineName != nil
	hasData := len(form.Data) > 0 && string(form.Data) != "null"
	if !hasPipeline && !hasData || named && (!hasPipeline || !hasData) {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.ContainsFunc(dryRunKeys, func(known string) bool { return strings.EqualFold(known, key) }) {
			continue
		}
		if named {
			return nil, nil // a record with fields of these names
		}
		return nil, errs.New(errs.InvalidArguments, "the body has the unknown key %q%s; a dry run takes %s", key,
			nearest.DidYouMean(", ", key, dryRunKeys), strings.Join(dryRunKeys, ", "))
	}
	return form, nil
}

// data returns the form's records: the text in a string or, to spare people the quoting, an
// object or array as it is.
func (f *dryRunForm) data() ([]byte, error) {
	if len(f.Data) > 0 {
		switch f.Data[0] {
		case '"':
			var text string
			if err := json.Unmarshal(f.Data, &text); err != nil {
				return nil, errs.New(errs.InvalidArguments, "data: %s", words.JSONFault(err))
			}
			return []byte(text), nil
		case '{', '[':
			return f.Data, nil
		}
	}
	return nil, errs.New(errs.InvalidArguments, "data is required: a string with 1 to %d records", maxDryRunRecords)
}

// dryRunPipeline finds or compiles the pipeline; nil is svc_identity.
func (s *Server) dryRunPipeline(r *http.Request, source *string, name, version string,
	hasVersion bool,
) (*pipeline.Pipeline, error) {
	switch {
	case source != nil:
		return s.compile([]byte(*source))
	case name == "":
		return nil, errs.New(errs.InvalidArguments, "pipeline or pipeline_name is required: %s "+
			"stores records as they are", ingest.IdentityPipeline)
	case name == ingest.IdentityPipeline:
		return nil, nil
	}
	p, _, err := s.pipelines.Find(r.Context(), name, version, hasVersion)
	return p, err
}

// dryRunTarget sets the tables that the records are held against.
func (s *Server) dryRunTarget(d *dryRun, database, table string) error {
	q := &d.request
	q.Database, q.Table, q.Catalog, q.Pipeline = database, dryRunTable, noTables{}, d.name
	q.DatabaseTTL = ingest.DatabaseTTL(s.cfg.Catalog, database)
	if table == "" {
		return nil
	}
	if err := schema.CheckTableName(table); err != nil {
		return err
	}
	q.Table, q.Catalog, q.AutoCreate, d.real = table, s.cfg.Catalog, !s.cfg.NoAutoCreate, true
	return ingest.Writable(s.cfg.Catalog, database)
}

// noTables is the catalog of a dry run that names no table.
type noTables struct{}

func (noTables) Table(string, string) (*schema.Table, bool) { return nil, false }

// dryOutput keeps the memory of a run's output.
type dryOutput struct{ release func() }

// runDry runs the records.
func (s *Server) runDry(r *http.Request, d *dryRun) (*dryOutput, []*dryTable, error) {
	failed := func(err error) error {
		if code := errs.CodeOf(err); code == errs.DeadlineExceeded || code == errs.Cancelled {
			return err
		}
		return errs.Wrap(errs.InvalidArguments, err, "Failed to exec pipeline")
	}
	q := d.request
	q.TellAbsent = true
	if d.pipeline != nil {
		d.warnings = append(d.warnings, d.pipeline.Warnings()...)
	}
	q.OnSkip = func(reason pipeline.Reason) { d.skipReasons = append(d.skipReasons, reason) }
	if d.trace {
		q.WholeRecords = !q.SkipError
		q.SkipError = true
		q.Trace = func(t pipeline.RecordTrace) { d.traced = append(d.traced, t) }
		q.TraceSteps, q.TraceBytes = d.tells, maxTraceBytes
	}
	runner, err := ingest.Runner(d.pipeline, &q, s.pipelines.Lookup(r.Context()))
	if err != nil {
		return nil, nil, failed(err)
	}
	counted := &countedRunner{Runner: runner}
	err = native.Read(d.data, d.kind, native.Options{SkipError: q.SkipError, IgnoreErrors: q.IgnoreErrors}, counted)
	if counted.full {
		err = errs.New(errs.InvalidArguments, "at most %d records can be tried at once", maxDryRunRecords)
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
	return &dryOutput{runner.Release}, joinTables(out), nil
}

// countedRunner refuses more records than a dry run takes.
type countedRunner struct {
	pipeline.Runner
	records int
	full    bool
}

var errTooManyRecords = errs.New(errs.InvalidArguments, "too many records")

func (c *countedRunner) count() error {
	if c.full = c.full || c.records == maxDryRunRecords; c.full {
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
