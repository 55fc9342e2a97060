package node

import (
	"context"
	"crypto/tls"

	"cordwood/node/certs"
	"cordwood/node/config"
	"cordwood/node/marks"
	"cordwood/router/httpapi/auth"
)

// start opens every part, each after the parts that it calls. After an error, stop closes what
// start had opened.
//
// It has five steps: the settings and the files that they refer to, the data folder, the ports, the
// cluster, and the roles.
func (n *node) start(ctx context.Context) error {
	shares := n.cfg.Shares()
	shares.PaceHeap()
	n.registry = newRegistry(n.proc.Version)
	n.observe()

	// Read the files of the settings first, so that a mistake in them leaves no data folder behind.
	files, err := n.openSettings()
	if err != nil {
		return err
	}
	if err := n.openData(files); err != nil {
		return err
	}
	if err := n.openPorts(&files); err != nil {
		return err
	}
	refused, err := n.meetCluster(ctx)
	if err != nil {
		return err
	}
	if refused != nil {
		return n.reportRefusal(ctx, refused)
	}
	return n.openRoles(ctx, files.users, shares)
}

// openSettings reads the files that the settings refer to, and checks the ports.
func (n *node) openSettings() (settingsFiles, error) {
	files, err := n.readFiles()
	if err != nil {
		return files, &SettingsError{err}
	}
	n.userList = files.users
	if err := n.openRules(files.users != nil); err != nil {
		return files, &SettingsError{err}
	}
	return files, n.cfg.TryPorts()
}

// openData locks the data folder and opens the parts that need it.
func (n *node) openData(files settingsFiles) error {
	data, err := openDataDir(n.cfg.DataDir)
	if err != nil {
		return err
	}
	n.data = data
	n.onStop("data folder", func(context.Context) error { return data.close() })
	n.watchCrashes()
	if n.marks, err = marks.Open(n.cfg.DataDir); err != nil {
		return err
	}
	if err := n.marks.Draw(); err != nil {
		return err
	}
	if err := n.openAudit(); err != nil {
		return err
	}
	if err := n.protect(files); err != nil {
		return err
	}
	if n.proc.Reload != nil && len(n.reloads) > 0 {
		n.run("reading settings files again", n.reloadFiles)
	}
	if err := n.openTracing(); err != nil {
		return err
	}
	return n.watchDisk()
}

// openPorts opens the ports for users, administrators and nodes.
func (n *node) openPorts(files *settingsFiles) error {
	if err := n.openUserPorts(files); err != nil {
		return err
	}
	if err := n.openAdmin(); err != nil {
		return err
	}
	if err := n.data.announce(n.cfg.Scheme() + "://" + config.Reachable(n.users.addr.String())); err != nil {
		n.log.Warn("the doctor will not find this server by its data folder", "error", err) // the disk may be full
	}
	return n.openNodePort()
}

// meetCluster finds or founds the cluster, and opens the connections to its nodes. refused is the reason why other
// nodes do not readmit this one.
func (n *node) meetCluster(ctx context.Context) (refused, err error) {
	if len(n.cfg.Cluster.Seeds) > 0 {
		// The next steps may wait for other machines, and systemd may start these only after this one.
		n.service.Ready()
	}
	n.wait("the first answers of its seeds")
	if len(n.cfg.Cluster.Seeds) == 0 {
		n.wait("the cluster of this node alone")
	}
	if err := n.findCluster(ctx); err != nil {
		return nil, err
	}
	refused = n.askOthers(ctx)
	n.wait("the metadata of the cluster")
	return refused, n.openNetwork()
}

// openRoles opens the parts that the node's roles need, and waits until its shards serve.
func (n *node) openRoles(ctx context.Context, users *auth.Provider, shares config.Shares) error {
	if n.cfg.Has(config.RoleMeta) {
		if err := n.openMeta(); err != nil {
			return err
		}
	}
	n.openMetaClient(n.userList)
	n.shards = n.newShardClient()
	n.openReach()
	if n.cfg.Has(config.RoleShard) {
		if err := n.openShards(shares); err != nil {
			return err
		}
	}
	if err := n.openObjectStorage(); err != nil { // also on a router, which reads the metadata of Iceberg tables
		return err
	}
	n.serveNodes()
	if err := n.enter(ctx); err != nil {
		return err
	}
	n.run("following the marks of the data folder", n.followMarks)
	n.storeMetadata()
	n.coordinate()
	if n.host != nil {
		if err := n.startShards(); err != nil {
			return err
		}
	}
	if err := n.storeAudit(); err != nil {
		return err
	}
	n.run("reporting", n.reports.report)
	n.run("checking whether others reach this node", n.reach.Run)
	if n.cfg.Has(config.RoleRouter) {
		if err := n.openRouter(users, shares); err != nil {
			return err
		}
	} else {
		n.serveOperations()
	}
	return n.awaitShards(ctx)
}

