// Package sockreceiver has the common parts of receivers over TCP or UDP without HTTP: connections and their limits,
// batches by size and time, the calls of package ingest, and retries while rows cannot be stored.
//
// A receiver finds the records in the received bytes and decides which rows they become. This package does not decode
// protocols.
//
// Serve serves a listener, and ServePacket a packet connection. A Server may serve any number of both. Shutdown
// ends them and stores what was read. All methods may be called concurrently.
package sockreceiver

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
	"cordwood/router/ingest/httpreceiver"
)

// Config has the settings of a receiver. Limits that are zero have their defaults.
type Config struct {
	// Ingestion stores the rows. Required.
	Ingestion *ingest.Service
	// Bodies limits the memory of records that are being stored. Required.
	Bodies *body.Reader
	// Sender returns the caller for whom the records of a peer are stored. It is called when a connection begins and
	// again for each batch, so that a lost right takes effect at once. For UDP it gets the zero Peer. Its error is the
	// reason why the peer may not send. Required.
	Sender func(ctx context.Context, from Peer) (*access.Caller, error)
	// Target is the destination of the records. The only database, table and pipeline of a sender's token, then the
	// protocol's defaults and the sender's default database apply to its empty fields.
	Target httpreceiver.Target
	// OnTypeConflict is the table option on_type_conflict for tables that the records create. It decides what happens
	// to values that do not have the type of their column. The default value depends on the protocol.
	OnTypeConflict string
	// TLS has the TLS settings of Serve; nil means that only listeners that return *tls.Conn use TLS.
	TLS *tls.Config
	// MaxConnections limits the number of open connections. A further connection replaces the one that has been
	// silent longest, if it has been silent for at least 30 s, or else one of the address that has the most, if these are
	// at least two more than those of the new one's address. Otherwise the new one is refused. The default value is 1,024.
	MaxConnections int
	// Idle is how long a connection may be silent between records. The default value is 1 h.
	Idle time.Duration
	// Patience is how long a record may take to arrive, plus a second for each 16 KiB. The default value is 1 min.
	Patience time.Duration
	// Drain is how long Shutdown continues to read data that clients have already sent. The default value is 1 s.
	Drain time.Duration
	// A batch is stored when it has BatchBytes or BatchRecords, or after BatchDelay. The default values are 1 MiB,
	// 10,000 and 200 ms.
	BatchBytes, BatchRecords int
	BatchDelay               time.Duration
	// MaxBatches limits the number of batches that are being filled or stored. If all are in use, connections are not
	// read, and datagrams are dropped. The default value is 16.
	MaxBatches int
	// Rate limits the number of datagrams of each sender per second. The default value is 10,000.
	Rate int
	// Now is the clock. The default value is time.Now.
	Now func() time.Time
	// Logger logs warnings about clients and rows. By default nothing is logged.
	Logger *slog.Logger
	// Registerer registers the metrics, which servers of one protocol share. By default they are not registered.
	Registerer prometheus.Registerer
}

// Peer is the sender of records.
type Peer struct {
	// Address is the zero Addr if the data comes from several senders.
	Address netip.Addr
	// TLS is the state of the connection, with the client's certificates; nil if the connection has no TLS.
	TLS *tls.ConnectionState
}

// Receiver has the parts that a protocol implements.
type Receiver struct {
	Protocol ingest.Protocol
	// Target has the defaults for empty fields of Config.Target.
	Target httpreceiver.Target
	// OnTypeConflict is the default of Config.OnTypeConflict.
	OnTypeConflict string
	// Stream reads the records of a connection until it ends. Its error is logged, unless the client or Shutdown ended
	// the connection.
	Stream func(c *Conn) error
	// Forbidden informs a client that it may not send, before its connection is closed; nil means that nothing is
	// sent.
	Forbidden func(c *Conn)
	// Packet returns the record in a datagram, which may be a part of the record, or nil if the record is incomplete
	// or was dropped. The slices may be reused after the next call.
	Packet func(from netip.AddrPort, data []byte) []byte
	// Table returns the table of a record. If it is nil or returns "", the table of the target is used.
	Table func(r *Record) string
	// Input returns records as the input for a pipeline, or as columns.
	Input func(records []Record, pipelined bool) ingest.Input
	// HalfClose is set if clients expect no answers. Then the server closes its side at Shutdown, so that they stop
	// sending.
	HalfClose bool
}

// Record is a received record.
type Record struct {
	Data []byte
	// From is the address of the sender, or other data that the receiver needs besides Data.
	From string
	// At is the time of arrival or of the event, in nanoseconds since 1970.
	At int64
}

const (
	handshakeTime = 10 * time.Second
	// bytesPerSecond is the minimum speed of a long record.
	bytesPerSecond = 16 << 10
	// parallelStores limits the number of batches that are stored at a time.
	parallelStores = 4
)

func (c Config) withDefaults(d *Receiver) (Config, error) {
	if c.Ingestion == nil || c.Bodies == nil || c.Sender == nil {
		return c, errors.New("Config.Ingestion, Config.Bodies and Config.Sender must be set")
	}
	if err := schema.CheckTableName(c.Target.Or(d.Target).Table); err != nil {
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
