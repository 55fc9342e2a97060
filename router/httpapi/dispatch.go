package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
)

// dispatcher finds the route of a request and calls its handler. Most paths have no variable, so they are looked up in
// a map. A router compares the others one after the other, each with a regular expression, which would need 20 kB and
// much of the time of a small request if all paths had one.
type dispatcher struct {
	plain  map[string]*resource // by path, for paths without a variable
	router *mux.Router          // for other paths
}

// resource has the handlers of a path.
type resource struct {
	methods map[string]http.Handler
	refuse  http.Handler // answers other methods
}

// ServeHTTP implements http.Handler.
func (d *dispatcher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if found := d.plain[r.URL.EscapedPath()]; found != nil {
		found.ServeHTTP(w, r)
		return
	}
	d.router.ServeHTTP(w, r)
}

// ServeHTTP implements http.Handler.
func (of *resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := of.methods[r.Method]; handler != nil {
		handler.ServeHTTP(w, r)
		return
	}
	of.refuse.ServeHTTP(w, r)
}

// dispatch returns a dispatcher for the routes. Paths without a variable come first, so that with no method _dryrun is
// taken for the name of a pipeline. Paths of routes with rest come last.
func (g *gate) dispatch(routes []route, speaks func(path string) *protocol) (*dispatcher, error) {
	var paths []string
	resources, rest := map[string]*resource{}, map[string]bool{}
	for _, rt := range routes {
		if rt.needs == access.Undeclared {
			return nil, fmt.Errorf("httpapi: %s does not say who may use it", rt.path)
		}
		if resources[rt.path] == nil {
			paths = append(paths, rt.path)
			resources[rt.path] = &resource{methods: map[string]http.Handler{}}
		}
		guarded := g.guard(rt)
		for _, m := range rt.methods {
			if resources[rt.path].methods[m] != nil {
				return nil, fmt.Errorf("httpapi: %s %s is routed twice", m, rt.path)
			}
			resources[rt.path].methods[m] = guarded
		}
		rest[rt.path] = rt.rest
	}
	for path, of := range resources {
		allowed := allowedMethods(routes, path)
		of.refuse = g.refuse(speaks, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			exchange.WriteError(w, r, errs.New(errs.InvalidArguments, "method %s is not allowed on %s; use %s",
				r.Method, cutPath(r), strings.Join(allowed, " or ")).WithStatus(http.StatusMethodNotAllowed))
		})
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		if rest[a] != rest[b] {
			if rest[a] {
				return 1
			}
			return -1
		}
		return cmp.Compare(strings.Count(a, "{"), strings.Count(b, "{"))
	})
	d := &dispatcher{plain: map[string]*resource{}, router: mux.NewRouter().SkipClean(true).UseEncodedPath()}
	for _, path := range paths {
		if strings.Contains(path, "{") {
			d.router.Handle(path, resources[path])
		} else {
			d.plain[path] = resources[path]
		}
	}
	d.router.NotFoundHandler = g.missing(d, paths, speaks)
	return d, nil
}

// allowedMethods returns the methods of a path, in the order of its routes.
func allowedMethods(routes []route, path string) (methods []string) {
	for _, rt := range routes {
		if rt.path == path {
			methods = append(methods, rt.methods...)
		}
	}
	return methods
}

// missing returns a handler for paths without a route.
func (g *gate) missing(d *dispatcher, paths []string, speaks func(path string) *protocol) http.Handler {
	plain := slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return strings.Contains(p, "{") })
	missing := g.refuse(speaks, func(w http.ResponseWriter, r *http.Request) {
		exchange.WriteError(w, r, noSuchPath(r.Method, r.URL.Path, cutPath(r), plain).WithStatus(http.StatusNotFound))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := cmp.Or(strings.TrimRight(r.URL.Path, "/"), "/")
		if p := speaks(r.URL.Path); p != nil && p.trailingSlash && path != r.URL.Path {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = path, strings.TrimRight(r.URL.RawPath, "/")
			d.ServeHTTP(w, r)
			return
		}
		missing.ServeHTTP(w, r)
	})
}
