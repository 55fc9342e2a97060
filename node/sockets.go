package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"cordwood/node/config"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest"
	fluent "cordwood/router/ingest/forward" // package node has a type forward
	"cordwood/router/ingest/gelf"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/ingest/syslog"
)

// socketServer serves a protocol over TCP without HTTP. If it is a packetServer, it also serves UDP.
type socketServer interface {
	Serve(l net.Listener) error
	Shutdown(ctx context.Context) error
}

type packetServer interface {
	ServePacket(c net.PacketConn) error
}

// socketServers contains the constructor of each protocol's server. It receives the parameters of the address.
var socketServers = map[ingest.Protocol]func(c sockreceiver.Config, params map[string]string) (socketServer, error){
	ingest.Syslog: func(c sockreceiver.Config, params map[string]string) (socketServer, error) {
		zone, err := time.LoadLocation(params["timezone"])
		if err != nil {
			return nil, err
		}
		return syslog.New(syslog.Config{Config: c, Zone: zone})
	},
	ingest.GELF: func(c sockreceiver.Config, _ map[string]string) (socketServer, error) { return gelf.New(c) },
	ingest.Forward: func(c sockreceiver.Config, params map[string]string) (socketServer, error) {
		f := fluent.Config{
			Config: c, TableByTag: params["table_by_tag"] == "true", NoEventTime: params["event_time"] == "off",
		}
		if file := params[config.KeyFile]; file != "" {
			var err error
			if f.SharedKey, err = config.ReadKey(file); err != nil {
				return nil, err
			}
		}
		return fluent.New(f)
	},
}

// socket is a separate port for a protocol without HTTP.
type socket struct {
	config.Listener
	node *front
	tls  *tls.Config // nil without TLS
	// Exactly one of these two is open.
	listener net.Listener
	packets  net.PacketConn
	// server is nil until the router exists. After that, done receives the error with which the server ends.
	server socketServer
	done   chan error
}

// openSockets opens the ports. Connections and datagrams wait in the kernel until the router
// exists.
func (n *front) openSockets(conf *tls.Config) error {
	for _, c := range n.cfg.Listeners {
		if len(c.Kind.Schemes) == 0 {
			continue
		}
		s := &socket{Listener: c, node: n, done: make(chan error, 1)}
		if c.TLS() {
			s.tls = conf
		}
		var addr net.Addr
		var err error
		if c.Packets() {
			if s.packets, err = net.ListenPacket("udp", c.Addr); err == nil {
				addr = s.packets.LocalAddr()
			}
		} else if s.listener, err = net.Listen("tcp", c.Addr); err == nil {
			addr = s.listener.Addr()
			if n.cfg.HTTP.ProxyProtocol {
				s.listener = behindProxies(s.listener, n.proxies)
			}
		}
		if err != nil {
			return fmt.Errorf("listen for %s: %w: choose another --%s, or stop what uses it",
				c.Kind.What, err, c.Kind.Flag())
		}
		n.sockets = append(n.sockets, s)
		n.log.Info("listening", "for", c.Kind.What, "addr", c.Scheme+"://"+addr.String())
	}
	return nil
}

// serveSockets starts to serve the ports.
func (n *front) serveSockets(ingestion *ingest.Service, bodies *body.Reader) error {
	for _, s := range n.sockets {
		p := s.Params
		c := sockreceiver.Config{
			Ingestion: ingestion, Bodies: bodies, Sender: s.sender, TLS: s.tls,
			Target: target(p), OnTypeConflict: p[schema.OptionOnTypeConflict], Logger: n.log, Registerer: n.registry,
		}
		c.Rate, _ = strconv.Atoi(p["rate"]) // package config has checked that it is empty or a number
		var err error
		if s.server, err = socketServers[ingest.Protocol(s.Kind.Protocol)](c, p); err != nil {
			return fmt.Errorf("--%s: %w", s.Kind.Flag(), err)
		}
		go s.serve()
	}
	return nil
}

// serve runs the server until it is closed.
func (s *socket) serve() {
	var err error
	if s.packets != nil {
		server, ok := s.server.(packetServer)
		if !ok {
			err = errors.New("the protocol has no datagrams") // a bug in config.Kinds, which a test finds
		} else {
			err = server.ServePacket(s.packets)
		}
	} else {
		err = s.server.Serve(s.listener)
	}
	s.done <- err
	if !errors.Is(err, sockreceiver.ErrClosed) {
		s.node.fail(fmt.Errorf("listen for %s: %w", s.Kind.What, err))
	}
}

// close stores the data that was read, until ctx ends.
func (s *socket) close(ctx context.Context) error {
	if s.server == nil {
		if s.packets != nil {
			return s.packets.Close()
		}
		return s.listener.Close()
	}
	if err := s.server.Shutdown(ctx); err != nil {
		return fmt.Errorf("logs from %s were not stored yet: %w", s.Kind.What, err)
	}
	if err := <-s.done; !errors.Is(err, sockreceiver.ErrClosed) {
		return fmt.Errorf("listen for %s: %w", s.Kind.What, err)
	}
	return nil
}

// sender returns the user as whom a peer's logs are stored: the user of the token-file or of the client's certificate,
// or everybody if there are no users.
func (s *socket) sender(ctx context.Context, from sockreceiver.Peer) (*access.Caller, error) {
	users := s.node.userList
	if users == nil {
		return &access.Caller{Sender: access.Everybody(), Address: from.Address}, nil
	}
	if file := s.Params[config.TokenFile]; file != "" {
		user, password, err := config.ReadToken(file)
		if err != nil {
			return nil, errs.Wrap(errs.AuthHeaderNotFound, err, "read %s of --%s", config.TokenFile, s.Kind.Flag())
		}
		var sender access.Sender
		if user == "" {
			sender, err = users.Token(password, from.Address)
		} else {
			sender, err = users.Check(ctx, user, password, from.Address)
		}
		if err != nil {
			return nil, err
		}
		return &access.Caller{Sender: sender, Address: from.Address}, nil
	}
	sender, err := users.Certificate(from.TLS, from.Address)
	if err != nil {
		return nil, err
	}
	return &access.Caller{Sender: sender, Address: from.Address}, nil
}

// userWarnings lists why this node may refuse users: receivers whose user cannot store rows, and rights that may be too
// old.
func (n *front) userWarnings() (out []string) {
	users := n.userList
	if users == nil {
		return nil
	}
	if age := users.Age(); age > accessPatience {
		out = append(out, fmt.Sprintf("this node has not heard from the metadata group for %s; users and tokens of the "+
			"metadata are refused after %s (--access-max-age)", age.Round(time.Second), n.cfg.Users.AccessMaxAge))
	}
	for _, s := range n.sockets {
		file := s.Params[config.TokenFile]
		if file == "" {
			continue
		}
		problem := ""
		if user, password, err := config.ReadToken(file); err != nil {
			problem = "the file cannot be read, or has another format" // anybody may read it, so without the path
		} else {
			problem = users.Problem(user, password)
		}
		if problem != "" {
			out = append(out, fmt.Sprintf("--%s %s://%s drops all logs, because of its %s: %s", s.Kind.Flag(), s.Scheme, s.Addr,
				config.TokenFile, problem))
		}
	}
	return out
}

// accessPatience is how long the metadata group may be silent before this is a warning, because elections take some
// seconds.
const accessPatience = 10 * time.Second
