package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/lokiapi"
	"cordwood/router/ingest"
	"cordwood/router/ingest/datadog"
	"cordwood/router/ingest/elasticsearch"
	"cordwood/router/ingest/firehose"
	"cordwood/router/ingest/gelf"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/journald"
	"cordwood/router/ingest/loki"
	"cordwood/router/ingest/otlp"
	"cordwood/router/ingest/splunk"
	"cordwood/router/ingest/syslog"
)

// refusal writes an error in the format of another system's protocol.
type refusal = func(w http.ResponseWriter, r *http.Request, why *exchange.Refusal)

// protocol is another system's protocol over HTTP. To add one, add a row to protocols.
type protocol struct {
	name ingest.Protocol
	// prefixes are put before its paths on the user port. On a separate listener, its paths have no prefix. {db} in a
	// prefix is the database.
	prefixes []string
	refuse   refusal
	// trailingSlash is set if a slash at the end of its paths is ignored.
	trailingSlash bool
	// credentials returns the credentials in the protocol's own headers and parameters; nil means that clients use the
	// headers of HTTP.
	credentials credentials
	// routes returns its paths as the other system has them.
	routes func(d httpreceiver.Receiver) []protocolRoute
}

// protocolRoute is a path of a protocol, with the privilege that it needs.
type protocolRoute struct {
	methods []string
	path    string
	needs   access.Privilege
	action  string
	handler http.HandlerFunc
	// endless is set if the server's default time limit does not apply.
	endless bool
}

// protocols are the protocols of other systems. ../ingest/DESIGN.md explains how to add one.
var protocols = []protocol{
	{
		name: ingest.Loki, refuse: loki.Refuse,
		prefixes: []string{"/v1", "/v1/loki", "", "/v1/db/{db}"}, // winston-loki appends the whole path to a base URL
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			return []protocolRoute{
				{methods: post, path: "/loki/api/v1/push", needs: access.Insert, action: "ingest", handler: loki.New(d).Push},
			}
		},
	},
	{
		name: ingest.OTLP, refuse: otlp.Refuse, prefixes: []string{"", "/v1/otlp"},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			r := otlp.New(d)
			return []protocolRoute{
				{methods: post, path: "/v1/logs", needs: access.Insert, action: "ingest", handler: r.Logs},
				{methods: post, path: "/v1/traces", needs: access.Insert, action: "ingest", handler: r.NoLogs},
				{methods: post, path: "/v1/metrics", needs: access.Insert, action: "ingest", handler: r.NoLogs},
			}
		},
	},
	{
		// This protocol is only available on its own listener, because the user port does not speak HTTP/2 without TLS.
		name: ingest.OTLPGRPC, refuse: otlp.RefuseGRPC,
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			r := otlp.NewGRPC(d)
			return []protocolRoute{
				{methods: post, path: otlp.PathExportLogs, needs: access.Insert, action: "ingest", handler: r.Export},
				{methods: post, path: otlp.PathExportTraces, needs: access.Insert, action: "ingest", handler: r.NoLogs},
				{methods: post, path: otlp.PathExportMetrics, needs: access.Insert, action: "ingest", handler: r.NoLogs},
			}
		},
	},
	{
		name: ingest.Datadog, refuse: datadog.Refuse, credentials: datadog.Credentials, prefixes: []string{"", "/v1/datadog"},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			r := datadog.New(d)
			return []protocolRoute{
				{methods: post, path: "/api/v2/logs", needs: access.Insert, action: "ingest", handler: r.Logs},
				{methods: post, path: "/v1/input", needs: access.Insert, action: "ingest", handler: r.Logs},
				{methods: post, path: "/v1/input/{key}", needs: access.Insert, action: "ingest", handler: r.Logs},
				{methods: get, path: "/api/v1/validate", needs: access.SignedIn, handler: r.Validate},
			}
		},
	},
	{
		// Users of Firehose enter a whole URL, so no separate port is needed.
		name: ingest.Firehose, refuse: firehose.Refuse, credentials: firehose.Credentials, prefixes: []string{""},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			return []protocolRoute{
				{
					methods: post, path: "/v1/firehose", needs: access.Insert, action: "ingest",
					handler: firehose.New(d).Deliver,
				},
			}
		},
	},
	{
		name: ingest.Heroku, refuse: syslog.RefuseDrain, prefixes: []string{""}, // users of Heroku enter a whole URL
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			return []protocolRoute{
				{methods: post, path: "/v1/heroku", needs: access.Insert, action: "ingest", handler: syslog.NewDrain(d).Take},
			}
		},
	},
	{
		name: ingest.GELF, refuse: gelf.Refuse, prefixes: []string{"", "/v1"},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			return []protocolRoute{
				{methods: post, path: "/gelf", needs: access.Insert, action: "ingest", handler: gelf.NewReceiver(d).Push},
			}
		},
	},
	{
		name: ingest.Journald, refuse: journald.Refuse, prefixes: []string{"/v1/journald"},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			return []protocolRoute{{
				methods: post, path: "/upload", needs: access.Insert, action: "ingest", handler: journald.New(d).Upload,
				endless: true, // one request may contain everything that a machine writes in days
			}}
		},
	},
	{
		name: ingest.Elasticsearch, refuse: elasticsearch.Refuse, credentials: elasticsearch.Credentials,
		prefixes:      []string{"/v1/elasticsearch"},
		trailingSlash: true, routes: elasticsearchRoutes,
	},
	{
		name: ingest.Splunk, refuse: splunk.Refuse, credentials: splunk.Credentials, prefixes: []string{"/v1/splunk"},
		routes: func(d httpreceiver.Receiver) []protocolRoute {
			r := splunk.New(d)
			var out []protocolRoute
			add := func(methods []string, needs access.Privilege, handler http.HandlerFunc, paths ...string) {
				for _, path := range paths {
					out = append(out, protocolRoute{
						methods: methods,
						path:    "/services/collector" + path,
						needs:   needs,
						action:  "ingest",
						handler: handler,
					})
				}
			}
			add(get, access.Open, r.Health, "/health", "/health/1.0")
			// Docker's driver sends OPTIONS without a token to check the address.
			add([]string{http.MethodOptions}, access.Open, r.Options, "", "/event", "/event/1.0", "/raw", "/raw/1.0")
			add(post, access.Insert, r.Event, "", "/event", "/event/1.0")
			add(post, access.Insert, r.Raw, "/raw", "/raw/1.0")
			add(post, access.Insert, r.Ack, "/ack")
			return out
		},
	},
}

