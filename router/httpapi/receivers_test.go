package httpapi

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

const lokiBody = `{"streams":[{"stream":{"app":"web"},"values":[["1700000000000000000","a line"]]}]}`

// The paths of Loki are served on the user port, and on a separate listener with default database and table.
func TestLokiPaths(t *testing.T) {
	f := newFixture(t)
	own, err := f.ReceiverHandler(ingest.Loki, httpreceiver.Receiver{Defaults: httpreceiver.Target{Table: "own"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		handler http.Handler
		path    string
		status  int
		text    string
	}{
		{f.Handler(), "/loki/api/v1/push", 204, ""},
		{f.Handler(), "/v1/loki/api/v1/push?unknown=1", 204, ""},
		{f.Handler(), "/v1/loki/loki/api/v1/push", 204, ""},
		{f.PublicHandler(), "/loki/api/v1/push", 204, ""},
		{f.Handler(), "/v1/db/nope/loki/api/v1/push", 400, "nope"},
		{own, "/loki/api/v1/push", 204, ""},
		{own, "/ready", 200, ""},
		{own, "/v1/ingest?table=t&pipeline_name=svc_identity", 404, ""},
	} {
		method := http.MethodPost
		if tt.path == "/ready" {
			method = http.MethodGet
		}
		r := httptest.NewRequest(method, tt.path, strings.NewReader(lokiBody))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		tt.handler.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) {
			t.Errorf("%s: %d %s", tt.path, w.Code, w.Body)
		}
	}
	if _, err := f.ReceiverHandler("nope", httpreceiver.Receiver{}); err == nil {
		t.Error("there is a handler for a protocol that does not exist")
	}
}

// TestSlashAtTheEnd checks that Elasticsearch's paths may end with a slash, because the client olivere/elastic sends
// it. Other paths may not.
func TestSlashAtTheEnd(t *testing.T) {
	f := newFixture(t)
	own, err := f.ReceiverHandler(ingest.Elasticsearch, httpreceiver.Receiver{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		handler http.Handler
		path    string
		status  int
	}{
		{own, "/logs/_doc/", 201},
		{own, "/%3Clogs%3E/_doc//", 201},
		{f.Handler(), "/v1/elasticsearch/logs/_doc/", 201},
		{own, "/logs/_nothing/", 404},
		{own, "///", 405},
		{f.Handler(), "/v1/loki/api/v1/push/", 404},
	} {
		w := httptest.NewRecorder()
		tt.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(`{"n":1}`)))
		if w.Code != tt.status {
			t.Errorf("%s: %d %s", tt.path, w.Code, w.Body)
		}
	}
}

// basicUser is byUser for clients that use HTTP Basic authentication.
type basicUser struct{ byUser }

func (basicUser) Authenticate(r *http.Request, from netip.Addr) (access.Sender, error) {
	user, _, _ := r.BasicAuth()
	r.Header.Set("Authorization", user)
	return byUser{}.Authenticate(r, from)
}

// Splunk's own form of credentials is accepted on its paths and nowhere else.
func TestSplunkCredentials(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = basicUser{} })
	for path, want := range map[string]int{
		"/v1/splunk/services/collector":                 200,
		"/v1/ingest?table=t&pipeline_name=svc_identity": 401,
	} {
		w := f.call("POST", path, `{"event":1}`, "Authorization", "Splunk rw:pass", "Content-Type", "application/json")
		if w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// Datadog's API keys have the form user:password on its paths.
func TestDatadogCredentials(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = basicUser{} })
	for _, tt := range []struct {
		path, key string
		want      int
	}{
		{"/api/v2/logs", "rw:pass", 202},
		{"/v1/datadog/api/v2/logs", "wo:pass", 202},
		{"/v1/datadog/api/v2/logs", "ro:pass", 403},
		{"/v1/datadog/api/v2/logs", "", 403},
		// Passwords do not belong into URLs.
		{"/v1/input?dd-api-key=rw:pass", "", 403},
		{"/v1/input/rw:pass", "", 403},
		{"/v1/datadog/v1/input/bad:pass", "", 403},
		{"/v1/ingest?table=t&pipeline_name=svc_identity", "rw:pass", 401},
	} {
		w := f.call("POST", tt.path, `[{"message":"m"}]`, "DD-API-KEY", tt.key, "Content-Type", "application/json")
		if w.Code != tt.want {
			t.Errorf("%s: %d %s", tt.path, w.Code, w.Body)
		}
	}
	for key, want := range map[string]int{"ro:pass": 200, "bad:pass": 403} {
		if w := f.call("GET", "/api/v1/validate", "", "DD-API-KEY", key); w.Code != want {
			t.Errorf("validate %s: %d %s", key, w.Code, w.Body)
		}
	}
}

