package write

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/tracing"
)

const (
	// gatherFor is how long a demand waits for others, and the least time from one command
	// to the next: a router sends at most a hundred a second, whatever comes in.
	gatherFor = 10 * time.Millisecond
	// changeWait bounds one command.
	changeWait = 10 * time.Second
	// maxDemanded bounds the columns of one command.
	maxDemanded = 10_000
	// refusedFor is how long a refusal is remembered, unless the metadata changes before,
	// and maxRefused how many are.
	refusedFor = 30 * time.Second
	maxRefused = 1000
)

// schemas puts what requests ask of tables through the metadata log. Demands of requests
// that come at the same time, or while a command is under way, become one command: tables
// and columns that appear in all routers at once cost each of them a few commands, not one
// for every request.
type schemas struct {
	meta    Meta
	command func(ctx context.Context, demands []*metapb.TableDemand) ([]*schema.Table, error)
	wait    time.Duration // bounds the wait for the local view after a refusal

	mu      sync.Mutex // guards the rest
	busy    bool       // a goroutine sends commands
	waiting []*demand
	refused map[string]refusal // by the demand that was refused
}

// demand is what one request asks for.
type demand struct {
	tables []*metapb.TableDemand // not changed
	ctx    context.Context       // of the request, for its trace

	done   chan struct{} // closed when the rest is set
	result []*schema.Table
	err    error
}

// refusal is an answer that will be the same until the metadata changes.
type refusal struct {
	err     error
	until   time.Time
	changed <-chan struct{}
}

// ensure returns the tables as they are when all that is asked of them is there. After a
// refusal the local view has all that the metadata group knew when it refused.
func (s *schemas) ensure(ctx context.Context, tables []*metapb.TableDemand) ([]*schema.Table, error) {
	key := keyOf(tables)
	if err := s.refusedBefore(key); err != nil {
		return nil, err
	}
	changed := s.meta.Changed()
	d := &demand{tables: tables, ctx: ctx, done: make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, d)
	if !s.busy {
		s.busy = true
		go s.run()
	}
	s.mu.Unlock()
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "ensure the schema of %s.%s", tables[0].Database, tables[0].Name)
	}
	if final(d.err) || isConflict(d.err) {
		if err := s.catchUp(ctx, tables[0]); err != nil {
			return nil, err
		}
	}
	if final(d.err) {
		s.remember(key, refusal{err: d.err, until: time.Now().Add(refusedFor), changed: changed})
	}
	return d.result, d.err
}

// catchUp waits until the local view has what was acknowledged before.
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
	return errs.New(errs.TableUnavailable, "table %s.%s has changed and this node does not know how yet; retry: %s", t.Database, t.Name, err).
		WithRetryAfter(time.Second)
}

