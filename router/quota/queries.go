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

// cpuReport is the CPU time of the queries of databases in the last minute, as an answer had it.
type cpuReport struct {
	of map[string]time.Duration
	at time.Time
}

// cpuPeriod is the time over which CPU time is summed up. What an older report counted is over.
const cpuPeriod = time.Minute

// usedCPU returns the CPU time of the queries of a database in the last minute, by the last reports; 0 if it has no
// quota of it.
func (k *Keeper) usedCPU(name string) time.Duration {
	if last := k.cpu.Load(); last != nil && time.Since(last.at) < cpuPeriod {
		return last.of[name]
	}
	return 0
}

// QueryReady returns an error if the queries of a database have used up its CPU time.
func (k *Keeper) QueryReady(database string) error {
	def, ok := k.cfg.Catalog.Database(database)
	if !ok || len(def.GetOptions()) == 0 {
		return nil
	}
	limit, ok := schema.Quota(def.Options, schema.QuotaCPU)
	if !ok {
		return nil
	}
	used := k.usedCPU(database)
	if used < time.Duration(min(limit, maxCPU))*time.Second && limit > 0 { //nolint:gosec // at most maxCPU
		return nil
	}
	k.metrics.refused(database, schema.QuotaCPU)
	seconds := used.Seconds()
	q := errs.Quota{
		Database: database, Name: schema.QuotaCPU, Limit: limit, Value: uint64(seconds),
		Unit: schema.QuotaUnit(schema.QuotaCPU),
	}
	return errs.OverQuota(q, cpuWait(seconds, float64(limit)), "the queries of database %s used %.1f s of CPU time in "+
		"the last minute, and its quota is %d s (%s); try again later, or ask an operator for a higher quota", database,
		seconds, limit, schema.QuotaCPU)
}

// maxCPU is a CPU time that no cluster uses in a minute, in seconds.
const maxCPU = 1 << 32

// cpuWait returns when a query may be tried again: if the time was used evenly over the last minute, as long as it
// takes until what was used beyond the quota is older than a minute.
func cpuWait(used, limit float64) time.Duration {
	if used <= 0 {
		return maxWait
	}
	wait := time.Duration((used - limit) / used * float64(time.Minute))
	return min(max(wait.Round(time.Second), minWait), maxWait)
}

// QueryTime returns the time limit of the queries of a database. ok is false if it has none.
func (k *Keeper) QueryTime(database string) (limit time.Duration, ok bool) {
	def, _ := k.cfg.Catalog.Database(database)
	return schema.QuotaTime(def.GetOptions())
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
