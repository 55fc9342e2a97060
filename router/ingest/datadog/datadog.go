// Package datadog receives logs with Datadog's API, POST /api/v2/logs and /v1/input, from Datadog's agent and API
// clients, Vector, Fluent Bit and logging libraries. The formats follow
// https://docs.datadoghq.com/api/latest/logs/#send-logs.
//
// A log becomes a record with its fields. Its timestamp is the time of the row. Its ddtags, such as
// "env:test,team:a", become a JSON object in one column. A request is answered with 202 when its logs are stored.
// Logs that can never be stored are kept among the rejects.
//
// The package decodes, calls router/ingest, and answers.
package datadog

import (
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// DefaultTable is the table for requests that do not give one.
const DefaultTable = "datadog_logs"

// Receiver answers the requests of clients.
type Receiver struct{ httpreceiver.Receiver }

// New returns a Receiver. d.Defaults is the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Datadog
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline})
	return &Receiver{d}
}

// Refuse answers an error as Datadog does. Datadog's agent drops logs only on 400, 401, 403 and 413, and repeats
// requests forever after any other error. So requests that can never be stored get one of these. Datadog's clients
// wait for the time in X-Ratelimit-Reset.
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

// Validate answers that the API key is valid. Requests without a valid key never get here, because they are refused
// earlier.
func (d *Receiver) Validate(w http.ResponseWriter, _ *http.Request) {
	exchange.WriteJSON(w, http.StatusOK, []byte(`{"valid":true}`))
}

// Credentials returns the API keys of a request: user:password or a token, plain or in base64. They are in a header, in
// the query string, or at the end of the path.
func Credentials(r *http.Request) (out []params.Credential) {
	if key := r.Header.Get("DD-API-KEY"); key != "" {
		out = append(out, params.Credential{Text: params.UserOrToken(key)})
	}
	q := r.URL.Query()
	for _, key := range []string{q.Get("dd-api-key"), q.Get("api_key"), mux.Vars(r)["key"]} {
		if key != "" {
			out = append(out, params.Credential{Text: params.UserOrToken(key), InURL: true})
		}
	}
	return out
}
