// Package forward receives logs with the forward protocol of Fluentd and Fluent Bit, version 1.5, over TCP and TLS:
// https://github.com/fluent/fluentd/wiki/Forward-Protocol-Specification-v1.5. It supports the modes Message,
// Forward, PackedForward and CompressedPackedForward.
//
// A record gets its tag as a field, and goes through svc_identity or the pipeline of the listener. If a chunk
// requests an acknowledgement, it is sent when the rows are durable, and a repeated chunk is stored once. If a
// shared key is set, clients must prove that they know it.
package forward

import (
	"context"
	"net"
	"strings"

	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/sockreceiver"
)

// DefaultTable is the table if the listener does not set one.
const DefaultTable = "fluent_logs"

const (
	// MaxBytes limits the size of a message, and of the decompressed records in it, in bytes.
	MaxBytes = 64 << 20
	// maxTag is the maximum number of bytes of a tag that are kept.
	maxTag = 1024
)

// shares is the number of copies of a message in memory: as received, decompressed, and as rows. A message that needs
// more than all memory for bodies would wait forever.
const shares = 3

// The reasons why records are dropped, besides the common ones of sockreceiver.
const (
	// tooLarge: a message or its decompressed content has more than MaxBytes.
	tooLarge sockreceiver.Reason = "too_large"
	// malformed: a message or an entry does not conform to the protocol.
	malformed sockreceiver.Reason = "malformed"
)

// Config has the settings of the listeners.
type Config struct {
	sockreceiver.Config
	// SharedKey is the key that clients must know; "" means that they need no key.
	SharedKey string
	// Name is the name of this server in handshakes. The default value is cordwood.
	Name string
	// TableByTag sends records to the table whose name is the first part of their tag.
	TableByTag bool
	// NoEventTime stores records with the time of their arrival instead of their own time.
	NoEventTime bool
}

// Server receives records on any number of sockets with the same settings.
type Server struct {
	s        *sockreceiver.Server
	cfg      Config
	maxBytes int // of a message
}

// New returns a server. It opens no socket.
func New(cfg Config) (*Server, error) {
	if cfg.Name == "" {
		cfg.Name = "cordwood"
	}
	s := &Server{cfg: cfg, maxBytes: MaxBytes}
	receiver := sockreceiver.Receiver{
		Protocol: ingest.Forward,
		Target:   httpreceiver.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline},
		Stream:   s.serve, Forbidden: s.refuse,
		OnTypeConflict: "aside", // clients do not learn of refused records
		Input: func(records []sockreceiver.Record, _ bool) ingest.Input {
			return ingest.Records(func(to *ingest.Sink) error { return give(records, !cfg.NoEventTime, to) })
		},
	}
	if cfg.TableByTag {
		receiver.Table = func(r *sockreceiver.Record) string {
			first, _, _ := strings.Cut(r.From, ".")
			return httpreceiver.TableName(first)
		}
	}
	var err error
	if s.s, err = sockreceiver.New(cfg.Config, receiver); err != nil {
		return nil, err
	}
	if limit := cfg.Bodies.MaxInFlight(); limit > 0 {
		s.maxBytes = int(min(MaxBytes, limit/shares))
	}
	return s, nil
}

// Serve accepts connections from l until Shutdown, with TLS if it is set. It closes l and returns
// sockreceiver.ErrClosed or the error of l.
func (s *Server) Serve(l net.Listener) error { return s.s.Serve(l) }

// Shutdown ends Serve, and stores and acknowledges everything that was read. If ctx ends first, the rest is dropped.
func (s *Server) Shutdown(ctx context.Context) error { return s.s.Shutdown(ctx) }
