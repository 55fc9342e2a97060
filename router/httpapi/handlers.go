package httpapi

import (
	"net/http"

	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/dryrun"
	"cordwood/router/httpapi/pipelineapi"
	"cordwood/router/httpapi/replayapi"
	"cordwood/router/httpapi/saved"
	"cordwood/router/httpapi/tunnel"
	"cordwood/router/ingest"
)

// handlers has the handlers of the server's own paths. Handlers whose part is not configured are nil.
type handlers struct {
	about      *about.Handlers
	ingest     *ingestHandler
	sessions   *sessions
	receivers  *receivers
	logQueries *logQueries
	pipelines  *pipelineapi.Handlers
	dryRun     *dryrun.Handler
	saved      *saved.Handlers
	replays    *replayapi.Handler
	tunnel     *tunnel.Handler
}

// newHandlers returns the handlers. compiled has the stored pipelines; it is nil if Config.Pipelines is. Replays
// send requests to self.
func newHandlers(cfg *Config, ingestion *ingest.Service, compiled *ingest.Pipelines, self *Server) *handlers {
	h := &handlers{
		about: about.New(about.Config{
			Ready: cfg.Ready, Warnings: cfg.Warnings, Refusals: cfg.Refusals, Status: cfg.Status, ConfigText: cfg.ConfigText,
			Page: cfg.Page != nil,
		}),
		ingest: &ingestHandler{ingestion: ingestion, bodies: cfg.Bodies},
		sessions: &sessions{
			manager: cfg.Sessions, signIns: cfg.SignIn, proxies: cfg.Proxies, changes: cfg.Changes,
			server: SessionServer{Name: cfg.Status.Hostname, Version: cfg.Status.Version},
			oidc:   cfg.OIDC, people: cfg.People, oidcRedirect: cfg.OIDCRedirect,
			exchanges: make(chan struct{}, maxExchanges),
		},
		receivers: &receivers{ingestion: ingestion, bodies: cfg.Bodies, log: cfg.Logger, loki: cfg.Loki},
		saved:     &saved.Handlers{Store: cfg.Saved, Now: cfg.Now},
		tunnel:    &tunnel.Handler{Serve: cfg.Tunnel},
		// self.whole is set later, so it must be read when a request arrives.
		replays: replayapi.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			self.whole.ServeHTTP(w, r)
		}), cfg.Now),
	}
	if cfg.Auth != nil {
		h.tunnel.Begin = cfg.Auth.Begin
	}
	if cfg.LogQuery != nil {
		h.logQueries = &logQueries{handler: cfg.LogQuery, auth: cfg.Auth}
		h.receivers.logQueries = h.logQueries
	}
	if cfg.Pipelines != nil {
		h.pipelines = &pipelineapi.Handlers{
			Store: cfg.Pipelines, Compiled: compiled, Options: cfg.PipelineOptions, Catalog: cfg.Catalog, Fresh: cfg.Fresh,
			Bodies: cfg.Bodies, Now: cfg.Now,
		}
		h.dryRun = dryrun.New(dryrun.Config{
			Catalog: cfg.Catalog, Compiled: compiled, Options: cfg.PipelineOptions, Bodies: cfg.Bodies, Now: cfg.Now,
			Time: cfg.dryRunTime, Gate: cfg.dryRuns, MaxColumns: cfg.MaxColumns, MaxMadeColumns: cfg.MaxMadeColumns,
			MaxNewColumns: cfg.MaxNewColumns, PipelineSteps: cfg.PipelineSteps, TimestampColumn: cfg.TimestampColumn,
			NoClientVariables: cfg.NoClientVariables, NoAutoCreate: cfg.NoAutoCreate,
		})
	}
	return h
}
