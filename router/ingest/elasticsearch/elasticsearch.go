// Package elasticsearch takes logs by Elasticsearch's bulk and document APIs, as Filebeat, Logstash, Fluent Bit,
// Vector, rsyslog and Elasticsearch's own clients send them, and answers what these ask before: version, license,
// health, templates. The forms follow
// https://www.elastic.co/guide/en/elasticsearch/reference/8.16/docs-bulk.html.
//
// A document is a record of the table that its index names. Its @timestamp is the time of its row. Each document
// has an item in the answer, with a status of its own. Searching is not its business.
//
// It decodes, calls router/ingest, and answers.
package elasticsearch

import (
	"net/http"
	"strings"
	"sync"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// DefaultVersion is the version of Elasticsearch that the server says it is, unless a listener says another.
const DefaultVersion = "8.16.0"

// Door answers the requests of clients.
type Door struct {
	httpdoor.Door
	// Version is the version of Elasticsearch that clients get.
	Version string
	// KeepDates keeps the dates and numbers at the ends of names of indexes.
	KeepDates bool

	mu sync.Mutex // guards said
	// said are the set-up paths that have been logged.
	said map[string]bool
}

// New returns a door: d.Defaults says where documents go that name no index. Of d.Options it reads
// elasticsearch_version and index_date.
func New(d httpdoor.Door) *Door {
	d.Protocol = ingest.Elasticsearch
	d.Defaults = d.Defaults.Or(httpdoor.Target{Pipeline: ingest.IdentityPipeline})
	door := &Door{
		Door: d, Version: DefaultVersion, KeepDates: d.Options["index_date"] == "keep", said: map[string]bool{},
	}
	if v := d.Options["elasticsearch_version"]; v != "" {
		door.Version = v
	}
	return door
}

// begin sets what every answer has: clients of version 8 refuse answers without the product.
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

// Refuse answers an error as Elasticsearch does. A bulk request that may pass later gets 503 with an item of status 429
// for each document, as far as these can be seen: only by that all clients send it again.
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

// Unsupported answers requests that ask for documents.
func (d *Door) Unsupported(w http.ResponseWriter, r *http.Request) {
	out := appendError([]byte(`{"error":`), typeUnsupported,
		"cordwood stores documents that come by this API, and answers SQL at POST /v1/sql")
	write(w, r, http.StatusBadRequest, append(out, `,"status":400}`...))
}

// statusOf is the status of the items of a batch that failed as a whole, and the type of their error.
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
