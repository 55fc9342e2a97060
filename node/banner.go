package node

import (
	"fmt"
	"strings"
	"time"

	"cordwood/node/config"
)

// announce reports that the node is ready: in a banner on a terminal, and in the log line that scripts wait for.
func (n *node) announce() {
	cluster, _ := n.data.Cluster()
	if n.cfg.Unprotected() {
		n.log.Warn("anyone who can reach this address can read and write: set "+
			"--user-file", "http_addr", n.users.addr.String())
	}
	if n.cfg.OpenPostgres() {
		n.log.Warn("anyone who can reach this address can read and write: set --user-file", "pg_addr", n.cfg.PG.Addr)
	}
	for _, l := range n.cfg.OpenListeners() {
		n.log.Warn("anyone who can reach this address can store logs: set --user-file", "addr", l.Addr, "for", l.Kind.What)
	}
	n.warnUnprotected()
	if IsTerminal(n.proc.Stderr) {
		fmt.Fprint(n.proc.Stderr, n.banner())
	}
	n.log.Info("ready", "http_addr", n.users.addr.String(), "rpc_addr", n.port.Addr().String(), "data_dir", n.cfg.DataDir,
		"node", n.data.nodeID, "cluster", cluster, "roles", strings.Join(n.cfg.Roles, ","),
		"took", time.Since(n.begin).Round(time.Millisecond))
}

func (n *node) banner() string {
	auth := ""
	if n.cfg.Users.Known() {
		auth = " -u NAME:PASSWORD"
	}
	first := ""
	if n.bootstrapFile != "" {
		first = "\n  cordwood user bootstrap NAME --bootstrap-token-file " + n.bootstrapFile + "\n"
	}
	url := n.cfg.Scheme() + "://" + config.Reachable(n.users.addr.String())
	return fmt.Sprintf(`
  cordwood %s
  users  %s    nodes  %s
  roles  %s    data  %s
%s
  curl%s -X POST '%s/v1/ingest?table=app&pipeline_name=svc_identity' -H 'Content-Type: application/json' `+
		`-d '{"level":"info","msg":"hello"}'
  curl%s '%s/v1/sql?format=table' --data-urlencode 'sql=SELECT * FROM app'

`, n.proc.Version.Version, url, n.port.Addr(), strings.Join(n.cfg.Roles, ", "), n.cfg.DataDir, first, auth, url, auth,
		url)
}
