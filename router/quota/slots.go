package quota

import (
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// Running is a source of the numbers of queries or tails of this router, by database.
type Running interface {
	Running(each func(database string, running, waiting int))
}

// slotQuotas are the quotas of what runs at a time, with the name of one such thing.
var slotQuotas = map[string]struct{ one, runs string }{
	schema.QuotaQueries: {"query", "runs"}, schema.QuotaTails: {"tail", "has"},
}

// slotKey identifies a quota of what runs at a time.
type slotKey struct{ database, quota string }

// slots has the shares of the quotas of queries and tails.
type slots struct {
	mu      sync.Mutex         // guards the rest
	sources map[string]Running // by quota
	of      map[slotKey]slot
}

// slot is the share of a quota of one database, by the last answer.
type slot struct {
	limit   uint64 // of the cluster
	share   int
	running uint64 // in the cluster
	until   time.Time
}

// CountQueries sets the source of the numbers of queries, which the reports have.
func (k *Keeper) CountQueries(r Running) { k.slots.count(schema.QuotaQueries, r) }

// CountTails sets the source of the numbers of tails, which the reports have.
func (k *Keeper) CountTails(r Running) { k.slots.count(schema.QuotaTails, r) }

func (s *slots) count(quota string, r Running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sources == nil {
		s.sources = map[string]Running{}
	}
	s.sources[quota] = r
}

// QueryLimit returns the number of queries of a database that may run on this router at a time. ok is false if there is
// no limit. Without an answer of the metadata group, it is an equal part of the limit of the cluster, at least one.
func (k *Keeper) QueryLimit(database string) (n int, ok bool) {
	return k.slotLimit(slotKey{database, schema.QuotaQueries})
}

// TailLimit returns the number of tails of a database that may be open on this router at a time, like QueryLimit.
func (k *Keeper) TailLimit(database string) (n int, ok bool) {
	return k.slotLimit(slotKey{database, schema.QuotaTails})
}

func (k *Keeper) slotLimit(key slotKey) (n int, ok bool) {
	def, ok := k.cfg.Catalog.Database(key.database)
	if !ok || len(def.GetOptions()) == 0 {
		return 0, false
	}
	limit, ok := schema.Quota(def.Options, key.quota)
	if !ok {
		return 0, false
	}
	k.slots.mu.Lock()
	s := k.slots.of[key]
	k.slots.mu.Unlock()
	if s.limit == limit && time.Now().Before(s.until) {
		return s.share, true
	}
	return int(min(max(limit/uint64(max(k.cfg.Routers(), 1)), 1), limit)), true //nolint:gosec // at most maxQuota
}

// OverQueries returns the error for a query beyond the quota of its database.
func (k *Keeper) OverQueries(database string) error {
	return k.overSlots(slotKey{database, schema.QuotaQueries})
}

// OverTails returns the error for a tail beyond the quota of its database.
func (k *Keeper) OverTails(database string) error {
	return k.overSlots(slotKey{database, schema.QuotaTails})
}

func (k *Keeper) overSlots(key slotKey) error {
	def, _ := k.cfg.Catalog.Database(key.database)
	limit, _ := schema.Quota(def.GetOptions(), key.quota)
	running, _ := k.Value(key.database, key.quota)
	k.metrics.refused(key.database, key.quota)
	q := errs.Quota{
		Database: key.database, Name: key.quota, Limit: limit, Value: running, Unit: schema.QuotaUnit(key.quota),
	}
	what := slotQuotas[key.quota]
	return errs.OverQuota(q, minWait, "database %s %s %s, and its quota is %d (%s); try again later, or ask an operator "+
		"for a higher quota", key.database, what.runs, words.Count(running, what.one), limit, key.quota)
}

// uses returns the numbers of what databases with a quota of it run. Databases that run nothing are reported too, so
// that the slots of a quota never add up to more than its limit.
func (s *slots) uses(databases Catalog) (out []*metapb.QuotaUse) {
	counts := map[slotKey][2]int{}
	for quota := range slotQuotas {
		s.mu.Lock()
		source := s.sources[quota]
		s.mu.Unlock()
		if source != nil {
			source.Running(func(database string, running, waiting int) {
				counts[slotKey{database, quota}] = [2]int{running, waiting}
			})
		}
	}
	for _, d := range databases.Databases() {
		for quota := range slotQuotas {
			if _, ok := schema.Quota(d.GetOptions(), quota); !ok {
				continue
			}
			n := counts[slotKey{d.GetName(), quota}]
			out = append(out, &metapb.QuotaUse{
				Database: d.GetName(), Name: quota, Admitted: float64(n[0]), Refused: float64(n[1]),
			})
		}
	}
	return out
}

// apply sets the shares of an answer.
func (s *slots) apply(resp *metapb.ShareQuotasResponse, until time.Time) {
	of := map[slotKey]slot{}
	for _, sh := range resp.Shares {
		if _, ok := slotQuotas[sh.GetName()]; ok {
			of[slotKey{sh.Database, sh.Name}] = slot{uint64(sh.Limit), int(sh.Share), uint64(sh.Value), until}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of = of
}

// running returns how much of a quota a database uses in the cluster.
func (s *slots) running(key slotKey) (n uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.of[key]
	return found.running, ok
}
