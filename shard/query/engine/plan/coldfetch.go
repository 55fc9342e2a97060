package plan

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// Cold makes parts of cold segments available to the plans of a statement. After an error it fetches nothing more.
type Cold struct {
	ctx     context.Context
	fetcher query.Fetcher

	mu  sync.Mutex // guards the fields below
	got map[string]*coldParts
	err error
	// later are the parts that an EXPLAIN does not fetch, because the statement is not run.
	later []query.Want
	// lenient means that the statement is not run, and that the answer can say what could not be read. Then an error of
	// object storage does not end it. unread are the paths of segments that the plan lacks for this reason.
	lenient bool
	unread  map[string]bool
}

// spares reports whether the statement goes on without what could not be fetched. c.mu must be held.
func (c *Cold) spares() bool {
	return c.lenient && errs.CodeOf(c.err) == errs.ObjectStorageUnavailable
}

// coldParts are the units of a segment that are there.
type coldParts struct{ units []bool }

func newCold(ctx context.Context, st *sql.Statement) *Cold {
	return &Cold{
		ctx: ctx, fetcher: query.FetcherOf(ctx), got: map[string]*coldParts{},
		lenient: st.ExplainsInText() && !query.Analyzes(st.Explain), unread: map[string]bool{},
	}
}

// Err returns the error of the first fetch that failed.
func (c *Cold) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fetch makes parts available that are not there yet. It reports whether all of them are.
func (c *Cold) fetch(wants []query.Want) bool {
	var missing []query.Want
	c.mu.Lock()
	for _, w := range wants {
		have := c.got[w.Path]
		if have != nil {
			w.Units = slices.DeleteFunc(slices.Clone(w.Units), func(u int) bool { return u < len(have.units) && have.units[u] })
		}
		if have == nil || len(w.Units) > 0 {
			missing = append(missing, w)
		}
	}
	err, spares := c.err, c.spares()
	c.mu.Unlock()
	switch {
	case spares:
		return len(missing) == 0 || c.have(missing)
	case err != nil || len(missing) == 0:
		return err == nil
	}
	if c.fetcher == nil {
		err = errs.New(errs.Internal, "query: segment %s is in object storage, from which this query cannot read",
			missing[0].Path)
	} else {
		err = c.fetcher.Fetch(c.ctx, missing)
	}
	c.mu.Lock()
	if err != nil {
		c.err = cmp.Or(c.err, err)
		spares = c.spares()
		c.mu.Unlock()
		return spares && c.have(missing)
	}
	defer c.mu.Unlock()
	c.note(missing)
	return true
}

// have makes those of the missing parts available that need no object storage. It reports whether these are all.
func (c *Cold) have(missing []query.Want) (all bool) {
	have, err := c.fetcher.Have(c.ctx, missing)
	if err != nil {
		return false
	}
	got := make([]query.Want, 0, len(missing))
	for i, ok := range have {
		if ok {
			got = append(got, missing[i])
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(got)
	return len(got) == len(missing)
}

// note records that parts are available. c.mu must be held.
func (c *Cold) note(parts []query.Want) {
	for _, w := range parts {
		have := c.got[w.Path]
		if have == nil {
			have = &coldParts{}
			c.got[w.Path] = have
		}
		for _, u := range w.Units {
			if u >= len(have.units) {
				have.units = append(have.units, make([]bool, u+1-len(have.units))...)
			}
			have.units[u] = true
		}
	}
}

// leaveOut notes that the plan lacks a segment, because it could not be read. It returns false if the statement has to
// fail.
func (c *Cold) leaveOut(s *query.Segment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spares() {
		c.unread[s.Path] = true
		return true
	}
	return false
}
