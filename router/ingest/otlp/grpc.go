package otlp

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// The gRPC methods, as paths.
const (
	PathExportLogs    = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
	PathExportTraces  = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
	PathExportMetrics = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
)

// The headers and trailers of gRPC, in the form of net/http. See
// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.
const (
	typeGRPC            = "application/grpc"
	headerEncoding      = "Grpc-Encoding"
	headerTimeout       = "Grpc-Timeout"
	headerTakesEncoding = "Grpc-Accept-Encoding"
	trailerStatus       = "Grpc-Status"
	trailerMessage      = "Grpc-Message"
	trailerDetails      = "Grpc-Status-Details-Bin"
)

// encodings are the supported compressions of messages.
const encodings = "identity,gzip,deflate,zstd"

// GRPC answers gRPC calls.
//
// A gRPC call is an HTTP/2 request whose body is a message after a header of five bytes, and whose result is in
// trailers. This package handles it as such instead of using package grpc, which reads and decompresses a message
// before it calls a handler. So a user without the right to write is refused before the body is read, and the body
// counts against the memory for bodies.
type GRPC struct {
	receiver Receiver
}

// NewGRPC returns a handler for gRPC calls. d.Defaults is the destination for calls that do not give one.
func NewGRPC(d httpreceiver.Receiver) *GRPC {
	receiver := New(d)
	receiver.Protocol = ingest.OTLPGRPC
	return &GRPC{*receiver}
}

// Export stores the log records of a call.
func (g *GRPC) Export(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 || !isGRPC(r.Header) {
		refuseOther(w, r)
		return
	}
	r, cancel, err := withTimeout(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	defer cancel()
	out, err := g.export(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	begin(w)
	message := answerProto(int64(out.Skipped), reasons(out))
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) //nolint:gosec // it is a few kilobytes
	_, _ = w.Write(append(prefix, message...))                               // the client may be gone
	w.Header().Set(trailerStatus, "0")
}

// NoLogs refuses calls with traces or metrics.
func (g *GRPC) NoLogs(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 || !isGRPC(r.Header) {
		refuseOther(w, r)
		return
	}
	exchange.WriteError(w, r, errs.New(errs.InvalidArguments, "cordwood accepts only logs: call %s", PathExportLogs).
		WithStatus(http.StatusNotImplemented))
}

// export stores the records of a call.
func (g *GRPC) export(r *http.Request) (*ingest.Outcome, error) {
	if err := unframe(r); err != nil {
		return nil, g.receiver.Ingestion.Failed(g.receiver.Protocol, ingest.StageBody, err)
	}
	return g.receiver.store(r, false)
}

func isGRPC(h http.Header) bool {
	media := mediaType(h)
	return media == typeGRPC || media == typeGRPC+"+proto"
}

// refuseOther answers a request that is not a gRPC call.
func refuseOther(w http.ResponseWriter, r *http.Request) {
	exchange.Of(r).Refuse = nil
	err := errs.New(errs.Unsupported, "this address accepts OTLP over gRPC, with HTTP/2 and the Content-Type %s; "+
		"--otlp-http-addr and the port for users accept OTLP over HTTP, at /v1/logs", typeGRPC)
	exchange.WriteError(w, r, err.WithStatus(http.StatusUnsupportedMediaType))
}

// unframe makes the message of a call the body of the request, and sets its length and compression.
func unframe(r *http.Request) error {
	var prefix [5]byte
	switch _, err := io.ReadFull(r.Body, prefix[:]); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return errs.New(errs.InvalidArguments,
			"the call has no message: it ends before the five bytes that precede one")
	case err != nil:
		return errs.Wrap(errs.InvalidArguments, err, "read the message")
	}
	length := int64(binary.BigEndian.Uint32(prefix[1:]))
	r.Header.Del("Content-Encoding")
	switch by := strings.ToLower(r.Header.Get(headerEncoding)); {
	case prefix[0] == 0:
	case prefix[0] != 1 || by == "" || by == "identity":
		return errs.New(errs.InvalidArguments,
			"the message is marked as compressed, but the call does not give the compression: set "+
				"%s", strings.ToLower(headerEncoding))
	default:
		r.Header.Set("Content-Encoding", by)
	}
	r.ContentLength, r.Body = length, &message{ReadCloser: r.Body, left: length}
	return nil
}

