package node

import (
	"fmt"
	"net"
	"strings"
	"time"
)

// announce tells that the node serves: the banner for somebody at a terminal, and
// the log line that scripts wait for.
func (n *node) announce() {
	cluster, _ := n.data.Cluster()
	if n.cfg.Unprotected() {
		n.log.Warn("anybody who reaches this address may read and write: set --user-file", "http_addr", n.users.addr.String())
	}
	n.warnUnprotected()
	if IsTerminal(n.proc.Stderr) {
		fmt.Fprint(n.proc.Stderr, n.banner())
	}
	n.log.Info("ready", "http_addr", n.users.addr.String(), "rpc_addr", n.port.Addr().String(), "data_dir", n.cfg.DataDir,
		"node", n.data.nodeID, "cluster", cluster, "roles", strings.Join(n.cfg.Roles, ","), "took", time.Since(n.begin).Round(time.Millisecond))
}

func (n *node) banner() string {
	auth := ""
	if n.cfg.UserFile != "" || n.cfg.UserProvider != "" {
		auth = " -u NAME:PASSWORD"
	}
	url := n.cfg.scheme() + "://" + reachable(n.users.addr.String())
	return fmt.Sprintf(`
  cordwood %s
  users  %s    nodes  %s
  roles  %s    data  %s

  curl%s -X POST '%s/v1/ingest?table=app&pipeline_name=svc_identity' -H 'Content-Type: application/json' -d '{"level":"info","msg":"hello"}'
  curl%s '%s/v1/sql?format=table' --data-urlencode 'sql=SELECT * FROM app'

`, n.proc.Version.Version, url, n.port.Addr(), strings.Join(n.cfg.Roles, ", "), n.cfg.DataDir, auth, url, auth, url)
}

// loopback tells whether only this machine reaches the address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// reachable is an address that a client on this machine can use for one that
// listens everywhere.
func reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
