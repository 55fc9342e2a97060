package node

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"cordwood/node/config"
	"cordwood/node/host"
	"cordwood/node/iceberg"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/exchange"
)

// readiness records whether the node serves and, if not, why.
type readiness struct {
	*life
	// waiting is what the node waits for. It is empty once the node serves. leaving is the reason why clients should
	// not use a node that still serves.
	waiting, leaving atomic.Value
	// trouble contains the checks for /ready before start is done.
	trouble struct {
		audit atomic.Pointer[auditing]
		users atomic.Pointer[front]
		disk  atomic.Pointer[disk]
		host  atomic.Pointer[host.Host]

		unchecked atomic.Pointer[unchecked]

		objects atomic.Pointer[objectStorage]
		iceberg atomic.Pointer[iceberg.Committer]
	}
	// alone means that this node is only a router, and no other node answers it.
	alone atomic.Bool
	// bootstrapping means that the first administrator is not created yet.
	bootstrapping atomic.Bool
}

// wait records what the node waits for. An empty text means that the node serves.
func (n *readiness) wait(text string) {
	n.waiting.Store(text)
	n.notifySystemd()
}

// notifySystemd reports to systemd the state that users see.
func (n *readiness) notifySystemd() {
	if why := n.unready(); len(why) > 0 {
		n.service.Status(strings.Join(why, "; "))
	} else {
		n.service.Status("serving")
	}
}

// waitLogged is wait, with a log line whenever the text changes.
func (n *readiness) waitLogged(text string) {
	if before, _ := n.waiting.Swap(text).(string); before != text {
		n.log.Info("waiting", "for", text)
		n.notifySystemd()
	}
}

// unready lists the reasons why the node is not ready. It returns nil once the node serves.
func (n *readiness) unready() []string {
	var out []string
	if w, _ := n.waiting.Load().(string); w != "" {
		out = append(out, "waiting for "+w)
		// These refusals may be the reason for the wait.
		out = append(out, n.refusals()...)
		out = append(out, n.warnings()...)
	}
	if why, _ := n.leaving.Load().(string); why != "" {
		out = append(out, why)
	}
	if n.alone.Load() {
		out = append(out, "no other node answers this one, which has no rows itself")
	}
	if n.bootstrapping.Load() {
		out = append(out, "the first administrator is not created yet (--bootstrap-admin)")
	}
	return out
}

// warnings lists the faults of a node that serves, or the reasons why it does not serve yet.
func (n *readiness) warnings() []string {
	var out []string
	if h := n.trouble.host.Load(); h != nil {
		out = h.Warnings()
	}
	if a := n.trouble.audit.Load(); a != nil {
		out = append(out, a.auditWarnings()...)
	}
	if f := n.trouble.users.Load(); f != nil {
		out = append(out, f.userWarnings()...)
	}
	if o := n.trouble.objects.Load(); o != nil {
		out = append(out, o.warnings()...)
	}
	if c := n.trouble.iceberg.Load(); c != nil {
		out = append(out, c.Warnings()...)
	}
	if u := n.trouble.unchecked.Load(); u != nil {
		out = append(out, u.warnings()...)
	}
	return out
}

// refusals returns the reasons why this node accepts no rows although it serves.
func (n *readiness) refusals() []string {
	if d := n.trouble.disk.Load(); d != nil {
		return d.warnings()
	}
	return nil
}

// setAlone records whether no other node answers. A node that is only a router can serve nothing without other nodes,
// and a load balancer may find a router that is not isolated. On nodes with rows or metadata, each shard decides
// whether it serves.
func (n *readiness) setAlone(alone bool) {
	if n.cfg.Has(config.RoleShard) || n.cfg.Has(config.RoleMeta) {
		return
	}
	n.alone.Store(alone)
	n.notifySystemd()
}

// beforeReady answers users until the router exists. If await returns a handler for a request, that handler answers.
func (n *front) beforeReady(await func(*http.Request) http.Handler) http.Handler {
	return n.operations(n.metricsOfUserPort(), func(w http.ResponseWriter, r *http.Request) {
		if h := await(r); h != nil {
			h.ServeHTTP(w, r)
			return
		}
		err := errs.New(errs.ShardNotReady, "not ready: %s", strings.Join(n.unready(), "; ")).WithRetryAfter(time.Second)
		exchange.WriteError(w, r, err)
	})
}

