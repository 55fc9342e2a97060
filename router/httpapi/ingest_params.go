package httpapi

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
	"cordwood/router/write"
)

// identityPipeline is the built-in pipeline; the others are stored.
const identityPipeline = pipeline.IdentityName

// The values of on_reject.
const (
	rejectDrop  = "drop"
	rejectStore = "store"
)

// ingestParams is what an ingestion request says beside its body.
type ingestParams struct {
	database, table string
	pipeline        string
	version         string
	hasVersion      bool
	timeIndexText   string
	hasTimeIndex    bool
	timeIndex       *pipeline.TimeIndex
	contentType     string
	skipError       bool
	ignoreErrors    bool
	maxNestedLevels int
	hints           map[string]string
	// warnings name what the headers say without effect.
	warnings []string
	// onReject says what becomes of records that skip_error drops: drop, store, or ""
	// for what the server does.
	onReject string
	// key is what the client calls the request by.
	key write.Key

	// replayed says which rejects the records are; nil: none.
	replayed *replayed

	// compiled is the pipeline, with its version; nil for svc_identity.
	compiled        *pipeline.Pipeline
	compiledVersion int64
}

// readIngestParams reads headers and query string. What it refuses is malformed; what
// the values mean is check's business.
func readIngestParams(r *http.Request) (*ingestParams, error) {
	p := &ingestParams{}
	p.hints, p.warnings = params.ParseHints(r.Header)
	query, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if err := query.Once("db", "table", "pipeline_name", "version", "skip_error",
		"custom_time_index", "ignore_errors", "source", "msg_field", "on_reject"); err != nil {
		return nil, err
	}
	if p.skipError, err = query.Bool("skip_error", false); err != nil {
		return nil, err
	}
	if p.ignoreErrors, err = query.Bool("ignore_errors", false); err != nil {
		return nil, err
	}
	if p.contentType = params.Header(r.Header, "Content-Type"); p.contentType == "" {
		return nil, errs.New(errs.InvalidArguments,
			"the Content-Type header is missing, expected: one of application/json, application/x-ndjson, text/plain")
	}
	p.database = params.Header(r.Header, "X-Svc-Db-Name")
	if p.database == "" {
		p.database = query.Get("db")
	}
	if p.database = strings.TrimPrefix(p.database, "svc-"); p.database == "" {
		p.database = schema.DefaultDatabase
	}
	p.table = query.Get("table")
	p.pipeline = params.Header(r.Header, "X-Svc-Pipeline-Name", "X-Svc-Log-Pipeline-Name")
	if p.pipeline == "" {
		p.pipeline = query.Get("pipeline_name")
	}
	p.version, p.hasVersion = query.Lookup("version")
	if p.onReject = query.Get("on_reject"); p.onReject != "" && p.onReject != rejectDrop && p.onReject != rejectStore {
		return nil, errs.New(errs.InvalidArguments, "parameter on_reject is %s: it must be drop or store", cutText(p.onReject))
	}
	if p.key.Text, err = params.Key(r.Header); err != nil {
		return nil, err
	}
	if p.replayed, err = readReplayed(r.Header, p.key); err != nil {
		return nil, err
	}
	p.timeIndexText, p.hasTimeIndex = query.Lookup("custom_time_index")

	extra := params.ParsePipelineParams(params.Header(r.Header, "X-Svc-Pipeline-Params"))
	p.warnings = append(p.warnings, extra.Warnings...)
	p.maxNestedLevels = extra.MaxNestedLevels
	if extra.HasSkipError {
		p.skipError = extra.SkipError
	}
	return p, nil
}

// hash is a hash of what decides, beside the body, which rows it becomes and where they go, as the client
// asked for it. on_reject is not part of it: it is about records that become none.
func (p *ingestParams) hash(kind native.Kind) uint64 {
	b := make([]byte, 0, 256)
	for _, text := range []string{p.database, p.table, p.pipeline, p.version, p.timeIndexText} {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	for _, yes := range []bool{p.hasVersion, p.hasTimeIndex, p.skipError, p.ignoreErrors} {
		b = strconv.AppendBool(b, yes)
	}
	b = binary.AppendUvarint(append(b, byte(kind)), uint64(p.maxNestedLevels)) //nolint:gosec // it is not negative
	for _, option := range slices.Sorted(maps.Keys(p.hints)) {
		for _, text := range []string{option, p.hints[option]} {
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		}
	}
	return xxhash.Sum64(b)
}

// check goes through the values in the order in which clients learn of their mistakes.
func (p *ingestParams) check(catalog Catalog) error {
	if p.table == "" {
		return errs.New(errs.InvalidArguments, "table is required")
	}
	if err := schema.CheckTableName(p.table); err != nil {
		return err
	}
	if p.pipeline == "" {
		return errs.New(errs.InvalidArguments, "pipeline_name is required")
	}
	if p.hasVersion {
		if _, err := pipelines.ParseVersion(p.version); err != nil {
			return err
		}
	}
	if p.hasTimeIndex {
		var err error
		if p.timeIndex, err = pipeline.ParseTimeIndex(p.timeIndexText); err != nil {
			return err
		}
	}
	return checkWritable(catalog, p.database)
}

// checkWritable checks that a database exists and that clients may write to it.
func checkWritable(catalog Catalog, database string) error {
	if schema.ReservedDatabase(database) {
		return errs.New(errs.InvalidArguments, "database %s belongs to the server and cannot be written to", database)
	}
	if _, ok := catalog.Database(database); !ok {
		return errs.New(errs.DatabaseNotFound, "Failed to find database %s; create it with CREATE DATABASE", database)
	}
	return nil
}

// skipReasons joins the first reasons for skipped records into one line of a header.
func skipReasons(reasons []pipeline.Reason) string {
	const most = 3
	var parts []string
	for _, r := range reasons[:min(len(reasons), most)] {
		parts = append(parts, fmt.Sprintf("record %d: %s", r.Index, r.Error))
	}
	return exchange.HeaderText(strings.Join(parts, "; "))
}
