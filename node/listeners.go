package node

import (
	"context"
	"errors"
	"sync"

	"cordwood/node/config"
	"cordwood/router/httpapi"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// listener is a port of its own for a protocol of another system.
type listener struct {
	config.Listener
	port *httpServer
}

// openListeners opens the ports of their own, which answer like the user port until the router is there.
func (n *front) openListeners(port userPort) error {
	for _, l := range n.cfg.Listeners {
		port.flag, port.addr, port.http2 = l.Kind.Flag(), l.Addr, l.Kind.HTTP2
		s, err := port.open(n.log)
		if err != nil {
			return err
		}
		n.listeners = append(n.listeners, &listener{l, s})
		n.log.Info("listening", "for", l.Kind.What, "addr", s.addr.String())
	}
	return nil
}

// serveListeners lets clients in by the ports of their own.
func (n *front) serveListeners(router *httpapi.Server) error {
	for _, l := range n.listeners {
		h, err := router.DoorHandler(ingest.Protocol(l.Kind.Protocol), l.door())
		if err != nil {
			return err
		}
		l.port.setHandler(h)
	}
	return nil
}

// door is what holds for all that comes in by the port.
func (l *listener) door() httpdoor.Door {
	p := l.Params
	return httpdoor.Door{
		Defaults:    httpdoor.Target{Database: p["db"], Table: p["table"], Pipeline: p["pipeline"], Version: p["version"]},
		NoEventTime: p["event_time"] == "off", DedupeBody: p["dedupe"] == "body", Options: p,
	}
}

// ports are the ports for users that are open.
func (n *front) ports() []*httpServer {
	var all []*httpServer
	for _, p := range []*httpServer{n.users, n.usersV1} {
		if p != nil {
			all = append(all, p)
		}
	}
	for _, l := range n.listeners {
		all = append(all, l.port)
	}
	return all
}

// closePorts finishes the requests of all ports until ctx ends, side by side: none takes new ones while another has
// some left.
func (n *front) closePorts(ctx context.Context) error {
	ports := n.ports()
	failed := make([]error, len(ports))
	var wg sync.WaitGroup
	for i, p := range ports {
		wg.Go(func() { failed[i] = p.close(ctx) })
	}
	wg.Wait()
	return errors.Join(failed...)
}
