package httpapi

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/mux"
	oteltrace "go.opentelemetry.io/otel/trace"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/audit"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/httpapi/peer"
	"cordwood/router/httpapi/session"
)

// gate runs before the handlers of routes. It finds the route of a request, authenticates the sender, checks the
// sender's right, sets the time limit, and checks that the route knows the parameters.
type gate struct {
	auth      Authenticator // nil if authentication is off
	sessions  *session.Manager
	oidc      bool // whether browsers may sign in with an OIDC provider
	proxies   peer.Proxies
	timeout   time.Duration
	tracer    oteltrace.Tracer // nil if tracing is off
	metrics   *metrics
	changes   *audit.Log
	receivers *receivers
}

// cutPath returns the path of a request for a message, shortened if it is long.
func cutPath(r *http.Request) string {
	const most = 200
	path := token.Hide(r.URL.Path)
	if len(path) > most {
		return strings.ToValidUTF8(path[:most], "") + "…"
	}
	return path
}

// guard returns a handler that checks authentication, permission and the time limit, and then calls the route's
// handler.
func (g *gate) guard(rt route) http.Handler {
	answered := g.metrics.route(rt.path).answered
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchange.Of(r)
		x.Route, x.Answered, x.Refuse = rt.path, answered, rt.refuse
		if rt.needs == access.Open {
			rt.handler(w, r)
			return
		}
		r, end := g.trace(x, r, rt)
		defer end()
		r, cancel, err := g.withDeadline(x, r, rt)
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		defer cancel()
		if err := g.identify(x, r, rt.credentials); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		if !rt.asksAgain || rt.changes { // ingestion is not recorded
			x.Caller.RequestID = requestID(r)
		}
		if g.auth != nil {
			followed, stop := x.Follow(r, rt.asksAgain, g.auth.Begin)
			defer stop()
			r = followed
		}
		x.Need = rt.need(r)
		if rt.changes {
			r = g.begin(x, r)
			returned := false
			defer func() { g.record(x, r, returned) }()
			defer func() { returned = x.Status != 0 }()
		}
		if err := x.Caller.Require(x.Need); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		if underV1(rt.path) && rt.refuse == nil {
			if err := params.CheckNames(r.URL.RawQuery, rt.params); err != nil {
				exchange.WriteError(w, r, err)
				return
			}
			for _, warning := range params.UnknownHeaders(r.Header) {
				w.Header().Add(exchange.HeaderWarnings, warning)
			}
		}
		rt.handler(w, r)
	})
}

// requestID returns the id of a request in the log of changes: the client's x-request-id, or a random one.
func requestID(r *http.Request) string {
	const most = 128
	if id := params.Header(r.Header, "X-Request-Id"); id != "" && len(id) <= most {
		return token.Hide(strings.ToValidUTF8(id, ""))
	}
	return strconv.FormatUint(rand.Uint64()|1<<63, 16)
}

// begin returns r with a context whose commands carry the record of the change that the request makes.
func (g *gate) begin(x *exchange.Exchange, r *http.Request) *http.Request {
	ctx := g.changes.Begin(x.Context(r), func() audit.Change { return changeOf(x) })
	if x.Traced != nil {
		x.Traced = ctx
	}
	return r.WithContext(metaclient.WithAudited(r.Context(), metaclient.AuditedOf(ctx)))
}

// record logs the result of a request that changes something.
func (g *gate) record(x *exchange.Exchange, r *http.Request, answered bool) {
	err := x.Failed
	switch {
	case x.Unchanged:
		return
	case !answered:
		err = errs.New(errs.Internal, "the request was not answered")
	}
	c := changeOf(x)
	c.Err = err
	g.changes.Record(x.Context(r), c)
}

// changeOf describes the change that a request makes.
func changeOf(x *exchange.Exchange) audit.Change {
	return audit.Change{By: &x.Caller, Need: x.Need, Statement: x.Statement, Message: x.Message}
}

// need returns the privilege that a route requires for the request r.
func (rt route) need(r *http.Request) access.Need {
	n := access.Need{Privilege: rt.needs, Action: rt.action, Object: access.Object{Kind: rt.object}}
	if rt.object != access.NoObject {
		vars := mux.Vars(r)
		n.Object.Name = cmp.Or(vars["name"], vars["id"])
	}
	return n
}

// refuse answers requests that match no route, in the format of the client's protocol. Below /v1/, only users may
// learn which paths exist.
func (g *gate) refuse(speaks func(path string) *protocol, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var own credentials
		if p := speaks(r.URL.Path); p != nil {
			exchange.Of(r).Refuse = g.receivers.delayed(p.refuse)
			own = p.credentials
		}
		if auth.Protected(r.URL.Path) {
			if err := g.identify(exchange.Of(r), r, own); err != nil {
				exchange.WriteError(w, r, err)
				return
			}
		}
		answer(w, r)
	})
}
