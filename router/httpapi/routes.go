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
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/params"
	"cordwood/router/web"
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
	// params are the parameters of the query string: others are refused, except paths that
	// are open to everybody and those outside of /v1/.
	params []string
	// changes: the request changes something, and is logged with its sender.
	changes bool
	handler http.HandlerFunc
	// ownLimit: the handler reads x-svc-timeout itself.
	ownLimit bool
	// endless: the server's own time limit does not hold for it.
	endless bool
	// asksAgain: the handler asks the caller itself whether the user still may, before what
	// cannot be taken back. All other requests are cancelled when the user loses the right.
	asksAgain bool
	// page: it is part of the page for browsers, not of the API.
	page bool
	// refuse answers errors in the words of another system's protocol, on whose paths parameters
	// that are not known have no effect; nil: in the one shape of errors.
	refuse refusal
	// credentials reads the user and password of a protocol.
	credentials func(r *http.Request) string
}

var (
	get     = []string{http.MethodGet, http.MethodHead}
	post    = []string{http.MethodPost}
	del     = []string{http.MethodDelete}
	getPost = []string{http.MethodGet, http.MethodHead, http.MethodPost}

	postPut    = []string{http.MethodPost, http.MethodPut}
	getPostPut = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut}
)

// routes returns every URL that there is.
func (s *Server) routes() []route {
	routes := []route{
		{
			methods: post, path: "/v1/ingest", needs: access.Insert, action: "ingest", params: params.Ingest,
			handler: s.handleIngest, asksAgain: true,
		},
		{
			methods: post, path: "/v1/events/logs", needs: access.Insert, action: "ingest", params: params.Ingest,
			handler: s.handleIngest, asksAgain: true,
		},

		{methods: getPost, path: "/v1/health", needs: access.Open, handler: s.handleHealth},
		{methods: getPost, path: "/health", needs: access.Open, handler: s.handleHealth},
		{methods: getPost, path: "/ready", needs: access.Open, handler: s.handleReady},
		{methods: get, path: "/status", needs: access.Open, handler: s.handleStatus},
		{
			methods: get,
			path:    "/metrics",
			needs:   s.metricsNeed(),
			action:  "read metrics",
			handler: s.metricsHandler().ServeHTTP,
		},
		{methods: get, path: "/config", needs: access.Monitor, action: "read the configuration", handler: s.handleConfig},
		{methods: post, path: "/v1/session", needs: access.Open, handler: s.handleSignIn},
		{methods: del, path: "/v1/session", needs: access.Open, handler: s.handleSignOut},
		{methods: get, path: "/v1/session", needs: access.SignedIn, action: "ask who is signed in", handler: s.handleSession},
		{methods: get, path: "/", needs: access.Open, handler: s.handleIndex},
		{methods: get, path: "/v1/openapi.json", needs: access.SignedIn, handler: s.handleOpenAPI},
	}
	if s.cfg.Pipelines != nil {
		routes = append(append(routes, editorRoutes()...), s.pipelineRoutes()...)
	}
	if s.cfg.Saved != nil {
		routes = append(routes, s.savedRoutes()...)
	}
	if s.cfg.Cluster != nil {
		routes = append(routes, s.clusterRoutes()...)
	}
	if s.cfg.Tunnel != nil {
		routes = append(routes, route{
			methods: get[:1],
			path:    "/admin/rpc",
			needs:   access.Backup,
			action:  "back up",
			handler: s.handleTunnel,
			endless: true,
		})
	}
	if s.cfg.SQL != nil {
		routes = append(routes, route{
			methods:  getPost,
			path:     "/v1/sql",
			needs:    access.SignedIn,
			params:   params.SQL,
			handler:  s.cfg.SQL.ServeHTTP,
			ownLimit: true,
		})
	}
	if s.cfg.SQL != nil && s.cfg.Pipelines != nil {
		routes = append(routes, route{
			methods: post, path: "/v1/rejects/replay", needs: access.PipelineWrite, action: "replay rejects",
			handler: s.handleReplay, endless: true,
		})
	}
	if s.cfg.LogQuery != nil {
		routes = append(routes, s.logQueryRoute())
	}
	if s.cfg.Explore != nil {
		routes = append(routes, exploreRoutes(s.cfg.Explore)...)
	}
	routes = append(routes, s.doorRoutes()...)
	if s.cfg.Tail != nil {
		routes = append(routes, route{
			methods: []string{http.MethodGet}, path: "/v1/tail", needs: access.Select, action: "tail", params: params.Tail,
			handler: s.cfg.Tail.ServeHTTP, ownLimit: true, endless: true,
		})
	}
	if s.cfg.Page != nil {
		routes = append(routes, s.pageRoutes()...)
	}
	return routes
}