// settingsFiles is the content of the files that the settings refer to.
type settingsFiles struct {
	users   *auth.Provider // nil without authentication
	userTLS *tls.Config    // nil without TLS
	// socketTLS is the TLS of protocols without HTTP.
	socketTLS *tls.Config
	rpcTLS    *certs.Source // nil without TLS
}

func (n *node) readFiles() (f settingsFiles, err error) {
	if f.userTLS, err = n.cfg.TLS.Server(n.log, "h2", "http/1.1"); err != nil {
		return f, err
	}
	if f.socketTLS, err = n.cfg.TLS.Server(n.log); err != nil {
		return f, err
	}
	if f.rpcTLS, err = n.cfg.RPC.TLS.Open(n.log); err != nil {
		return f, err
	}
	if err := n.cfg.CheckProtection(); err != nil {
		return f, err
	}
	if err := n.cfg.Listeners.CheckTokens(); err != nil {
		return f, err
	}
	f.users, err = n.authenticator()
	return f, err
}

// openUserPorts opens the ports for users, with a handler that answers with what the node waits for.
func (n *front) openUserPorts(files *settingsFiles) (err error) {
	port := userPort{
		flag:   "http-addr",
		addr:   n.cfg.HTTP.Addr,
		tls:    files.userTLS,
		before: n.guard(n.browsers, n.beforeReady(noHandler)),
	}
	if n.cfg.HTTP.ProxyProtocol {
		port.proxies = n.proxies
	}
	if n.users, err = port.open(n.log); err != nil {
		return err
	}
	if n.cfg.HTTP.V1Addr != "" {
		port.flag, port.addr = "http-v1-addr", n.cfg.HTTP.V1Addr
		if n.usersV1, err = port.open(n.log); err != nil {
			return err
		}
	}
	if err := n.openListeners(port); err != nil {
		return err
	}
	if err := n.openSockets(files.socketTLS); err != nil {
		return err
	}
	return n.openPostgres(files.socketTLS)
}

// authenticator reads the user file. It returns nil if there is no authentication.
func (n *front) authenticator() (*auth.Provider, error) {
	if !n.cfg.Users.Known() {
		return nil, nil
	}
	if n.cfg.Users.BootstrapAdmin != "" { // a bad password must not first found a cluster
		var err error
		if n.adminVerifier, err = readAdminPassword(n.cfg.Users.BootstrapAdminPasswordFile); err != nil {
			return nil, err
		}
	}
	people, err := n.cfg.Users.OIDC.Open()
	if err != nil {
		return nil, err
	}
	n.oidc = people
	config := auth.Config{
		Option: n.cfg.Users.Provider, UserFile: n.cfg.Users.File, Scram: n.cfg.PG.Addr != "",
		Iterations: n.cfg.PG.ScramIterations, Logger: n.log, Stored: true, Refused: n.refusedSignIn,
		MaxAge: n.cfg.Users.AccessMaxAge, CertificateName: n.cfg.Users.Certified,
	}
	if people != nil { // a nil *Provider in the interface would not be nil
		config.OIDC = people
	}
	p, err := auth.Open(config)
	if err != nil {
		return nil, err
	}
	n.onStop("users", func(context.Context) error { return p.Close() })
	n.run("watching the users", p.Run)
	if people != nil {
		n.run("asking the OIDC provider", func(ctx context.Context) error {
			if err := people.Reach(ctx); err != nil && ctx.Err() == nil {
				n.log.Warn("nobody can sign in with the OIDC provider until it answers", "error", err)
			}
			return nil
		})
	}
	n.reloads = append(n.reloads, reload{"users", p.Reload})
	return p, nil
}
