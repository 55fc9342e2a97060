// Package otlp receives logs with the OpenTelemetry protocol: POST /v1/logs with protobuf or JSON, from the
// Collector and the SDKs of all languages. The formats follow https://opentelemetry.io/docs/specs/otlp/.
//
// Without a pipeline, a log record becomes a row with the columns of layout. With a pipeline, it becomes a record
// with the keys Timestamp, Body, LogAttributes and so on. Records that can never be stored are left out, and
// reported in partial_success. Traces and metrics are refused.
//
// The package decodes, calls router/ingest, and answers.
package otlp

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// DefaultTable is the table for requests that do not give one.
const DefaultTable = "opentelemetry_logs"

const (
	typeProto = "application/x-protobuf"
	typeJSON  = "application/json"
)

// Receiver answers the requests of clients.
type Receiver struct {
	httpreceiver.Receiver
}

// New returns a Receiver. d.Defaults is the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.OTLP
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable})
	return &Receiver{d}
}

// mediaType returns the type of a request's body: typeProto, typeJSON, or another.
func mediaType(h http.Header) string {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(h.Get("Content-Type")))
	}
	return media
}

// codeOf returns the gRPC code of an error. Clients repeat calls that end with Unavailable, and HTTP requests
// answered with 429, 502, 503 or 504. They drop requests answered with 500.
func codeOf(why *exchange.Refusal) codes.Code {
	switch {
	case why.Status == http.StatusUnauthorized:
		return codes.Unauthenticated
	case why.Status == http.StatusForbidden:
		return codes.PermissionDenied
	case why.Status == http.StatusNotFound:
		return codes.NotFound
	case why.Status == http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case why.Passing():
		return codes.Unavailable
	}
	return codes.InvalidArgument
}

// Refuse answers an error as a google.rpc.Status, in the format of the request.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	httpStatus, code := why.Status, codeOf(why)
	if code == codes.Unavailable {
		httpStatus = http.StatusServiceUnavailable
	}
	st := &status.Status{Code: int32(code), Message: why.Text}
	body, err := proto.Marshal(st)
	contentType := typeProto
	if mediaType(r.Header) == typeJSON {
		body, err = protojson.Marshal(st)
		contentType = typeJSON
	}
	if err != nil {
		body = nil // the text is not UTF-8, so only the status is sent
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(httpStatus)
	_, _ = w.Write(body)
}

// NoLogs refuses requests with traces or metrics.
func (d *Receiver) NoLogs(w http.ResponseWriter, r *http.Request) {
	exchange.WriteError(w, r, errs.New(errs.InvalidArguments, "cordwood accepts only logs: send them to /v1/logs").
		WithStatus(http.StatusNotFound))
}

// Logs stores the log records in the body of a request.
func (d *Receiver) Logs(w http.ResponseWriter, r *http.Request) {
	media := mediaType(r.Header)
	if media != typeProto && media != typeJSON {
		exchange.WriteError(w, r, errs.New(errs.Unsupported, "the Content-Type must be %s or %s", typeProto, typeJSON).
			WithStatus(http.StatusUnsupportedMediaType))
		return
	}
	out, err := d.store(r, media == typeJSON)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	rejected, why := int64(out.Skipped), reasons(out)
	if media == typeJSON {
		exchange.WriteJSON(w, http.StatusOK, answerJSON(rejected, why))
		return
	}
	w.Header().Set("Content-Type", typeProto)
	_, _ = w.Write(answerProto(rejected, why))
}

// reasons returns the first reasons why records were left out.
func reasons(out *ingest.Outcome) string {
	const most = 3
	var parts []string
	for _, r := range out.Reasons[:min(len(out.Reasons), most)] {
		parts = append(parts, "record "+strconv.Itoa(r.Index)+": "+r.Error)
	}
	return strings.ToValidUTF8(strings.Join(parts, "; "), "\uFFFD")
}

// answerProto returns a message ExportLogsServiceResponse.
func answerProto(rejected int64, why string) []byte {
	if rejected == 0 && why == "" {
		return nil
	}
	//nolint:gosec // it is not negative
	partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(rejected))
	partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), why)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial)
}

func answerJSON(rejected int64, why string) []byte {
	if rejected == 0 && why == "" {
		return []byte("{}")
	}
	out := append([]byte(`{"partialSuccess":{"rejectedLogRecords":"`), strconv.FormatInt(rejected, 10)...)
	out = append(out, `","errorMessage":`...)
	return append(exchange.AppendJSONString(out, why), "}}"...)
}

// store stores the records of a request over HTTP or gRPC. Its body is JSON or protobuf.
func (d *Receiver) store(r *http.Request, isJSON bool) (*ingest.Outcome, error) {
	call, target, err := d.Open(r)
	if err != nil {
		return nil, err
	}
	defer call.Release()
	in := &request{body: call.Body, read: readProto, eventTime: call.EventTime, arrival: call.X.Start.UnixNano()}
	if isJSON {
		in.read, in.json = readJSON, true
		if in.body, err = call.JSON(); err != nil {
			return nil, err
		}
	}
	if keys := params.Header(r.Header, "X-Svc-Log-Extract-Keys"); keys != "" {
		if in.extract, err = extractKeys(keys); err != nil {
			return nil, err
		}
	}
	b := call.Batch(target)
	in.setInput(b)
	out := &call.Store(b)[0]
	if in.repeated > 0 {
		call.X.Header().Add(exchange.HeaderWarnings, words.Say(in.repeated,
			"key occurred more than once in attributes: its last value was stored",
			"keys occurred more than once in attributes: the last value of each was stored"))
	}
	return out, out.Err
}

// request is the body of one request. It may be read more than once.
type request struct {
	body      []byte
	read      func(body []byte, each func(r *record, err error) error) error
	extract   []string
	eventTime bool
	arrival   int64 // nanoseconds since 1970
	current   *record
	found     [][]byte // the attributes of a record that become columns
	// repeated is the number of keys that occurred twice in attributes.
	repeated int
	json     bool
}

// setInput sets the input of a batch to the request: columns, or records for its pipeline.
func (q *request) setInput(b *ingest.Batch) {
	if b.Pipeline == "" {
		b.Input = ingest.Columns{Layout: layout, Fill: q.fill, Text: q.text, Format: ingest.FormatOTLP}
		return
	}
	b.Input = ingest.Records(q.records)
}

// each reads the records. Its error is an error for the client.
func (q *request) each(do func(r *record, err error) error) error {
	q.repeated = 0
	err := q.read(q.body, do)
	if err != nil && errs.CodeOf(err) == errs.Unknown {
		err = errs.New(errs.InvalidArguments, "%v", err)
	}
	return err
}

// maxExtract limits the number of attributes that a request may turn into columns.
const maxExtract = 64

// extractKeys returns the keys of attributes that become columns.
func extractKeys(header string) ([]string, error) {
	var keys []string
	for key := range strings.SplitSeq(header, ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) > maxExtract {
		return nil, errs.New(errs.InvalidArguments,
			"the header x-svc-log-extract-keys lists %d keys: at most %d are allowed", len(keys), maxExtract)
	}
	return keys, nil
}
