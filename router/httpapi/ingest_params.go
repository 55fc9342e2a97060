package httpapi

import (
	"cmp"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// ingestParams has the parameters of an ingestion request.
type ingestParams struct {
	batch       ingest.Batch
	contentType string
	// warnings lists parts of headers that have no effect.
	warnings []string

	// request and batches are for the call of the ingestion service. They are here because one allocation is cheaper
	// than three.
	request ingest.Request
	batches [1]*ingest.Batch
}

// readIngestParams reads headers and query string. It refuses only malformed values. The ingestion service checks
// their meaning.
func readIngestParams(r *http.Request, sender *access.Sender) (*ingestParams, error) {
	p := &ingestParams{}
	b := &p.batch
	b.Hints, p.warnings = params.ParseHints(r.Header)
	query, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	if err := query.Once("db", "table", "pipeline_name", "version", "skip_error",
		"custom_time_index", "ignore_errors", "source", "msg_field", "on_reject"); err != nil {
		return nil, err
	}
	if b.SkipError, err = query.Bool("skip_error", false); err != nil {
		return nil, err
	}
	if b.IgnoreErrors, err = query.Bool("ignore_errors", false); err != nil {
		return nil, err
	}
	if p.contentType = params.Header(r.Header, "Content-Type"); p.contentType == "" {
		return nil, errs.New(errs.InvalidArguments,
			"the Content-Type header is missing: use one of application/json, application/x-ndjson, text/plain")
	}
	b.Database = params.Database(r.Header, query, sender.DefaultDatabase())
	b.Table = cmp.Or(query.Get("table"), sender.Fixed.Table)
	b.Pipeline = cmp.Or(params.PipelineName(r.Header, query), sender.Fixed.Pipeline)
	b.Version, b.HasVersion = query.Lookup("version")
	if b.OnReject = query.Get("on_reject"); b.OnReject != "" && b.OnReject != ingest.DropRejects &&
		b.OnReject != ingest.StoreRejects {
		return nil, errs.New(errs.InvalidArguments, "parameter on_reject is %s: it must be drop or store",
			params.Quote(b.OnReject))
	}
	if b.Key, err = params.Key(r.Header); err != nil {
		return nil, err
	}
	if b.Replayed, err = httpreceiver.Replayed(r.Header, b.Key); err != nil {
		return nil, err
	}
	b.TimeIndex, b.HasTimeIndex = query.Lookup("custom_time_index")

	extra := params.ParsePipelineParams(params.Header(r.Header, "X-Svc-Pipeline-Params"))
	p.warnings = append(p.warnings, extra.Warnings...)
	b.MaxNestedLevels = extra.MaxNestedLevels
	if extra.HasSkipError {
		b.SkipError = extra.SkipError
	}
	return p, nil
}
