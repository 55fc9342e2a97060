// Package forward takes logs by the forward protocol of Fluentd and Fluent Bit, version 1.5, over TCP and TLS:
// https://github.com/fluent/fluentd/wiki/Forward-Protocol-Specification-v1.5. It reads the modes Message, Forward,
// PackedForward and CompressedPackedForward.
//
// A record goes through svc_identity, or the pipeline of the listener, with its tag added. A chunk that asks for it
// is acknowledged once its rows are durable, and stored once although it comes again. With a shared key clients have
// to prove that they know it.
package forward

import (
	"context"
	"net"
	"strings"

	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
	"cordwood/router/ingest/sockdoor"
)

// DefaultTable is where records go if the listener names no table.
const DefaultTable = "fluent_logs"

const (
	// MaxBytes is the most bytes of a message, and of the records in one, decompressed.
	MaxBytes = 64 << 20
	// maxTag is the most bytes that are kept of a tag.
	maxTag = 1024
)

// shares is how many times the bytes of a message are in memory: as they came, decompressed, and as rows. A message
// that takes more of the memory for bodies than there is would wait for itself.
const shares = 3

// Why records are dropped, beside the reasons of all doors.
const (
	// tooLarge: a message, or what it holds decompressed, has more than MaxBytes.
	tooLarge sockdoor.Reason = "too_large"
	// malformed: a message, or an entry of one, has not the form of the protocol.
	malformed sockdoor.Reason = "malformed"
)

// Config is how the listeners are set.
type Config struct {
	sockdoor.Config
	// SharedKey has clients prove that they know it; "": they need not.
	SharedKey string
	// Name is the name of this server for clients that ask it to prove that it knows the key. The default
	// value is cordwood.
	Name string
	// TableByTag has records go to the table that the first part of their tag names.
	TableByTag bool
	// NoEventTime stores records with the time of their arrival rather than their own.
	NoEventTime bool
}

// Server takes records at any number of sockets that share its settings.
type Server struct {
	s        *sockdoor.Server
	cfg      Config
	maxBytes int // of a message
}

// New returns a server. It opens no socket.
func New(cfg Config) (*Server, error) {
	if cfg.Name == "" {
		cfg.Name = "cordwood"
	}
	s := &Server{cfg: cfg, maxBytes: MaxBytes}
	door := sockdoor.Door{
		Protocol: ingest.Forward,
		Target:   httpdoor.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline},
		Stream:   s.serve, Forbidden: s.refuse,
		OnTypeConflict: "aside", // no client is told of a record that is refused
		Input: func(records []sockdoor.Record, _ bool) ingest.Input {
			return ingest.Records(func(to *ingest.Sink) error { return give(records, !cfg.NoEventTime, to) })
		},
	}
	if cfg.TableByTag {
		door.Table = func(r *sockdoor.Record) string {
			first, _, _ := strings.Cut(r.From, ".")
			return httpdoor.TableName(first)
		}
	}
	var err error
	if s.s, err = sockdoor.New(cfg.Config, door); err != nil {
		return nil, err
	}
	if limit := cfg.Bodies.MaxInFlight(); limit > 0 {
		s.maxBytes = int(min(MaxBytes, limit/shares))
	}
	return s, nil
}

// Serve takes connections from l, with TLS if that is set, until Shutdown. It closes l and returns
// sockdoor.ErrClosed, or the error of l.
func (s *Server) Serve(l net.Listener) error { return s.s.Serve(l) }

// Shutdown ends Serve, and stores and acknowledges what has been read. If ctx ends before, the rest is given up.
func (s *Server) Shutdown(ctx context.Context) error { return s.s.Shutdown(ctx) }
