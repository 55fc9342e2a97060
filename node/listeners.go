package node

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/node/config"
	"cordwood/router/httpapi"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// listener is a separate port for a protocol of another system.
type listener struct {
	config.Listener
	port *httpServer
	// handler is the protocol's handler. It is set before served is closed. stopped is closed when the port closes.
	handler         http.Handler
	served, stopped chan struct{}
	waiting         atomic.Int64
}

// Requests that arrive before the router exists wait for it, because clients of other systems lose data that is
// refused.
const (
	startWait  = 10 * time.Second
	maxWaiting = 1000
)

// await returns the protocol's handler once it exists, or nil after a timeout.
func (l *listener) await(r *http.Request) http.Handler {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > maxWaiting {
		return nil
	}
	timer := time.NewTimer(startWait)
	defer timer.Stop()
	select {
	case <-l.served:
		return l.handler
	case <-timer.C:
	case <-l.stopped:
	case <-r.Context().Done():
	}
	return nil
}

// noHandler makes the port for users refuse early requests at once: its clients retry them.
func noHandler(*http.Request) http.Handler { return nil }

// openListeners opens the separate ports. Requests on them wait until the router exists.
func (n *front) openListeners(port userPort) error {
	for _, c := range n.cfg.Listeners {
		if len(c.Kind.Schemes) > 0 {
			continue // openSockets opens it
		}
		l := &listener{Listener: c, served: make(chan struct{}), stopped: make(chan struct{})}
		port.flag, port.addr, port.http2 = c.Kind.Flag(), c.Addr, c.Kind.HTTP2
		port.before = n.guard(n.browsers, n.beforeReady(l.await))
		var err error
		if l.port, err = port.open(n.log); err != nil {
			return err
		}
		n.listeners = append(n.listeners, l)
		n.log.Info("listening", "for", c.Kind.What, "addr", l.port.addr.String())
	}
	return nil
}

// serveListeners lets the requests on the separate ports continue.
func (n *front) serveListeners(router *httpapi.Server) error {
	for _, l := range n.listeners {
		h, err := router.ReceiverHandler(ingest.Protocol(l.Kind.Protocol), l.receiver())
		if err != nil {
			return err
		}
		l.handler = h
		close(l.served)
		l.port.setHandler(h)
	}
	return nil
}

// receiver returns the settings that apply to all requests on the port.
func (l *listener) receiver() httpreceiver.Receiver {
	p := l.Params
	return httpreceiver.Receiver{
		Defaults: target(p), NoEventTime: p["event_time"] == "off", DedupeBody: p["dedupe"] == "body", Options: p,
	}
}

// target returns the destination of records, from the parameters of an address.
func target(p map[string]string) httpreceiver.Target {
	return httpreceiver.Target{Database: p["db"], Table: p["table"], Pipeline: p["pipeline"], Version: p["version"]}
}

// ports returns the open ports for users.
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

// closePorts closes all ports in parallel. It waits for their requests until ctx ends, and stores the data that
// sockets have read. No port accepts new requests while another one finishes its own.
func (n *front) closePorts(ctx context.Context) error {
	for _, l := range n.listeners {
		close(l.stopped)
	}
	var stop []func(context.Context) error
	for _, p := range n.ports() {
		stop = append(stop, p.close)
	}
	for _, s := range n.sockets {
		stop = append(stop, s.close)
	}
	if n.postgres != nil {
		stop = append(stop, n.postgres.close)
	}
	failed := make([]error, len(stop))
	var wg sync.WaitGroup
	for i, f := range stop {
		wg.Go(func() { failed[i] = f(ctx) })
	}
	wg.Wait()
	return errors.Join(failed...)
}
