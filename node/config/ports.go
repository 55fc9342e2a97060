package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
)

// TryPorts opens each port and closes it again, if there is no data folder yet. So a start that fails because a port
// is in use creates no folder. The later start can still fail if a port is taken in between.
func (c *Config) TryPorts() error {
	if _, err := os.Stat(c.DataDir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, port := range c.Ports() {
		if err := port.Try(); err != nil {
			return fmt.Errorf("listen for %s: %w: choose another --%s, or stop what uses it", port.What, err, port.Flag)
		}
	}
	return nil
}

// Port is a port that the node opens.
type Port struct {
	// What describes the clients of the port. Flag is its setting.
	What, Addr, Flag string
	// Packets means that it is a UDP port.
	Packets bool
}

// Ports returns all ports that the node opens.
func (c *Config) Ports() []Port {
	all := []Port{
		{What: "users", Addr: c.HTTP.Addr, Flag: "http-addr"},
		{What: "users", Addr: c.HTTP.V1Addr, Flag: "http-v1-addr"},
		{What: "PostgreSQL clients", Addr: c.PG.Addr, Flag: "pg-addr"},
		{What: "administrators", Addr: c.AdminAddr, Flag: "admin-addr"},
		{What: "nodes", Addr: c.RPC.Addr, Flag: "rpc-addr"},
	}
	for _, l := range c.Listeners {
		all = append(all, Port{What: l.Kind.What, Addr: l.Addr, Flag: l.Kind.Flag(), Packets: l.Packets()})
	}
	return slices.DeleteFunc(all, func(p Port) bool { return p.Addr == "" })
}

// Try opens the port and closes it again.
func (p Port) Try() error {
	if p.Packets {
		c, err := net.ListenPacket("udp", p.Addr)
		if err != nil {
			return err
		}
		return c.Close()
	}
	l, err := net.Listen("tcp", p.Addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// unspecified reports whether addr is the address of all interfaces.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// Loopback reports whether only this machine can reach the address.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Reachable returns an address that a client on this machine can use for a listener on all
// interfaces.
func Reachable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// UserURL returns the URL of the user port for a client on this machine.
func (c *Config) UserURL() string { return c.Scheme() + "://" + Reachable(c.HTTP.Addr) }

// Scheme returns http or https, for the port for users.
func (c *Config) Scheme() string {
	if c.TLS.Cert != "" {
		return "https"
	}
	return "http"
}