// serveOperations sets the handler of the port for users on a node without a router.
func (n *front) serveOperations() {
	h := n.guard(n.browsers, n.operations(n.metricsOfUserPort(), func(w http.ResponseWriter, r *http.Request) {
		exchange.WriteError(w, r,
			errs.New(errs.Unsupported, "this node serves no users, because it does not have the role router; use a node "+
				"with that role").
				WithStatus(http.StatusNotFound))
	}))
	for _, port := range n.ports() {
		port.setHandler(h)
	}
}

// operations handles the requests that every node answers at any time, such as metrics. other handles all other
// requests.
func (n *front) operations(metrics http.Handler, other http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	empty := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{}\n"))
	}
	mux.HandleFunc("/health", empty)
	mux.HandleFunc("/v1/health", empty)
	mux.HandleFunc("/ready", func(w http.ResponseWriter, r *http.Request) {
		if why := n.unready(); len(why) > 0 {
			exchange.WriteError(w, r, errs.New(errs.ShardNotReady, "not ready: %s", strings.Join(why, "; ")).
				WithRetryAfter(time.Second))
			return
		}
		if warnings := append(n.refusals(), n.warnings()...); len(warnings) > 0 {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string][]string{"warnings": warnings})
			return
		}
		empty(w, r)
	})
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("/", other)
	return mux
}

// allMetrics returns the metrics handler for clients that may read all metrics.
func (n *front) allMetrics() http.Handler {
	return promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{})
}

// metricsOfUserPort returns the metrics handler on the ports for users before the router exists, or without the role
// router. The router's rules apply.
func (n *front) metricsOfUserPort() http.Handler {
	switch {
	case n.userList == nil:
		return n.allMetrics()
	case n.cfg.Users.MetricsOpen:
		return promhttp.HandlerFor(about.PublicMetrics(n.registry), promhttp.HandlerOpts{})
	}
	all := n.allMetrics()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sender, err := n.userList.Authenticate(r, n.proxies.Address(r))
		if err != nil {
			err = errs.From(err).WithStatus(http.StatusUnauthorized)
		} else {
			err = sender.Require(access.Need{Privilege: access.Monitor, Action: "read metrics"})
		}
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// leave makes the node unready until it is called with an empty text. Clients are asked to reconnect, so that a load
// balancer sends them to another node.
func (n *node) leave(why string) {
	n.leaving.Store(why)
	for _, port := range n.ports() {
		port.leaving.Store(why != "")
	}
	n.notifySystemd()
	n.reports.reportSoon()
}

// handOver transfers the leadership of all groups that have other members. now means that this node stops at once.
// Only then, and only if there are no other targets, it transfers to nodes that are about to stop.
func (n *node) handOver(ctx context.Context, now bool) {
	ctx, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	avoid := n.leavingNodes(ctx)
	if n.host != nil {
		n.host.StepDown(ctx, avoid...)
		if now && len(avoid) > 0 {
			n.host.StepDown(ctx)
		}
	}
	if n.member != nil {
		err := n.member.StepDown(ctx, avoid...)
		if err != nil && now && len(avoid) > 0 {
			err = n.member.StepDown(ctx)
		}
		if err != nil {
			n.log.Info("the leadership of the metadata group was not transferred", "error", err)
		}
	}
}

// leavingNodes returns the other nodes that are about to stop, are being drained, or that no node reaches: they would
// only transfer the leaderships again. It returns none while the metadata group has no leader.
func (n *membership) leavingNodes(ctx context.Context) (ids []string) {
	if n.meta == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, leavingTimeout)
	defer cancel()
	status, err := n.meta.Status(ctx)
	if err != nil {
		n.log.Info("cannot determine which other nodes are about to stop", "error", err)
		return nil
	}
	return leavingOf(status, n.data.nodeID)
}

func leavingOf(status *metapb.StatusResponse, self string) (ids []string) {
	for _, m := range status.Nodes {
		state := m.GetNode().GetState()
		if id := m.GetNode().GetId(); id != self && (m.GetReport().GetStopping() || m.GetReport().GetUnreachable() ||
			state == metapb.NodeState_NODE_STATE_DRAINING || state == metapb.NodeState_NODE_STATE_DRAINED) {
			ids = append(ids, id)
		}
	}
	return ids
}

// leavingTimeout is the time limit of the request for the nodes that are about to stop.
const leavingTimeout = time.Second

// handOverTimeout is the time limit of handOver.
const handOverTimeout = 8 * time.Second
