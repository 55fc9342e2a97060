package lokiapi

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/series"
)

// Refuse writes an error with the members that Loki's clients expect, and with the members of cordwood's own errors.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	out := append([]byte(`{"status":"error","errorType":"`), errorType(why.Status)...)
	out = append(out, `","message":`...)
	out = exchange.AppendJSONString(out, why.Text)
	out = append(out, `,"code":`...)
	out = strconv.AppendUint(out, uint64(why.Code), 10)
	out = append(out, `,"error":`...)
	out = exchange.AppendJSONString(out, why.Text)
	out = append(out, `,"execution_time_ms":`...)
	out = strconv.AppendInt(out, exchange.Of(r).Millis(), 10)
	exchange.WriteJSON(w, why.Status, append(out, '}'))
}

func errorType(status int) string {
	switch status {
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout"
	case http.StatusTooManyRequests:
		return "too_many_requests"
	case http.StatusServiceUnavailable:
		return "unavailable"
	case http.StatusInternalServerError:
		return "internal"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusUnauthorized, http.StatusForbidden:
		return "unauthorized"
	}
	return "bad_data"
}

// appendLabels appends labels as a JSON object, sorted by their names.
func appendLabels(out []byte, labels map[string]string) []byte {
	out = append(out, '{')
	for i, name := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(out, name)
		out = append(out, ':')
		out = exchange.AppendJSONString(out, labels[name])
	}
	return append(out, '}')
}

// stream groups the entries that have the same labels.
type stream struct {
	labels  map[string]string
	entries []*lines.Entry
}

// streams groups entries by their labels. If categorized is set, structured metadata and parsed labels stay with the
// entries. Otherwise they become labels of the stream.
func streams(list []*lines.Entry, categorized bool) []*stream {
	byKey := map[string]*stream{}
	var out []*stream
	for _, e := range list {
		labels := streamLabels(e, categorized)
		key := series.Key(labels)
		s := byKey[key]
		if s == nil {
			s = &stream{labels: labels}
			byKey[key], out = s, append(out, s)
		}
		s.entries = append(s.entries, e)
	}
	return out
}

// streamLabels returns the labels of an entry's stream.
func streamLabels(e *lines.Entry, categorized bool) map[string]string {
	if categorized {
		return e.Labels
	}
	labels := maps.Clone(e.Metadata)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, e.Parsed)
	maps.Copy(labels, e.Labels)
	return labels
}

// appendStreams appends streams with their entries.
func appendStreams(out []byte, list []*stream, categorized bool) []byte {
	out = append(out, '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"stream":`...)
		out = appendLabels(out, s.labels)
		out = append(out, `,"values":[`...)
		for k, e := range s.entries {
			if k > 0 {
				out = append(out, ',')
			}
			out = appendEntry(out, e, categorized)
		}
		out = append(out, ']', '}')
	}
	return append(out, ']')
}

func appendEntry(out []byte, e *lines.Entry, categorized bool) []byte {
	out = append(out, '[', '"')
	out = strconv.AppendInt(out, e.Nanos, 10)
	out = append(out, '"', ',')
	out = exchange.AppendJSONString(out, e.Line)
	if categorized {
		out = append(out, ',', '{')
		if len(e.Metadata) > 0 {
			out = append(out, `"structuredMetadata":`...)
			out = appendLabels(out, e.Metadata)
		}
		if len(e.Parsed) > 0 {
			if len(e.Metadata) > 0 {
				out = append(out, ',')
			}
			out = append(out, `"parsed":`...)
			out = appendLabels(out, e.Parsed)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// categorizes reports whether the client asks for structured metadata and parsed labels separately from the labels of
// the stream.
func (c *call) categorizes() bool {
	for _, flags := range c.r.Header.Values("X-Loki-Response-Encoding-Flags") {
		for flag := range strings.SplitSeq(flags, ",") {
			if strings.TrimSpace(flag) == "categorize-labels" {
				return true
			}
		}
	}
	return false
}

// result returns the response to a query. The function result appends the list of results.
func (c *call) result(kind string, result func(out []byte) []byte) []byte {
	out := []byte(`{"status":"success",`)
	if len(c.warnings) > 0 {
		out = append(exchange.AppendJSONStrings(append(out, `"warnings":`...), c.warnings), ',')
	}
	out = append(append(out, `"data":{"resultType":"`...), kind...)
	out = append(out, '"')
	if kind == "streams" && c.categorizes() {
		out = append(out, `,"encodingFlags":["categorize-labels"]`...)
	}
	out = append(out, `,"result":`...)
	out = result(out)
	out = append(out, `,"stats":`...)
	return append(c.appendStats(out), '}', '}')
}

// success returns a response with a list of strings. Like Loki, it omits data if the list is empty.
func success(list []string) []byte {
	if len(list) == 0 {
		return []byte(`{"status":"success"}`)
	}
	return append(exchange.AppendJSONStrings([]byte(`{"status":"success","data":`), list), '}')
}
