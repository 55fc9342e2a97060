package httpapi

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
)

// TestPermissions requests every route as every user, with a fake clock because repeated refusals are delayed.
func TestPermissions(t *testing.T) { synctest.Test(t, testPermissions) }

func testPermissions(t *testing.T) {
	sql := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, exchange.Of(r).Caller.Sender.User)
	})
	f := newWhole(t, func(c *Config) { c.Auth = byUser{}; c.SQL = sql; c.MetricsClosed = true })
	paths := []struct {
		method, path string
		needs        access.Privilege
	}{
		{"GET", "/nothing", access.Open},
		{"GET", "/v1/nothing", access.SignedIn},
		{"GET", "/v1/ingest", access.SignedIn},
		{"GET", "/v1/healthy", access.SignedIn},
	}
	for _, rt := range f.table {
		for _, m := range rt.methods {
			paths = append(paths, struct {
				method, path string
				needs        access.Privilege
			}{m, strings.ReplaceAll(rt.path, index, "/logs"), rt.needs})
		}
	}
	may := map[string]string{
		"open": "bad blank rw ro wo", "signed-in": "rw ro wo", "insert": "rw wo", "select": "rw ro", "pipeline-read": "rw ro",
		"pipeline-write": "rw", "pipeline-try": "rw ro", "delete": "rw",
		"monitor": "rw ro", "operate": "rw", "backup": "rw ro", "manage-access": "rw", "read-audit": "rw", "query": "rw ro",
	}
	for _, p := range paths {
		if strings.Contains(p.path, "{key}") {
			continue // TestDatadogCredentials tests this path
		}
		if p.method == "POST" && p.path == logsPath {
			p.needs = access.Insert // without a query in the body
		}
		allowed, ok := may[p.needs.String()]
		if !ok {
			t.Errorf("%s %s needs %s, which no test knows", p.method, p.path, p.needs)
		}
		for user, want := range map[string]errs.Code{
			"": 7003, "bad": 7002, "blank": 1004, "ro": 7006, "wo": 7006, "rw": 7006,
		} {
			if p.needs == access.Open || user != "" && slices.Contains(strings.Fields(allowed), user) {
				want = 0
			}
			// Wrong parameters: a user who may not write must not get an error about them.
			w := f.call(p.method, p.path+"?skip_error=what", "", "Authorization", user)
			code := w.Header().Get("x-svc-err-code")
			switch {
			case want == 7006:
				if w.Code != 403 || code != "7006" {
					t.Errorf("%s %s as %q: %d %s", p.method, p.path, user, w.Code, code)
				}
			case want != 0:
				status := 401
				switch {
				case strings.Contains(p.path, "/services/collector") && want != 7003:
					status = 403 // Splunk's status for a wrong token
				case strings.HasSuffix(p.path, "/api/v2/logs") || strings.HasSuffix(p.path, "/v1/input") ||
					strings.HasSuffix(p.path, "/api/v1/validate"):
					status = 403 // Datadog's status for a wrong or missing key
				}
				if w.Code != status || code != strconv.Itoa(int(want)) || w.Header().Get("WWW-Authenticate") == "" {
					t.Errorf("%s %s as %q: %d %s, want 401 %d", p.method, p.path, user, w.Code, code, want)
				}
			case w.Code == 401 || w.Code == 403:
				t.Errorf("%s %s as %q: %d %s", p.method, p.path, user, w.Code, code)
			}
		}
	}
	if w := f.call("POST", "/v1/sql", "", "Authorization", "wo"); w.Body.String() != "wo" {
		t.Errorf("the SQL handler got %q", w.Body)
	}
	if w := newFixture(t, func(c *Config) { c.SQL = sql }).call("GET", "/v1/sql", ""); w.Body.String() != "svc" {
		t.Errorf("without authentication it sees %q", w.Body)
	}
}

