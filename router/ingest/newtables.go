package ingest

import (
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
)

// newTables limits the number of tables that the requests of one user create in a minute. The names of tables may
// come from records, so without this limit anybody who can write into a log could use up all tables within seconds.
type newTables struct {
	limit int

	mu    sync.Mutex // guards users
	users map[string]*minute
}

// minute counts the tables that a user created in a minute, which ends at the time ends.
type minute struct {
	ends time.Time
	made int
}

// maxMinutes limits the number of users that are remembered. When there are more, users whose minute is over are
// forgotten.
const maxMinutes = 10_000

// tooManyTables returns the batches of a request for new tables beyond the limit.
func (s *Service) tooManyTables(batches []*Batch) map[int]bool {
	type name struct{ database, table string }
	made, excess := map[name]bool{}, map[int]bool{}
	for i, b := range batches {
		key := name{b.Database, b.Table}
		switch {
		case made[key] || !s.creates(b.Database, b.Table):
		case len(made) < s.cfg.MaxNewTables:
			made[key] = true
		default:
			excess[i] = true
		}
	}
	return excess
}

// creates reports whether rows for a table would create it.
func (s *Service) creates(database, table string) bool {
	_, ok := s.cfg.Catalog.Table(database, table)
	return !ok
}

// CheckNewTables returns an error if a request would create too many tables. It is for protocols that store a
// request as a whole. table returns the name of each of the n tables.
func (s *Service) CheckNewTables(n int, table func(i int) (database, table string)) (at int, err error) {
	made := 0
	for i := range n {
		database, name := table(i)
		if !s.creates(database, name) {
			continue
		}
		if made++; made > s.cfg.MaxNewTables {
			return i, errs.New(errs.InvalidArguments,
				"table %s.%s would be one more than %d new tables in one request (--max-new-tables-per-request): "+
					"send fewer new ones in a request", database, cutText(name), s.cfg.MaxNewTables)
		}
	}
	return -1, nil
}

// madeTables are the tables of a batch that were counted.
type madeTables struct {
	minute          *minute
	database, names []string // of the same length
}

// has reports whether a table is among them.
func (m *madeTables) has(database, name string) bool {
	for i := range m.names {
		if m.names[i] == name && m.database[i] == database {
			return true
		}
	}
	return false
}

// charge counts the tables that out is about to create. If they exceed the limit, none of them is counted.
func (n *newTables) charge(user string, out *pipeline.Output, now time.Time) (made madeTables, err error) {
	for _, t := range out.Tables {
		if t.Existing != nil || t.Internal || t.NoCreate || made.has(t.Database, t.Table) {
			continue
		}
		made.database, made.names = append(made.database, t.Database), append(made.names, t.Table)
	}
	names := made.names
	if len(names) == 0 {
		return made, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.users[user]
	if m == nil || !now.Before(m.ends) {
		if len(n.users) >= maxMinutes {
			for u, old := range n.users {
				if !now.Before(old.ends) {
					delete(n.users, u)
				}
			}
		}
		m = &minute{ends: now.Add(time.Minute)}
		if n.users == nil {
			n.users = map[string]*minute{}
		}
		n.users[user] = m
	}
	if m.made+len(names) > n.limit {
		return madeTables{}, errs.New(errs.RateLimited,
			"the request would create %d new tables, and user %s created %d within the minute, of %d that a user may create by "+
				"ingestion (--max-new-tables-per-minute): send to existing tables, or try again later",
			len(names), user, m.made, n.limit).WithRetryAfter(max(m.ends.Sub(now).Round(time.Second), time.Second))
	}
	m.made += len(names)
	made.minute = m
	return made, nil
}

// giveBack no longer counts those tables of a failed batch that do not exist.
func (s *Service) giveBack(made madeTables) {
	if made.minute == nil {
		return
	}
	missing := 0
	for i, name := range made.names {
		if s.creates(made.database[i], name) {
			missing++
		}
	}
	s.newTables.mu.Lock()
	defer s.newTables.mu.Unlock()
	made.minute.made -= missing
}