// pageRoutes returns the routes of the page for browsers, and the addresses that lead to it.
func (s *Server) pageRoutes() []route {
	redirect := http.HandlerFunc(web.Redirect)
	return []route{
		{methods: get, path: "/dashboard", needs: access.Open, page: true, handler: redirect},
		{methods: get, path: "/dashboard/{rest:.*}", needs: access.Open, page: true, handler: s.cfg.Page.ServeHTTP},
		{methods: get, path: "/ui", needs: access.Open, page: true, handler: redirect},
		{methods: get, path: "/ui/{rest:.*}", needs: access.Open, page: true, handler: redirect},
	}
}

// pipelineRoutes returns the routes of stored pipelines. Paths without a variable come before
// paths with one, which would match them too.
func (s *Server) pipelineRoutes() []route {
	return []route{
		{
			methods: post,
			path:    "/v1/pipelines/_dryrun",
			needs:   access.PipelineRead,
			action:  "dry run",
			params:  params.DryRun,
			handler: s.handleDryRun,
		},
		{
			methods: post,
			path:    "/v1/events/pipelines/dryrun",
			needs:   access.PipelineRead,
			action:  "dry run",
			params:  params.DryRun,
			handler: s.handleDryRun,
		},
		{
			methods: post,
			path:    "/v1/events/pipelines/_dryrun",
			needs:   access.PipelineRead,
			action:  "dry run",
			params:  params.DryRun,
			handler: s.handleDryRun,
		},
		{
			methods: get, path: "/v1/pipelines", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.ListPipelines, handler: s.manage(s.listPipelines),
		},
		{
			methods: post, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline",
			object: access.Pipeline, changes: true, params: params.PutPipeline, handler: s.manage(s.putPipeline),
		},
		{
			methods: get, path: "/v1/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineVersion, handler: s.manage(s.getPipeline),
		},
		{
			methods: del, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline",
			object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: s.manage(s.deletePipeline),
		},
		{
			methods: get, path: "/v1/pipelines/{name}/ddl", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineDDL, handler: s.manage(s.pipelineDDL),
		},
		{
			methods: post, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline",
			object: access.Pipeline, changes: true, params: params.PutPipeline, handler: s.manage(s.putPipeline),
		},
		{
			methods: get, path: "/v1/events/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineVersion, handler: s.manage(s.getPipeline),
		},
		{
			methods: del, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline",
			object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: s.manage(s.deletePipeline),
		},
	}
}

// clusterRoutes returns the routes of the cluster.
func (s *Server) clusterRoutes() []route {
	cluster := clusterapi.Handlers{Cluster: s.cfg.Cluster}
	const read = "read the state of the cluster"
	return []route{
		{methods: get, path: "/v1/cluster", needs: access.Monitor, action: read, handler: cluster.Status},
		{methods: get, path: "/v1/cluster/plan", needs: access.Monitor, action: read, handler: cluster.Plan},
		{methods: get, path: "/v1/cluster/operations", needs: access.Monitor, action: read, handler: cluster.Operations},
		{
			methods: post, path: "/v1/cluster/operations", needs: access.Operate, action: "start operation",
			object: access.Operation, changes: true, handler: cluster.Start,
		},
		{methods: get, path: "/v1/cluster/operations/{id}", needs: access.Monitor, action: read, handler: cluster.Operation},
		{
			methods: del, path: "/v1/cluster/operations/{id}", needs: access.Operate, action: "cancel operation",
			object: access.Operation, changes: true, handler: cluster.Cancel,
		},
	}
}

// exploreRoutes returns the routes of what a page for logs asks.
func exploreRoutes(h *explore.Handler) []route {
	read := func(name string, handler http.HandlerFunc) route {
		return route{
			methods: post, path: "/v1/explore/" + name, needs: access.Select, action: "explore", handler: handler,
		}
	}
	return []route{
		read("fields", h.Fields()),
		read("compile", h.Compile()),
		read("rows", h.Rows()),
		read("row", h.Row()),
		read("context", h.Context()),
		read("hits", h.Hits()),
		read("facets", h.Facets()),
		read("values", h.Values()),
		read("patterns", h.Patterns()),
		read("compare", h.Compare()),
	}
}

// publicRoutes returns the routes that the public listener serves: ours under /v1/, and the routes of other
// systems' protocols.
func publicRoutes(routes []route) []route {
	var out []route
	for _, r := range routes {
		if underV1(r.path) || r.refuse != nil || r.page {
			out = append(out, r)
		}
	}
	return out
}

func underV1(path string) bool { return strings.HasPrefix(path, "/v1/") }

// build makes the handler for some routes, with all that requests have in common. speaks returns the protocol whose
// clients ask for a path that there is not; nil: no other system's.
func (s *Server) build(routes []route, speaks func(path string) *protocol) (http.Handler, error) {
	d, err := s.dispatch(routes, speaks)
	if err != nil {
		return nil, err
	}
	return s.around(d), nil
}

