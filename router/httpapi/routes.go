package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/auth"
)

// permission is what a request must be allowed to, besides being who it says it is.
type permission int

const (
	// undeclared is no permission: a route must have one of the others.
	undeclared permission = iota
	// open: anybody, without authentication.
	open
	// signedIn: any user; the handler decides the rest.
	signedIn
	// canRead: users that may read.
	canRead
	// canWrite: users that may write.
	canWrite
	// canManage: users that may read and write.
	canManage
)

// String is the permission in the API's description.
func (p permission) String() string {
	return [...]string{"undeclared", "open", "signed-in", "read", "write", "manage"}[p]
}

// route is one URL. A new one is a line in routes, and its permission is part of it.
type route struct {
	methods []string
	path    string
	needs   permission
	handler http.HandlerFunc
	// ownLimit: the handler reads x-svc-timeout itself.
	ownLimit bool
	// endless: the server's own time limit does not hold for it.
	endless bool
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
		{methods: post, path: "/v1/ingest", needs: canWrite, handler: s.handleIngest},
		{methods: post, path: "/v1/events/logs", needs: canWrite, handler: s.handleIngest},

		{methods: getPost, path: "/v1/health", needs: open, handler: s.handleHealth},
		{methods: getPost, path: "/health", needs: open, handler: s.handleHealth},
		{methods: getPost, path: "/ready", needs: open, handler: s.handleReady},
		{methods: get, path: "/status", needs: open, handler: s.handleStatus},
		{methods: get, path: "/metrics", needs: open, handler: s.metricsHandler().ServeHTTP},
		{methods: get, path: "/config", needs: open, handler: s.handleConfig},
		{methods: get, path: "/", needs: open, handler: s.handleIndex},
		{methods: get, path: "/v1/openapi.json", needs: signedIn, handler: s.handleOpenAPI},
	}
	if s.cfg.Pipelines != nil {
		routes = append(routes, s.pipelineRoutes()...)
	}
	if s.cfg.Cluster != nil {
		routes = append(routes, s.clusterRoutes()...)
	}
	if s.cfg.ProtectConfig {
		i := slices.IndexFunc(routes, func(r route) bool { return r.path == "/config" })
		routes[i].needs = signedIn
	}
	if s.cfg.Tunnel != nil {
		routes = append(routes, route{methods: get[:1], path: "/admin/rpc", needs: canRead, handler: s.handleTunnel, endless: true})
	}
	if s.cfg.SQL != nil {
		routes = append(routes, route{methods: getPost, path: "/v1/sql", needs: signedIn, handler: s.cfg.SQL.ServeHTTP, ownLimit: true})
	}
	if s.cfg.Tail != nil {
		routes = append(routes, route{
			methods: []string{http.MethodGet}, path: "/v1/tail", needs: canRead, handler: s.cfg.Tail.ServeHTTP, ownLimit: true, endless: true,
		})
	}
	return routes
}

// pipelineRoutes are those of stored pipelines. Paths without a name come before those
// with one, which they would match too.
func (s *Server) pipelineRoutes() []route {
	return []route{
		{methods: post, path: "/v1/pipelines/_dryrun", needs: canRead, handler: s.handleDryRun},
		{methods: post, path: "/v1/events/pipelines/dryrun", needs: canRead, handler: s.handleDryRun},
		{methods: post, path: "/v1/events/pipelines/_dryrun", needs: canRead, handler: s.handleDryRun},
		{methods: get, path: "/v1/pipelines", needs: canRead, handler: s.manage(s.listPipelines)},
		{methods: post, path: "/v1/pipelines/{name}", needs: canWrite, handler: s.manage(s.putPipeline)},
		{methods: get, path: "/v1/pipelines/{name}", needs: canRead, handler: s.manage(s.getPipeline)},
		{methods: del, path: "/v1/pipelines/{name}", needs: canWrite, handler: s.manage(s.deletePipeline)},
		{methods: get, path: "/v1/pipelines/{name}/ddl", needs: canRead, handler: s.manage(s.pipelineDDL)},
		{methods: post, path: "/v1/events/pipelines/{name}", needs: canWrite, handler: s.manage(s.putPipeline)},
		{methods: get, path: "/v1/events/pipelines/{name}", needs: canRead, handler: s.manage(s.getPipeline)},
		{methods: del, path: "/v1/events/pipelines/{name}", needs: canWrite, handler: s.manage(s.deletePipeline)},
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
		if rt.needs == undeclared {
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
		WriteError(w, r, errs.New(errs.InvalidArguments, "no such path: %s %s; /v1/openapi.json describes those that there are", r.Method, cutPath(r)).WithStatus(http.StatusNotFound))
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
		if rt.needs == open {
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
		if err := rt.permit(x.identity); err != nil {
			WriteError(w, r, err)
			return
		}
		rt.handler(w, r)
	})
}

// permit returns an error if the user may not do what the route does.
func (rt route) permit(id *auth.Identity) error {
	switch rt.needs {
	case canRead:
		return id.Require(auth.Read)
	case canWrite:
		return id.Require(auth.Write)
	case canManage:
		if err := id.Require(auth.Read); err != nil {
			return err
		}
		return id.Require(auth.Write)
	}
	return nil
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
