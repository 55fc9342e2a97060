package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"time"

	"cordwood/node/config"
	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/httpapi/openapi"
)

const adminIndex = `Administration of this node. Whoever can connect may use it.

GET  /openapi.json         what follows, by OpenAPI
GET  /health               answers as long as the process lives, whatever it waits for
GET  /ready                whether the node serves, or what it waits for
GET  /metrics              metrics in the form of Prometheus
GET  /log-level            the level of the log
PUT  /log-level            set it until the restart: debug, info, warn or error in the body
POST /drain                be about to stop: not ready for new clients, what is led here goes to other
                           nodes; answers after ?wait=5s ('cordwood admin drain', for hooks as well)
DELETE /drain              take that back
GET  /debug/pprof/         profiles of Go: go tool pprof http://HOST:PORT/debug/pprof/profile
`

// admin serves the administrator's port.
type admin struct {
	*front
	// leave makes the node unready. handOver transfers its leaderships.
	leave    func(why string)
	handOver func(ctx context.Context, now bool)
}

func (n *node) admin() *admin { return &admin{front: n.front, leave: n.leave, handOver: n.handOver} }

// openAdmin opens the administrator's port if it is set. The port does not authenticate, so it should be reachable
// only from the machine itself or from a closed network.
func (n *node) openAdmin() error {
	if n.cfg.AdminAddr == "" {
		return nil
	}
	l, err := net.Listen("tcp", n.cfg.AdminAddr)
	if err != nil {
		return fmt.Errorf("listen for administrators: %w: choose another --admin-addr, or stop what uses it", err)
	}
	if !config.Loopback(n.cfg.AdminAddr) {
		n.log.Warn("the administrator's port can be reached from the network, and does not authenticate",
			"admin_addr", l.Addr().String())
	}
	server := &http.Server{
		Handler: n.guard(n.adminBrowsers, n.admin().adminHandler()), ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	n.onStop("administrator's port", func(ctx context.Context) error {
		// A running profile can take long, so it is cancelled after a second.
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

func (n *admin) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, adminIndex)
	})
	mux.HandleFunc("GET /openapi.json", n.describeAdmin)
	// Orchestrators probe this port without TLS, even if the port for users requires TLS.
	operations := n.operations(n.allMetrics(), http.NotFound)
	for _, path := range []string{"/health", "/ready", "/metrics"} {
		mux.Handle("GET "+path, operations)
	}
	mux.HandleFunc("GET /log-level", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.ToLower(n.level.Level().String())+"\n")
	})
	mux.HandleFunc("PUT /log-level", n.setLogLevel)
	mux.HandleFunc("GET /drain", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "drain: GET only reads: use POST, as 'cordwood admin drain' does, also in a hook",
			http.StatusMethodNotAllowed)
	})
	mux.HandleFunc("POST /drain", n.drain)
	mux.HandleFunc("DELETE /drain", n.undrain)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

func (n *admin) describeAdmin(w http.ResponseWriter, _ *http.Request) {
	doc, err := openapi.Admin(n.proc.Version.Version)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc)
}

func (n *admin) setLogLevel(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, 64))
	var level slog.Level
	if err == nil {
		level, err = config.ParseLevel(strings.TrimSpace(string(text)))
	}
	if err != nil {
		n.recordAdmin(r, "set log level", string(text), errs.Wrap(errs.InvalidArguments, err, "set the log level"))
		http.Error(w, fmt.Sprintf("set the log level: %v", err), http.StatusBadRequest)
		return
	}
	before := n.level.Level()
	// Log the line at the lower of the two levels, so that it is not hidden.
	if level > before {
		n.recordAdmin(r, "set log level", string(text), nil)
	}
	n.level.Set(level)
	if level <= before {
		n.recordAdmin(r, "set log level", string(text), nil)
	}
	n.log.Warn("log level set by the administrator", "level", level, "before", before)
	_, _ = io.WriteString(w, strings.ToLower(level.String())+"\n")
}

const (
	// drainWait is the default time between making the node unready and transferring leaderships, in which load
	// balancers notice it.
	drainWait = 5 * time.Second
	// drainMost is the maximum of this time in a request.
	drainMost = 10 * time.Minute
)

// drain prepares the node for its stop: it makes the node unready, so that no new clients come, and then transfers
// its leaderships. The node still serves requests.
func (n *admin) drain(w http.ResponseWriter, r *http.Request) {
	wait := drainWait
	if text := r.URL.Query().Get("wait"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 || d > drainMost {
			err := errs.New(errs.InvalidArguments, "drain: wait=%q: want a duration from 0s to %s", text, drainMost)
			n.recordAdmin(r, "drain node", "", err)
			http.Error(w, err.Msg, http.StatusBadRequest)
			return
		}
		wait = d
	}
	n.recordAdmin(r, "drain node", "", nil)
	n.leave("about to stop: drained by the administrator")
	n.handOver(r.Context(), false)
	select {
	case <-r.Context().Done():
	case <-time.After(wait):
	}
	_, _ = io.WriteString(w, "drained\n")
}

func (n *admin) undrain(w http.ResponseWriter, r *http.Request) {
	n.recordAdmin(r, "undrain node", "", nil)
	n.leave("")
	_, _ = io.WriteString(w, "back\n")
}

// recordAdmin logs changes, and attempts at changes, through the administrator's port, which has no users to
// record.
func (n *admin) recordAdmin(r *http.Request, action, text string, err error) {
	caller := &access.Caller{Sender: access.Everybody()}
	caller.Proof = "admin-addr"
	if peer, perr := netip.ParseAddrPort(r.RemoteAddr); perr == nil {
		caller.Address = peer.Addr().Unmap()
	}
	need := access.Need{
		Privilege: access.Operate, Action: action, Object: access.Object{Kind: access.Node, Name: n.cfg.NodeName},
	}
	n.changes.Record(r.Context(), audit.Change{
		By: caller, Need: need, Statement: strings.TrimSpace(text), Err: err,
	})
}
