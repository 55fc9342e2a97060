// Package sockdoor is what the doors have in common whose protocol goes over TCP or UDP without HTTP:
// connections and their limits, batches by size and time, the way of a batch to package ingest, and what
// happens when rows cannot be stored yet.
//
// A door finds the records in the received bytes, and says which rows they become. The package decodes no
// protocol.
//
// A Server takes any number of listeners with Serve and of packet connections with ServePacket, and ends with
// Shutdown, which stores what was read. All methods may be used concurrently.
package sockdoor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// Config is how a door is set. The zero values of the limits mean the defaults.
type Config struct {
	// Ingestion stores the rows. Required.
	Ingestion *ingest.Service
	// Bodies is the memory for what is being stored. Required.
	Bodies *body.Reader
	// Sender returns as whom the records of a peer are stored. It is asked when a connection begins, and again
	// for each batch, so that a right that was lost counts at once. Of senders of UDP it is asked with
	// the zero Peer. The error says why the peer may not send. Required.
	Sender func(ctx context.Context, from Peer) (*access.Caller, error)
	// Target is where the records go; what it leaves open is the protocol's default.
	Target httpdoor.Target
	// OnTypeConflict says for tables that the records make what becomes of values whose type is not that of their column,
	// as the option of tables of that name. The default value is that of the door.
	OnTypeConflict string
	// TLS makes Serve expect TLS; nil: it does so only of listeners that return *tls.Conn.
	TLS *tls.Config
	// MaxConnections bounds the connections at a time. One more takes the place of the one
	// that has been silent for longest, if that is 30 s or more, and is refused otherwise. The
	// default value is 1,024.
	MaxConnections int
	// Idle is how long a connection may be silent between records. The default value is 1 h.
	Idle time.Duration
	// Patience is how long a record may take to come, and a second is added for each 16 KiB. The default
	// value is 1 min.
	Patience time.Duration
	// Drain is how long Shutdown goes on reading what clients have sent already. The default value is 1 s.
	Drain time.Duration
	// BatchBytes, BatchRecords and BatchDelay say when a batch is stored: whichever comes first. The default
	// values are 1 MiB, 10,000 and 200 ms.
	BatchBytes, BatchRecords int
	BatchDelay               time.Duration
	// MaxBatches bounds the batches that are filled or stored at a time. Then connections
	// are not read, and datagrams are dropped. The default value is 16.
	MaxBatches int
	// Rate bounds the datagrams of each sender, in a second. The default value is 10,000.
	Rate int
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// Logger takes what helps to find out what happened. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. Servers of one protocol share them. The default value is none.
	Registerer prometheus.Registerer
}

// Peer is the sender.
type Peer struct {
	// Address is the zero Addr for what several senders sent.
	Address netip.Addr
	// TLS is the state of the connection, with the certificates of the client; nil: it has no TLS.
	TLS *tls.ConnectionState
}

// Door is what a protocol decides.
type Door struct {
	Protocol ingest.Protocol
	// Target completes the target of the Config.
	Target httpdoor.Target
	// OnTypeConflict completes that of the Config.
	OnTypeConflict string
	// Stream reads the records of a connection to its end. Its error is logged unless the client or Shutdown ended
	// the connection.
	Stream func(c *Conn) error
	// Forbidden sends a client the answer that it may not send, before its connection ends; nil: no answer is sent.
	Forbidden func(c *Conn)
	// Packet returns the record in a datagram, which may be a part of it; nil: there is none yet, or it was
	// dropped. The slices may be used again after the next call.
	Packet func(from netip.AddrPort, data []byte) []byte
	// Table returns the table of a record; nil, or "": the table of the target.
	Table func(r *Record) string
	// Input makes rows of records, through a pipeline or straight.
	Input func(records []Record, pipelined bool) ingest.Input
	// HalfClose says that clients expect no answers, so that they stop sending when the server ends
	// its side.
	HalfClose bool
}

// Record is what came of one record.
type Record struct {
	Data []byte
	// From is the address of the sender, or what else the door needs beside Data.
	From string
	// At is when the record came or happened, in nanoseconds since 1970.
	At int64
}

const (
	handshakeTime = 10 * time.Second
	// bytesPerSecond is how fast a long record has to come at least.
	bytesPerSecond = 16 << 10
	// parallelStores bounds the batches that are stored at a time.
	parallelStores = 4
)

func (c Config) withDefaults(d *Door) (Config, error) {
	if c.Ingestion == nil || c.Bodies == nil || c.Sender == nil {
		return c, errors.New("Config.Ingestion, Config.Bodies and Config.Sender must be set")
	}
	c.Target = c.Target.Or(d.Target).Or(httpdoor.Target{Database: schema.DefaultDatabase})
	if err := schema.CheckTableName(c.Target.Table); err != nil {
		return c, fmt.Errorf("the table of the listener: %w", err)
	}
	c.OnTypeConflict = cmp.Or(c.OnTypeConflict, d.OnTypeConflict)
	for _, n := range []struct {
		value *int
		or    int
	}{
		{&c.MaxConnections, 1024},
		{&c.BatchBytes, 1 << 20},
		{&c.BatchRecords, 10_000},
		{&c.MaxBatches, 16},
		{&c.Rate, 10_000},
	} {
		if *n.value <= 0 {
			*n.value = n.or
		}
	}
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{
		{&c.Idle, time.Hour},
		{&c.Patience, time.Minute},
		{&c.Drain, time.Second},
		{&c.BatchDelay, 200 * time.Millisecond},
	} {
		if *d.value <= 0 {
			*d.value = d.or
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
