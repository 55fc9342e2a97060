package quota

import (
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

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
