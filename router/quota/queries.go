package quota

import (
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// Running is a source of the numbers of queries of this router, by database.
type Running interface {
	Running(each func(database string, running, waiting int))
}

// slots has the shares of the quotas of queries.
type slots struct {
	mu      sync.Mutex // guards the rest
	queries Running    // nil until it is set
	of      map[string]slot
}

// slot is the share of a quota of queries of one database, by the last answer.
type slot struct {
	limit   uint64 // of the cluster
	share   int
	running uint64 // in the cluster
	until   time.Time
}

// CountQueries sets the source of the numbers of queries, which the reports have.
func (k *Keeper) CountQueries(r Running) {
	k.slots.mu.Lock()
	defer k.slots.mu.Unlock()
	k.slots.queries = r
}

// QueryLimit returns the number of queries of a database that may run on this router at a time. ok is false if there is
// no limit. Without an answer of the metadata group, it is an equal part of the limit of the cluster, at least one.
func (k *Keeper) QueryLimit(database string) (n int, ok bool) {
	def, ok := k.cfg.Catalog.Database(database)
	if !ok || len(def.GetOptions()) == 0 {
		return 0, false
	}
	limit, ok := schema.Quota(def.Options, schema.QuotaQueries)
	if !ok {
		return 0, false
	}
	k.slots.mu.Lock()
	s := k.slots.of[database]
	k.slots.mu.Unlock()
	if s.limit == limit && time.Now().Before(s.until) {
		return s.share, true
	}
	return int(min(max(limit/uint64(max(k.cfg.Routers(), 1)), 1), limit)), true //nolint:gosec // at most maxQuota
}

// OverQueries returns the error for a query beyond the quota of its database.
func (k *Keeper) OverQueries(database string) error {
	def, _ := k.cfg.Catalog.Database(database)
	limit, _ := schema.Quota(def.GetOptions(), schema.QuotaQueries)
	running, _ := k.Value(database, schema.QuotaQueries)
	k.metrics.refused(database, schema.QuotaQueries)
	q := errs.Quota{
		Database: database, Name: schema.QuotaQueries, Limit: limit, Value: running,
		Unit: schema.QuotaUnit(schema.QuotaQueries),
	}
	return errs.OverQuota(q, minWait, "database %s runs %s, and its quota is %d (%s); try again later, or ask an "+
		"operator for a higher quota", database, words.Count(running, "query"), limit, schema.QuotaQueries)
}

// uses returns the numbers of queries of databases with a quota of them. Databases without queries are reported too, so
// that the slots of a quota never add up to more than its limit.
func (s *slots) uses(databases Catalog) (out []*metapb.QuotaUse) {
	s.mu.Lock()
	queries := s.queries
	s.mu.Unlock()
	counts := map[string][2]int{}
	if queries != nil {
		queries.Running(func(database string, running, waiting int) { counts[database] = [2]int{running, waiting} })
	}
	for _, d := range databases.Databases() {
		if _, ok := schema.Quota(d.GetOptions(), schema.QuotaQueries); ok {
			n := counts[d.GetName()]
			out = append(out, &metapb.QuotaUse{
				Database: d.GetName(), Name: schema.QuotaQueries, Admitted: float64(n[0]), Refused: float64(n[1]),
			})
		}
	}
	return out
}

// apply sets the shares of an answer.
func (s *slots) apply(resp *metapb.ShareQuotasResponse, until time.Time) {
	of := map[string]slot{}
	for _, sh := range resp.Shares {
		if sh.GetName() == schema.QuotaQueries {
			of[sh.Database] = slot{uint64(sh.Limit), int(sh.Share), uint64(sh.Value), until}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = of
}

// running returns the number of queries of a database in the cluster.
func (s *slots) running(database string) (n uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.of[database]
	return found.running, ok
}
