package httpreceiver_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/datadog"
	"cordwood/router/ingest/firehose"
	"cordwood/router/ingest/gelf"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/loki"
	"cordwood/router/ingest/otlp"
	"cordwood/router/ingest/splunk"
)

// TestMemoryTaken checks that, while the memory for bodies is exhausted, every protocol answers 503 and not 429,
// because some clients lose records after 429.
func TestMemoryTaken(t *testing.T) {
	type refusal = func(http.ResponseWriter, *http.Request, *exchange.Refusal)
	for _, c := range []struct {
		name    string
		handler func(d httpreceiver.Receiver) http.HandlerFunc
		refuse  refusal
	}{
		{"datadog", func(d httpreceiver.Receiver) http.HandlerFunc { return datadog.New(d).Logs }, datadog.Refuse},
		{"firehose", func(d httpreceiver.Receiver) http.HandlerFunc { return firehose.New(d).Deliver }, firehose.Refuse},
		{"gelf", func(d httpreceiver.Receiver) http.HandlerFunc { return gelf.NewReceiver(d).Push }, gelf.Refuse},
		{"loki", func(d httpreceiver.Receiver) http.HandlerFunc { return loki.New(d).Push }, loki.Refuse},
		{"otlp", func(d httpreceiver.Receiver) http.HandlerFunc { return otlp.New(d).Logs }, otlp.Refuse},
		{"splunk", func(d httpreceiver.Receiver) http.HandlerFunc { return splunk.New(d).Event }, splunk.Refuse},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, _ := receivertest.New(t)
			bodies, err := body.New(body.Config{MaxInFlight: 1 << 20, Policy: body.Fail})
			if err != nil {
				t.Fatal(err)
			}
			held, err := bodies.Hold(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer held.Release()
			if err := held.Reserve(t.Context(), 1<<20); err != nil {
				t.Fatal(err)
			}
			d.Bodies = bodies
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`[{"message":"x"}]`))
			r.Header.Set("Content-Type", "application/json")
			w := receivertest.Serve(c.handler(d), c.refuse, r)
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
				t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
			}
		})
	}
}
