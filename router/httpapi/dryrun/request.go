package dryrun

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/httpapi/params"
	"cordwood/router/httpapi/pipelineapi"
	"cordwood/router/ingest"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
)

// Form is the JSON form of a request. Its data is a text.
type Form struct {
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

// readRequest reads a request in either form.
func (h *Handler) readRequest(r *http.Request, query params.Values, body []byte) (*request, error) {
	if err := query.Once("pipeline_name", "version", "pipeline_version", "table", "db", "skip_error", "ignore_errors",
		"trace", "trace_records", "custom_time_index"); err != nil {
		return nil, err
	}
	d := &request{}
	var err error
	if d.trace, err = query.Bool("trace", false); err != nil {
		return nil, err
	}
	if d.wanted, err = tracedRecords(query.Get("trace_records")); err != nil {
		return nil, err
	}
	if err := h.readOptions(r, query, d); err != nil {
		return nil, err
	}
	named := namesOf(r, query)
	d.data = body
	form, err := readForm(named.contentType, body, named.pipeline != "")
	if err != nil {
		return nil, err
	}
	if form != nil {
		if err := form.apply(d, named); err != nil {
			return nil, err
		}
	}
	if d.kind, err = native.KindOf(named.contentType); err != nil {
		return nil, err
	}
	if d.pipeline, err = h.findPipeline(r, named); err != nil {
		return nil, err
	}
	if named.source == nil {
		d.name = named.pipeline
	}
	return d, h.setTarget(r, d, named.database, named.table)
}

// names has the names of the pipeline and the table in a request's headers, query string or form.
type names struct {
	contentType, database, table string
	source                       *string // the text of a pipeline; nil if the request names one
	pipeline, version            string
	hasVersion                   bool
}

// namesOf reads the names in the headers and the query string.
func namesOf(r *http.Request, query params.Values) *names {
	n := &names{
		contentType: params.Header(r.Header, "Content-Type"),
		database:    params.Database(r.Header, query, access.From(r.Context()).DefaultDatabase()),
		table:       query.Get("table"), pipeline: params.PipelineName(r.Header, query),
	}
	n.version, n.hasVersion = query.Lookup("version")
	if !n.hasVersion {
		n.version, n.hasVersion = query.Lookup("pipeline_version")
	}
	return n
}

// apply applies the form, which takes precedence over headers and query string.
func (f *Form) apply(d *request, n *names) (err error) {
	n.contentType, n.source = "application/json", f.Pipeline
	setIf(&n.contentType, f.DataType)
	setIf(&n.pipeline, f.PipelineName)
	setIf(&n.table, f.Table)
	setIf(&n.database, f.DB)
	if f.PipelineVersion != nil {
		n.version, n.hasVersion = *f.PipelineVersion, true
	}
	d.trace = d.trace || f.Trace != nil && *f.Trace
	if f.TraceRecords != nil {
		d.wanted = f.TraceRecords
	}
	d.data, err = f.data()
	return err
}

// tracedRecords parses a list of record numbers, which start at 0.
func tracedRecords(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || n >= maxRecords {
			return nil, errs.New(errs.InvalidArguments, "trace_records=%s: want numbers of records from 0 to %d, joined by "+
				"commas", params.Quote(text), maxRecords-1)
		}
		list = append(list, n)
	}
	return list, nil
}

// describes reports whether the steps of a record are described.
func (d *request) describes(index int) bool {
	if d.wanted != nil {
		return slices.Contains(d.wanted, index)
	}
	return index < maxTraced
}

func setIf(field, value *string) {
	if value != nil {
		*field = *value
	}
}

// readOptions reads the other options of the run, in the same way as ingestion.
func (h *Handler) readOptions(r *http.Request, query params.Values, d *request) error {
	q := &d.options
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
	q.MaxNestedLevels, q.MaxColumns, q.TimestampColumn = extra.MaxNestedLevels, h.cfg.MaxColumns, h.cfg.TimestampColumn
	q.MaxMadeColumns, q.MaxNewColumns = h.cfg.MaxMadeColumns, h.cfg.MaxNewColumns
	q.Ended, q.Steps = r.Context().Err, h.cfg.PipelineSteps
	q.Now, q.AutoCreate, q.NoClientVariables = h.cfg.Now, true, h.cfg.NoClientVariables
	if text, has := query.Lookup("custom_time_index"); has {
		q.TimeIndex, err = pipeline.ParseTimeIndex(text)
	}
	return err
}

