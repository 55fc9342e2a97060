package lokiapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/loki"
	"cordwood/router/loki/logql"
)

// queryRange answers query_range with streams or a matrix.
func queryRange(ctx context.Context, c *call) ([]byte, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	span, err := c.span()
	if err != nil {
		return nil, err
	}
	if m, ok := q.(logql.Metric); ok {
		return c.matrix(ctx, m, span)
	}
	log, ok := q.(*logql.Log)
	if !ok {
		return nil, errs.New(errs.Internal, "queries of type %T are not implemented", q)
	}
	if err := log.RequireMatcher(); err != nil {
		return nil, err
	}
	req := &loki.Logs{Query: log, Span: span}
	if req.Limit, err = c.limit("limit", 100, loki.MaxEntries); err != nil {
		return nil, err
	}
	if req.Forward, err = c.forward(); err != nil {
		return nil, err
	}
	if req.Interval, err = c.duration("interval", 0); err != nil {
		return nil, err
	}
	list, err := c.reader.Logs(ctx, req)
	if err != nil {
		return nil, err
	}
	apart := c.categorizes()
	return c.result("streams", func(out []byte) []byte { return appendStreams(out, streams(list, apart), apart) }), nil
}

// labels answers labels.
func labels(ctx context.Context, c *call) ([]byte, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	names, err := c.reader.LabelNames(ctx, q, span)
	return success(names), err
}

// labelValues answers label/NAME/values.
func labelValues(ctx context.Context, c *call) ([]byte, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	values, err := c.reader.LabelValues(ctx, c.variable("name"), q, span)
	return success(values), err
}

// selection reads the selector and the time range of a request.
func (c *call) selection() (*logql.Log, loki.Span, error) {
	q, err := c.selector()
	if err != nil {
		return nil, loki.Span{}, err
	}
	span, err := c.span()
	return q, span, err
}

// maxSelectors is the maximum number of selectors in a request for series.
const maxSelectors = 16

// seriesOf answers series.
func seriesOf(ctx context.Context, c *call) ([]byte, error) {
	texts := append(c.params.All("match[]"), c.params.All("match")...)
	if len(texts) > maxSelectors {
		return nil, errs.New(errs.InvalidArguments, "match[] is given %d times, and at most %d are allowed", len(texts),
			maxSelectors)
	}
	selectors := make([]*logql.Log, 0, len(texts))
	for _, text := range texts {
		q, err := logql.ParseLog(text)
		if err != nil {
			return nil, err
		}
		selectors = append(selectors, q)
	}
	if len(selectors) == 0 {
		selectors = append(selectors, &logql.Log{})
	}
	span, err := c.span()
	if err != nil {
		return nil, err
	}
	sets, err := c.reader.Series(ctx, selectors, span)
	if err != nil {
		return nil, err
	}
	out := []byte(`{"status":"success","data":[`)
	for i, s := range sets {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendLabels(out, s)
	}
	return append(out, ']', '}'), nil
}

// lokiVersion is the Loki version that the API corresponds to. Clients choose their requests by this version.
const lokiVersion = "3.3.0"

// buildInfo answers status/buildinfo.
func buildInfo(_ context.Context, c *call) ([]byte, error) {
	b := c.h.cfg.Build
	return json.Marshal(map[string]string{
		"version": lokiVersion, "revision": b.Revision, "branch": "cordwood", "buildDate": b.Date, "buildUser": "",
		"goVersion": b.GoVersion,
	})
}

// formatQuery answers format_query.
func formatQuery(_ context.Context, c *call) ([]byte, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	return append(exchange.AppendJSONString([]byte(`{"status":"success","data":`), q.String()), '}'), nil
}

// NotFound answers paths of Loki's API that do not exist here.
func NotFound(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if i := strings.Index(path, "/api/"); i >= 0 {
		path = path[i:]
	}
	exchange.WriteError(w, r, errs.New(errs.Unsupported, "%s: this part of Loki's API is not supported; docs/grafana.md "+
		"lists what is", clip(path)).WithStatus(http.StatusNotFound))
}
