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
	w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy", busyRecords(10), "Content-Type",
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
		w := f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy"+trace, busyRecords(10), "Content-Type",
			"application/x-ndjson")
		text := checkError(t, w, http.StatusGatewayTimeout, errs.DeadlineExceeded)
		if !strings.Contains(text, "worked for more than 1ms; send fewer or smaller records") {
			t.Errorf("error %s", text)
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
	w = f.call("POST", "/v1/pipelines/_dryrun?pipeline_name=busy&trace=true", busyRecords(10), "Content-Type",
		"application/x-ndjson")
	if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "record 2: ") {
		t.Error(text)
	}
}
