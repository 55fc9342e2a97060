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
	after, pressed := s.cfg.Writer.Pressed(a.Database, a.Table)
	if pressed && a.Wait {
		err := s.waitWhile(ctx, func() bool {
			after, pressed = s.cfg.Writer.Pressed(a.Database, a.Table)
			return pressed
		})
		if err != nil {
			return s.Failed(a.Protocol, StageBusy, err)
		}
	}
	if pressed {
		return s.Failed(a.Protocol, StageBusy, errs.New(errs.ShardBusy,
			"the shards of table %s.%s are busy: try again later", a.Database, cutText(a.Table)).WithRetryAfter(after))
	}
	return nil
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
