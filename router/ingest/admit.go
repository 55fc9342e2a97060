package ingest

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
)

// Arrival is a request whose body was not read yet.
type Arrival struct {
	Protocol Protocol
	// Caller is its sender. Required.
	Caller *access.Caller
	// Database and Table say where the records go, as far as that is known; else they are empty.
	Database, Table string
	// Wait is Request.Wait.
	Wait bool
}

const (
	// pressedWait is how long a request with Wait waits in all for what is busy.
	pressedWait = 10 * time.Second
	// lookAgain is how often it looks.
	lookAgain = 50 * time.Millisecond
	// maxWaiting bounds the requests that wait so.
	maxWaiting = 1000
)

// Admit returns an error if a request need not be read, because it would be refused: the sender may
// not ingest, rows are refused for lack of room, or the table's shards are busy. It is asked before
// the body is read, so that what cannot be stored takes no memory. With Wait it waits for busy shards.
func (s *Service) Admit(ctx context.Context, a *Arrival) error {
	if err := a.Caller.Require(need(a.Database, a.Table)); err != nil {
		return s.Failed(a.Protocol, StageParameters, err)
	}
	if err := s.cfg.Writable(); err != nil {
		return s.Failed(a.Protocol, StageDisk, err)
	}
	if a.Table == "" {
		return nil
	}
	return s.awaitRoom(ctx, a.Protocol, a.Wait, []*Batch{{Database: a.Database, Table: a.Table}})
}

// AdmitAll returns an error if batches of a request would be refused because the shards of their tables are busy, for
// protocols whose clients send a request again as a whole: what of it was stored would be stored twice. It waits for
// busy shards.
func (s *Service) AdmitAll(ctx context.Context, p Protocol, batches []*Batch) error {
	return s.awaitRoom(ctx, p, true, batches)
}

// awaitRoom returns an error if the shards of a batch's table are busy, with wait if they are still so after some time.
func (s *Service) awaitRoom(ctx context.Context, p Protocol, wait bool, batches []*Batch) error {
	var after time.Duration
	var busy *Batch
	look := func() bool {
		after, busy = s.pressed(batches)
		return busy != nil
	}
	if look() && wait {
		if err := s.waitWhile(ctx, look); err != nil {
			return s.Failed(p, StageBusy, err)
		}
	}
	if busy == nil {
		return nil
	}
	return s.Failed(p, StageBusy, errs.New(errs.ShardBusy,
		"the shards of table %s.%s are busy: try again later", busy.Database, cutText(busy.Table)).WithRetryAfter(after))
}

// pressed returns the first batch whose table's shards are busy, and when to try again; nil: none are.
func (s *Service) pressed(batches []*Batch) (after time.Duration, busy *Batch) {
	for _, b := range batches {
		if after, yes := s.cfg.Writer.Pressed(b.Database, b.Table); yes {
			return after, b
		}
	}
	return 0, nil
}

// need returns what it takes to store rows in a table.
func need(database, table string) access.Need {
	n := access.Need{Privilege: access.Insert, Action: "ingest"}
	if table != "" {
		n.Object = access.Object{Kind: access.Table, Database: database, Name: table}
	}
	return n
}

// waiting counts the requests that wait for something busy.
type waiting struct{ n atomic.Int64 }

// waitWhile waits while busy reports true, for pressedWait at most. Its error is the context's.
func (s *Service) waitWhile(ctx context.Context, busy func() bool) error {
	if s.waiting.n.Add(1) > maxWaiting {
		s.waiting.n.Add(-1)
		return nil
	}
	defer s.waiting.n.Add(-1)
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for end := time.Now().Add(pressedWait); time.Now().Before(end); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			if !busy() {
				return nil
			}
		}
	}
	return nil
}

// Check goes through the values of a batch in the order in which clients learn of their mistakes. Store
// does it too; a door calls it to have its own checks after it.
func (s *Service) Check(ctx context.Context, b *Batch) error {
	if b.checked {
		return nil
	}
	if b.Table == "" {
		return errs.New(errs.InvalidArguments, "table is required")
	}
	if err := schema.CheckTableName(b.Table); err != nil {
		return err
	}
	if err := b.checkPipeline(); err != nil {
		return err
	}
	if err := s.checkDatabase(ctx, b.Database); err != nil {
		return err
	}
	b.checked = true
	return nil
}

// Writable returns an error if a database does not exist, or clients may not write to it.
func Writable(catalog Catalog, database string) error {
	if schema.ReservedDatabase(database) {
		return errs.New(errs.InvalidArguments, "database %s belongs to the server and cannot be written to", database)
	}
	if _, ok := catalog.Database(database); !ok {
		return errs.New(errs.DatabaseNotFound, "Failed to find database %s; create it with CREATE DATABASE", database)
	}
	return nil
}

// cutText shortens a client's text for a message.
func cutText(text string) string {
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "") + "…"
	}
	return strconv.Quote(text)
}

// TakesRows returns why no rows are stored at all, for lack of room on a disk; nil: they are.
func (s *Service) TakesRows() error { return s.cfg.Writable() }

// HasPipeline reports whether a pipeline of the name is stored.
func (s *Service) HasPipeline(ctx context.Context, name string) bool {
	_, _, err := s.cfg.Pipelines.Find(ctx, name, "", false)
	return err == nil
}