// The access key of Firehose has the form user:password.
func TestFirehoseCredentials(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = basicUser{} })
	for key, want := range map[string]int{"wo:pass": 200, "ro:pass": 403, "bad:pass": 401, "": 401} {
		w := f.call("POST", "/v1/firehose", `{"requestId":"i","records":[{"data":"eA=="}]}`, "X-Amz-Firehose-Access-Key", key,
			"X-Amz-Firehose-Request-Id", "i", "Content-Type", "application/json")
		if w.Code != want || !strings.HasPrefix(w.Body.String(), `{"requestId":"i","timestamp":`) {
			t.Errorf("%s: %d %s", key, w.Code, w.Body)
		}
	}
}

// The user of a Heroku drain is in its URL and arrives in the Authorization header.
func TestHerokuPath(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	for user, want := range map[string]int{"wo": 204, "ro": 403, "bad": 401, "": 401} {
		w := f.call("POST", "/v1/heroku", "30 <40>1 - host heroku web.3 - up\n", "Authorization", user, "Content-Type",
			"application/logplex-1")
		if w.Code != want || want != 204 && strings.HasPrefix(w.Body.String(), "{") {
			t.Errorf("%s: %d %s", user, w.Code, w.Body)
		}
	}
}

// From the third refusal within a second on, a sender waits a second for each refusal.
func TestRefusalsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
		for i, want := range []time.Duration{0, 0, time.Second, 0, 0, time.Second} {
			begin := time.Now()
			if w := f.call("POST", "/loki/api/v1/push", "{}"); w.Code != 401 || time.Since(begin) != want {
				t.Errorf("refusal %d: %d after %s, want %s", i, w.Code, time.Since(begin), want)
			}
		}
	})
}

// TestUnknownPathsOfProtocols checks that, below the paths of a protocol, and on its own port, errors have the
// protocol's format. Elasticsearch's clients refuse answers without the product header.
func TestUnknownPathsOfProtocols(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = basicUser{} })
	own := func(p ingest.Protocol) http.Handler {
		h, err := f.ReceiverHandler(p, httpreceiver.Receiver{})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	const missing = `"type":"resource_not_found_exception"`
	for _, tt := range []struct {
		handler            http.Handler
		method, path, auth string
		status             int
		text, product      string
	}{
		{own(ingest.Elasticsearch), "GET", "/_nothing", "", 404, missing, "Elasticsearch"},
		{own(ingest.Elasticsearch), "DELETE", "/logs", "", 405, `"status":405`, "Elasticsearch"},
		{own(ingest.Elasticsearch), "HEAD", "/logs/_nothing", "", 404, "", "Elasticsearch"},
		{f.Handler(), "GET", "/v1/elasticsearch/_nothing", "rw", 404, missing, "Elasticsearch"},
		{f.PublicHandler(), "GET", "/v1/elasticsearch/_nothing", "rw", 404, missing, "Elasticsearch"},
		{f.Handler(), "GET", "/v1/elasticsearch", "", 401, `"type":"security_exception"`, "Elasticsearch"},
		{own(ingest.Elasticsearch), "GET", "/", "", 401, `"type":"security_exception"`, "Elasticsearch"},
		{own(ingest.Elasticsearch), "GET", "/_license", "wo", 200, `"license"`, "Elasticsearch"},
		{own(ingest.Splunk), "POST", "/services/nothing", "", 404, `{"text":"Invalid data format","code":6`, ""},
		{f.Handler(), "POST", "/v1/splunk/services/nothing", "rw", 404, `"code":6`, ""},
		{f.Handler(), "POST", "/v1/nothing", "rw", 404, `{"code":1004,`, ""},
	} {
		r := httptest.NewRequest(tt.method, tt.path, nil)
		if tt.auth != "" {
			r.SetBasicAuth(tt.auth, "x")
		}
		w := httptest.NewRecorder()
		tt.handler.ServeHTTP(w, r)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.text) ||
			w.Header().Get("X-Elastic-Product") != tt.product {
			t.Errorf("%s %s: %d %v %s", tt.method, tt.path, w.Code, w.Header(), w.Body)
		}
	}
}
