// Package gelf receives logs in the Graylog Extended Log Format: over UDP, in chunks, compressed with gzip or zlib;
// over TCP, where each message ends with a NUL; and over HTTP. The format is described at
// https://go2docs.graylog.org/current/getting_in_log_data/gelf.html.
//
// Without a pipeline, a message becomes a row with the columns of layout, and a column for each additional field,
// without its underscore. With a pipeline, it becomes a record with the same fields.
package gelf

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/sockreceiver"
)

// DefaultTable is the table if the listener does not set one.
const DefaultTable = "gelf_logs"

// MaxBytes limits the size of a decompressed message over TCP and UDP, in bytes.
const MaxBytes = 2 << 20

// The reasons why messages are dropped, besides the common ones of sockreceiver.
const (
	// tooLarge: a message has more than MaxBytes.
	tooLarge sockreceiver.Reason = "too_large"
	// malformed: a datagram is not a valid chunk, or cannot be decompressed.
	malformed sockreceiver.Reason = "malformed"
	// incomplete: chunks of a message did not arrive in time, or there were too many incomplete messages.
	incomplete sockreceiver.Reason = "incomplete"
)

// Server receives messages on any number of sockets with the same settings.
type Server struct{ s *sockreceiver.Server }

// New returns a server. It opens no socket.
func New(cfg sockreceiver.Config) (*Server, error) {
	var s *sockreceiver.Server
	parts := newAssembly()
	drop := func(from netip.Addr, why sockreceiver.Reason) { s.DropFrom(from, why) }
	s, err := sockreceiver.New(cfg, sockreceiver.Receiver{
		Protocol: ingest.GELF,
		Target:   httpreceiver.Target{Table: DefaultTable},
		Stream: func(c *sockreceiver.Conn) error {
			return c.Split(&framing{max: MaxBytes, tooLong: func() { c.Drop(tooLarge, 1) }}, MaxBytes+1, c.Add)
		},
		Packet: func(from netip.AddrPort, data []byte) []byte { return parts.message(from, data, drop) },
		Input: func(records []sockreceiver.Record, pipelined bool) ingest.Input {
			in := &input{}
			for i := range records {
				r := &records[i]
				in.messages = append(in.messages, message{data: r.Data, from: r.From, at: r.At})
			}
			return in.input(pipelined)
		},
		HalfClose:      true,
		OnTypeConflict: "aside", // clients do not learn of refused messages
	})
	if err != nil {
		return nil, err
	}
	return &Server{s}, nil
}

// Serve accepts connections from l until Shutdown. It closes l and returns sockreceiver.ErrClosed or the error of l.
func (s *Server) Serve(l net.Listener) error { return s.s.Serve(l) }

// ServePacket receives datagrams from p until Shutdown. It closes p and returns sockreceiver.ErrClosed or the error of
// p.
func (s *Server) ServePacket(p net.PacketConn) error { return s.s.ServePacket(p) }

// Shutdown ends Serve and ServePacket, and stores everything that was read. If ctx ends first, the rest is dropped.
func (s *Server) Shutdown(ctx context.Context) error { return s.s.Shutdown(ctx) }

// Receiver receives messages over HTTP.
type Receiver struct{ httpreceiver.Receiver }

// NewReceiver returns a Receiver. d.Defaults is the destination for requests that do not give one.
func NewReceiver(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.GELF
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable})
	return &Receiver{d}
}

// Refuse answers an error with its plain text.
func Refuse(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	httpreceiver.WriteText(w, why.Status, why.Text)
}

// Push stores the messages in the body of a request: one, an array of them, or one on each line.
func (d *Receiver) Push(w http.ResponseWriter, r *http.Request) {
	if err := d.push(r); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// read reads the messages of a body. It reserves memory for their list as the list grows.
func (in *input) read(call *httpreceiver.Call, body []byte) error {
	address, now := call.X.Caller.Address.String(), call.X.Start.UnixNano()
	return split(body, func(data []byte) error {
		if have := len(in.messages); have == cap(in.messages) {
			n := max(64, 2*have)
			if err := call.Inflate(int64((n + have) * messageBytes)); err != nil {
				return err
			}
			in.messages = append(make([]message, 0, n), in.messages...)
		}
		in.messages = append(in.messages, message{data: data, from: address, at: now})
		return nil
	})
}

func (d *Receiver) push(r *http.Request) error {
	if r.Header.Get("Content-Encoding") == "gzip,deflate" {
		r.Header.Set("Content-Encoding", "deflate") // graypy lists both encodings but compresses once
	}
	// graypy closes the connection without reading the answer. A request that arrived completely is stored
	// nevertheless.
	call, target, err := d.Open(r.WithContext(context.WithoutCancel(r.Context())))
	if err != nil {
		return err
	}
	defer call.Release()
	body, err := call.Text()
	if err != nil {
		return err
	}
	in := &input{}
	if err := in.read(call, body); err != nil {
		return call.Refuse(err)
	}
	if len(in.messages) == 0 {
		return call.Refuse(errs.New(errs.InvalidArguments, "the body has no GELF message: send a JSON object"))
	}
	b := call.Batch(target)
	if b.OnReject == "" && len(in.messages) > 1 {
		b.OnReject = ingest.StoreRejects // the answer cannot say which messages were refused
	}
	b.Input = in.input(b.Pipeline != "")
	out := &call.Store(b)[0]
	if in.repeated > 0 {
		call.X.Header().Add(exchange.HeaderWarnings, words.Say(in.repeated,
			"key occurred more than once in an object: its last value was stored",
			"keys occurred more than once in an object: the last value of each was stored"))
	}
	switch {
	case out.Err != nil:
		return out.Err
	case out.Skipped > 0 && out.Skipped == out.Records:
		return errs.New(errs.InvalidArguments, "no message of the request could be stored; the first: %s",
			out.Reasons[0].Error)
	}
	return nil
}
