package cluster

import (
	"io"
	"net"
	"sync"
)

// Gate is a proxy in front of a node's port for other nodes, which have the address of the Gate instead of the
// node's. Shut blocks all connections to the node, while connections that the node opens itself work, as with a
// firewall that blocks incoming connections.
type Gate struct {
	listener net.Listener
	to       string

	mu    sync.Mutex // guards the fields below
	shut  bool
	conns map[net.Conn]struct{}
}

// Behind puts a gate in front of the node's port. Seed must follow.
func (n *Node) Behind() *Gate {
	n.t.Helper()
	l, err := net.Listen("tcp", freeAddr(n.t))
	if err != nil {
		n.t.Fatal(err)
	}
	g := &Gate{listener: l, to: n.RPC, conns: map[net.Conn]struct{}{}}
	n.RPC = l.Addr().String()
	n.set("--advertise-addr", n.RPC)
	n.t.Cleanup(func() {
		l.Close()
		g.closeAll()
	})
	go g.run()
	return g
}

// Shut blocks incoming data: data on existing connections is lost, and new connections are not
// answered. Data that the node sends on existing connections still passes.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = true
}

// Open ends Shut. It closes earlier connections, because data was lost on them.
func (g *Gate) Open() {
	g.mu.Lock()
	g.shut = false
	g.mu.Unlock()
	g.closeAll()
}

func (g *Gate) closeAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.Close()
	}
	clear(g.conns)
}

func (g *Gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

func (g *Gate) keep(conns ...net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range conns {
		g.conns[c] = struct{}{}
	}
}

func (g *Gate) run() {
	for {
		in, err := g.listener.Accept()
		if err != nil {
			return
		}
		if g.isShut() {
			g.keep(in) // the connection is neither answered nor refused
			continue
		}
		out, err := net.Dial("tcp", g.to)
		if err != nil {
			in.Close()
			continue
		}
		g.keep(in, out)
		go func() {
			_, _ = io.Copy(in, out) // the node's answers
			in.Close()
		}()
		go g.let(out, in)
	}
}

// let passes on data from other nodes, unless the gate is shut.
func (g *Gate) let(node, other net.Conn) {
	defer node.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := other.Read(buf)
		if g.isShut() {
			if err != nil {
				return
			}
			continue
		}
		if n > 0 {
			if _, err := node.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
