package httpreceiver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/datadog"
	"cordwood/router/ingest/elasticsearch"
	"cordwood/router/ingest/gelf"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/httpreceiver/receivertest"
	"cordwood/router/ingest/loki"
	"cordwood/router/ingest/otlp"
	"cordwood/router/ingest/splunk"
)

// Every protocol that has headers reports rows that no query will find.
func TestExpiredRowsAreTold(t *testing.T) {
	type refusal = func(http.ResponseWriter, *http.Request, *exchange.Refusal)
	for _, c := range []struct {
		name, contentType, body string
		handler                 func(d httpreceiver.Receiver) http.HandlerFunc
		refuse                  refusal
	}{
		{
			"elasticsearch", "application/x-ndjson",
			"{\"create\":{\"_index\":\"old\"}}\n{\"@timestamp\":\"2020-01-05T10:00:00Z\"}\n",
			func(d httpreceiver.Receiver) http.HandlerFunc { return elasticsearch.New(d).Bulk }, elasticsearch.Refuse,
		},
		{
			"datadog", "application/json", `[{"message":"x","timestamp":1600000000000}]`,
			func(d httpreceiver.Receiver) http.HandlerFunc { return datadog.New(d).Logs }, datadog.Refuse,
		},
		{
			"gelf", "application/json", `{"version":"1.1","host":"h","short_message":"x","timestamp":1600000000}`,
			func(d httpreceiver.Receiver) http.HandlerFunc { return gelf.NewReceiver(d).Push }, gelf.Refuse,
		},
		{
			"loki", "application/json", `{"streams":[{"stream":{"app":"x"},"values":[["1600000000000000000","old"]]}]}`,
			func(d httpreceiver.Receiver) http.HandlerFunc { return loki.New(d).Push }, loki.Refuse,
		},
		{
			"otlp", "application/json", `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":` +
				`"1600000000000000000","body":{"stringValue":"x"}}]}]}]}`,
			func(d httpreceiver.Receiver) http.HandlerFunc { return otlp.New(d).Logs }, otlp.Refuse,
		},
		{
			"splunk", "application/json", `{"time":1600000000,"event":"x"}`,
			func(d httpreceiver.Receiver) http.HandlerFunc { return splunk.New(d).Event }, splunk.Refuse,
		},
	} {
		d, _ := receivertest.New(t)
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.contentType)
		r.Header.Set("x-svc-hints", "ttl=1h")
		h := receivertest.Serve(c.handler(d), c.refuse, r).Header()
		if h.Get("x-svc-expired") != "1" || !strings.HasPrefix(h.Get("x-svc-warnings"), "1 row is older than the ttl") {
			t.Errorf("%s: expired %q, warnings %q", c.name, h.Get("x-svc-expired"), h.Get("x-svc-warnings"))
		}
	}
}

// A request for a hundred tables gets an answer whose headers every client can read.
func TestWarningsAreBounded(t *testing.T) {
	var body strings.Builder
	for i := range 100 {
		index := fmt.Sprintf("t%c%c", 'a'+i/10, 'a'+i%10)
		body.WriteString(`{"create":{"_index":"` + index + `"}}` + "\n" + `{"@timestamp":"2020-01-05T10:00:00Z"}` + "\n")
	}
	d, _ := receivertest.New(t)
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body.String()))
	r.Header.Set("x-svc-hints", "ttl=1h")
	h := receivertest.Serve(elasticsearch.New(d).Bulk, elasticsearch.Refuse, r).Header()
	if n := len(h.Values("x-svc-warnings")); n != 20 || h.Get("x-svc-expired") != "100" {
		t.Errorf("%d warnings, expired %q; want 20 and 100", n, h.Get("x-svc-expired"))
	}
}