// run sends commands until nobody waits.
func (s *schemas) run() {
	for {
		<-time.After(gatherFor)
		s.mu.Lock()
		list := s.waiting
		s.waiting = nil
		if len(list) == 0 {
			s.busy = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		together, later := s.join(list)
		if len(later) > 0 {
			s.mu.Lock()
			s.waiting = append(later, s.waiting...)
			s.mu.Unlock()
		}
		s.send(together)
	}
}

// tableName names a table in a database.
type tableName struct{ database, name string }

func nameOf(d *metapb.TableDemand) tableName { return tableName{d.Database, d.Name} }

// join chooses the demands that go into the next command; those that contradict them, or
// would make it too large, come later.
func (s *schemas) join(list []*demand) (together, later []*demand) {
	columns := 0
	joined := map[tableName]*metapb.TableDemand{}
	for _, d := range list {
		size := 0
		fits := true
		for _, t := range d.tables {
			size += len(t.Columns)
			have := joined[nameOf(t)]
			fits = fits && (have == nil || agree(have, t))
		}
		if len(together) > 0 && (!fits || columns+size > maxDemanded) {
			later = append(later, d)
			continue
		}
		columns += size
		together = append(together, d)
		for _, t := range d.tables {
			merge(joined, t)
		}
	}
	return together, later
}

// agree tells whether two demands of a table can be one.
func agree(a, b *metapb.TableDemand) bool {
	if a.Internal != b.Internal || a.NoCreate != b.NoCreate || optionKey(a.Options) != optionKey(b.Options) {
		return false
	}
	have := make(map[string]*schemapb.Column, len(a.Columns))
	for _, c := range a.Columns {
		have[c.Name] = c
	}
	for _, c := range b.Columns {
		if o := have[c.Name]; o != nil && !proto.Equal(o, c) {
			return false
		}
		if c.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP && have[c.Name] == nil && len(a.Columns) > 0 {
			return false // two time indexes
		}
	}
	return true
}

// merge adds a demand to those joined.
func merge(joined map[tableName]*metapb.TableDemand, t *metapb.TableDemand) {
	have := joined[nameOf(t)]
	if have == nil {
		joined[nameOf(t)] = proto.Clone(t).(*metapb.TableDemand)
		return
	}
	names := make(map[string]bool, len(have.Columns))
	for _, c := range have.Columns {
		names[c.Name] = true
	}
	for _, c := range t.Columns {
		if !names[c.Name] {
			have.Columns = append(have.Columns, c)
		}
	}
}

// send answers demands by one command, or without one if another has brought what they
// ask for. If they are refused together each goes by itself, so that only the guilty fail.
func (s *schemas) send(list []*demand) {
	joined := map[tableName]*metapb.TableDemand{}
	var open []*demand
	var order []tableName
	for _, d := range list {
		if tables := s.there(d); tables != nil {
			d.answer(tables, nil)
			continue
		}
		open = append(open, d)
		for _, t := range d.tables {
			if joined[nameOf(t)] == nil {
				order = append(order, nameOf(t))
			}
			merge(joined, t)
		}
	}
	if len(open) == 0 {
		return
	}
	demands := make([]*metapb.TableDemand, len(order))
	for i, name := range order {
		demands[i] = joined[name]
	}
	ctx := context.Background()
	for _, d := range open {
		if tracing.Recording(d.ctx) { // the command belongs to the first trace
			ctx = tracing.Carry(ctx, d.ctx)
			break
		}
	}
	ctx, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	tables, err := s.command(ctx, demands)
	if err != nil && len(open) > 1 && (final(err) || isConflict(err)) {
		for _, d := range open {
			s.send([]*demand{d})
		}
		return
	}
	byName := make(map[tableName]*schema.Table, len(tables))
	for i, t := range tables {
		byName[order[i]] = t
	}
	for _, d := range open {
		var result []*schema.Table
		if err == nil {
			for _, t := range d.tables {
				result = append(result, byName[nameOf(t)])
			}
		}
		d.answer(result, err)
	}
}

func (d *demand) answer(tables []*schema.Table, err error) {
	d.result, d.err = tables, err
	close(d.done)
}

// there returns the tables of a demand if they have all that it asks for by now.
func (s *schemas) there(d *demand) []*schema.Table {
	out := make([]*schema.Table, len(d.tables))
	for i, want := range d.tables {
		t, ok := s.meta.Table(want.Database, want.Name)
		if !ok {
			return nil
		}
		for _, p := range want.Columns {
			c := schema.ColumnFromProto(p)
			have := t.Column(c.Name)
			if have == nil || have.Semantic != c.Semantic {
				return nil
			}
			if made, ok := have.For(c, schema.ConflictRuleOf(t.Options)); !ok || made != *have {
				return nil
			}
		}
		out[i] = t
	}
	return out
}

// final tells whether an answer stays the same until the metadata changes.
func final(err error) bool {
	return err != nil && !isConflict(err) && errs.From(err).Status() < 500 && errs.From(err).RetryAfter == 0
}

func isConflict(err error) bool {
	conflict := (*metaclient.ConflictError)(nil)
	return errors.As(err, &conflict)
}

// keyOf is the same for equal demands.
func keyOf(tables []*metapb.TableDemand) string {
	var b strings.Builder
	for _, t := range tables {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(t)
		if err != nil {
			return "" // it is remembered under no key
		}
		b.Write(data)
		b.WriteByte(0)
	}
	return b.String()
}

func (s *schemas) refusedBefore(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.refused[key]
	if !ok {
		return nil
	}
	select {
	case <-r.changed:
	default:
		if time.Now().Before(r.until) {
			return r.err
		}
	}
	delete(s.refused, key)
	return nil
}

func (s *schemas) remember(key string, r refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil || len(s.refused) >= maxRefused {
		s.refused = map[string]refusal{}
	}
	if key != "" && len(key) < 64<<10 {
		s.refused[key] = r
	}
}
