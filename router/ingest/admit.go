package ingest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access"
)

// Arrival is a request whose body has not been read yet.
type Arrival struct {
	Protocol Protocol
	// Caller is the sender of the request. Required.
	Caller *access.Caller
	// Database and Table are the destination of the records, if it is known. They may be empty.
	Database, Table string
	// Wait is Request.Wait.
	Wait bool
}

const (
	// pressedWait is the longest wait for busy shards of Admit, and again of each batch in Store, if Wait is set.
	pressedWait = 10 * time.Second
	// lookAgain is the interval at which a waiting request checks again.
	lookAgain = 50 * time.Millisecond
	// maxWaiting limits the requests that wait for busy shards at the same time. Others are refused at once.
	maxWaiting = 1000
)

// errManyWait means that maxWaiting requests wait already.
var errManyWait = errors.New("ingest: too many requests wait for busy shards")

// Admit returns an error if a request would be refused anyway: the sender may not ingest, rows are refused because
// a disk is full, a quota of the database is used up, or the table's shards are busy. It is called before the body is
// read, so that such requests take no memory. If Wait is set, it waits for busy shards.
func (s *Service) Admit(ctx context.Context, a *Arrival) error {
	named, err := permitNamed(a)
	if err != nil {
		return s.Failed(a.Protocol, StageParameters, err)
	}
	if err := s.cfg.Writable(); err != nil {
		return s.Failed(a.Protocol, StageDisk, err)
	}
	if grants := a.Caller.Grants; a.Database != "" && (grants == nil || grants.InDatabase(a.Database)&rights.Insert != 0) {
		if err := s.cfg.Quotas.Ready(a.Database); err != nil {
			return s.Failed(a.Protocol, StageQuota, err)
		}
	}
	if a.Table == "" || !named {
		return nil
	}
	return s.awaitRoom(ctx, a.Protocol, a.Wait, []*Batch{{Database: a.Database, Table: a.Table}})
}

// permitNamed returns an error if the sender may store no rows of the request. named reports that the sender may store
// rows in the table that the request names. If named is false, the request is not refused yet, because the pipeline may
// choose other tables of the database.
func permitNamed(a *Arrival) (named bool, err error) {
	n := need(a.Database, a.Table)
	if a.Table == "" || a.Caller.Grants == nil || a.Caller.May(n) ||
		a.Caller.Grants.InDatabase(a.Database)&rights.Insert == 0 {
		return true, a.Caller.Require(n)
	}
	return false, a.Caller.Require(need("", ""))
}

// AdmitAll returns an error if batches of a request would be refused because the shards of their tables are busy, or a
// quota is used up.
// It is for protocols whose clients resend the whole request, because otherwise the stored part would be stored
// twice. It waits for busy shards.
func (s *Service) AdmitAll(ctx context.Context, p Protocol, batches []*Batch) error {
	for i, b := range batches {
		if i > 0 && b.Database == batches[i-1].Database {
			continue
		}
		if err := s.cfg.Quotas.Ready(b.Database); err != nil {
			return s.Failed(p, StageQuota, err)
		}
	}
	return s.awaitRoom(ctx, p, true, batches)
}

// awaitRoom returns an error if the shards of a batch's table are busy. If wait is true, it waits up to pressedWait
// first.
func (s *Service) awaitRoom(ctx context.Context, p Protocol, wait bool, batches []*Batch) error {
	var after time.Duration
	var busy *Batch
	look := func() bool {
		after, busy = s.pressed(batches)
		return busy != nil
	}
	if look() && wait {
		if err := s.waitWhile(ctx, look); err != nil && !errors.Is(err, errManyWait) {
			return s.Failed(p, StageBusy, err)
		}
	}
	if busy == nil {
		return nil
	}
	return s.Failed(p, StageBusy, errs.New(errs.ShardBusy,
		"the shards of table %s.%s are busy: try again later", busy.Database, cutText(busy.Table)).WithRetryAfter(after))
}

// pressed returns the first batch whose table has busy shards, and when to retry; nil means that no shard is busy.
func (s *Service) pressed(batches []*Batch) (after time.Duration, busy *Batch) {
	for _, b := range batches {
		if after, yes := s.cfg.Writer.Pressed(b.Database, b.Table); yes {
			return after, b
		}
	}
	return 0, nil
}

// need returns the privilege for storing rows in a table.
func need(database, table string) access.Need {
	n := access.Need{Privilege: access.Insert, Action: "ingest"}
	if table != "" {
		n.Object = access.Object{Kind: access.Table, Database: database, Name: table}
	}
	return n
}

// permitTable returns an error if the sender may not store rows in a table or, if it does not exist, may not create it.
func permitTable(caller *access.Caller, database, table string, exists bool) error {
	n := need(database, table)
	if err := caller.Require(n); err != nil || exists {
		return err
	}
	n.Privilege, n.Action = access.IngestCreate, "create table"
	return caller.Require(n)
}

// waiting counts the requests that wait for busy shards.
type waiting struct{ n atomic.Int64 }

// waitWhile waits while busy returns true, for at most pressedWait. It returns errManyWait at once if maxWaiting
// requests wait already, and the context's error.
func (s *Service) waitWhile(ctx context.Context, busy func() bool) error {
	if s.waiting.n.Add(1) > maxWaiting {
		s.waiting.n.Add(-1)
		return errManyWait
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

// Check checks the values of a batch in a fixed order, which decides the error if several are wrong. Store calls it
// too. A protocol calls it if its own checks must come afterwards.
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
		return DatabaseNotFound(database)
	}
	return nil
}

// DatabaseNotFound returns the error for a database that does not exist.
func DatabaseNotFound(name string) error {
	return errs.New(errs.DatabaseNotFound, "Failed to find database %s; create it with CREATE DATABASE", name)
}

// cutText shortens a client's text for a message.
func cutText(text string) string {
	if len(text) > 64 {
		text = strings.ToValidUTF8(text[:64], "") + "…"
	}
	return strconv.Quote(text)
}

// TakesRows returns nil if rows are stored, or the reason why none are stored because a disk is full.
func (s *Service) TakesRows() error { return s.cfg.Writable() }

// HasPipeline reports whether a pipeline with the name is stored.
func (s *Service) HasPipeline(ctx context.Context, name string) bool {
	_, _, err := s.cfg.Pipelines.Find(ctx, name, "", false)
	return err == nil
}
