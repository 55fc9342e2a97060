// Package splunk receives logs with Splunk's HTTP Event Collector: JSON events and raw text, from Splunk's logging
// libraries, Fluent Bit, Vector, Docker and the OpenTelemetry Collector. The formats are described at
// https://docs.splunk.com/Documentation/Splunk/latest/Data/FormateventsforHTTPEventCollector.
//
// An event becomes a record with its keys: event, host, source, sourcetype, the members of fields, and others. Its
// time is the time of the row. If an event cannot be read, the whole request is refused. Events that a pipeline
// refuses are skipped and kept among the rejects.
//
// The package decodes, calls router/ingest, and answers.
package splunk

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// DefaultTable is the table for events that name no index.
const DefaultTable = "splunk_logs"

// Receiver answers the requests of clients.
type Receiver struct {
	httpreceiver.Receiver
	// BySourcetype uses the sourcetype of an event as the name of its pipeline, if that pipeline exists.
	BySourcetype bool

	lastAck atomic.Int64
}

// nextAck returns the id by which a client may ask whether its request is stored. Clients expect that every id is
// different.
func (d *Receiver) nextAck(now time.Time) int64 {
	for {
		last := d.lastAck.Load()
		if next := max(last+1, now.UnixMicro()); d.lastAck.CompareAndSwap(last, next) {
			return next
		}
	}
}

// New returns a Receiver. d.Defaults is the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Splunk
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline})
	return &Receiver{Receiver: d, BySourcetype: d.Options["pipeline_by_sourcetype"] == "true"}
}

// The codes of answers.
const (
	codeSuccess       = 0
	codeTokenRequired = 2
	codeInvalidAuth   = 3
	codeInvalidToken  = 4
	codeNoData        = 5
	codeInvalidFormat = 6
	codeIncorrect     = 7
	codeInternal      = 8
	codeBusy          = 9
	codeNoChannel     = 10
	codeNoEvent       = 12
	codeBlankEvent    = 13
	codeHealthy       = 17
	codeUnhealthy     = 18
)

var texts = map[int]string{
	codeSuccess: "Success", codeTokenRequired: "Token is required", codeInvalidAuth: "Invalid authorization",
	codeInvalidToken: "Invalid token", codeNoData: "No data", codeInvalidFormat: "Invalid data format",
	codeIncorrect: "Incorrect index", codeInternal: "Internal server error", codeBusy: "Server is busy",
	codeNoChannel: "Data channel is missing", codeNoEvent: "Event field is required",
	codeBlankEvent: "Event field cannot be blank", codeHealthy: "HEC is healthy",
	codeUnhealthy: "HEC is unhealthy, queues are full",
}

// eventError is the reason why a request is refused: a code of the protocol, and the number of the event.
type eventError struct {
	code  int
	event int // -1: no single event
	why   string
}

func (e *eventError) Error() string {
	text := texts[e.code]
	if e.event >= 0 {
		text = "event " + strconv.Itoa(e.event) + ": " + text
	}
	if e.why != "" {
		text += ": " + e.why
	}
	return text
}

// wrap converts an error of this package to an error of the server.
func wrap(e *eventError) error {
	return errs.Wrap(errs.InvalidArguments, e, "the events cannot be read")
}

// Refuse answers an error as Splunk does.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	status, code := why.Status, codeInvalidFormat
	switch {
	case why.Code == errs.AuthHeaderNotFound:
		code = codeTokenRequired
	case why.Code == errs.InvalidAuthHeader && !hasToken(r):
		code = codeInvalidAuth
	case why.Status == http.StatusUnauthorized:
		status, code = http.StatusForbidden, codeInvalidToken
	case why.Status == http.StatusForbidden:
		code = codeInvalidToken
	case why.Passing():
		// Splunk's clients drop data after 429.
		status, code = http.StatusServiceUnavailable, codeBusy
	}
	answer(w, status, code, why.Text, "")
}

// answer writes an answer. more has further members, each with a comma before it.
func answer(w http.ResponseWriter, status, code int, why, more string) {
	out := append([]byte(`{"text":`), exchange.AppendJSONString(nil, texts[code])...)
	out = append(out, `,"code":`...)
	out = append(strconv.AppendInt(out, int64(code), 10), more...)
	if why != "" {
		out = append(append(out, `,"detail":`...), exchange.AppendJSONString(nil, why)...)
	}
	exchange.WriteJSON(w, status, append(out, '}'))
}

// answerError answers an error of a request whose sender is known.
func answerError(w http.ResponseWriter, r *http.Request, e *eventError) {
	exchange.Of(r).Failed = wrap(e)
	more := ""
	if e.event >= 0 {
		more = `,"invalid-event-number":` + strconv.Itoa(e.event)
	}
	status := http.StatusBadRequest
	if e.code == codeIncorrect && e.event < 0 {
		status = http.StatusForbidden // the sender may not write to this index
	}
	answer(w, status, e.code, e.why, more)
}

// Health answers whether events are accepted.
func (d *Receiver) Health(w http.ResponseWriter, _ *http.Request) {
	if err := d.Ingestion.TakesRows(); err != nil {
		answer(w, http.StatusServiceUnavailable, codeUnhealthy, errs.From(err).ClientMessage(), "")
		return
	}
	answer(w, http.StatusOK, codeHealthy, "", "")
}

// hasToken reports whether the request has a token, valid or not. Other authentication schemes do not count. Tokens
// have been converted to HTTP's own scheme before.
func hasToken(r *http.Request) bool {
	scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "Bearer") && token.Like(rest)
}

// Options answers a client that asks which methods a path for events supports.
func (d *Receiver) Options(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Allow", "OPTIONS, POST")
	w.WriteHeader(http.StatusOK)
}

// Credentials returns the text after Splunk in the header Authorization, and the parameter token: user:password or a
// token, plain or in base64.
func Credentials(r *http.Request) (out []params.Credential) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if strings.EqualFold(scheme, "Splunk") {
		out = append(out, params.Credential{Text: params.UserOrToken(rest), InAuthorization: true})
	}
	if key := r.URL.Query().Get("token"); key != "" {
		out = append(out, params.Credential{Text: params.UserOrToken(key), InURL: true})
	}
	return out
}
