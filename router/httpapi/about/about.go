// Package about has the handlers by which a server describes itself: its health, version, configuration and metrics,
// its API, and the page that lists its paths.
//
// Handlers may be used concurrently.
package about

import (
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/openapi"
	"cordwood/router/labels"
	"cordwood/router/web"
)

// Config has the settings of Handlers. All fields are required.
type Config struct {
	// Ready returns the reasons why the node cannot serve requests. The list is empty if it can.
	Ready func() []string
	// Warnings returns faults that do not prevent the node from serving.
	Warnings func() []string
	// Refusals returns the reasons why the node accepts no rows although it is ready.
	Refusals func() []string
	// Status is the content of /status without Warnings.
	Status Status
	// ConfigText is the running configuration as TOML.
	ConfigText func() string
	// Page reports whether the server has the page for browsers.
	Page bool
}

// Status is the answer of /status.
type Status struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Branch  string `json:"branch"`
	// Date is the time of the commit in RFC 3339.
	Date string `json:"date"`
	// WithDefaults sets GoVersion and Hostname if they are empty.
	GoVersion string `json:"go_version"`
	Hostname  string `json:"hostname"`
	// Warnings lists current faults of the node. The server sets it.
	Warnings []string `json:"warnings,omitempty"`
}

// WithDefaults sets the Go version and the host name if they are empty.
func (st Status) WithDefaults() Status {
	if st.GoVersion == "" {
		st.GoVersion = runtime.Version()
	}
	if st.Hostname == "" {
		st.Hostname, _ = os.Hostname() // if the host has no name, the field is empty
	}
	return st
}

// Handlers answer /health, /ready, /status, /config, /v1/openapi.json and /.
type Handlers struct {
	cfg Config
	// describe returns the description of the API, made at the first call.
	describe func() ([]byte, error)
}

// New returns Handlers.
func New(cfg Config) *Handlers {
	return &Handlers{
		cfg:      cfg,
		describe: sync.OnceValues(func() ([]byte, error) { return openapi.Document(cfg.Status.Version) }),
	}
}

// Health answers that the process is running. It checks nothing else.
func (h *Handlers) Health(w http.ResponseWriter, _ *http.Request) {
	exchange.WriteJSON(w, http.StatusOK, []byte("{}"))
}

// Ready reports whether the node can serve, and if not, why. A node that refuses rows because its disk is full
// still answers queries. It is ready, with a warning, but not ready for requests with ?for=writes.
func (h *Handlers) Ready(w http.ResponseWriter, r *http.Request) {
	if reasons := h.cfg.Ready(); len(reasons) > 0 {
		exchange.WriteError(w, r, errs.New(errs.ShardNotReady, "not ready: %s", strings.Join(reasons, "; ")))
		return
	}
	refusals := h.cfg.Refusals()
	if len(refusals) > 0 && r.URL.Query().Get("for") == "writes" {
		exchange.WriteError(w, r, errs.New(errs.StorageUnavailable, "not ready for writes: %s", strings.Join(refusals, "; ")))
		return
	}
	warnings := h.troubles()
	if len(warnings) == 0 {
		exchange.WriteJSON(w, http.StatusOK, []byte("{}"))
		return
	}
	out, err := json.Marshal(map[string][]string{"warnings": warnings})
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "ready"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}

// troubles returns faults that do not prevent the node from serving. Anybody may read them.
func (h *Handlers) troubles() []string { return slices.Concat(h.cfg.Refusals(), h.cfg.Warnings()) }

// Status answers with the version of the program and the name of its host.
func (h *Handlers) Status(w http.ResponseWriter, r *http.Request) {
	status := h.cfg.Status
	status.Warnings = h.troubles()
	out, err := json.Marshal(status)
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "status"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}

// Config answers with the running configuration.
func (h *Handlers) Config(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(h.cfg.ConfigText())) // the client may be gone
}

// Metrics returns a handler that prints the metrics of g.
func Metrics(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{
		DisableCompression: true, // the middleware compresses all answers
		ErrorHandling:      promhttp.ContinueOnError,
	})
}

// PublicMetrics returns the metrics without the names of databases and tables, for readers who are not signed in.
func PublicMetrics(g prometheus.Gatherer) prometheus.Gatherer { return labels.Blank(g, "db", "table") }

// OpenAPI answers with the description of the API.
func (h *Handlers) OpenAPI(w http.ResponseWriter, r *http.Request) {
	doc, err := h.describe()
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "describe the API"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, doc)
}

const indexPage = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>cordwood</title></head>
<body>
<h1>cordwood</h1>
<p>Logs come in, are cut to shape by pipelines, and are stacked as rows in tables.</p>
<ul>
<li><code>POST /v1/ingest?db=public&amp;table=T&amp;pipeline_name=svc_identity</code>: write logs</li>
<li><a href="/v1/pipelines"><code>/v1/pipelines</code></a>: the pipelines that cut logs to shape</li>
<li><a href="/v1/sql?sql=SHOW%20TABLES"><code>/v1/sql?sql=…</code></a>: read them with SQL by GET, ` +
	`change tables by POST</li>
<li><a href="/health"><code>/health</code></a>, <a href="/ready"><code>/ready</code></a>,
<a href="/status"><code>/status</code></a>, <a href="/config"><code>/config</code></a>,
<a href="/metrics"><code>/metrics</code></a></li>
<li><a href="/v1/openapi.json"><code>/v1/openapi.json</code></a>: all of this in OpenAPI 3.1</li>
</ul>
</body>
</html>
`

// Index redirects browsers to the page. Other clients get a list of the paths.
func (h *Handlers) Index(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if h.cfg.Page && strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Location", web.Root)
		w.WriteHeader(http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	_, _ = w.Write([]byte(indexPage)) // the client may be gone
}