// message is the single message of a call.
type message struct {
	io.ReadCloser
	left int64
}

var errMoreMessages = errors.New("the call has more than one message, but Export accepts only one")

// Read implements io.Reader. The call must end at the end of the message.
func (m *message) Read(p []byte) (int, error) {
	if m.left == 0 {
		var next [1]byte
		n, err := m.ReadCloser.Read(next[:])
		if n > 0 {
			return 0, errMoreMessages
		}
		return 0, err
	}
	n, err := m.ReadCloser.Read(p[:min(int64(len(p)), m.left)])
	if m.left -= int64(n); m.left > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

var timeUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second,
	'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// withTimeout ends the request at the timeout that the client sent.
func withTimeout(r *http.Request) (*http.Request, context.CancelFunc, error) {
	text := r.Header.Get(headerTimeout)
	if text == "" {
		return r, func() {}, nil
	}
	const most = 8 // the number of digits
	unit, ok := timeUnits[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 63)
	if !ok || err != nil || len(text) > most+1 {
		return r, func() {}, errs.New(errs.InvalidArguments,
			"grpc-timeout %q is not a time: expected up to %d digits and a unit, for example 10S", clip(text), most)
	}
	x := exchange.Of(r)
	// The longest timeout, 99,999,999 hours, exceeds a Duration.
	limit := time.Duration(min(n, uint64(24*365*time.Hour/unit))) * unit //nolint:gosec // it is at most a year
	at := x.Start.Add(limit)
	if x.Deadline.IsZero() || at.Before(x.Deadline) {
		x.Deadline = at
	}
	ctx, cancel := context.WithDeadline(r.Context(), x.Deadline)
	return r.WithContext(ctx), cancel, nil
}

func clip(text string) string { return text[:min(len(text), 32)] }

// begin writes the headers of the answer. The result follows in trailers.
func begin(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", typeGRPC)
	h.Set(headerTakesEncoding, encodings)
	h["Trailer"] = []string{trailerStatus, trailerMessage, trailerDetails}
	w.WriteHeader(http.StatusOK)
}

// RefuseGRPC answers an error as the status of a call. A request that is not a gRPC call gets an HTTP status.
func RefuseGRPC(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	if r.ProtoMajor < 2 || !isGRPC(r.Header) {
		exchange.Of(r).Refuse = nil
		exchange.WriteError(w, r, errs.New(why.Code, "%s", why.Text).WithStatus(why.Status))
		return
	}
	st := &status.Status{Code: int32(codeOf(why)), Message: strings.ToValidUTF8(why.Text, "\uFFFD")}
	switch {
	case why.Status == http.StatusNotImplemented || why.Status == http.StatusUnsupportedMediaType ||
		why.Status == http.StatusNotFound:
		st.Code = int32(codes.Unimplemented) // unknown method or compression: the client may try another
	case why.Passing():
		// Clients repeat a call with ResourceExhausted only if the status has a RetryInfo.
		seconds, _ := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 32)
		after := durationpb.New(time.Duration(max(seconds, 1)) * time.Second)
		if detail, err := anypb.New(&errdetails.RetryInfo{RetryDelay: after}); err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	begin(w)
	h := w.Header()
	h.Set(trailerStatus, strconv.Itoa(int(st.Code)))
	h.Set(trailerMessage, percent(st.Message))
	if details, err := proto.Marshal(st); err == nil {
		h.Set(trailerDetails, base64.RawStdEncoding.EncodeToString(details))
	}
	// so that metrics and the log show this status and not 200, which all gRPC answers have
	exchange.Of(r).Status = why.Status
}

// percent encodes a text for grpc-message: printable ASCII stays, and other bytes are escaped.
func percent(text string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}
