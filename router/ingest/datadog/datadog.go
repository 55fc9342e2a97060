// Package datadog takes logs by Datadog's intake, POST /api/v2/logs and /v1/input, as its agent, its API clients,
// Vector, Fluent Bit and logging libraries send them. The forms follow
// https://docs.datadoghq.com/api/latest/logs/#send-logs.
//
// A log is the record of its fields. Its timestamp is the time of its row, and its ddtags, "env:test,team:a", are kept
// as a JSON object in one column. A request is answered with 202 once its logs are stored; logs that can never be
// stored are kept among the rejects.
//
// It decodes, calls router/ingest, and answers.
package datadog

import (
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// DefaultTable is where logs go of requests that name no table.
const DefaultTable = "datadog_logs"

// Door answers the requests of clients.
type Door struct{ httpdoor.Door }

// New returns a door: d.Defaults says where the records go of requests that do not say it.
func New(d httpdoor.Door) *Door {
	d.Protocol = ingest.Datadog
	d.Defaults = d.Defaults.Or(httpdoor.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline})
	return &Door{d}
}

// Refuse answers an error as the intake does. The agent drops logs on 400, 401, 403 and 413 only, and sends them again
// for ever on any other error, so what can never be stored gets one of these. Datadog's clients wait as long as
// X-Ratelimit-Reset says.
func Refuse(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	status := http.StatusBadRequest
	switch why.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		status = http.StatusForbidden
	case http.StatusTooManyRequests, http.StatusRequestEntityTooLarge:
		status = why.Status
	default:
		if why.Passing() {
			status = http.StatusServiceUnavailable
		}
	}
	if after := w.Header().Get("Retry-After"); after != "" {
		w.Header().Set("X-Ratelimit-Reset", after)
	}
	out := append([]byte(`{"errors":[{"status":"`), strconv.Itoa(status)...)
	out = exchange.AppendJSONString(append(out, `","title":`...), http.StatusText(status))
	out = exchange.AppendJSONString(append(out, `,"detail":`...), why.Text)
	exchange.WriteJSON(w, status, append(out, "}]}"...))
}

// Validate answers that the API key is valid. A request without one is refused before.
func (d *Door) Validate(w http.ResponseWriter, _ *http.Request) {
	exchange.WriteJSON(w, http.StatusOK, []byte(`{"valid":true}`))
}

// Credentials returns "user:password" of a request: what it has as an API key, in a header, the query or at the end of
// its path, as it is or in base64. "" says that it has none of its own.
func Credentials(r *http.Request) string {
	key := r.Header.Get("DD-API-KEY")
	if key == "" {
		q := r.URL.Query()
		if key = q.Get("dd-api-key"); key == "" {
			key = q.Get("api_key")
		}
	}
	if key == "" && r.Header.Get("Authorization") == "" {
		key = mux.Vars(r)["key"]
	}
	if key == "" || strings.Contains(key, ":") {
		return key
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.DecodeString(key); err == nil && strings.Contains(string(decoded), ":") {
			return string(decoded)
		}
	}
	return key
}
