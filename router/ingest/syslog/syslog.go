// Package syslog takes logs by syslog, over UDP, TCP and TLS: RFC 5424, and RFC 3164 in the many
// forms that senders use. What is neither is stored as it came, as the message: nothing is refused
// for its form.
//
// Over TCP and TLS messages are framed by their length (RFC 6587, octet counting) or by line ends, which is found
// out for each message. A datagram is one message.
//
// Drain takes them over HTTP, as Heroku sends them.
//
// Without a pipeline a message becomes a row with the columns of layout. With one it is a record with
// the same fields, and raw, the whole message.
package syslog

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
	"cordwood/router/ingest/sockdoor"
	"cordwood/router/vrl/logformat/syslog"
)

// DefaultTable is where messages go if the listener names no table.
const DefaultTable = "syslog"

// MaxBytes is the most bytes that are kept of a message over TCP and TLS. The rest is cut off.
const MaxBytes = 256 << 10

// Config is how the listeners are set.
type Config struct {
	sockdoor.Config
	// Zone is the zone of times that come without one. The default value is UTC.
	Zone *time.Location
}

// Server takes messages at any number of sockets that share its settings.
type Server struct{ s *sockdoor.Server }

// New returns a server. It opens no socket.
func New(cfg Config) (*Server, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	var err error
	cut := sockdoor.Register(cfg.Registerer, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_syslog_cut_total",
		Help: "Messages of syslog that were longer than 256 KiB, and were cut off there.",
	}), &err)
	if err != nil {
		return nil, fmt.Errorf("syslog: %w", err)
	}
	now := cfg.Now
	if now == nil {
		now = time.Now
	}
	parser := &syslog.Parser{Zone: cfg.Zone, Now: now}
	old := *parser
	old.Format = syslog.RFC3164
	s, err := sockdoor.New(cfg.Config, sockdoor.Door{
		Protocol: ingest.Syslog,
		Target:   httpdoor.Target{Table: DefaultTable},
		Stream: func(c *sockdoor.Conn) error {
			return c.Split(&framing{max: MaxBytes, cut: cut.Inc}, MaxBytes+maxPrefix, c.Add)
		},
		Input: func(records []sockdoor.Record, pipelined bool) ingest.Input {
			in := &input{records: records, parser: parser, old: &old}
			return in.of(pipelined)
		},
		HalfClose: true,
	})
	if err != nil {
		return nil, err
	}
	return &Server{s}, nil
}

// Serve takes connections from l, with TLS if that is set, until Shutdown. It closes l and returns
// sockdoor.ErrClosed, or the error of l.
func (s *Server) Serve(l net.Listener) error { return s.s.Serve(l) }

// ServePacket takes datagrams from p until Shutdown. It closes p and returns sockdoor.ErrClosed, or the error of p.
func (s *Server) ServePacket(p net.PacketConn) error { return s.s.ServePacket(p) }

// Shutdown ends Serve and ServePacket, and stores what has been read. If ctx ends before, the rest is given up.
func (s *Server) Shutdown(ctx context.Context) error { return s.s.Shutdown(ctx) }