// index is a path variable for the name of an index. The name does not begin with an underscore, because
// Elasticsearch's own paths begin with one.
const index = "/{index:[^_/][^/]*}"

// elasticsearchRoutes returns the paths for documents, and the paths that clients request before they send
// documents.
func elasticsearchRoutes(d httpreceiver.Receiver) []protocolRoute {
	r := elasticsearch.New(d)
	var out []protocolRoute
	add := func(methods []string, needs access.Privilege, action string, handler http.HandlerFunc, paths ...string) {
		for _, path := range paths {
			out = append(out, protocolRoute{methods: methods, path: path, needs: needs, action: action, handler: handler})
		}
	}
	add(postPut, access.Insert, "ingest", r.Bulk, "/_bulk", index+"/_bulk")
	add(postPut, access.Insert, "ingest", r.Document, index+"/_doc", index+"/_doc/{id}", index+"/_create/{id}")
	add(get, access.SignedIn, "", r.Info, "", "/")
	add(get, access.SignedIn, "", r.License, "/_license")
	add(get, access.SignedIn, "", r.XPack, "/_xpack")
	add(get, access.SignedIn, "", r.Nodes, "/_nodes", "/_nodes/{what:.*}")
	add(get, access.SignedIn, "", r.Health, "/_cluster/health", "/_cluster/health/{what:.*}")
	add(get, access.SignedIn, "", r.CatHealth, "/_cat/health")
	add(getPostPut, access.SignedIn, "", r.SetUp, "/_index_template/{what:.*}", "/_template/{what:.*}",
		"/_component_template/{what:.*}",
		"/_ilm/policy/{what:.*}", "/_ingest/{what:.*}", "/_data_stream/{what:.*}", "/_alias/{what:.*}",
		"/_logstash/{what:.*}",
		"/logstash/{what:.*}", index, index+"/_alias/{what:.*}")
	add(getPost, access.SignedIn, "", r.Refresh, "/_refresh", "/_flush", index+"/_refresh", index+"/_flush")
	add(getPost, access.SignedIn, "", r.Unsupported, "/_search", "/_msearch", "/_count", "/_mapping", index+"/_search",
		index+"/_count", index+"/_mapping")
	return out
}

