// Package syslog receives syslog messages over UDP, TCP and TLS: RFC 5424, and RFC 3164 in the many variants that
// senders use. A message in neither format is stored unchanged in the column message. No message is refused for its
// format.
//
// Over TCP and TLS, a message is framed by its length (RFC 6587, octet counting) or by a line end. This is detected
// for each message. A datagram is one message.
//
// Drain receives messages over HTTP from Heroku.
//
// Without a pipeline, a message becomes a row with the columns of layout. With a pipeline, it becomes a record with
// the same fields and raw, the whole message.
package syslog

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/sockreceiver"
	"cordwood/router/vrl/logformat/syslog"
)

// DefaultTable is the table if the listener does not set one.
const DefaultTable = "syslog"

// MaxBytes limits how many bytes of a message over TCP and TLS are kept. The rest is dropped.
const MaxBytes = 256 << 10

// Config has the settings of the listeners.
type Config struct {
	sockreceiver.Config
	// Zone is the time zone of times without a zone. The default value is UTC.
	Zone *time.Location
}

// Server receives messages on any number of sockets with the same settings.
type Server struct{ s *sockreceiver.Server }

// New returns a server. It opens no socket.
func New(cfg Config) (*Server, error) {
	if cfg.Zone == nil {
		cfg.Zone = time.UTC
	}
	var err error
	cut := sockreceiver.Register(cfg.Registerer, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "cordwood_syslog_cut_total",
		Help: "Syslog messages that were longer than 256 KiB and were therefore cut.",
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
	s, err := sockreceiver.New(cfg.Config, sockreceiver.Receiver{
		Protocol: ingest.Syslog,
		Target:   httpreceiver.Target{Table: DefaultTable},
		Stream: func(c *sockreceiver.Conn) error {
			return c.Split(&framing{max: MaxBytes, cut: cut.Inc}, MaxBytes+maxPrefix, c.Add)
		},
		Input: func(records []sockreceiver.Record, pipelined bool) ingest.Input {
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

// Serve accepts connections from l until Shutdown, with TLS if it is set. It closes l and returns
// sockreceiver.ErrClosed or the error of l.
func (s *Server) Serve(l net.Listener) error { return s.s.Serve(l) }

// ServePacket receives datagrams from p until Shutdown. It closes p and returns sockreceiver.ErrClosed or the error of
// p.
func (s *Server) ServePacket(p net.PacketConn) error { return s.s.ServePacket(p) }

// Shutdown ends Serve and ServePacket, and stores what was read. If ctx ends earlier, the rest is dropped.
func (s *Server) Shutdown(ctx context.Context) error { return s.s.Shutdown(ctx) }
