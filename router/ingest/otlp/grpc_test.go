package otlp

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/ingesttest"
)

// serveGRPC serves a receiver over HTTP/2 without TLS, and returns a connection of the usual client.
func serveGRPC(t *testing.T, right access.Right) (*grpc.ClientConn, *ingesttest.Store) {
	t.Helper()
	d, st := receivertest.New(t)
	receiver := NewGRPC(d)
	mux := http.NewServeMux()
	for path, handler := range map[string]http.HandlerFunc{
		PathExportLogs:    receiver.Export,
		PathExportTraces:  receiver.NoLogs,
		PathExportMetrics: receiver.NoLogs,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			x, r := exchange.Begin(w, r, slog.New(slog.DiscardHandler))
			x.Caller, x.Refuse = *ingesttest.Caller(right), RefuseGRPC
			handler(x, r)
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: mux, Protocols: &protocols, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, st
}

func TestGRPC(t *testing.T) {
	conn, st := serveGRPC(t, access.WriteOnly)
	client := collector.NewLogsServiceClient(conn)
	answer, err := client.Export(t.Context(), export(whole()))
	if err != nil || answer.GetPartialSuccess() != nil {
		t.Fatalf("%v %v", answer, err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-svc-log-table-name", "other", "x-svc-db-name", "shop",
		"x-svc-log-extract-keys", "t")
	answer, err = client.Export(ctx, export(whole(), &logs.LogRecord{TimeUnixNano: 1 << 63}),
		grpc.UseCompressor(gzip.Name))
	if err != nil || answer.GetPartialSuccess().GetRejectedLogRecords() != 1 ||
		!strings.Contains(answer.GetPartialSuccess().GetErrorMessage(), "after 2262") {
		t.Fatalf("%v %v", answer, err)
	}
	for table, column := range map[string]string{"public.opentelemetry_logs": "body", "shop.other": "t"} {
		if rows := st.Rows(table); len(rows) != 1 || rows[0][column] == nil {
			t.Errorf("%s: %v", table, rows)
		}
	}
	// Calls in sequence and in parallel use the same connection.
	done := make(chan error)
	for range 50 {
		go func() {
			_, err := client.Export(context.WithoutCancel(ctx), export(whole()))
			done <- err
		}()
	}
	for range 50 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := len(st.Rows("shop.other")); n != 51 {
		t.Errorf("%d rows", n)
	}
}

// A refusal has the code that tells clients whether to retry.
func TestGRPCRefusals(t *testing.T) {
	large := export(&logs.LogRecord{Body: text(strings.Repeat("x", receivertest.MaxBytes))})
	for name, c := range map[string]struct {
		right access.Right
		store func(st *ingesttest.Store)
		what  *collector.ExportLogsServiceRequest
		pairs []string
		code  codes.Code
		text  string
		again bool
	}{
		"a reader": {right: access.ReadOnly, code: codes.PermissionDenied, text: "may only read"},
		"no room": {
			store: func(st *ingesttest.Store) { st.Fill(errs.New(errs.StorageUnavailable, "50 %% – voll")) },
			code:  codes.Unavailable, text: "50 % – voll", again: true,
		},
		"no leader":          {store: refusing(errs.ShardNotReady), code: codes.Unavailable, again: true},
		"a limit for a time": {store: refusing(errs.RateLimited), code: codes.ResourceExhausted, again: true},
		"a bad name": {
			pairs: []string{"x-svc-log-table-name", strings.Repeat("a", 300)},
			code:  codes.InvalidArgument,
		},
		"too large":           {what: large, code: codes.InvalidArgument, text: "more than"},
		"an unknown database": {pairs: []string{"x-svc-db-name", "nope"}, code: codes.InvalidArgument, text: "nope"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.right == access.NoRight {
				c.right = access.ReadWrite
			}
			conn, st := serveGRPC(t, c.right)
			if c.store != nil {
				c.store(st)
			}
			if c.what == nil {
				c.what = export(whole())
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), c.pairs...)
			_, err := collector.NewLogsServiceClient(conn).Export(ctx, c.what)
			got := status.Convert(err)
			if got.Code() != c.code || !strings.Contains(got.Message(), c.text) {
				t.Errorf("%s %q, want %s %q", got.Code(), got.Message(), c.code, c.text)
			}
			again := false
			for _, d := range got.Details() {
				if info, ok := d.(*errdetails.RetryInfo); ok {
					again = info.GetRetryDelay().AsDuration() >= time.Second
				}
			}
			if again != c.again {
				t.Errorf("retry time %v, want %v", again, c.again)
			}
		})
	}
}

func refusing(code errs.Code) func(st *ingesttest.Store) {
	return func(st *ingesttest.Store) { st.Refuse("public.opentelemetry_logs", errs.New(code, "busy")) }
}

func TestGRPCOtherServices(t *testing.T) {
	conn, _ := serveGRPC(t, access.ReadWrite)
	_, err := traces.NewTraceServiceClient(conn).Export(t.Context(), &traces.ExportTraceServiceRequest{})
	if s := status.Convert(err); s.Code() != codes.Unimplemented || !strings.Contains(s.Message(), "only logs") {
		t.Errorf("traces: %v", err)
	}
	_, err = metrics.NewMetricsServiceClient(conn).Export(t.Context(), &metrics.ExportMetricsServiceRequest{})
	if s := status.Convert(err); s.Code() != codes.Unimplemented || !strings.Contains(s.Message(), "only logs") {
		t.Errorf("metrics: %v", err)
	}
}

