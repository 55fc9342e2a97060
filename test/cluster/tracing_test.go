package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanCollector receives OTLP spans.
type spanCollector struct {
	url string

	mu    sync.Mutex // guards spans
	spans []collected
}

// collected is a span, and the roles of the process that sent it.
type collected struct {
	*tracepb.Span
	roles string
}

func collectSpans(t *testing.T) *spanCollector {
	t.Helper()
	c := &spanCollector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := &collector.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, req)
		}
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
			t.Errorf("the collector got %s %s: %v", r.Method, r.URL.Path, err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range req.ResourceSpans {
			about := map[string]string{}
			for _, a := range resource.Resource.Attributes {
				about[a.Key] = a.Value.GetStringValue()
			}
			if about["service.name"] != "cordwood" || about["service.instance.id"] == "" {
				t.Errorf("spans come from %v", about)
			}
			for _, scope := range resource.ScopeSpans {
				for _, s := range scope.Spans {
					c.spans = append(c.spans, collected{s, about["cordwood.roles"]})
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// await waits until a trace has spans of these names, each from a process with the given role.
func (c *spanCollector) await(t *testing.T, trace string, want map[string]string) []collected {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(Generous(30 * time.Second)); ; <-tick.C {
		missing := map[string]string{}
		for name, role := range want {
			missing[name] = role
		}
		var mine []collected
		c.mu.Lock()
		for _, s := range c.spans {
			if hex(s.TraceId) == trace {
				mine = append(mine, s)
				if missing[s.Name] == s.roles {
					delete(missing, s.Name)
				}
			}
		}
		c.mu.Unlock()
		if len(missing) == 0 {
			return mine
		}
		if time.Now().After(deadline) {
			for _, s := range mine {
				t.Logf("%s: %s", s.roles, s.Name)
			}
			t.Fatalf("trace %s lacks %v", trace, missing)
		}
	}
}

func hex(b []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, x := range b {
		out.WriteByte(digits[x>>4])
		out.WriteByte(digits[x&15])
	}
	return out.String()
}

// TestTrace follows requests through processes of one role each. A traced request must be one trace in all of them,
// and its id must be in the answer and in the log.
func TestTrace(t *testing.T) {
	spans := collectSpans(t)
	c := NewCluster(t, Spec{Meta: 1, Shard: 1, Router: 1, Shards: 1, Args: []string{
		"--trace-endpoint", spans.url, "--trace-sample-ratio", "0", "--log-level", "debug",
	}})
	c.Start()
	router := c.Routers[0]

	const first, second = "4bf92f3577b34da6a3ce929d0e0e4736", "11112222333344445555666677778888"
	send := func(trace, method, path, body, contentType string) *Answer {
		t.Helper()
		a, err := router.Do(method, path, strings.NewReader(body), "Content-Type", contentType, "traceparent",
			"00-"+trace+"-00f067aa0ba902b7-01")
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Header.Get("X-Svc-Trace-Id"); got != trace {
			t.Errorf("%s %s: the answer has trace %q, want %s", method, path, got, trace)
		}
		return a
	}
	if a := send(first, "POST", "/v1/ingest?db=public&table=t&pipeline_name=svc_identity", `[{"a":1}]`,
		"application/json"); a.Status != 200 {
		t.Fatalf("ingest: %d %s", a.Status, a.Body)
	}
	all := spans.await(t, first, map[string]string{
		"POST /v1/ingest": "router", "read body": "router", "pipeline": "router", "write": "router",
		"ensure schema": "router", "write to shard": "router",
		"Meta/Propose": "meta", "ShardService/Write": "shard", "raft propose and apply": "shard",
	})
	byID := map[string]collected{}
	groups := map[string]bool{}
	for _, s := range all {
		byID[hex(s.SpanId)] = s
		if s.Name == "raft propose and apply" {
			groups[s.roles] = true
		}
	}
	if !groups["meta"] || !groups["shard"] {
		t.Errorf("raft was waited for by %v, want the metadata and the shard", groups)
	}
	for _, s := range all {
		if parent := hex(s.ParentSpanId); s.Name == "POST /v1/ingest" {
			if parent != "00f067aa0ba902b7" {
				t.Errorf("the parent of the request is span %s, want the client's", parent)
			}
		} else if _, ok := byID[parent]; !ok {
			t.Errorf("the parent of %s of %s is a span that was not sent", s.Name, s.roles)
		}
	}

	if a := send(second, "POST", "/v1/sql", "sql=SELECT count(*) FROM t",
		"application/x-www-form-urlencoded"); a.Status != 200 {
		t.Fatalf("query: %d %s", a.Status, a.Body)
	}
	spans.await(t, second, map[string]string{
		"POST /v1/sql": "router", "analyze": "router", "query shards": "router", "ShardService/Query": "shard",
		"gather rows": "shard", "run query": "shard",
	})

	const failed = "99998888777766665555444433332222"
	if a := send(failed, "POST", "/v1/ingest?db=public&table=t&pipeline_name=nowhere", `{}`,
		"application/json"); a.Status < 400 {
		t.Errorf("a pipeline that does not exist: %d", a.Status)
	}
	spans.await(t, failed, map[string]string{"POST /v1/ingest": "router"})
	if log := router.Log(); !strings.Contains(log, "trace_id="+failed) {
		t.Error("no line of the router's log has the trace of the failed request")
	}

	// At this ratio, requests without a trace header are not traced.
	if a, err := router.Do("POST", "/v1/ingest?db=public&table=t&pipeline_name=svc_identity",
		strings.NewReader(`[{"a":2}]`), "Content-Type", "application/json"); err != nil ||
		a.Header.Get("X-Svc-Trace-Id") != "" {
		t.Errorf("a request without a trace: %v, trace %q", err, a.Header.Get("X-Svc-Trace-Id"))
	}
}
