package httpapi

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/query/logquery"
)

// logsPath is the path of structured queries. OTLP clients post to the same path.
const logsPath = "/v1/logs"

// logQueries serves structured queries.
type logQueries struct {
	handler http.Handler
	auth    Authenticator // nil if authentication is off
}

// route returns the route of structured queries by GET.
func (q *logQueries) route() route {
	return route{
		methods: get, path: logsPath, needs: access.Select, action: "query", params: params.LogQuery,
		handler: q.handler.ServeHTTP, ownLimit: true,
	}
}

// extendOTLP returns the route of OTLP, extended to structured queries. The body of a request shows whether it has logs
// or a query, and thereby which privilege it needs.
func (q *logQueries) extendOTLP(rt route) route {
	store, insert := rt.handler, access.Need{Privilege: rt.needs, Action: rt.action}
	rt.needs, rt.action = access.SignedIn, ""
	rt.handler = func(w http.ResponseWriter, r *http.Request) {
		x := exchange.Of(r)
		if isLogQuery(w, r, x.Start) {
			q.serve(x, w, r)
			return
		}
		x.Need = insert
		if err := x.Caller.Require(x.Need); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		store(w, r)
	}
	return rt
}

// serve answers a structured query that was sent to the path of OTLP, as the route of structured queries would.
func (q *logQueries) serve(x *exchange.Exchange, w http.ResponseWriter, r *http.Request) {
	rt := q.route()
	x.Refuse = nil
	x.Need = rt.need(r)
	x.Caller.RequestID = requestID(r)
	if q.auth != nil {
		followed, stop := x.Follow(r, false, q.auth.Begin)
		defer stop()
		r = followed
	}
	err := x.Caller.Require(x.Need)
	if err == nil {
		err = params.CheckNames(r.URL.RawQuery, rt.params)
	}
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	for _, warning := range params.UnknownHeaders(r.Header) {
		w.Header().Add(exchange.HeaderWarnings, warning)
	}
	rt.handler(w, r)
}

// The number of bytes of a body that are read to distinguish structured queries from OTLP, and the time in which they
// must arrive.
const (
	peekBytes = 512
	peekTime  = 30 * time.Second
)

// peeked is a body whose first bytes have been read, and are read again from a buffer.
type peeked struct {
	*bufio.Reader
	io.Closer
}

// isLogQuery reports whether the body of a request is a structured query: JSON, possibly compressed with gzip,
// whose first key is one of a query. The body can still be read from the start.
func isLogQuery(w http.ResponseWriter, r *http.Request, start time.Time) bool {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // a malformed type is not JSON
	if media != "application/json" || r.Body == nil || r.Body == http.NoBody {
		return false
	}
	// not all connections support it; later readers set their own deadline
	_ = http.NewResponseController(w).SetReadDeadline(start.Add(peekTime))
	body := bufio.NewReaderSize(r.Body, peekBytes)
	beginning, _ := body.Peek(peekBytes) // the next reader of the body gets the error again
	r.Body = peeked{body, r.Body}
	switch strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(bytes.NewReader(beginning))
		if err != nil {
			return false
		}
		beginning, _ = io.ReadAll(io.LimitReader(unpacked, peekBytes)) // the data ends early, so an error is expected
	default:
		return false
	}
	return logquery.IsQuery(beginning)
}
