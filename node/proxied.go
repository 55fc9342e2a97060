package node

import (
	"net"
	"net/netip"
	"sync"

	"github.com/pires/go-proxyproto"

	"cordwood/router/httpapi/peer"
)

// maxHeaders is the maximum number of connections of a port whose headers of the PROXY protocol are awaited.
const maxHeaders = 1000

// behindProxies returns a listener that expects a PROXY protocol header on each connection from proxies.
func behindProxies(l net.Listener, proxies peer.Proxies) net.Listener {
	if len(proxies) == 0 {
		return l
	}
	return &proxied{
		Listener: &proxyproto.Listener{
			Listener: l, ReadHeaderTimeout: handshakeTimeout,
			ConnPolicy: func(c proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
				if from, err := netip.ParseAddrPort(c.Upstream.String()); err == nil &&
					proxies.Trust(from.Addr().Unmap().WithZone("")) {
					return proxyproto.REQUIRE, nil
				}
				return proxyproto.SKIP, nil
			},
		},
		ready: make(chan arrival), places: make(chan struct{}, maxHeaders), closed: make(chan struct{}),
	}
}

// proxied accepts connections whose headers have been read, or did not come in time. The address of a connection is not
// known before, and servers ask for it before they accept the next one, so a connection that sends nothing would keep
// all others waiting.
type proxied struct {
	net.Listener
	ready  chan arrival
	places chan struct{} // one for each connection whose header is awaited, or that is not accepted yet
	start  sync.Once
	close  sync.Once
	closed chan struct{}
}

// arrival is a result of Accept.
type arrival struct {
	conn net.Conn
	err  error
}

// Accept returns the next connection whose address is known.
func (p *proxied) Accept() (net.Conn, error) {
	p.start.Do(func() { go p.accept() })
	select {
	case a := <-p.ready:
		return a.conn, a.err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close closes the listener.
func (p *proxied) Close() error {
	p.close.Do(func() { close(p.closed) })
	return p.Listener.Close()
}

// accept accepts connections until the listener is closed.
func (p *proxied) accept() {
	for {
		conn, err := p.Listener.Accept()
		if err != nil {
			select {
			case p.ready <- arrival{nil, err}: // the caller decides whether it accepts more
			case <-p.closed:
				return
			}
			continue
		}
		select {
		case p.places <- struct{}{}:
		case <-p.closed:
			_ = conn.Close() // nobody uses it
			return
		}
		go func() {
			defer func() { <-p.places }()
			_ = conn.RemoteAddr() // reads the header
			select {
			case p.ready <- arrival{conn, nil}:
			case <-p.closed:
				_ = conn.Close() // nobody uses it
			}
		}()
	}
}
