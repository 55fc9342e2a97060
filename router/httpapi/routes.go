package httpapi

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/params"
)

// route is one URL. A new one is a line in routes, and its permission is part of it.
type route struct {
	methods []string
	path    string
	// needs is the privilege that the sender must have. A request whose handler finds out
	// what it needs asks for SignedIn here.
	needs access.Privilege
	// action is what the request does, for messages and the log of changes; empty: the name
	// of the privilege. object is the kind of thing that it is done to.
	action string
	object access.ObjectKind
	// params are the parameters of the query string: others are refused, but for paths that
	// are open to everybody and those outside of /v1/.
	params []string
	// changes: the request changes something, and is logged with who sent it.
	changes bool
	handler http.HandlerFunc
	// ownLimit: the handler reads x-svc-timeout itself.
	ownLimit bool
	// endless: the server's own time limit does not hold for it.
	endless bool
	// asksAgain: the handler asks the caller itself whether the user still may, before what
	// cannot be taken back. All other requests are cancelled when the user loses the right.
	asksAgain bool
}

var (
	get     = []string{http.MethodGet, http.MethodHead}
	post    = []string{http.MethodPost}
	del     = []string{http.MethodDelete}
	getPost = []string{http.MethodGet, http.MethodHead, http.MethodPost}
)

// routes is every URL that there is.
func (s *Server) routes() []route {
	routes := []route{
		{methods: post, path: "/v1/ingest", needs: access.Insert, action: "ingest", params: params.Ingest, handler: s.handleIngest, asksAgain: true},
		{methods: post, path: "/v1/events/logs", needs: access.Insert, action: "ingest", params: params.Ingest, handler: s.handleIngest, asksAgain: true},

		{methods: getPost, path: "/v1/health", needs: access.Open, handler: s.handleHealth},
		{methods: getPost, path: "/health", needs: access.Open, handler: s.handleHealth},
		{methods: getPost, path: "/ready", needs: access.Open, handler: s.handleReady},
		{methods: get, path: "/status", needs: access.Open, handler: s.handleStatus},
		{methods: get, path: "/metrics", needs: s.metricsNeed(), action: "read metrics", handler: s.metricsHandler().ServeHTTP},
		{methods: get, path: "/config", needs: access.Monitor, action: "read the configuration", handler: s.handleConfig},
		{methods: get, path: "/", needs: access.Open, handler: s.handleIndex},
		{methods: get, path: "/v1/openapi.json", needs: access.SignedIn, handler: s.handleOpenAPI},
	}
	if s.cfg.Pipelines != nil {
		routes = append(routes, s.pipelineRoutes()...)
	}
	if s.cfg.Cluster != nil {
		routes = append(routes, s.clusterRoutes()...)
	}
	if s.cfg.Tunnel != nil {
		routes = append(routes, route{methods: get[:1], path: "/admin/rpc", needs: access.Backup, action: "back up", handler: s.handleTunnel, endless: true})
	}
	if s.cfg.SQL != nil {
		routes = append(routes, route{methods: getPost, path: "/v1/sql", needs: access.SignedIn, params: params.SQL, handler: s.cfg.SQL.ServeHTTP, ownLimit: true})
	}
	if s.cfg.Tail != nil {
		routes = append(routes, route{
			methods: []string{http.MethodGet}, path: "/v1/tail", needs: access.Select, action: "tail", params: params.Tail, handler: s.cfg.Tail.ServeHTTP, ownLimit: true, endless: true,
		})
	}
	return routes
}

