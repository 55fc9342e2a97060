package ingest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

const (
	// freshEvery is the time between two refreshes of the view, and freshWait the longest duration of one.
	freshEvery = 50 * time.Millisecond
	freshWait  = time.Second
	// knownAge is how old a refresh may be for tables that the view has. Without it, every request of a client that keeps
	// sending refused records with skip_error would wait.
	knownAge = 250 * time.Millisecond
)

// freshView refreshes the local view of the metadata before a request is refused because of it, because another
// router may just have changed the metadata. Requests share refreshes: one runs at a time, and one starts every
// freshEvery. So faulty requests cannot overload the metadata group.
type freshView struct {
	ask func(ctx context.Context) error // nil if the view is never refreshed

	mu   sync.Mutex // guards the next two
	next *refresh   // waits for its turn; requests may join it
	held time.Time  // the view has everything that was acknowledged by then

	turn chan struct{}
	last time.Time // when the last refresh began; guarded by turn
}

// refresh is one refresh of the view.
type refresh struct {
	done chan struct{}
	err  error
}

func newFreshView(ask func(ctx context.Context) error) *freshView {
	return &freshView{ask: ask, turn: make(chan struct{}, 1)}
}

// wait waits until the view has everything that was acknowledged before the call.
func (f *freshView) wait(ctx context.Context) error {
	if f.ask == nil {
		return nil
	}
	f.mu.Lock()
	r := f.next
	if r == nil {
		r = &refresh{done: make(chan struct{})}
		f.next = r
		go f.run(r)
	}
	f.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "read the metadata")
	}
}

// run waits for the refresh's turn and runs it. Requests that arrive after its start join the next refresh.
func (f *freshView) run(r *refresh) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	if pause := time.Until(f.last.Add(freshEvery)); pause > 0 {
		time.Sleep(pause)
	}
	f.last = time.Now()
	f.mu.Lock()
	f.next = nil
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), freshWait)
	defer cancel()
	if r.err = f.ask(ctx); r.err == nil {
		f.mu.Lock()
		f.held = f.last
		f.mu.Unlock()
	}
	close(r.done)
}

// waitFor is like wait, but does nothing if the view was refreshed within the last age.
func (f *freshView) waitFor(ctx context.Context, age time.Duration) error {
	f.mu.Lock()
	young := time.Since(f.held) < age
	f.mu.Unlock()
	if young {
		return nil
	}
	return f.wait(ctx)
}

// seenTables is the catalog of one run of a pipeline. It remembers the tables that the run saw.
type seenTables struct {
	Catalog
	list  []seenTable
	first [1]seenTable // memory of list for most runs
}

type seenTable struct {
	database, name string
	table          *schema.Table // nil if the table did not exist
}

// Table implements pipeline.Catalog.
func (s *seenTables) Table(database, name string) (*schema.Table, bool) {
	t, ok := s.Catalog.Table(database, name)
	if !ok {
		t = nil
	}
	if s.list == nil {
		s.list = s.first[:0]
	}
	s.list = append(s.list, seenTable{database, name, t})
	return t, ok
}

// errNewerView requests another run of a pipeline, because its tables have changed.
var errNewerView = errors.New("ingest: the view of a table is newer")

// outdated checks, once for a batch, whether the run refused records because of old types of tables, or because
// another router has just created a table. If so, it returns errNewerView. If a table that this router does not know
// may exist, it returns an error for the client.
func (j *job) outdated(ctx context.Context, out *pipeline.Output, err error) error {
	refused := pipeline.KindOf(err) == pipeline.SkipType
	if out != nil {
		refused = out.SkippedBy[pipeline.SkipType] > 0
	}
	if !refused || j.b.refreshed {
		return nil
	}
	j.b.refreshed = true
	j.place.Leave() // it waits for the metadata, not for a processor
	age := knownAge
	if slices.ContainsFunc(j.seen.list, func(seen seenTable) bool { return seen.table == nil }) {
		age = 0
	}
	behind := j.s.fresh.waitFor(ctx, age)
	for _, seen := range j.seen.list {
		switch now, _ := j.s.cfg.Catalog.Table(seen.database, seen.name); {
		case now != seen.table:
			return errNewerView
		case behind != nil && now == nil:
			return errs.New(errs.TableUnavailable, "table %s.%s may have been created a moment ago, and this node cannot read "+
				"the metadata; retry: %s", seen.database, cutText(seen.name), behind).WithRetryAfter(time.Second)
		}
	}
	return nil
}

// checkDatabase is like Writable, but also finds a database that another router has just created.
func (s *Service) checkDatabase(ctx context.Context, name string) error {
	err := Writable(s.cfg.Catalog, name)
	if errs.CodeOf(err) != errs.DatabaseNotFound || s.fresh.wait(ctx) != nil {
		return err
	}
	return Writable(s.cfg.Catalog, name)
}