// A call does not wait for busy shards after its timeout.
func TestGRPCTimeout(t *testing.T) {
	d, st := receivertest.New(t)
	st.Press("public.opentelemetry_logs", true)
	w := call(NewGRPC(d), frame(0, forms(t, export(whole()))[typeProto]), "grpc-timeout", "100m")
	if got := w.Result().Trailer.Get("Grpc-Status"); got != "14" {
		t.Errorf("%s %v", got, w.Result().Trailer)
	}
	if len(st.Rows("public.opentelemetry_logs")) > 0 {
		t.Error("it was stored")
	}
}

// call sends a call in the form in which net/http passes it to the receiver.
func call(g *GRPC, body []byte, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, PathExportLogs, bytes.NewReader(body))
	r.ProtoMajor = 2
	r.Header.Set("Content-Type", typeGRPC)
	r.ContentLength = -1
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return receivertest.Serve(g.Export, RefuseGRPC, r)
}

// frame returns a message with its header.
func frame(flag byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(message))), message...)
}

func TestGRPCFrames(t *testing.T) {
	good := forms(t, export(whole()))[typeProto]
	for name, c := range map[string]struct {
		body    []byte
		headers []string
		status  string
		text    string
	}{
		"whole":                         {body: frame(0, good), status: "0"},
		"empty":                         {body: frame(0, nil), status: "0"},
		"not compressed although named": {body: frame(0, good), headers: []string{"grpc-encoding", "gzip"}, status: "0"},
		"no message":                    {status: "3", text: "no message"},
		"half a prefix":                 {body: []byte{0, 0}, status: "3", text: "no message"},
		"cut off":                       {body: frame(0, good)[:20], status: "3", text: "unexpected EOF"},
		"two messages": {
			body:   append(frame(0, good), frame(0, good)...),
			status: "3",
			text:   "more than one message",
		},
		"no protobuf":             {body: frame(0, []byte("\x0a\xff")), status: "3", text: "not a protobuf"},
		"compressed by nothing":   {body: frame(1, good), status: "3", text: "set grpc-encoding"},
		"compressed by something": {body: frame(1, good), headers: []string{"grpc-encoding", "snappy"}, status: "12"},
		"no gzip":                 {body: frame(1, good), headers: []string{"grpc-encoding", "gzip"}, status: "3"},
		"another flag":            {body: frame(2, good), headers: []string{"grpc-encoding", "gzip"}, status: "3"},
		"a length beyond all":     {body: []byte{0, 255, 255, 255, 255, 1}, status: "3", text: "more than"},
		"a bad timeout": {
			body: frame(0, good), headers: []string{"grpc-timeout", "1000000000S"}, status: "3", text: "grpc-timeout",
		},
		"another bad timeout": {
			body: frame(0, good), headers: []string{"grpc-timeout", "é"}, status: "3", text: "grpc-timeout",
		},
		"a long timeout": {body: frame(0, good), headers: []string{"grpc-timeout", "99999999H"}, status: "0"},
	} {
		d, st := receivertest.New(t)
		w := call(NewGRPC(d), c.body, c.headers...)
		trailer := w.Result().Trailer
		if w.Code != 200 && w.Code != http.StatusUnsupportedMediaType || trailer.Get("Grpc-Status") != c.status ||
			!strings.Contains(trailer.Get("Grpc-Message"), c.text) {
			t.Errorf("%s: answer %d %v", name, w.Code, trailer)
		}
		if stored := len(st.Tables()) > 0; stored && c.status != "0" {
			t.Errorf("%s: rows were stored", name)
		}
	}
}

// A request that is not a gRPC call gets a plain HTTP answer.
func TestGRPCOtherRequests(t *testing.T) {
	d, _ := receivertest.New(t)
	g := NewGRPC(d)
	for _, handler := range []http.HandlerFunc{g.Export, g.NoLogs} {
		r := httptest.NewRequest(http.MethodPost, PathExportLogs, strings.NewReader("{}"))
		r.Header.Set("Content-Type", typeGRPC)
		if w := receivertest.Serve(handler, RefuseGRPC, r); w.Code != 415 ||
			!strings.Contains(w.Body.String(), "--otlp-http-addr") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// FuzzGRPC sends calls with arbitrary bytes.
func FuzzGRPC(f *testing.F) {
	q, err := proto.Marshal(export(whole()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame(0, q), "gzip", "10S")
	f.Add(frame(1, q), "", "")
	f.Fuzz(func(t *testing.T, body []byte, encoding, timeout string) {
		d, _ := receivertest.New(t)
		if timeout != "" && (len(timeout) < 3 || timeout[len(timeout)-1] != 'S') {
			timeout += "00S" // with a short one, the result would depend on the clock
		}
		w := call(NewGRPC(d), body, "grpc-encoding", encoding, "grpc-timeout", timeout)
		if s := w.Result().Trailer.Get("Grpc-Status"); s != "0" && s != "3" && s != "12" && s != "14" {
			t.Errorf("status %q", s)
		}
	})
}
