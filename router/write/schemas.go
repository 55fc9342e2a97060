package write

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

const (
	// changeWait limits the time of one command.
	changeWait = 10 * time.Second
	// refusedFor is how long a refusal is remembered if the metadata does not change. maxRefused limits the number of
	// refusals.
	refusedFor = 30 * time.Second
	maxRefused = 1000
)

// schemas sends the table changes that requests need through the metadata log. If several requests need the same
// changes while a command is in progress, they share it. So a table that appears in a thousand requests at once
// costs a router one call. The metadata leader combines different demands of all routers (meta/ensure_queue.go).
type schemas struct {
	meta    Meta
	command func(ctx context.Context, demands []*metapb.TableDemand) ([]*schema.Table, error)
	wait    time.Duration // limits the wait for the local view after a refusal
	flight  singleflight.Group

	mu      sync.Mutex         // guards refused
	refused map[string]refusal // by the refused demand
	full    map[string]refusal // by the database whose quota does not allow another table
}

// refusal is an answer that does not change until the metadata changes.
type refusal struct {
	err     *errs.Error
	until   time.Time
	changed <-chan struct{}
}

// ensure returns the tables when they meet the demands. After a refusal, the local view is as new as the state of the
// metadata group at the refusal.
func (s *schemas) ensure(ctx context.Context, tables []*metapb.TableDemand) ([]*schema.Table, error) {
	key, err := keyOf(tables)
	if err != nil {
		return nil, err
	}
	if err := s.refusedBefore(key); err != nil {
		return nil, err
	}
	if err := s.fullBefore(tables); err != nil {
		return nil, err
	}
	changed := s.meta.Changed()
	done := s.flight.DoChan(key, func() (any, error) {
		// The command is shared, so it must not end with the request that started it.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), changeWait)
		defer cancel()
		return s.command(shared, tables)
	})
	var result singleflight.Result
	select {
	case result = <-done:
	case <-ctx.Done():
		return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "ensure the schema of %s.%s", tables[0].Database,
			tables[0].Name)
	}
	if final(result.Err) || isConflict(result.Err) {
		if err := s.catchUp(ctx, tables[0]); err != nil {
			return nil, err
		}
	}
	if final(result.Err) {
		s.remember(key, refusal{err: errs.From(result.Err), until: time.Now().Add(refusedFor), changed: changed})
	}
	if result.Err != nil {
		return nil, result.Err
	}
	return result.Val.([]*schema.Table), nil
}

// catchUp waits until the local view has everything that was acknowledged before the call.
func (s *schemas) catchUp(ctx context.Context, t *metapb.TableDemand) error {
	wait, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	err := s.meta.Fresh(wait)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "wait for the schema of %s.%s", t.Database, t.Name)
	}
	return errs.New(errs.TableUnavailable, "table %s.%s has changed and this node has an older definition; retry: %s",
		t.Database, t.Name, err).
		WithRetryAfter(time.Second)
}

// final reports whether an answer does not change until the metadata changes.
func final(err error) bool {
	if err == nil || isConflict(err) {
		return false
	}
	e := errs.From(err)
	if e.Code == errs.RateLimited {
		return true // a quota, which is part of the metadata
	}
	return e.Status() < 500 && e.RetryAfter == 0
}

func isConflict(err error) bool {
	conflict := (*metaclient.ConflictError)(nil)
	return errors.As(err, &conflict)
}

// keyOf returns equal keys for equal demands.
func keyOf(tables []*metapb.TableDemand) (string, error) {
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(&metapb.EnsureSchema{Tables: tables})
	if err != nil {
		return "", errs.Wrap(errs.InvalidArguments, err, "ensure the schema of %s.%s", tables[0].Database, tables[0].Name)
	}
	return string(key), nil
}

func (s *schemas) refusedBefore(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := valid(s.refused, key); ok {
		return r.err
	}
	return nil
}

// fullBefore returns an error if a demand needs a new table in a database whose quota did not allow another one. So
// clients that invent names of tables cost the metadata group one command until the metadata change.
func (s *schemas) fullBefore(tables []*metapb.TableDemand) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.full) == 0 {
		return nil
	}
	for _, t := range tables {
		if err := s.fullFor(t.Database, t.Name); err != nil {
			return err
		}
	}
	return nil
}

// fullFor returns an error if the quota of a database did not allow another table, and this one does not exist. s.mu
// must be held.
func (s *schemas) fullFor(database, table string) error {
	r, full := valid(s.full, database)
	if _, exists := s.meta.Table(database, table); full && !exists {
		return schema.TooManyTables(database, table, r.err.Quota.Limit, r.err.Quota.Value)
	}
	return nil
}

// valid returns a refusal if it is still valid, and otherwise removes it. The mutex of the map must be held.
func valid(refused map[string]refusal, key string) (refusal, bool) {
	r, ok := refused[key]
	if !ok {
		return r, false
	}
	select {
	case <-r.changed:
	default:
		if time.Now().Before(r.until) {
			return r, true
		}
	}
	delete(refused, key)
	return r, false
}

func (s *schemas) remember(key string, r refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := r.err.Quota; q != nil && q.Name == schema.QuotaTables {
		if s.full == nil || len(s.full) >= maxRefused {
			s.full = map[string]refusal{}
		}
		s.full[q.Database] = r
		return
	}
	if s.refused == nil || len(s.refused) >= maxRefused {
		s.refused = map[string]refusal{}
	}
	if len(key) < 64<<10 {
		s.refused[key] = r
	}
}
