package sockreceiver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/turns"
	"cordwood/router/access"
	"cordwood/router/body"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// The waits between attempts to store a batch.
const (
	firstWait = 100 * time.Millisecond
	maxWait   = 5 * time.Second
)

// maxRefusals limits the number of attempts to find the records because of which a batch is refused.
const maxRefusals = 64

// store stores the records of a batch.
func (q *queue) store(b *batch) {
	s := q.s
	select {
	case s.storing <- struct{}{}:
		defer func() { <-s.storing }()
	case <-s.ctx.Done():
		q.lose(len(b.records))
		return
	}
	if left, err := q.storeAll(s.ctx, newKey(), b.records, false); err != nil && left > 0 {
		q.lose(left)
	}
}

// Store stores records under a client's key. Records that were stored under this key before are not stored again.
// It is for protocols whose clients get an answer. It waits while rows cannot be stored, until ctx ends. Records
// that can never be stored are counted and left out. It returns an error if the sender may not store rows, or the
// error of ctx.
func (c *Conn) Store(ctx context.Context, key string, records []Record) error {
	s := c.Server
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	for _, places := range []chan struct{}{s.slots, s.storing} {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	_, err := c.queue.storeAll(ctx, key, records, true)
	return err
}

// storeAll stores records, separately for each table. held is set if the memory of the records is counted already. If
// it returns the error of ctx, it also returns the number of records that were not stored.
func (q *queue) storeAll(ctx context.Context, key string, records []Record, held bool) (left int, err error) {
	s := q.s
	if s.receiver.Table == nil {
		return q.storeIn(ctx, "", key, records, held)
	}
	var tables []string
	byTable := map[string][]Record{}
	for i := range records {
		table := s.receiver.Table(&records[i])
		if byTable[table] == nil {
			tables = append(tables, table)
		}
		byTable[table] = append(byTable[table], records[i])
	}
	for _, table := range tables {
		n, failed := q.storeIn(ctx, table, key+"-"+table, byTable[table], held)
		left += n
		err = cmp.Or(err, failed)
	}
	return left, err
}

// newKey returns a key for a batch, so that it is stored once although it is sent again after an attempt with an
// unknown outcome.
func newKey() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	return hex.EncodeToString(random[:])
}

// lose counts records that were not stored before the server stopped.
func (q *queue) lose(n int) {
	q.s.Drop(Stopped, n)
	q.s.cfg.Logger.Error("messages are lost, because the server stopped before they could be stored",
		"protocol", q.s.receiver.Protocol, "messages", n)
}

// part has records of a batch with a separate key.
type part struct {
	key     string
	records []Record
	held    bool // the memory of the records is counted already
	// target is where the last attempt to store the records went. It is empty if the sender may not store rows.
	target httpreceiver.Target
}

// storeIn stores records in a table and waits as long as necessary. If they are refused permanently, it finds the
// records at fault and leaves them out. It returns an error if the sender may not store rows, or the error of ctx.
// left is the number of records that were not stored.
func (q *queue) storeIn(ctx context.Context, table, key string, records []Record, held bool) (left int, err error) {
	refusals := 0
	for parts := []part{{key: key, records: records, held: held}}; len(parts) > 0; {
		p := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		n := len(p.records)
		err := q.keepTrying(ctx, table, &p)
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			for _, other := range parts {
				n += len(other.records)
			}
			return n, ctx.Err()
		case isForbidden(err):
			for _, other := range parts {
				n += len(other.records)
			}
			q.forbid(err)
			q.s.forbid(q.from, err, n)
			return 0, err
		}
		if refusals++; n > 1 && refusals < maxRefusals {
			parts = append(parts, part{key: p.key + "b", records: p.records[n/2:], held: held},
				part{key: p.key + "a", records: p.records[:n/2], held: held})
			continue
		}
		q.s.Drop(Refused, n)
		q.s.say("messages were dropped, because they can never be stored", q.from.Address,
			"table", p.target.Table, "messages", n, "error", err)
	}
	return 0, nil
}

// forbid makes the queue accept no more records, so that its connections end.
func (q *queue) forbid(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.forbidden = err
}

