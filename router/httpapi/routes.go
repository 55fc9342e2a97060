package httpapi

import (
	"net/http"
	"strings"

	"cordwood/router/access"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/dryrun"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/params"
	"cordwood/router/httpapi/pipelineapi"
	"cordwood/router/httpapi/saved"
	"cordwood/router/iceberg"
	"cordwood/router/web"
)

// route is one URL. To add a URL, add a row to the table in routes. It must contain a permission.
type route struct {
	methods []string
	path    string
	// needs is the privilege that the sender must have. If the handler checks privileges itself, it is SignedIn.
	needs access.Privilege
	// action describes the request in messages and in the log of changes; empty means the name of the privilege.
	// object is the kind of object that it concerns.
	action string
	object access.ObjectKind
	// params are the known parameters of the query string. Other parameters are refused, except on paths that are open
	// to everybody and on paths outside /v1/.
	params []string
	// changes is set if the request changes something, so it is logged with its sender.
	changes bool
	handler http.HandlerFunc
	// ownLimit is set if the handler reads x-svc-timeout itself.
	ownLimit bool
	// endless is set if the server's default time limit does not apply.
	endless bool
	// asksAgain is set if the handler checks the user's rights again before the final step, which cannot be undone.
	// All other requests are cancelled when the user loses the right.
	asksAgain bool
	// page is set if the URL is part of the page for browsers and not of the API.
	page bool
	// refuse answers errors in the format of another system's protocol; nil means our own format. On paths of
	// other protocols, unknown parameters are ignored.
	refuse refusal
	// credentials returns the credentials in the protocol's own headers and parameters.
	credentials credentials
	// rest is set if the route is for the paths that no other route has.
	rest bool
}

var (
	get     = []string{http.MethodGet, http.MethodHead}
	post    = []string{http.MethodPost}
	del     = []string{http.MethodDelete}
	getPost = []string{http.MethodGet, http.MethodHead, http.MethodPost}

	postPut    = []string{http.MethodPost, http.MethodPut}
	getPostPut = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut}
)

// routes returns all URLs.
func (h *handlers) routes(cfg *Config) []route {
	metricsNeed, gatherer := access.Open, cfg.Gatherer
	switch {
	case cfg.MetricsClosed:
		metricsNeed = access.Monitor
	case cfg.Auth != nil:
		gatherer = about.PublicMetrics(gatherer)
	}
	routes := []route{
		{
			methods: post, path: "/v1/ingest", needs: access.Insert, action: "ingest", params: params.Ingest,
			handler: h.ingest.ServeHTTP, asksAgain: true,
		},
		{
			methods: post, path: "/v1/events/logs", needs: access.Insert, action: "ingest", params: params.Ingest,
			handler: h.ingest.ServeHTTP, asksAgain: true,
		},

		{methods: getPost, path: "/v1/health", needs: access.Open, handler: h.about.Health},
		{methods: getPost, path: "/health", needs: access.Open, handler: h.about.Health},
		{methods: getPost, path: "/ready", needs: access.Open, handler: h.about.Ready},
		{methods: get, path: "/status", needs: access.Open, handler: h.about.Status},
		{
			methods: get,
			path:    "/metrics",
			needs:   metricsNeed,
			action:  "read metrics",
			handler: about.Metrics(gatherer).ServeHTTP,
		},
		{methods: get, path: "/config", needs: access.Monitor, action: "read the configuration", handler: h.about.Config},
		{methods: post, path: "/v1/session", needs: access.Open, handler: h.sessions.signIn},
		{methods: del, path: "/v1/session", needs: access.Open, handler: h.sessions.signOut},
		{
			methods: get, path: "/v1/session/oidc/login", needs: access.Open, params: []string{"to"},
			handler: h.sessions.oidcLogin,
		},
		{
			methods: get, path: oidcCallback, needs: access.Open, handler: h.sessions.oidcCallback,
			params: []string{"state", "code", "error", "error_description", "iss", "session_state"},
		},
		{
			methods: get, path: "/v1/session", needs: access.SignedIn, action: "ask who is signed in",
			handler: h.sessions.describe,
		},
		{
			methods: get, path: "/v1/access/whoami", needs: access.SignedIn, action: "ask for one's rights", handler: whoami,
		},
		{
			methods: post, path: "/v1/access/check", needs: access.SignedIn, action: "ask for one's rights",
			handler: checkAccess(cfg.Access),
		},
		{methods: post, path: "/v1/access/bootstrap", needs: access.Open, handler: bootstrap(cfg.Bootstrap)},
		{methods: get, path: "/", needs: access.Open, handler: h.about.Index},
		{methods: get, path: "/v1/openapi.json", needs: access.SignedIn, handler: h.about.OpenAPI},
	}
	if cfg.Pipelines != nil {
		routes = append(routes, pipelineRoutes(h.pipelines, h.dryRun)...)
	}
	if cfg.Saved != nil {
		routes = append(routes, savedRoutes(h.saved)...)
	}
	if cfg.Access != nil {
		routes = append(routes, (&accessAPI{cfg.Access}).routes()...)
	}
	if cfg.Cluster != nil {
		routes = append(routes, clusterRoutes(clusterapi.Handlers{Cluster: cfg.Cluster})...)
	}
	if cfg.Tunnel != nil {
		routes = append(routes, route{
			methods: get[:1],
			path:    "/admin/rpc",
			needs:   access.Backup,
			action:  "back up",
			handler: h.tunnel.ServeHTTP,
			endless: true,
		})
	}
	if cfg.SQL != nil {
		routes = append(routes, route{
			methods:  getPost,
			path:     "/v1/sql",
			needs:    access.SignedIn,
			params:   params.SQL,
			handler:  cfg.SQL.ServeHTTP,
			ownLimit: true,
		})
	}
	if cfg.SQL != nil && cfg.Pipelines != nil {
		routes = append(routes, route{
			methods: post, path: "/v1/rejects/replay", needs: access.Delete, action: "replay rejects",
			object: access.Table, changes: true, handler: h.replays.ServeHTTP, endless: true,
		})
	}
	if cfg.LogQuery != nil {
		routes = append(routes, h.logQueries.route())
	}
	if cfg.Explore != nil {
		routes = append(routes, exploreRoutes(cfg.Explore)...)
	}
	if cfg.Iceberg != nil {
		routes = append(routes, icebergRoutes(cfg.Iceberg)...)
	}
	routes = append(routes, h.receivers.routes()...)
	if cfg.Tail != nil {
		routes = append(routes, route{
			methods: []string{http.MethodGet}, path: "/v1/tail", needs: access.Select, action: "tail", params: params.Tail,
			handler: cfg.Tail.ServeHTTP, ownLimit: true, endless: true,
		})
	}
	if cfg.Page != nil {
		routes = append(routes, pageRoutes(cfg.Page)...)
	}
	return routes
}

