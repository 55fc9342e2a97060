// Package elasticsearch receives logs with Elasticsearch's bulk and document APIs, from Filebeat, Logstash, Fluent
// Bit, Vector, rsyslog and Elasticsearch's own clients. It also answers the requests that these clients send first:
// version, license, health and templates. The formats follow
// https://www.elastic.co/guide/en/elasticsearch/reference/8.16/docs-bulk.html.
//
// A document becomes a record of the table named by its index. Its @timestamp is the time of its row. The answer
// has an item with a status for each document. Searches are not supported.
//
// The package decodes, calls router/ingest, and answers.
package elasticsearch

import (
	"net/http"
	"strings"
	"sync"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// DefaultVersion is the version of Elasticsearch in answers, unless a listener sets another.
const DefaultVersion = "8.16.0"

// Receiver answers the requests of clients.
type Receiver struct {
	httpreceiver.Receiver
	// Version is the version of Elasticsearch in answers.
	Version string
	// KeepDates keeps dates and numbers at the ends of index names.
	KeepDates bool

	mu sync.Mutex // guards logged
	// logged has the set-up paths that have been logged.
	logged map[string]bool
}

// New returns a Receiver. d.Defaults is the destination for documents without an index. New reads elasticsearch_version
// and index_date from d.Options.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Elasticsearch
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Pipeline: ingest.IdentityPipeline})
	receiver := &Receiver{
		Receiver: d, Version: DefaultVersion, KeepDates: d.Options["index_date"] == "keep", logged: map[string]bool{},
	}
	if v := d.Options["elasticsearch_version"]; v != "" {
		receiver.Version = v
	}
	return receiver
}

// begin sets the headers of every answer. Clients of version 8 refuse answers without the product header.
func begin(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Elastic-Product", "Elasticsearch")
	contentType := "application/json"
	if accept := r.Header.Get("Accept"); strings.HasPrefix(accept, "application/vnd.elasticsearch+json") &&
		len(accept) < 100 {
		contentType = accept
	}
	h.Set("Content-Type", contentType)
}

// write answers with JSON.
func write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	begin(w, r)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n'))
	}
}

// The types of errors.
const (
	typeRejected    = "es_rejected_execution_exception"
	typeParsing     = "document_parsing_exception"
	typeArgument    = "illegal_argument_exception"
	typeSecurity    = "security_exception"
	typeUnsupported = "unsupported_operation_exception"
	typeMissing     = "resource_not_found_exception"
)

// appendError appends the object that describes an error.
func appendError(to []byte, kind, reason string) []byte {
	to = append(append(append(to, `{"type":"`...), kind...), `","reason":`...)
	return append(exchange.AppendJSONString(to, reason), '}')
}

// Refuse answers an error as Elasticsearch does. If a bulk request may succeed later, the status is 503, with an
// item of status 429 for each document that could be read, because only then do all clients send it again.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	status, kind := why.Status, typeArgument
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = typeSecurity
	case status == http.StatusNotFound:
		kind = typeMissing
	case why.Passing():
		status, kind = http.StatusServiceUnavailable, typeRejected
	}
	detail := appendError(nil, kind, why.Text)
	if status == http.StatusServiceUnavailable && strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/_bulk") {
		if commands := peek(w, r); len(commands) > 0 {
			writeRefused(w, r, commands, detail)
			return
		}
	}
	out := append(append([]byte(`{"error":`), detail...), `,"status":`...)
	write(w, r, status, append(appendInt(out, status), '}'))
}

// Unsupported answers search requests.
func (d *Receiver) Unsupported(w http.ResponseWriter, r *http.Request) {
	out := appendError([]byte(`{"error":`), typeUnsupported,
		"cordwood stores documents sent with this API, and answers SQL at POST /v1/sql")
	write(w, r, http.StatusBadRequest, append(out, `,"status":400}`...))
}

// statusOf returns the status and the error type for the items of a batch if the whole batch failed.
func statusOf(err error) (status int, kind string) {
	e := errs.From(err)
	switch s := e.Status(); {
	case s == http.StatusForbidden || s == http.StatusUnauthorized:
		return http.StatusForbidden, typeSecurity
	case s == http.StatusTooManyRequests || s >= http.StatusInternalServerError || s == http.StatusRequestTimeout:
		return http.StatusTooManyRequests, typeRejected
	}
	return http.StatusBadRequest, typeArgument
}
