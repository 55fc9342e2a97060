package cluster

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// oneLog returns a call with one record.
func oneLog(text string) *collector.ExportLogsServiceRequest {
	record := &logs.LogRecord{
		TimeUnixNano: 1767607200000000000,
		Body:         &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: text}},
	}
	return &collector.ExportLogsServiceRequest{
		ResourceLogs: []*logs.ResourceLogs{{ScopeLogs: []*logs.ScopeLogs{{LogRecords: []*logs.LogRecord{record}}}}},
	}
}

// TestListeners checks that every protocol has separate ports with its original paths, and that the
// address determines the table of records. The ports must close before the node ends, and open
// again after a restart.
func TestListeners(t *testing.T) {
	t.Parallel()
	loki, other, splunk, otlp, calls := freeAddr(t), freeAddr(t), freeAddr(t), freeAddr(t), freeAddr(t)
	n := New(t, "--shards", "1", "--loki-addr", loki+"?table=pushed,"+other, "--splunk-addr", splunk+
		"?table=hec&event_time=off",
		"--otlp-http-addr", otlp+"?table=otel", "--otlp-grpc-addr", calls+"?table=called")
	n.Start()
	conn, err := grpc.NewClient(calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 2 {
		const line = `{"streams":[{"stream":{"app":"web"},"values":[["1767607200000000000","a line"]]}]}`
		for _, q := range []struct {
			url, body string
			status    int
		}{
			{loki + "/loki/api/v1/push", line, 204},
			{other + "/loki/api/v1/push", line, 204},
			{splunk + "/services/collector", `{"event":"x","time":1}`, 200},
			{splunk + "/services/collector/health", "", 200},
			{otlp + "/v1/logs", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"b"}}]}]}]}`, 200},
			{otlp + "/v1/traces", `{}`, 404},
			{loki + "/v1/ingest?table=t&pipeline_name=svc_identity", `{}`, 404},
			{loki + "/ready", "", 200},
			{calls + "/v1/logs", "{}", 404},
		} {
			method := http.MethodPost
			if q.body == "" {
				method = http.MethodGet
			}
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+q.url, strings.NewReader(q.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if resp.StatusCode != q.status {
				t.Errorf("%s: %s, want %d", q.url, resp.Status, q.status)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), Generous(30*time.Second))
		if _, err := collector.NewLogsServiceClient(conn).Export(ctx, oneLog("by gRPC"),
			grpc.WaitForReady(true)); err != nil {
			t.Error(err)
		}
		cancel()
		n.Stop()
		n.Start()
	}
	for _, table := range []string{"pushed", "loki_logs", "hec", "otel", "called"} {
		if rows := n.Rows(t, "SELECT count(*) FROM "+table); fmt.Sprint(rows) != "[[2]]" {
			t.Errorf("%s has %v rows, want 2", table, rows)
		}
	}
	if rows := n.Rows(t, "SELECT count(*) FROM hec WHERE svc_timestamp > '2026-01-01'"); fmt.Sprint(rows) != "[[2]]" {
		t.Errorf("the events have times of their own: %v", rows)
	}
}

// TestListenersOfUsers checks that separate ports have the TLS and the users of the user port.
func TestListenersOfUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "receiver")
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("ship:wo=secret\nlook:ro=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	calls, loki := freeAddr(t), freeAddr(t)
	n := New(t, "--shards", "1", "--tls-cert", cert, "--tls-key", key, "--user-file", users, "--otlp-grpc-addr", calls,
		"--loki-addr", loki)
	n.Start()
	unverified := &tls.Config{InsecureSkipVerify: true} // the test is about permissions only
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: unverified}}
	defer client.CloseIdleConnections()
	resp, err := client.Post("https://"+loki+"/loki/api/v1/push", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("Loki without a user: %s", resp.Status)
	}
	conn, err := grpc.NewClient(calls, grpc.WithTransportCredentials(credentials.NewTLS(unverified)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for user, want := range map[string]codes.Code{
		"ship:secret": codes.OK, "look:secret": codes.PermissionDenied, "ship:wrong": codes.Unauthenticated,
		"": codes.Unauthenticated,
	} {
		ctx := t.Context()
		if user != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Basic "+
				base64.StdEncoding.EncodeToString([]byte(user)))
		}
		if _, err := collector.NewLogsServiceClient(conn).Export(ctx, oneLog("x")); status.Code(err) != want {
			t.Errorf("%q: %v, want %s", user, err, want)
		}
	}
	plain, err := grpc.NewClient(calls, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := collector.NewLogsServiceClient(plain).Export(t.Context(),
		oneLog("x")); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
}
