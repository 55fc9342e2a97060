package httpapi

import (
	"context"
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
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// minCompressed is the size from which answers are compressed, in bytes.
const minCompressed = 1024

// around puts round the router what every request gets, from the outside in: compression
// of the answer, the exchange with its metrics, log and panic handler, and the rules for
// browsers.
func (s *Server) around(router http.Handler) http.Handler {
	h := s.observe(s.guardBrowsers(router))
	// The fastest level: of a page of rows the usual one takes a third of the query's CPU time.
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.ContentTypeFilter(compressible))
	if err != nil {
		panic(err) // only wrong options above make it fail
	}
	return compress(h)
}

// guardBrowsers refuses requests of pages that may not use this server, and tells browsers
// which pages may read its answers. Cookies and passwords that a browser remembers are never
// part of that: such a page sends the credentials that it was given.
func (s *Server) guardBrowsers(next http.Handler) http.Handler {
	if origins := s.cfg.Browsers.Origins(); len(origins) > 0 {
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
		if err := s.cfg.Browsers.Check(r, exchange.Of(r).Client, s.cfg.Proxies.Secure(r)); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// compressible reports which answers are worth compressing: text, and Arrow, but not
// Parquet, which is compressed already.
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

// observe makes the exchange, and when it is over counts and logs it.
func (s *Server) observe(next http.Handler) http.Handler {
	other := s.metrics.route("other")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x, r := exchange.Begin(w, r, s.log)
		x.Route, x.Answered = other.route, other.answered
		x.NodeNames = s.cfg.NodeNames
		x.Client = s.cfg.Proxies.Address(r)
		defer func() {
			p := recover()
			if p != nil {
				s.panicked(x, r, p)
			}
			s.finish(x, r)
			if p != nil && x.Broken {
				panic(http.ErrAbortHandler) // half an answer must not look like a whole one
			}
		}()
		s.cfg.Bodies.Bound(x.ResponseWriter, r, x.Start)
		next.ServeHTTP(x, r)
	})
}

// panicked answers a request whose handler panicked, even if on purpose, to break the
// answer off, or by a bug.
func (s *Server) panicked(x *exchange.Exchange, r *http.Request, p any) {
	x.Broken = x.Status != 0
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		x.Broken = true
		return
	}
	s.log.ErrorContext(x.Context(r), "panic while answering", "method", r.Method, "path", r.URL.Path, "remote", x.Client,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	s.metrics.panics.Inc()
	if !x.Broken {
		exchange.WriteError(x, r, errs.New(errs.Internal, "panic: %v", p))
	}
}

func (s *Server) finish(x *exchange.Exchange, r *http.Request) {
	if x.Status == 0 {
		x.Status = http.StatusOK // net/http sends it when a handler wrote nothing
	}
	x.Answered(x.Status, time.Since(x.Start))
	if s.log.Enabled(r.Context(), slog.LevelDebug) {
		s.log.DebugContext(x.Context(r), "request", "method", r.Method, "path", r.URL.Path, "remote", x.Client, "answer", x)
	}
}

// authenticate finds out which user asks.
func (s *Server) authenticate(x *exchange.Exchange, r *http.Request) error {
	if s.cfg.Auth == nil {
		x.Caller = access.Caller{Sender: access.Everybody(), Address: x.Client}
		return nil
	}
	sender, err := s.sender(x, r)
	if err != nil {
		e := errs.From(err)
		if x.ExactRetry = e.Code == errs.RateLimited; !x.ExactRetry {
			e = e.WithStatus(http.StatusUnauthorized)
		}
		if asksForPassword(r) {
			x.Header().Set("WWW-Authenticate", `Basic realm="cordwood"`)
		}
		return e
	}
	x.Caller = access.Caller{Sender: sender, Address: x.Client}
	return nil
}

// sender finds out the sender of a request: by credentials, or otherwise by the session of a browser, which is renewed.
func (s *Server) sender(x *exchange.Exchange, r *http.Request) (access.Sender, error) {
	if s.cfg.Sessions == nil || params.Header(r.Header, "X-Svc-Auth", "Authorization") != "" || !s.cfg.Sessions.Has(r) {
		return s.cfg.Auth.Authenticate(r, x.Client)
	}
	sender, renewed, err := s.cfg.Sessions.Authenticate(r, s.cfg.Proxies.Secure(r))
	if renewed != nil {
		http.SetCookie(x, renewed)
	}
	return sender, err
}

// asksForPassword reports whether the answer may have the client ask its user for a password. A
// browser would do that with a dialog of its own, also for what a page fetches by itself. Our
// page marks its requests, as over plain HTTP browsers send no Sec-Fetch-Mode.
func asksForPassword(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Header.Get("X-Svc-Page") != "1" && (mode == "" || mode == "navigate")
}

// withDeadline gives the request its time limit: from x-svc-timeout, else the
// server's own. A route with limits of its own reads the header itself.
func (s *Server) withDeadline(x *exchange.Exchange, r *http.Request,
	rt route,
) (*http.Request, context.CancelFunc, error) {
	limit := s.cfg.Timeout
	if rt.endless {
		limit = 0
	}
	switch text := params.Header(r.Header, "X-Svc-Timeout"); {
	case text == "":
	case rt.ownLimit:
		limit = 0
	default:
		var err error
		if limit, err = parseDuration(text); err != nil {
			return r, nil, err
		}
	}
	if limit <= 0 {
		return r, func() {}, nil
	}
	x.Deadline = x.Start.Add(limit)
	ctx, cancel := context.WithDeadline(r.Context(), x.Deadline)
	return r.WithContext(ctx), cancel, nil
}

// parseDuration reads 30s, 1m30s, 500ms, and the words of a table's ttl, as 2 minutes.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 {
		return ttl.D, nil
	}
	return 0, errs.New(errs.InvalidArguments, "Invalid x-svc-timeout: %q is not a duration; write it as 30s", text)
}