// keepTrying stores records. While they cannot be stored, it waits and tries again. Its error means that they can
// never be stored, or that ctx has ended.
func (q *queue) keepTrying(ctx context.Context, table string, p *part) error {
	s := q.s
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		outcome, err := s.try(ctx, q.from, table, p)
		if err == nil {
			s.logRefused(q.from, p.target.Table, outcome)
			return nil
		}
		if ctx.Err() != nil || s.permanent(ctx, p.target.Pipeline, err) {
			return err
		}
		s.say("rows cannot be stored yet: they are kept, and no more data is read from clients until they are stored",
			q.from.Address,
			"table", p.target.Table, "error", err)
		timer := time.NewTimer(max(wait, min(errs.From(err).RetryAfter, maxWait)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// logRefused logs that records were refused.
func (s *Server) logRefused(from Peer, table string, out *ingest.Outcome) {
	if out.Skipped == 0 {
		return
	}
	why := ""
	if len(out.Reasons) > 0 {
		why = out.Reasons[0].Error
	}
	s.say("some records could not be converted to rows", from.Address,
		"table", table, "records", out.Skipped, "kept", out.Kept, "first", why)
}

// try stores records once.
func (s *Server) try(ctx context.Context, from Peer, table string, p *part) (*ingest.Outcome, error) {
	caller, err := s.caller(ctx, from)
	if err != nil {
		return nil, err
	}
	p.target = s.target(caller, table)
	b := s.batch(p)
	protocol := s.receiver.Protocol
	err = s.cfg.Ingestion.Admit(ctx, &ingest.Arrival{
		Protocol: protocol, Caller: caller, Database: b.Database, Table: b.Table, Wait: true,
	})
	if err != nil {
		return nil, err
	}
	held, err := s.cfg.Bodies.Hold(turns.WithDatabase(ctx, b.Database), nil)
	m := memory{held: held}
	if err == nil {
		defer held.Release()
		if !p.held {
			m.records = b.Bytes
		}
		err = held.Reserve(ctx, m.records)
	}
	if err != nil {
		return nil, s.cfg.Ingestion.Failed(protocol, ingest.StageBody, err)
	}
	out := &s.cfg.Ingestion.Store(ctx, &ingest.Request{
		Protocol: protocol, Caller: caller, Memory: m, Wait: true, Batches: []*ingest.Batch{b},
	})[0]
	return out, out.Err
}

// memory is a batch's share of the memory for bodies. The records themselves take the first records bytes of it.
type memory struct {
	held    *body.Body
	records int64
}

func (m memory) Reserve(ctx context.Context, n int64) error { return m.held.Reserve(ctx, m.records+n) }

func (m memory) TryReserve(n int64) bool { return m.held.TryReserve(m.records + n) }

// target returns the destination of a sender's records, given the table in the protocol's own data, or "". It is found
// as for the protocols over HTTP.
func (s *Server) target(caller *access.Caller, table string) httpreceiver.Target {
	t, fixed := s.cfg.Target, caller.Fixed
	if table != "" {
		t.Table = table
	}
	return t.Or(httpreceiver.Target{Database: fixed.Database, Table: fixed.Table, Pipeline: fixed.Pipeline}).
		Or(s.receiver.Target).Or(httpreceiver.Target{Database: caller.DefaultDatabase()})
}

// batch returns a batch for records.
func (s *Server) batch(p *part) *ingest.Batch {
	t := p.target
	b := &ingest.Batch{
		Database: t.Database, Table: t.Table, Pipeline: t.Pipeline, Version: t.Version, HasVersion: t.Version != "",
		SkipError: true, OnReject: ingest.StoreRejects, // the sender does not learn which records were refused
		Key: string(s.receiver.Protocol) + "-" + p.key, Input: s.receiver.Input(p.records, t.Pipeline != ""),
	}
	if how := s.cfg.OnTypeConflict; how != "" {
		b.Hints = map[string]string{schema.OptionOnTypeConflict: how}
	}
	for i := range p.records {
		b.Bytes += int64(len(p.records[i].Data))
	}
	return b
}

// isForbidden reports whether the sender may not store rows.
func isForbidden(err error) bool {
	status := errs.From(err).Status()
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// permanent reports whether rows that were refused with err can never be stored. Errors that an operator can fix, such
// as a missing pipeline or database, are not permanent.
func (s *Server) permanent(ctx context.Context, pipeline string, err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	if isForbidden(err) {
		return true
	}
	switch errs.CodeOf(err) {
	case errs.InvalidArguments, errs.InvalidSyntax:
		return pipeline == "" || pipeline == ingest.IdentityPipeline || s.cfg.Ingestion.HasPipeline(ctx, pipeline)
	}
	return false
}
