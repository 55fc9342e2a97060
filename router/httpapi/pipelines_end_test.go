package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
)

// busyPipeline spends its budget of steps on every record, about 13 ms each.
const busyPipeline = `processors:
- vrl:
    source: |
      for_each(array!(.a)) -> |_, _| { for_each(array!(.a)) -> |_, _| { for_each(array!(.a)) -> |_, _| { x = 1 } } }
      .
`

func busyRecords(n int) string {
	return strings.Repeat(`{"a":[`+strings.Repeat("1,", 199)+"1]}\n", n)
}

const busyURL = "/v1/ingest?table=t&pipeline_name=busy&skip_error=true"

// The time limit of a request ends its pipeline, which would otherwise take more than four minutes on a fast
// machine. The test does not measure how long the end takes, because this depends on the load of the machine.
func TestTimeoutEndsThePipeline(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.PipelineSteps = 1 << 60 })
	f.put(t, "busy", busyPipeline)
	body := busyRecords(20_000)
	for _, more := range []string{"", "&on_reject=store"} {
		answer := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			answer <- f.call("POST", busyURL+more, body, "Content-Type", "application/x-ndjson", "x-svc-timeout", "200ms")
		}()
		select {
		case w := <-answer:
			if w.Code != http.StatusRequestTimeout || f.writer.calls != 0 {
				t.Errorf("status %d, %d writes: %s", w.Code, f.writer.calls, w.Body)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("the pipeline is still running")
		}
	}
	w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy", busyRecords(100), "Content-Type",
		"application/x-ndjson", "x-svc-timeout", "1ms")
	if w.Code != http.StatusRequestTimeout {
		t.Errorf("dry run: status %d: %s", w.Code, w.Body)
	}
}

// A dry run without a time limit also ends.
func TestTimeOfDryRuns(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.PipelineSteps, c.dryRunTime = 1<<60, time.Millisecond })
	f.put(t, "busy", busyPipeline)
	for _, trace := range []string{"", "&trace=true"} {
		w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy"+trace, busyRecords(100), "Content-Type",
			"application/x-ndjson")
		text := checkError(t, w, http.StatusGatewayTimeout, errs.DeadlineExceeded)
		if !strings.Contains(text, "worked for more than 1ms; send fewer or smaller records") {
			t.Errorf("error %s", text)
		}
	}
}

// Only some dry runs work at a time, because every user may start them. Further ones are refused after a while.
func TestDryRunsAtATime(t *testing.T) {
	gate := turns.New(turns.Config{Running: 1, PerUser: 1, Waiting: 1, MaxWait: time.Millisecond})
	f := newPipelineFixture(t, func(c *Config) { c.dryRuns = gate })
	try := func() *httptest.ResponseRecorder {
		return f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=svc_identity", `{"a":1}`, "Content-Type",
			"application/json")
	}
	leave, err := gate.Enter(t.Context(), "somebody else")
	if err != nil {
		t.Fatal(err)
	}
	w := try()
	text := checkError(t, w, http.StatusTooManyRequests, errs.RateLimited)
	if !strings.Contains(text, "too many dry runs are running or waiting") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%v %s", w.Header(), text)
	}
	leave()
	for range 2 { // a dry run leaves its place
		if w := try(); w.Code != http.StatusOK {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	}
}

// When a client disconnects, its pipeline stops.
func TestDisconnectEndsThePipeline(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.PipelineSteps = 1 << 60 })
	f.put(t, "busy", busyPipeline)
	over := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(over)
		f.Handler().ServeHTTP(w, r)
	}))
	defer srv.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", srv.URL+busyURL, strings.NewReader(busyRecords(5000)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	go func() {
		for f.Ingestion().Running() == 0 && ctx.Err() == nil {
			runtime.Gosched()
		}
		cancel() // the pipeline is running
	}()
	if resp, err := http.DefaultClient.Do(req); err == nil {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		t.Fatalf("answered %s: %s", resp.Status, text)
	}
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Fatal("the pipeline is still running")
	}
	if f.writer.calls != 0 {
		t.Error("the rows were written")
	}
}

// The limit of steps applies to all records of a request together.
func TestRequestSteps(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.PipelineSteps = 5_000_000 })
	f.put(t, "busy", busyPipeline)
	w := f.call("POST", busyURL, busyRecords(100), "Content-Type", "application/x-ndjson")
	if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "record 2: ") ||
		!strings.Contains(text, "--pipeline-request-steps") {
		t.Error(text)
	}
	w = f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy&trace=true", busyRecords(100), "Content-Type",
		"application/x-ndjson")
	if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "record 2: ") {
		t.Error(text)
	}
}