func TestRefusedPathsAndMethods(t *testing.T) {
	f := newFixture(t)
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1/ingest", 405, "POST"},
		{"PUT", "/v1/events/logs", 405, "POST"},
		{"DELETE", "/health", 405, "GET, HEAD, POST"},
		{"POST", "/metrics", 405, "GET, HEAD"},
		{"OPTIONS", "/v1/ingest", 405, "POST"},
		{"GET", "/v1/sql", 404, ""}, // no SQL was configured
		{"GET", "/nothing", 404, ""},
		{"POST", "//v1/ingest", 404, ""},
		{"POST", "/v1/ingest/", 404, ""},
		{"POST", "/v1/../v1/ingest", 404, ""},
	} {
		w := f.call(tt.method, tt.path, "")
		checkError(t, w, tt.status, errs.InvalidArguments)
		if got := w.Header().Get("Allow"); got != tt.allow {
			t.Errorf("%s %s: Allow %q, want %q", tt.method, tt.path, got, tt.allow)
		}
	}
}

func TestPublicHandler(t *testing.T) {
	f := newFixture(t)
	for path, want := range map[string]int{
		"/v1/health": 200, "/health": 404, "/metrics": 404, "/config": 404, "/": 404, "/status": 404,
	} {
		w := httptest.NewRecorder()
		f.PublicHandler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", path, w.Code, want)
		}
	}
}

func TestInformation(t *testing.T) {
	var reasons, troubles []string
	f := newFixture(t, func(c *Config) {
		c.Ready = func() []string { return reasons }
		c.Status = about.Status{Version: "1.2.3", Commit: "abc", Branch: "main"}
		c.Warnings = func() []string { return troubles }
		c.ConfigText = func() string { return "[http]\naddr = \"x\"\n" }
	})
	for _, m := range []string{"GET", "POST"} {
		for _, p := range []string{"/health", "/ready", "/v1/health"} {
			if w := f.call(m, p, ""); w.Code != 200 || w.Body.String() != "{}\n" {
				t.Errorf("%s %s: %d %s", m, p, w.Code, w.Body)
			}
		}
	}
	reasons = []string{"shard 2 has no leader", "metadata is not there"}
	if text := checkError(t, f.call("GET", "/ready", ""), 503,
		errs.ShardNotReady); text != "not ready: shard 2 has no leader; metadata is not there" {
		t.Error(text)
	}
	if w := f.call("GET", "/health", ""); w.Code != 200 {
		t.Error("a live node that is not ready:", w.Code)
	}
	var status map[string]string
	if w := f.call("GET", "/status", ""); json.Unmarshal(w.Body.Bytes(), &status) != nil || status["version"] != "1.2.3" ||
		status["commit"] != "abc" || status["branch"] != "main" || status["hostname"] == "" ||
		!strings.HasPrefix(status["go_version"], "go") {
		t.Error(status)
	}
	troubles = []string{"rows lie aside"}
	if w := f.call("GET", "/status", ""); !strings.HasSuffix(w.Body.String(), ",\"warnings\":[\"rows lie aside\"]}\n") {
		t.Error(w.Body)
	}
	if w := f.call("GET", "/config", ""); !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") ||
		!strings.Contains(w.Body.String(), "[http]") {
		t.Error(w.Header(), w.Body)
	}
	if w := f.call("GET", "/", ""); !strings.Contains(w.Body.String(), "<h1>cordwood</h1>") {
		t.Error(w.Body)
	}
	f.ingest("", `[{"a":1},{"a":2}]`)
	w := f.call("GET", "/metrics", "")
	for _, line := range []string{
		`cordwood_ingest_rows_total{db="public",protocol="native"} 2`,
		`cordwood_ingest_bytes_total{db="public",protocol="native"} 17`,
		`cordwood_http_requests_total{code="200",route="/v1/ingest"} 1`,
		`cordwood_http_requests_total{code="503",route="/ready"} 1`,
	} {
		if !strings.Contains(w.Body.String(), line) {
			t.Errorf("metrics lack %s", line)
		}
	}
	if !strings.Contains(w.Header().Get("Content-Type"), "version=0.0.4") {
		t.Error(w.Header())
	}
	if !strings.Contains(f.log.String(), "answer.status=200") {
		t.Error("the request log:", f.log)
	}
}

