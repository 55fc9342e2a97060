package ingest

import (
	"context"
	"errors"
	"sync"

	"cordwood/proto/errs"
	"cordwood/router/write"
)

// unlimited is Quotas without limits.
type unlimited struct{}

func (unlimited) Ready(string) error              { return nil }
func (unlimited) Take(string, int64, int64) error { return nil }
func (unlimited) Owe(string, int64, int64)        {}
func (unlimited) GiveBack(string, int64, int64)   {}

// charges has what a request took from the quotas of databases. The first batch for a database decides for the others,
// so that a request is not stored in part because its first batch has used up a rate.
type charges struct {
	mu sync.Mutex // guards all below
	// first is the charge of the database firstName, once that is set. Most requests are for one database.
	first     charge
	firstName string
	others    map[string]*charge
}

// of returns the charge of a database.
func (c *charges) of(database string) *charge {
	if c.firstName == "" {
		c.firstName = database
	}
	if c.firstName == database {
		return &c.first
	}
	found := c.others[database]
	if found == nil {
		if c.others == nil {
			c.others = map[string]*charge{}
		}
		found = &charge{}
		c.others[database] = found
	}
	return found
}

// charge is the decision for one database; nil errors if it was admitted.
type charge struct {
	bytes, rows             error
	bytesTaken, rowsDecided bool
}

// decide asks quotas for the first batch of a database, and counts the amounts of the others.
func (s *Service) decide(q *Request, database string, rows, bytes int64, at func(*charge) (*error, *bool)) error {
	q.charges.mu.Lock()
	defer q.charges.mu.Unlock()
	err, decided := at(q.charges.of(database))
	switch {
	case !*decided:
		*decided, *err = true, s.cfg.Quotas.Take(database, rows, bytes)
	case *err == nil:
		s.cfg.Quotas.Owe(database, rows, bytes)
	}
	return *err
}

// takeBytes counts the bytes of a batch.
func (s *Service) takeBytes(q *Request, b *Batch) error {
	return s.decide(q, b.Database, 0, b.Bytes, func(c *charge) (*error, *bool) { return &c.bytes, &c.bytesTaken })
}

// takeRows counts the rows of a batch.
func (s *Service) takeRows(q *Request, b *Batch, rows int64) error {
	if rows == 0 {
		return nil
	}
	return s.decide(q, b.Database, rows, 0, func(c *charge) (*error, *bool) { return &c.rows, &c.rowsDecided })
}

// charged stores a batch if the quotas of its database admit its bytes. out is empty before.
func (s *Service) charged(ctx context.Context, q *Request, b *Batch, m Memory, out *Outcome) {
	if err := s.takeBytes(q, b); err != nil {
		out.Err = s.Failed(q.Protocol, StageQuota, err)
		return
	}
	s.store(ctx, q, b, m, out)
	if out.Err != nil && nothingStored(out.Err) {
		s.cfg.Quotas.GiveBack(b.Database, 0, b.Bytes)
	}
}

// nothingStored reports whether a batch that failed stored no rows.
func nothingStored(err error) bool {
	partial := (*write.PartialError)(nil)
	return errs.ReasonOf(err) != errs.OutcomeUnknown && !errors.As(err, &partial)
}