// dispatch makes what finds the routes of requests. Behind the routes of a path stands the
// answer to other methods, and paths without a variable stand first: _dryrun is not a name of
// a pipeline, whatever the method.
func (s *Server) dispatch(routes []route, speaks func(path string) *protocol) (*mux.Router, error) {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	var paths []string
	methods := map[string][]string{}
	for _, rt := range routes {
		if rt.needs == access.Undeclared {
			return nil, fmt.Errorf("httpapi: %s does not say who may use it", rt.path)
		}
		if methods[rt.path] == nil {
			paths = append(paths, rt.path)
		}
		for _, m := range rt.methods {
			if slices.Contains(methods[rt.path], m) {
				return nil, fmt.Errorf("httpapi: %s %s is routed twice", m, rt.path)
			}
			methods[rt.path] = append(methods[rt.path], m)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		return cmp.Compare(strings.Count(a, "{"), strings.Count(b, "{"))
	})
	for _, path := range paths {
		for _, rt := range routes {
			if rt.path == path {
				router.Handle(path, s.guard(rt)).Methods(rt.methods...)
			}
		}
		router.Handle(path, s.refuse(speaks, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(methods[path], ", "))
			exchange.WriteError(w, r, errs.New(errs.InvalidArguments, "method %s is not allowed on %s; use %s",
				r.Method, cutPath(r), strings.Join(methods[path], " or ")).WithStatus(http.StatusMethodNotAllowed))
		}))
	}
	plain := slices.DeleteFunc(paths, func(p string) bool { return strings.Contains(p, "{") })
	missing := s.refuse(speaks, func(w http.ResponseWriter, r *http.Request) {
		exchange.WriteError(w, r, noSuchPath(r.Method, r.URL.Path, cutPath(r), plain).WithStatus(http.StatusNotFound))
	})
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := cmp.Or(strings.TrimRight(r.URL.Path, "/"), "/")
		if p := speaks(r.URL.Path); p != nil && p.trailingSlash && path != r.URL.Path {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = path, strings.TrimRight(r.URL.RawPath, "/")
			router.ServeHTTP(w, r)
			return
		}
		missing.ServeHTTP(w, r)
	})
	return router, nil
}

// cutPath returns the path of a request in a message, which is no place for a long one.
func cutPath(r *http.Request) string {
	const most = 200
	if len(r.URL.Path) > most {
		return strings.ToValidUTF8(r.URL.Path[:most], "") + "…"
	}
	return r.URL.Path
}

// guard puts authentication, permission and the time limit before a route's handler.
func (s *Server) guard(rt route) http.Handler {
	counts := s.metrics.route(rt.path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchange.Of(r)
		x.Route, x.Answered, x.Refuse = rt.path, counts.answered, rt.refuse
		if rt.needs == access.Open {
			rt.handler(w, r)
			return
		}
		r, end := s.trace(x, r, rt)
		defer end()
		r, cancel, err := s.withDeadline(x, r, rt)
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		defer cancel()
		basicOf(rt.credentials, r)
		if err := s.authenticate(x, r); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		if !rt.asksAgain {
			x.Caller.RequestID = requestID(r)
		}
		if s.cfg.Auth != nil {
			followed, stop := x.Follow(r, rt.asksAgain, s.cfg.Auth.Begin)
			defer stop()
			r = followed
		}
		x.Need = rt.need(r)
		if rt.changes {
			answered := false
			defer func() { s.record(x, r, answered) }()
			defer func() { answered = x.Status != 0 }()
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

// requestID returns the name of a request in the log of changes: what the client sent in
// x-request-id, or else a random one.
func requestID(r *http.Request) string {
	const most = 128
	if id := params.Header(r.Header, "X-Request-Id"); id != "" && len(id) <= most {
		return strings.ToValidUTF8(id, "")
	}
	return strconv.FormatUint(rand.Uint64()|1<<63, 16)
}

// record writes down what became of a request that changes something.
func (s *Server) record(x *exchange.Exchange, r *http.Request, answered bool) {
	err := x.Failed
	switch {
	case x.Unchanged:
		return
	case !answered:
		err = errs.New(errs.Internal, "the request was not answered")
	}
	s.changes.Record(x.Context(r), audit.Change{
		By:        &x.Caller,
		Need:      x.Need,
		Statement: x.Statement,
		Message:   x.Message,
		Err:       err,
	})
}

// need returns what the sender of r must be allowed to.
func (rt route) need(r *http.Request) access.Need {
	n := access.Need{Privilege: rt.needs, Action: rt.action, Object: access.Object{Kind: rt.object}}
	if rt.object != access.NoObject {
		vars := mux.Vars(r)
		n.Object.Name = cmp.Or(vars["name"], vars["id"])
	}
	return n
}

// refuse answers requests that have no route, in the words of the protocol that the client speaks. Under /v1/ only
// users learn which paths exist.
func (s *Server) refuse(speaks func(path string) *protocol, answer http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := speaks(r.URL.Path); p != nil {
			exchange.Of(r).Refuse = s.held(p.refuse)
			basicOf(p.credentials, r)
		}
		if auth.Protected(r.URL.Path) {
			if err := s.authenticate(exchange.Of(r), r); err != nil {
				exchange.WriteError(w, r, err)
				return
			}
		}
		answer(w, r)
	})
}
