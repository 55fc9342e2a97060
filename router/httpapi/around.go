package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"github.com/rs/cors"

	"cordwood/proto/errs"
	"cordwood/router/access/token"
	"cordwood/router/body"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
)

// minCompressed is the size from which answers are compressed, in bytes.
const minCompressed = 1024

// middleware handles every request, whether or not a route matches it.
type middleware struct {
	browsers  *browser.Rules
	proxies   peer.Proxies
	bodies    *body.Reader
	nodeNames func(text string) string
	metrics   *metrics
	log       *slog.Logger
}

// around wraps the router in the layers that all requests pass, from the outside in: compression of the answer; the
// exchange with its metrics, log and panic handler; and the rules for browsers.
func (m *middleware) around(router http.Handler) http.Handler {
	h := m.observe(m.guardBrowsers(router))
	// The fastest level is used because the default level takes a third of the CPU time of a query that returns a page
	// of rows.
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		panic(err) // fails only if the options above are wrong
	}
	compressed := compress(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if takesCompressed(r) {
			compressed(w, r)
			return
		}
		// Most senders of logs take plain answers only. The layer would allocate for each of their requests.
		w.Header()["Vary"] = byEncoding
		h.ServeHTTP(w, r)
	})
}

// byEncoding is shared by all answers. Code that adds a value to it gets a copy.
var byEncoding = []string{"Accept-Encoding"}

// takesCompressed reports whether the client names encodings that it takes.
func takesCompressed(r *http.Request) bool { return r.Header.Get("Accept-Encoding") != "" }

// guardBrowsers refuses requests from web pages that may not use this server, and tells browsers which pages may read
// its answers. For such pages, browsers do not send stored cookies and passwords. A page must send its own
// credentials.
func (m *middleware) guardBrowsers(next http.Handler) http.Handler {
	if origins := m.browsers.Origins(); len(origins) > 0 {
		next = cors.New(cors.Options{
			AllowedOrigins: origins,
			AllowedMethods: []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"},
			AllowedHeaders: []string{"*"},
			ExposedHeaders: []string{
				exchange.HeaderFormat, exchange.HeaderExecutionTime, exchange.HeaderErrCode, exchange.HeaderErrMsg,
				exchange.HeaderMetrics,
				exchange.HeaderSkipped, exchange.HeaderDropped, exchange.HeaderExpired,
				exchange.HeaderSkipReasons, exchange.HeaderWarnings,
				exchange.HeaderPartial, "X-Svc-Partial", "Retry-After",
			},
			MaxAge:               600,
			OptionsSuccessStatus: http.StatusOK,
		}).Handler(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		browser.KeepFromPages(w.Header())
		if err := m.browsers.Check(r, exchange.Of(r).Client, m.proxies.Secure(r)); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// compressible reports whether answers of a content type should be compressed: text and Arrow, but not Parquet,
// which is already compressed.
func compressible(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	switch mediaType {
	case "application/json", "application/x-ndjson", "application/vnd.apache.arrow.stream", "application/xml",
		"application/javascript":
		return true
	}
	return strings.HasPrefix(mediaType, "text/")
}

// observe creates the exchange of a request, and counts and logs it when the request has ended.
func (m *middleware) observe(next http.Handler) http.Handler {
	const other = "other"
	answered := m.metrics.route(other).answered
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, r := exchange.Begin(w, r, m.log)
		x.Route, x.Answered = other, answered
		x.NodeNames, x.Plain = m.nodeNames, !takesCompressed(r)
		x.Client = m.proxies.Address(r)
		defer func() {
			p := recover()
			if p != nil {
				m.panicked(x, r, p)
			}
			m.finish(x, r)
			if p != nil && x.Broken {
				panic(http.ErrAbortHandler) // a partial answer must not look complete
			}
		}()
		m.bodies.Bound(x.ResponseWriter, r, x.Start)
		next.ServeHTTP(x, r)
	})
}

// panicked answers a request whose handler panicked, either on purpose, to abort the answer, or because of a bug.
func (m *middleware) panicked(x *exchange.Exchange, r *http.Request, p any) {
	x.Broken = x.Status != 0
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.Broken = true
		return
	}
	m.log.ErrorContext(x.Context(r), "panic while answering", "method", r.Method, "path", token.Hide(r.URL.Path), "remote",
		x.Client,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	m.metrics.panics.Inc()
	if !x.Broken {
		exchange.WriteError(x, r, errs.New(errs.Internal, "panic: %v", p))
	}
}

func (m *middleware) finish(x *exchange.Exchange, r *http.Request) {
	if x.Status == 0 {
		x.Status = http.StatusOK // net/http sends this status if a handler writes nothing
	}
	x.Answered(x.Status, time.Since(x.Start))
	if m.log.Enabled(r.Context(), slog.LevelDebug) {
		m.log.DebugContext(x.Context(r), "request", "method", r.Method, "path", token.Hide(r.URL.Path), "remote", x.Client,
			"answer", x)
	}
}
