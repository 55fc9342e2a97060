package httpapi

import (
	"encoding/json"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/labels"
	"cordwood/router/web"
)

// handleHealth means that the process lives, and nothing else.
func (s *Server) handleHealth(w http.ResponseWriter, _ *http.Request) {
	exchange.WriteJSON(w, http.StatusOK, []byte("{}"))
}

// handleReady reports whether the node can serve, and if not, why. A node that refuses
// rows because its disk is full still answers queries: it is ready, with a warning,
// and not ready for requests with ?for=writes.
func (s *Server) handleReady(w http.ResponseWriter, r *http.Request) {
	if reasons := s.cfg.Ready(); len(reasons) > 0 {
		exchange.WriteError(w, r, errs.New(errs.ShardNotReady, "not ready: %s", strings.Join(reasons, "; ")))
		return
	}
	refusals := s.cfg.Refusals()
	if len(refusals) > 0 && r.URL.Query().Get("for") == "writes" {
		exchange.WriteError(w, r, errs.New(errs.StorageUnavailable, "not ready for writes: %s", strings.Join(refusals, "; ")))
		return
	}
	warnings := s.troubles()
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

// troubles lists what fails although the node may be ready: anybody may read it.
func (s *Server) troubles() []string { return slices.Concat(s.cfg.Refusals(), s.cfg.Warnings()) }

func (st Status) withDefaults() Status {
	if st.GoVersion == "" {
		st.GoVersion = runtime.Version()
	}
	if st.Hostname == "" {
		st.Hostname, _ = os.Hostname() // a host without a name is shown as such
	}
	return st
}

func (s *Server) handleStatus(w http.ResponseWriter, r *http.Request) {
	status := s.cfg.Status
	status.Warnings = s.troubles()
	out, err := json.Marshal(status)
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "status"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}

func (s *Server) handleConfig(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(s.cfg.ConfigText())) // the client may be gone
}

// metricsNeed returns what it takes to read /metrics.
func (s *Server) metricsNeed() access.Privilege {
	if s.cfg.MetricsClosed {
		return access.Monitor
	}
	return access.Open
}

func (s *Server) metricsHandler() http.Handler {
	gatherer := s.cfg.Gatherer
	if s.cfg.Auth != nil && !s.cfg.MetricsClosed {
		gatherer = PublicMetrics(gatherer)
	}
	return promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{
		DisableCompression: true, // done for all answers alike
		ErrorHandling:      promhttp.ContinueOnError,
	})
}

// PublicMetrics returns what strangers may read of metrics: no names of databases and tables.
func PublicMetrics(g prometheus.Gatherer) prometheus.Gatherer { return labels.Blank(g, "db", "table") }

// handleOpenAPI answers with the description of the API.
func (s *Server) handleOpenAPI(w http.ResponseWriter, r *http.Request) {
	doc, err := s.describe()
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

// handleIndex leads browsers to the page, and lists the paths for other clients.
func (s *Server) handleIndex(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if s.cfg.Page != nil && strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Location", web.Root)
		w.WriteHeader(http.StatusFound)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	_, _ = w.Write([]byte(indexPage)) // the client may be gone
}