// receivers are the protocols of other systems over HTTP.
type receivers struct {
	ingestion  *ingest.Service
	bodies     *body.Reader
	log        *slog.Logger
	logQueries *logQueries // nil if there are no structured queries
	// loki reads with Loki's API; nil means that the API has only the path for pushing.
	loki *lokiapi.Handler
}

// routes returns the paths of all protocols on the user port.
func (d *receivers) routes() []route {
	var out []route
	for i := range protocols {
		p := &protocols[i]
		for _, prefix := range p.prefixes {
			for _, rt := range d.routesOf(p, prefix, httpreceiver.Receiver{}) {
				if rt.path == logsPath && d.logQueries != nil {
					rt = d.logQueries.extendOTLP(rt)
				}
				out = append(out, rt)
			}
		}
	}
	return out
}

// routesOf returns the paths of a protocol with a prefix.
func (d *receivers) routesOf(p *protocol, prefix string, receiver httpreceiver.Receiver) []route {
	receiver.Ingestion, receiver.Bodies, receiver.Log = d.ingestion, d.bodies, d.log
	var out []route
	for _, r := range p.routes(receiver) {
		if prefix+r.path == "" {
			continue
		}
		out = append(out, route{
			methods: r.methods, path: prefix + r.path, needs: r.needs, action: r.action, handler: inDatabase(r.handler),
			refuse: d.delayed(p.refuse), credentials: p.credentials,
			asksAgain: r.needs == access.Insert, endless: r.endless,
		})
	}
	if p.name == ingest.Loki && d.loki != nil {
		out = append(out, d.lokiReads(prefix)...)
	}
	return out
}

// lokiReads returns the paths of Loki's API for reading, with a prefix. The last one is for the parts of the API that
// do not exist.
func (d *receivers) lokiReads(prefix string) []route {
	var out []route
	add := func(r lokiapi.Route) {
		to := route{
			methods: getPost, path: prefix + r.Path, needs: access.Select, action: "query", handler: inDatabase(r.Handler),
			refuse: lokiapi.Refuse, endless: r.Endless,
		}
		if r.Static {
			to.needs = access.SignedIn
		}
		if r.Endless {
			to.methods = get[:1]
		}
		out = append(out, to)
	}
	for _, r := range d.loki.Routes() {
		add(r)
	}
	add(lokiapi.Route{Path: "/loki/api/{rest:.*}", Handler: lokiapi.NotFound, Static: true})
	return out
}

// delayed returns a refusal that is delayed for senders that retry at once after any answer.
func (d *receivers) delayed(refuse refusal) refusal {
	return func(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
		x := exchange.Of(r)
		sender := x.Caller.KnownShare()
		if sender == "" {
			sender = "address " + access.Network(x.Client).String()
		}
		d.ingestion.HoldRefusal(r.Context(), sender)
		refuse(w, r, why)
	}
}

// protocolUnder returns the protocol to which all paths of the user port around path belong, or nil if there is none.
func protocolUnder(path string) *protocol {
	for i := range protocols {
		for _, prefix := range protocols[i].prefixes {
			// Several protocols share the paths below /v1 and the paths without a prefix.
			if strings.Count(prefix, "/") == 2 && strings.HasPrefix(path, prefix+"/") {
				return &protocols[i]
			}
		}
	}
	return nil
}

// inDatabase passes the database in the path to a handler as if it were in the request's header.
func inDatabase(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if db := mux.Vars(r)["db"]; db != "" && r.Header.Get("X-Svc-Db-Name") == "" {
			r.Header.Set("X-Svc-Db-Name", db)
		}
		h(w, r)
	}
}