// formKeys are the keys of a Form.
var formKeys = []string{
	"pipeline", "pipeline_name", "pipeline_version", "data_type", "data", "table", "db", "trace", "trace_records",
}

// readForm returns the JSON form of the request, or nil if the body is data. named is set if the pipeline is given
// outside the body. Then the body is data even if it looks like a form.
func readForm(contentType string, body []byte, named bool) (*Form, error) {
	if kind, err := native.KindOf(contentType); err != nil || kind != native.JSON {
		return nil, nil
	}
	form, keys := &Form{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(body, form); err != nil || json.Unmarshal(body, &keys) != nil {
		// Otherwise the body has records, and the pipeline is missing.
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
	key, found := unknownKey(keys)
	switch {
	case !found:
		return form, nil
	case named:
		return nil, nil // the body is a record with fields of these names
	}
	return nil, errs.New(errs.InvalidArguments, "the body has the unknown key %q%s; a dry run has the keys %s", key,
		nearest.DidYouMean(", ", key, formKeys), strings.Join(formKeys, ", "))
}

// unknownKey returns the first key, in alphabetical order, that a Form does not have.
func unknownKey(keys map[string]json.RawMessage) (key string, found bool) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.ContainsFunc(formKeys, func(known string) bool { return strings.EqualFold(known, key) }) {
			return key, true
		}
	}
	return "", false
}

// data returns the records of the form. They are the content of a string or, for convenience, an object or array.
func (f *Form) data() ([]byte, error) {
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
	return nil, errs.New(errs.InvalidArguments, "data is required: a string with 1 to %d records", maxRecords)
}

// findPipeline finds or compiles the pipeline. nil means svc_identity.
func (h *Handler) findPipeline(r *http.Request, n *names) (*pipeline.Pipeline, error) {
	switch {
	case n.source != nil:
		return pipelineapi.Compile([]byte(*n.source), h.cfg.Options)
	case n.pipeline == "":
		return nil, errs.New(errs.InvalidArguments, "pipeline or pipeline_name is required: %s "+
			"stores records as they are", ingest.IdentityPipeline)
	case n.pipeline == ingest.IdentityPipeline:
		return nil, nil
	}
	p, _, err := h.cfg.Compiled.FindReadable(r.Context(), n.pipeline, n.version, n.hasVersion)
	return p, err
}

// setTarget sets the tables with which the records are compared.
func (h *Handler) setTarget(r *http.Request, d *request, database, table string) error {
	q := &d.options
	q.Database, q.Table, q.Catalog, q.Pipeline = database, defaultTable, noTables{}, d.name
	q.DatabaseTTL = ingest.DatabaseTTL(h.cfg.Catalog, database)
	if table == "" {
		return nil
	}
	if err := schema.CheckTableName(table); err != nil {
		return err
	}
	caller := access.From(r.Context())
	if !caller.SeesDatabase(database) {
		return ingest.DatabaseNotFound(database)
	}
	q.Table, q.Catalog, q.AutoCreate, d.real = table, readable{h.cfg.Catalog, caller}, !h.cfg.NoAutoCreate, true
	d.catalog = q.Catalog
	return ingest.Writable(h.cfg.Catalog, database)
}

// readable is a catalog of the tables that the sender may read. Others do not exist.
type readable struct {
	pipeline.Catalog
	caller *access.Caller
}

func (c readable) Table(database, name string) (*schema.Table, bool) {
	if !c.caller.May(access.Need{
		Privilege: access.Select, Object: access.Object{Kind: access.Table, Database: database, Name: name},
	}) {
		return nil, false
	}
	return c.Catalog.Table(database, name)
}

// noTables is an empty catalog, for a dry run without a table.
type noTables struct{}

func (noTables) Table(string, string) (*schema.Table, bool) { return nil, false }