// pageRoutes returns the routes of the page for browsers, and addresses that redirect to it.
func pageRoutes(page http.Handler) []route {
	redirect := http.HandlerFunc(web.Redirect)
	return []route{
		{methods: get, path: "/dashboard", needs: access.Open, page: true, handler: redirect},
		{methods: get, path: "/dashboard/{rest:.*}", needs: access.Open, page: true, handler: page.ServeHTTP},
		{methods: get, path: "/ui", needs: access.Open, page: true, handler: redirect},
		{methods: get, path: "/ui/{rest:.*}", needs: access.Open, page: true, handler: redirect},
	}
}

// pipelineRoutes returns the routes of stored pipelines. Paths without a variable come before
// paths with one, which would match them too.
func pipelineRoutes(h *pipelineapi.Handlers, dryRun *dryrun.Handler) []route {
	const edit = "edit pipelines"
	return []route{
		{
			methods: get, path: "/v1/pipelines/_schema", needs: access.SignedIn, action: edit, handler: pipelineapi.Schema,
		},
		{methods: get, path: "/v1/vrl/functions", needs: access.SignedIn, action: edit, handler: pipelineapi.Functions},
		{
			methods: post,
			path:    "/v1/pipelines/_dryrun",
			needs:   access.PipelineTry,
			action:  "dry run",
			params:  params.DryRun,
			handler: dryRun.ServeHTTP,
		},
		{
			methods: post,
			path:    "/v1/events/pipelines/dryrun",
			needs:   access.PipelineTry,
			action:  "dry run",
			params:  params.DryRun,
			handler: dryRun.ServeHTTP,
		},
		{
			methods: post,
			path:    "/v1/events/pipelines/_dryrun",
			needs:   access.PipelineTry,
			action:  "dry run",
			params:  params.DryRun,
			handler: dryRun.ServeHTTP,
		},
		{
			methods: get, path: "/v1/pipelines", needs: access.PipelineTry, action: "read pipeline",
			object: access.Pipeline, params: params.ListPipelines, handler: exchange.Manage(h.List),
		},
		{
			methods: post, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline",
			object: access.Pipeline, changes: true, params: params.PutPipeline, handler: exchange.Manage(h.Put),
		},
		{
			methods: get, path: "/v1/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineVersion, handler: exchange.Manage(h.Get),
		},
		{
			methods: del, path: "/v1/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline",
			object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: exchange.Manage(h.Delete),
		},
		{
			methods: get, path: "/v1/pipelines/{name}/ddl", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineDDL, handler: exchange.Manage(h.DDL),
		},
		{
			methods: post, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "store pipeline",
			object: access.Pipeline, changes: true, params: params.PutPipeline, handler: exchange.Manage(h.Put),
		},
		{
			methods: get, path: "/v1/events/pipelines/{name}", needs: access.PipelineRead, action: "read pipeline",
			object: access.Pipeline, params: params.PipelineVersion, handler: exchange.Manage(h.Get),
		},
		{
			methods: del, path: "/v1/events/pipelines/{name}", needs: access.PipelineWrite, action: "delete pipeline",
			object: access.Pipeline, changes: true, params: params.PipelineVersion, handler: exchange.Manage(h.Delete),
		},
	}
}

// savedRoutes returns the routes of saved values.
func savedRoutes(h *saved.Handlers) []route {
	use := func(path string, methods []string, params []string, f exchange.Members) route {
		return route{
			methods: methods, path: path, needs: access.Select, action: "use saved values", params: params,
			handler: exchange.Manage(f),
		}
	}
	const one = "/v1/saved/{kind}/{name}"
	return []route{
		use("/v1/saved", get, params.ListSaved, h.List),
		use("/v1/saved/link", post, nil, h.PostLink),
		use(one, get, nil, h.Get),
		use(one, []string{http.MethodPut}, params.PutSaved, h.Put),
		use(one, del, nil, h.Delete),
	}
}

// clusterRoutes returns the routes of the cluster.
func clusterRoutes(cluster clusterapi.Handlers) []route {
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

// exploreRoutes returns the routes for the page for logs.
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

// icebergRoutes returns the routes of the Iceberg catalog.
func icebergRoutes(c *iceberg.Catalog) []route {
	var out []route
	for _, r := range c.Routes() {
		to := route{
			methods: r.Methods, path: r.Path, needs: access.Select, action: "read the Iceberg catalog", handler: r.Handler,
			refuse: iceberg.Refuse, rest: r.Rest,
		}
		if r.Open {
			to.needs = access.Open
		}
		out = append(out, to)
	}
	return out
}

// publicRoutes returns the routes for the public listener: cordwood's routes under /v1/, and the routes of other
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
