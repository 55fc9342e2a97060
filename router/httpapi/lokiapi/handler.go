// Package lokiapi has the handlers of Loki's API for reading: GET /loki/api/v1/query_range and others. They read the
// parameters of a request, call router/loki, and write the answer as Loki does. The API is described at
// https://grafana.com/docs/loki/latest/reference/loki-http-api/.
//
// A Handler has no goroutines of its own and nothing to close. It may be used concurrently.
package lokiapi

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/loki"
)

// Config has the settings of a Handler.
type Config struct {
	// Source finds tables and runs SQL. Required.
	Source loki.Source
	// Tail follows tables. If it is nil, the path tail does not exist.
	Tail loki.Follower
	// Timeout is the time limit of requests without the header x-svc-timeout. The default is 30 s.
	Timeout time.Duration
	// Now returns the current time. The default is time.Now.
	Now func() time.Time
	// Build describes the program.
	Build Build
	// Registerer registers the metrics. By default they are not registered.
	Registerer prometheus.Registerer
}

// Build describes the program.
type Build struct{ Revision, Date, GoVersion string }

// Handler answers Loki's API for reading. See the package comment.
type Handler struct {
	cfg     Config
	service *loki.Service
	times   tailTimes
	queues  *queues
}

// New returns a Handler. Source must be set.
func New(cfg Config) (*Handler, error) {
	if cfg.Source == nil {
		return nil, errors.New("lokiapi: Config.Source must be set")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 30*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	service, err := loki.New(cfg.Source)
	if err != nil {
		return nil, err
	}
	queues := newQueues()
	if err := queues.register(cfg.Registerer); err != nil {
		return nil, err
	}
	return &Handler{cfg, service, usualTimes(), queues}, nil
}

// Route is a path with its handler.
type Route struct {
	Path    string
	Handler http.HandlerFunc
	// Static is true if the response does not depend on stored rows.
	Static bool
	// Endless is true if the response has no end. Such a route serves GET only.
	Endless bool
}

// Routes returns the paths of Loki's API. All but the endless ones serve GET and POST.
func (h *Handler) Routes() []Route {
	route := func(path string, do endpoint) Route {
		return Route{Path: "/loki/api/v1/" + path, Handler: h.answering(do)}
	}
	static := func(path string, do endpoint) Route {
		return Route{Path: "/loki/api/v1/" + path, Handler: h.answering(do), Static: true}
	}
	routes := []Route{
		route("query_range", queryRange),
		route("labels", labels),
		route("label", labels),
		route("label/{name}/values", labelValues),
		route("series", seriesOf),
		route("query", instant),
		route("index/stats", indexStats),
		route("index/volume", volumes),
		route("index/volume_range", volumeRange),
		route("detected_labels", detectedLabels),
		route("detected_fields", detectedFields),
		route("detected_field/{name}/values", detectedValues),
		route("patterns", patterns),
		static("drilldown-limits", drilldownLimits),
		static("status/buildinfo", buildInfo),
		static("format_query", formatQuery),
	}
	if h.cfg.Tail != nil {
		routes = append(routes, Route{Path: "/loki/api/v1/tail", Handler: h.Tail, Endless: true})
	}
	return routes
}

// call is one request in progress.
type call struct {
	h      *Handler
	r      *http.Request
	params params.Values
	now    time.Time
	reader *loki.Reader
	// warnings tell the client that it has probably asked for something else than it meant.
	warnings []string
}

// endpoint returns the body of a response.
type endpoint func(ctx context.Context, c *call) ([]byte, error)

// maxBody is the maximum size of a request body, in bytes.
const maxBody = 256 << 10

// answering returns the handler of an endpoint.
func (h *Handler) answering(do endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, timeout := r.Context(), time.Duration(0)
		if deadline, ok := ctx.Deadline(); ok {
			timeout = time.Until(deadline)
		} else {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, h.cfg.Timeout)
			defer cancel()
		}
		out, err := func() ([]byte, error) {
			values, err := readParams(w, r)
			if err != nil {
				return nil, err
			}
			c := &call{h: h, r: r, params: values, now: h.cfg.Now()}
			database := cmp.Or(params.Header(r.Header, "X-Svc-Db-Name"), values.Get("db"),
				exchange.Of(r).Caller.DefaultDatabase())
			c.reader = h.service.Reader(database, timeout)
			out, err := do(ctx, c)
			for _, text := range c.warnings {
				w.Header().Add(exchange.HeaderWarnings, exchange.HeaderText(text))
			}
			return out, err
		}()
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		exchange.WriteJSON(w, http.StatusOK, out)
	}
}

// readParams reads the parameters of a form in the body, and then those in the URL.
func readParams(w http.ResponseWriter, r *http.Request) (params.Values, error) {
	raw := r.URL.RawQuery
	if r.Method == http.MethodPost {
		if kind := r.Header.Get("Content-Type"); kind != "" {
			if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/x-www-form-urlencoded" {
				return params.Values{}, errs.New(errs.InvalidArguments,
					"invalid content type: %.80s, expected application/x-www-form-urlencoded", kind)
			}
		}
		body, err := exchange.ReadBody(w, r, maxBody, "request")
		if err != nil {
			return params.Values{}, err
		}
		raw = string(body) + "&" + raw
	}
	return params.Parse(raw)
}

// variable returns the value of a path variable.
func (c *call) variable(name string) string { return params.Unescape(mux.Vars(c.r)[name]) }