// browsers returns rules that allow one origin, for a server with or without users.
func browsers(t *testing.T, users bool) *browser.Rules {
	t.Helper()
	rules, err := browser.New(browser.Config{
		Users: users, Hostname: "box", Hosts: []string{"example.com"}, Origins: []string{"https://y.example"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// TestMetricsWithoutUser checks that only users who may read get the names of databases and tables.
func TestMetricsWithoutUser(t *testing.T) {
	const named, blank = `cordwood_ingest_rows_total{db="public",protocol="native"} 2`,
		`cordwood_ingest_rows_total{db="",protocol="native"} 2`
	for _, c := range []struct {
		users, closed bool
		as            string
		status        int
		want          string
	}{
		{false, false, "", 200, named},
		{true, false, "", 200, blank},
		{true, false, "rw", 200, blank},
		{true, true, "", 401, "Not found http or grpc authorization header"},
		{true, true, "wo", 403, "not authorized"},
		{true, true, "ro", 200, named},
	} {
		f := newFixture(t, func(conf *Config) {
			conf.MetricsClosed = c.closed
			conf.ConfigText = func() string { return "data-dir" }
			if c.users {
				conf.Auth = byUser{}
			}
		})
		f.call("POST", "/v1/ingest?table=t&pipeline_name=svc_identity", `[{"a":1},{"a":2}]`, "Content-Type",
			"application/json", "Authorization", "rw")
		w := f.call("GET", "/metrics", "", "Authorization", c.as)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) ||
			c.want == blank && strings.Contains(w.Body.String(), "public") {
			t.Errorf("users %v, closed %v, as %q: %d %.300s", c.users, c.closed, c.as, w.Code, w.Body)
		}
		// If the server has users, only users get the configuration, because it contains paths.
		wants := map[string]int{"": 401, "wo": 403, "ro": 200, "rw": 200}
		if w := f.call("GET", "/config", "", "Authorization", c.as); c.users && w.Code != wants[c.as] ||
			!c.users && w.Code != 200 {
			t.Errorf("/config, users %v, as %q: %d %s", c.users, c.as, w.Code, w.Body)
		}
	}
}

func TestCORS(t *testing.T) {
	preflight := func(origin string) []string {
		return []string{
			"Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
			"content-type,x-svc-hints,authorization",
		}
	}
	// By default no other origin is allowed.
	off := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/", "/health", "/v1/ingest", "/v1/nope", "/metrics"} {
			w := off.call(method, path, "", preflight("https://x.example")...)
			if text := checkError(t, w, 403, errs.PermissionDenied); w.Header().Get("Access-Control-Allow-Origin") != "" ||
				!strings.Contains(text, "--http-cors-allowed-origins") {
				t.Errorf("%s %s: %v %s", method, path, w.Header(), text)
			}
		}
	}
	some := newFixture(t, func(c *Config) { c.Auth = byUser{}; c.Browsers = browsers(t, true) })
	w := some.call("OPTIONS", "/v1/ingest", "", preflight("https://y.example")...)
	if h := w.Header(); w.Code != 200 || h.Get("Access-Control-Allow-Origin") != "https://y.example" ||
		!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(h.Get("Access-Control-Allow-Headers"), "x-svc-hints") ||
		h.Get("Access-Control-Allow-Credentials") != "" {
		t.Fatal(w.Code, h)
	}
	// Errors need these headers too, because a browser would not show the errors otherwise.
	if w = some.call("POST", "/v1/ingest", "", "Origin", "https://y.example"); w.Code != 401 ||
		w.Header().Get("Access-Control-Allow-Origin") != "https://y.example" ||
		w.Header().Get("Access-Control-Allow-Credentials") != "" || !slices.Contains(w.Header().Values("Vary"), "Origin") {
		t.Fatal(w.Code, w.Header())
	}
	if w = some.call("OPTIONS", "/v1/ingest", "", preflight("https://x.example")...); w.Code != 403 ||
		w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("an origin that is not listed:", w.Code, w.Header())
	}
}

