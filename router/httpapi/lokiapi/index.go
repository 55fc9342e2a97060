package lokiapi

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/loki"
	"cordwood/router/loki/translate"
)

// names splits the comma-separated names in a parameter.
func (c *call) names(parameter string) []string {
	var out []string
	for name := range strings.SplitSeq(c.params.Get(parameter), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// indexStats answers index/stats.
func indexStats(ctx context.Context, c *call) ([]byte, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	s, err := c.reader.Size(ctx, q, span)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]int64{"streams": s.Streams, "chunks": s.Chunks, "entries": s.Entries, "bytes": s.Bytes})
}

// detectedLabels answers detected_labels.
func detectedLabels(ctx context.Context, c *call) ([]byte, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	list, err := c.reader.Cardinalities(ctx, q, span)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"detectedLabels": list})
}

// usualFields is the default number of lines to search for fields, and of fields to return.
const usualFields = 1000

// fields reads the parameters of a request for fields and finds the fields.
func (c *call) fields(ctx context.Context) (list []*loki.Field, limit int, err error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, 0, err
	}
	if err := q.RequireMatcher(); err != nil {
		return nil, 0, err
	}
	lines, err := c.limit("line_limit", usualFields, loki.MaxEntries)
	if err != nil {
		return nil, 0, err
	}
	name := "limit"
	if c.params.Get(name) == "" {
		name = "field_limit"
	}
	if limit, err = c.limit(name, usualFields, loki.MaxEntries); err != nil {
		return nil, 0, err
	}
	list, err = c.reader.Fields(ctx, q, span, lines, loki.MaxEntries)
	return list, limit, err
}

// detectedFields answers detected_fields.
func detectedFields(ctx context.Context, c *call) ([]byte, error) {
	list, limit, err := c.fields(ctx)
	if err != nil {
		return nil, err
	}
	if list = list[:min(len(list), limit)]; len(list) == 0 {
		return []byte(`{"fields":[]}`), nil
	}
	return json.Marshal(map[string]any{"fields": list, "limit": limit})
}

// detectedValues answers detected_field/NAME/values.
func detectedValues(ctx context.Context, c *call) ([]byte, error) {
	list, limit, err := c.fields(ctx)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, f := range list {
		if f.Label == c.variable("name") {
			values = f.Values(limit)
		}
	}
	return json.Marshal(map[string]any{"values": values, "limit": limit})
}

// patterns answers patterns.
func patterns(ctx context.Context, c *call) ([]byte, error) {
	q, span, err := c.selection()
	if err != nil {
		return nil, err
	}
	if err := q.RequireMatcher(); err != nil {
		return nil, err
	}
	steps, err := c.steps(span)
	if err != nil {
		return nil, err
	}
	step := max(time.Duration(steps.Step).Truncate(time.Second), time.Second)
	list, err := c.reader.Patterns(ctx, q, span, step)
	if err != nil {
		return nil, err
	}
	out := []byte(`{"status":"success","data":[`)
	for i, p := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"pattern":`...)
		out = exchange.AppendJSONString(out, p.Text)
		out = append(out, `,"level":`...)
		out = exchange.AppendJSONString(out, p.Level)
		out = append(out, `,"samples":[`...)
		for k, s := range p.Samples {
			if k > 0 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(append(out, '['), s.Seconds, 10)
			out = append(strconv.AppendInt(append(out, ','), s.Count, 10), ']')
		}
		out = append(out, ']', '}')
	}
	return append(out, ']', '}'), nil
}

// levelFields are the fields that Logs Drilldown treats as the level.
var levelFields = []string{"level", "severity", "severity_text", "log_level", "lvl", "levelname", "loglevel"}

// drilldownLimits answers drilldown-limits, which tells Logs Drilldown what the server supports.
func drilldownLimits(_ context.Context, c *call) ([]byte, error) {
	return json.Marshal(map[string]any{
		"limits": map[string]any{
			"discover_log_levels": true, "discover_service_name": translate.ServiceNames, "log_level_fields": levelFields,
			"max_entries_limit_per_query": loki.MaxEntries, "max_query_series": loki.MaxSeries, "max_query_length": "0s",
			"max_query_lookback": "0s", "max_query_range": "0s", "max_line_size": 0,
			"query_timeout": c.h.cfg.Timeout.String(), "retention_period": "0s", "volume_enabled": true,
			"volume_max_series": 1000, "otlp_config": map[string]any{},
		},
		"pattern_ingester_enabled": true, "version": lokiVersion, "mode": "tenant",
	})
}
