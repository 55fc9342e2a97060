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
	// open: anybody, without authentication.
	open permission = iota
	// signedIn: any user; the handler decides the rest.
	signedIn
	// canRead: users that may read.
	canRead
	// canWrite: users that may write.
	canWrite
)

// route is one URL. A new one is a line in routes, and its permission is part of it.
type route struct {
	methods []string
	path    string
	needs   permission
	handler http.HandlerFunc
	// ownLimit: the handler reads x-svc-timeout itself.
	ownLimit bool
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
		{post, "/v1/ingest", canWrite, s.handleIngest, false},
		{post, "/v1/events/logs", canWrite, s.handleIngest, false},

		{getPost, "/v1/health", open, s.handleHealth, false},
		{getPost, "/health", open, s.handleHealth, false},
		{getPost, "/ready", open, s.handleReady, false},
		{get, "/status", open, s.handleStatus, false},
		{get, "/metrics", open, s.metricsHandler().ServeHTTP, false},
		{get, "/config", open, s.handleConfig, false},
		{get, "/", open, s.handleIndex, false},
	}
	if s.cfg.Pipelines != nil {
		routes = append(routes, s.pipelineRoutes()...)
	}
	if s.cfg.ProtectConfig {
		i := slices.IndexFunc(routes, func(r route) bool { return r.path == "/config" })
		routes[i].needs = signedIn
	}
	if s.cfg.SQL != nil {
		routes = append(routes, route{getPost, "/v1/sql", signedIn, s.cfg.SQL.ServeHTTP, true})
	}
	return routes
}

// pipelineRoutes are those of stored pipelines. Paths without a name come before those
// with one, which they would match too.
func (s *Server) pipelineRoutes() []route {
	return []route{
		{post, "/v1/pipelines/_dryrun", canRead, s.handleDryRun, false},
		{post, "/v1/events/pipelines/dryrun", canRead, s.handleDryRun, false},
		{post, "/v1/events/pipelines/_dryrun", canRead, s.handleDryRun, false},
		{get, "/v1/pipelines", canRead, s.manage(s.listPipelines), false},
		{post, "/v1/pipelines/{name}", canWrite, s.manage(s.putPipeline), false},
		{get, "/v1/pipelines/{name}", canRead, s.manage(s.getPipeline), false},
		{del, "/v1/pipelines/{name}", canWrite, s.manage(s.deletePipeline), false},
		{get, "/v1/pipelines/{name}/ddl", canRead, s.manage(s.pipelineDDL), false},
		{post, "/v1/events/pipelines/{name}", canWrite, s.manage(s.putPipeline), false},
		{get, "/v1/events/pipelines/{name}", canRead, s.manage(s.getPipeline), false},
		{del, "/v1/events/pipelines/{name}", canWrite, s.manage(s.deletePipeline), false},
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
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	seen := map[string]bool{}
	for _, rt := range routes {
		for _, m := range rt.methods {
			key := m + " " + rt.path
			if seen[key] {
				return nil, fmt.Errorf("httpapi: %s is routed twice", key)
			}
			seen[key] = true
		}
		router.Handle(rt.path, s.guard(rt)).Methods(rt.methods...)
	}
	router.NotFoundHandler = s.refuse(func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, r, errs.New(errs.InvalidArguments, "no such path: %s %s", r.Method, r.URL.Path).WithStatus(http.StatusNotFound))
	})
	router.MethodNotAllowedHandler = s.refuse(func(w http.ResponseWriter, r *http.Request) {
		allowed := allowedMethods(router, r)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		WriteError(w, r, errs.New(errs.InvalidArguments, "method %s is not allowed on %s; use %s",
			r.Method, r.URL.Path, strings.Join(allowed, " or ")).WithStatus(http.StatusMethodNotAllowed))
	})
	return s.around(router), nil
}

// guard puts authentication, permission and the time limit before a route's handler.
func (s *Server) guard(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		x.route = rt.path
		if rt.needs == open {
			rt.handler(w, r)
			return
		}
		r, cancel, err := s.withDeadline(x, r, rt.ownLimit)
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
func allowedMethods(router *mux.Router, r *http.Request) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
		probe := *r
		probe.Method = m
		var match mux.RouteMatch
		if router.Match(&probe, &match) && match.MatchErr == nil && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}