// TestBrowsers checks that every route, and every path that does not exist, refuses the requests of browsers that the
// rules of package browser forbid.
func TestBrowsers(t *testing.T) {
	everything := func(c *Config) {
		c.SQL, c.Tail = http.NotFoundHandler(), http.NotFoundHandler()
		c.Pipelines, c.Cluster = &fakePipelines{}, &fakeCluster{}
		c.Tunnel = func(net.Conn, *access.Caller) {}
	}
	for _, users := range []bool{false, true} {
		f := newFixture(t, everything, func(c *Config) {
			if users {
				c.Auth = byUser{}
			}
			c.Browsers = browsers(t, users)
		})
		missing := []route{{methods: get, path: "/nope"}, {methods: get, path: "/v1/nope"}}
		for _, rt := range slices.Concat(f.table, missing) {
			for _, method := range append(rt.methods, "OPTIONS", "TRACE") {
				for _, c := range []struct {
					host   string
					header []string
					status int
				}{
					{"127.0.0.1:4000", []string{"Origin", "http://evil.example"}, 403},
					{"127.0.0.1:4000", []string{"Origin", "null"}, 403},
					{"evil.example", []string{"Origin", "http://evil.example"}, 421},
					{"evil.example", []string{"User-Agent", "Mozilla/5.0"}, 421},
				} {
					if c.status == 421 && users {
						continue
					}
					r := httptest.NewRequest(method, strings.NewReplacer("{", "", "}", "").Replace(rt.path), nil)
					r.Host = c.host
					r.Header.Set(c.header[0], c.header[1])
					w := httptest.NewRecorder()
					f.Handler().ServeHTTP(w, r)
					if w.Code != c.status || w.Header().Get("X-Svc-Err-Code") != "7006" {
						t.Errorf("%s %s of %s with %s, users %v: %d %v", method, rt.path, c.host, c.header, users, w.Code, w.Header())
					}
				}
			}
		}
	}
}

// TestAnswersAreKeptFromPages checks that a page of another site cannot load any answer as a script or an image, not
// even that of a request that its browser did not mark.
func TestAnswersAreKeptFromPages(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Browsers = browsers(t, false) })
	for _, path := range []string{
		"/", "/health", "/metrics", "/config", "/v1/pipelines", "/v1/nope", "/dashboard/", "/ui/",
	} {
		for _, host := range []string{"10.0.0.5:4000", "evil.example"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = host
			r.Header.Set("User-Agent", "Mozilla/5.0")
			w := httptest.NewRecorder()
			f.Handler().ServeHTTP(w, r)
			if h := w.Header(); h.Get("X-Content-Type-Options") != "nosniff" ||
				h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("%s of %s: %d %v", path, host, w.Code, h)
			}
		}
	}
}

// TestClientOfProxy sends requests through a proxy on the same machine. If the proxy is trusted, its headers decide
// whether the client is on this machine.
func TestClientOfProxy(t *testing.T) {
	for _, c := range []struct {
		trusted   bool
		forwarded string
		status    int
	}{
		{false, "203.0.113.9", 421}, {true, "203.0.113.9", 200}, {true, "127.0.0.1", 421}, {true, "", 421},
	} {
		f := newFixture(t, func(conf *Config) {
			if conf.Browsers = browsers(t, false); c.trusted {
				conf.Proxies = peer.Proxies{netip.MustParsePrefix("127.0.0.1/32")}
			}
		})
		r := httptest.NewRequest("GET", "/health", nil)
		r.Host, r.RemoteAddr = "cordwood:4000", "127.0.0.1:5000"
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		w := httptest.NewRecorder()
		if f.Handler().ServeHTTP(w, r); w.Code != c.status {
			t.Errorf("trusted %v, for %q: %d %s, want %d", c.trusted, c.forwarded, w.Code, w.Body, c.status)
		}
	}
}

// TestPasswordDialog checks that browsers ask for a password only when somebody opens an address.
func TestPasswordDialog(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.Auth = byUser{} })
	for _, c := range []struct {
		headers []string
		want    bool
	}{
		{nil, true},
		{[]string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Site", "none"}, true},
		{[]string{"x-svc-page", "1"}, false},
		{[]string{"Sec-Fetch-Mode", "navigate", "x-svc-page", "1"}, false},
		{[]string{"Sec-Fetch-Mode", "cors"}, false},
		{[]string{"Sec-Fetch-Mode", "same-origin", "Sec-Fetch-Site", "same-origin"}, false},
		{[]string{"Authorization", "wrong"}, true},
	} {
		for _, path := range []string{"/v1/openapi.json", "/v1/nope"} {
			w := f.call("GET", path, "", c.headers...)
			want := ""
			if c.want {
				want = `Basic realm="cordwood"`
			}
			if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != want {
				t.Errorf("%s with %q: %d, %q, want %q", path, c.headers, w.Code, got, want)
			}
		}
	}
	if w := f.call("POST", "/v1/ingest?table=t&pipeline_name=svc_identity", "{}", "Authorization", "ro"); w.Code != 403 ||
		w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("a user that may not: %d %v", w.Code, w.Header())
	}
}