// pipelineRoutes are those of stored pipelines. Paths without a name come before those
// with one, which they would match too.
func (s *Server) pipelineRoutes() []route {
	return []route{
		{methods: post, path: "/v1/pipelines/_dryrun", needs: access.PipelineRead, action: "dry run", params: params.DryRun, handler: s.handleDryRun},
		{methods: post, path: "/v1/events/pipelines/dryrun", needs: access.PipelineRead, action: "dry run", params: params.DryRun, handler: s.handleDryRun},
		{methods: post, path: "/v1/events/pipelines/_dryrun", needs: access.PipelineRead, action: "dry run", params: params.DryRun, handler: s.handleDryRun},
		{methods: get, path: "/v1/pipelines", needs: access.PipelineRead, action: "read pipeline", object: access.Pipeline, params: params.ListPipelines, handler: s.manage(s.listPipelines)},
		{methods: post, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline", object: access.Pipeline, changes: true, params: params.PutPipeline, handler: s.manage(s.putPipeline)},
		{methods: get, path: "/v1/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline", object: access.Pipeline, params: params.PipelineVersion, handler: s.manage(s.getPipeline)},
		{methods: del, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline", object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: s.manage(s.deletePipeline)},
		{methods: get, path: "/v1/pipelines/{name}/ddl", needs: access.PipelineRead, action: "read pipeline", object: access.Pipeline, params: params.PipelineDDL, handler: s.manage(s.pipelineDDL)},
		{methods: post, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline", object: access.Pipeline, changes: true, params: params.PutPipeline, handler: s.manage(s.putPipeline)},
		{methods: get, path: "/v1/events/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline", object: access.Pipeline, params: params.PipelineVersion, handler: s.manage(s.getPipeline)},
		{methods: del, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline", object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: s.manage(s.deletePipeline)},
	}
}

// publicRoutes are those that the public listener serves.
func publicRoutes(routes []route) []route {
	var out []route
	for _, r := range routes {
		if underV1(r.path) || r.path == "/dashboard" || strings.HasPrefix(r.path, "/dashboard/") {
			out = append(out, r)
		}
	}
	return out
}

func underV1(path string) bool { return strings.HasPrefix(path, "/v1/") }

// build makes the handler for some routes, with all that requests have in common.
func (s *Server) build(routes []route) (http.Handler, error) {
	d, err := s.dispatch(routes)
	if err != nil {
		return nil, err
	}
	return s.around(d), nil
}

// dispatch makes what finds the routes of requests.
func (s *Server) dispatch(routes []route) (*dispatcher, error) {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	seen := map[string]bool{}
	exact := map[string][]exactRoute{}
	for _, rt := range routes {
		if rt.needs == access.Undeclared {
			return nil, fmt.Errorf("httpapi: %s does not say who may use it", rt.path)
		}
		handler := s.guard(rt)
		for _, m := range rt.methods {
			key := m + " " + rt.path
			if seen[key] {
				return nil, fmt.Errorf("httpapi: %s is routed twice", key)
			}
			seen[key] = true
			if !strings.Contains(rt.path, "{") {
				exact[rt.path] = append(exact[rt.path], exactRoute{m, handler})
			}
		}
		router.Handle(rt.path, handler).Methods(rt.methods...)
	}
	router.NotFoundHandler = s.refuse(func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, r, noSuchPath(r.Method, r.URL.Path, cutPath(r)).WithStatus(http.StatusNotFound))
	})
	d := &dispatcher{exact: exact, router: router}
	d.notAllowed = s.refuse(func(w http.ResponseWriter, r *http.Request) {
		allowed := d.allowedMethods(r)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		WriteError(w, r, errs.New(errs.InvalidArguments, "method %s is not allowed on %s; use %s",
			r.Method, cutPath(r), strings.Join(allowed, " or ")).WithStatus(http.StatusMethodNotAllowed))
	})
	router.MethodNotAllowedHandler = d.notAllowed
	return d, nil
}

// cutPath is the path of a request in a message, which is no place for a long one.
func cutPath(r *http.Request) string {
	const most = 200
	if len(r.URL.Path) > most {
		return strings.ToValidUTF8(r.URL.Path[:most], "") + "…"
	}
	return r.URL.Path
}

// dispatcher finds the routes of most requests by their whole path; the others are the
// router's, which knows patterns, and what to answer if there is no route.
type dispatcher struct {
	exact      map[string][]exactRoute
	router     *mux.Router
	notAllowed http.Handler
}

// exactRoute is a route whose path holds no variable.
type exactRoute struct {
	method  string
	handler http.Handler
}

func (d *dispatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath == "" {
		routes, found := d.exact[r.URL.Path]
		for _, e := range routes {
			if e.method == r.Method {
				e.handler.ServeHTTP(w, r)
				return
			}
		}
		if found {
			// A pattern may fit too, but _dryrun is no name of a pipeline.
			d.notAllowed.ServeHTTP(w, r)
			return
		}
	}
	d.router.ServeHTTP(w, r)
}

// guard puts authentication, permission and the time limit before a route's handler.
func (s *Server) guard(rt route) http.Handler {
	counts := s.metrics.route(rt.path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.counts = counts
		if rt.needs == access.Open {
			rt.handler(w, r)
			return
		}
		r, end := s.trace(x, r, rt)
		defer end()
		r, cancel, err := s.withDeadline(x, r, rt)
		if err != nil {
			WriteError(w, r, err)
			return
		}
		defer cancel()
		if err := s.authenticate(x, r); err != nil {
			WriteError(w, r, err)
			return
		}
		if !rt.asksAgain {
			x.caller.RequestID = requestID(r)
		}
		r, done := s.follow(x, r, rt)
		defer done()
		x.need = rt.need(r)
		if rt.changes {
			answered := false
			defer func() { s.record(x, r, answered) }()
			defer func() { answered = x.status != 0 }()
		}
		if err := x.caller.Require(x.need); err != nil {
			WriteError(w, r, err)
			return
		}
		if underV1(rt.path) {
			if err := params.CheckNames(r.URL.RawQuery, rt.params); err != nil {
				WriteError(w, r, err)
				return
			}
			for _, warning := range params.UnknownHeaders(r.Header) {
				w.Header().Add(headerWarnings, warning)
			}
		}
		rt.handler(w, r)
	})
}

// requestID is the name of a request in the log of changes: what the client sent in
// x-request-id, or else a random one.
func requestID(r *http.Request) string {
	const most = 128
	if id := params.Header(r.Header, "X-Request-Id"); id != "" && len(id) <= most {
		return strings.ToValidUTF8(id, "")
	}
	return strconv.FormatUint(rand.Uint64()|1<<63, 16)
}

// record writes down what became of a request that changes something.
func (s *Server) record(x *exchange, r *http.Request, answered bool) {
	err := x.failed
	switch {
	case x.unchanged:
		return
	case !answered:
		err = errs.New(errs.Internal, "the request was not answered")
	}
	s.changes.Record(x.context(r), audit.Change{By: &x.caller, Need: x.need, Statement: x.statement, Message: x.message, Err: err})
}

// need is what the sender of r must be allowed to.
func (rt route) need(r *http.Request) access.Need {
	n := access.Need{Privilege: rt.needs, Action: rt.action, Object: access.Object{Kind: rt.object}}
	if rt.object != access.NoObject {
		vars := mux.Vars(r)
		n.Object.Name = cmp.Or(vars["name"], vars["id"])
	}
	return n
}

// refuse answers requests that have no route. Under /v1/ only users learn which paths exist.
func (s *Server) refuse(answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth.Protected(r.URL.Path) {
			if err := s.authenticate(exchangeOf(r), r); err != nil {
				WriteError(w, r, err)
				return
			}
		}
		answer(w, r)
	})
}

// allowedMethods are the methods that the request's path does have.
func (d *dispatcher) allowedMethods(r *http.Request) []string {
	var out []string
	if r.URL.RawPath == "" {
		for _, e := range d.exact[r.URL.Path] {
			out = append(out, e.method)
		}
	}
	if out != nil {
		return out
	}
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		probe := *r
		probe.Method = m
		var match mux.RouteMatch
		if d.router.Match(&probe, &match) && match.MatchErr == nil && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}