func TestCompressedAnswers(t *testing.T) {
	big := `{"rows":"` + strings.Repeat("abc", 1000) + `"}`
	f := newFixture(t, func(c *Config) {
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", r.FormValue("format"))
			_, _ = io.WriteString(w, big)
		})
	})
	for _, tt := range []struct{ path, accept, want string }{
		{"/v1/sql?format=application/json", "gzip", "gzip"},
		{"/v1/sql?format=application/json", "zstd, gzip", "zstd"},
		{"/v1/sql?format=application/json", "", ""},
		{"/v1/sql?format=application/vnd.apache.parquet", "gzip", ""},
		{"/health", "gzip", ""},
	} {
		w := f.call("GET", tt.path, "", "Accept-Encoding", tt.accept)
		if got := w.Header().Get("Content-Encoding"); got != tt.want {
			t.Errorf("%s with %q: %q, want %q", tt.path, tt.accept, got, tt.want)
		}
		if tt.want == "gzip" {
			zr, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(zr); err != nil || string(got) != big {
				t.Error(len(got), err)
			}
		}
	}
}

// TestPlainAnswers checks that the header by which handlers prevent compression is never sent, whether the client takes
// compressed answers or not.
func TestPlainAnswers(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(gzhttp.HeaderNoCompression, "1")
			switch r.FormValue("db") {
			case "status":
				w.WriteHeader(http.StatusOK)
			case "flush":
				w.(http.Flusher).Flush()
			}
			_, _ = io.WriteString(w, strings.Repeat("abc", 1000))
		})
	})
	for _, first := range []string{"status", "flush", "body"} {
		for _, accept := range []string{"", "gzip", "br"} {
			sent := f.call("GET", "/v1/sql?db="+first, "", "Accept-Encoding", accept).Result().Header
			if sent.Get(gzhttp.HeaderNoCompression) != "" || sent.Get("Content-Encoding") != "" ||
				!slices.Equal(sent.Values("Vary"), []string{"Accept-Encoding"}) {
				t.Errorf("%s first, with %q: the headers are %v", first, accept, sent)
			}
		}
	}
}

func TestPanics(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Query().Get("db") {
			case "late":
				_, _ = io.WriteString(w, "half")
			case "abort":
				_, _ = io.WriteString(w, strings.Repeat("half", 1000))
				panic(http.ErrAbortHandler)
			}
			panic("a bug")
		})
	})
	if text := checkError(t, f.call("GET", "/v1/sql", ""), 500, 1003); text != "Internal error: 1003" {
		t.Fatal(text)
	}
	if log := f.log.String(); !strings.Contains(log, "a bug") || !strings.Contains(log, "server_test.go") {
		t.Fatal("the log lacks the panic or its stack:", log)
	}
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	for _, how := range []string{"late", "abort"} {
		resp, err := http.Get(srv.URL + "/v1/sql?db=" + how)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil {
			t.Fatal(how, ": half an answer looks like a whole one")
		}
	}
}

func TestInFlightLimit(t *testing.T) {
	bodies, err := body.New(body.Config{MaxInFlight: 8, Policy: body.Fail})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, func(c *Config) { c.Bodies = bodies })
	checkError(t, f.ingest("", `{"a":"longer than the limit"}`), 413, errs.InvalidArguments)
	_, release, err := bodies.Read(httptest.NewRequest("POST", "/", strings.NewReader("1234567")))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	checkError(t, f.ingest("", `{"a":1}`), 429, errs.RateLimited)
}

func TestNew(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("an empty Config was taken")
	}
	reg := prometheus.NewRegistry()
	cfg := Config{Catalog: &fakeCatalog{}, Writer: &fakeWriter{}, Registerer: reg, Gatherer: reg}
	if _, err := New(cfg); err != nil {
		t.Error(err)
	}
	if _, err := New(cfg); err == nil {
		t.Error("two servers share their metrics")
	}
}
