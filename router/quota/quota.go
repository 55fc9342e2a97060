// Package quota compares what databases take in, store and ask with their quotas.
//
// A quota limits a database in the whole cluster. Each router admits a share of a rate. Every half second, and soon
// after a refusal, it reports what it admitted and refused, and the leader of the metadata group answers with the
// shares by demand. Without an answer, the limit is divided equally among the routers. So no request waits for another
// node.
//
// A rate is a bucket that fills with the share each second, up to the burst. A request that finds it positive is taken
// whole, even if the bucket becomes negative, so that a batch larger than a share can still be stored. DESIGN.md of
// package router has the reasons.
//
// A Keeper lives as long as the process. Run makes the reports. All methods may be called concurrently.
package quota

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/words"
)

// Catalog is the local view of the metadata.
type Catalog interface {
	Database(name string) (*schemapb.Database, bool)
	Databases() []*schemapb.Database
}

// Config has the parts of a Keeper.
type Config struct {
	// Catalog has the databases with their quotas. Required.
	Catalog Catalog
	// Share reports to the leader of the metadata group and returns the shares. Required.
	Share func(ctx context.Context, req *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error)
	// Routers returns the number of routers of the cluster. Required.
	Routers func() int
	// NodeID and Process identify this router in its reports.
	NodeID  string
	Process uint64
	// Registerer registers the metrics. By default they are not registered.
	Registerer prometheus.Registerer
}

// Keeper compares the use of databases with their quotas.
type Keeper struct {
	cfg     Config
	metrics *metrics
	slots   slots

	databases sync.Map    // name → *database, of databases with quotas, whose number the metadata group limits
	hurry     atomic.Bool // a request was refused since the last report
	// stored has the stored bytes of databases, by the last answer.
	stored atomic.Pointer[map[string]uint64]
	// cpu has the CPU time of the queries of databases in the last minute, by the last answer.
	cpu atomic.Pointer[cpuReport]
}

// New returns a Keeper. Catalog, Share and Routers must be set.
func New(cfg Config) (*Keeper, error) {
	if cfg.Catalog == nil || cfg.Share == nil || cfg.Routers == nil {
		return nil, errors.New("quota: Config.Catalog, Config.Share and Config.Routers must be set")
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	return &Keeper{cfg: cfg, metrics: m}, nil
}

// database is the use of one database with quotas.
type database struct {
	name string

	mu      sync.Mutex         // guards the rest
	def     *schemapb.Database // the definition whose quotas the buckets have
	buckets []*bucket          // of the rates that are limited
	dropped bool               // it was removed from the keeper
}

// find returns the database with its mutex held, or nil if it has no quota of a rate.
func (k *Keeper) find(name string, now time.Time) *database {
	def, ok := k.cfg.Catalog.Database(name)
	if !ok {
		return nil
	}
	return k.limited(name, def, now)
}

// limited is like find, for a database with the definition def.
func (k *Keeper) limited(name string, def *schemapb.Database, now time.Time) *database {
	if !limitsRates(def.GetOptions()) {
		return nil
	}
	for {
		found, ok := k.databases.Load(name)
		if !ok {
			found, _ = k.databases.LoadOrStore(name, &database{name: name})
		}
		d := found.(*database)
		d.mu.Lock()
		if d.dropped {
			d.mu.Unlock()
			continue
		}
		d.follow(def, k.cfg.Routers, now)
		return d
	}
}

// rates are the quotas of rates.
var rates = []string{schema.QuotaBytes, schema.QuotaRows}

// limitsRates reports whether a database has a quota of a rate.
func limitsRates(options map[string]string) bool {
	if len(options) == 0 {
		return false
	}
	for _, name := range rates {
		if _, ok := options[name]; ok {
			return true
		}
	}
	return false
}

// follow adapts the buckets to the quotas of the database. d.mu must be held.
func (d *database) follow(def *schemapb.Database, routers func() int, now time.Time) {
	if d.def == def {
		return
	}
	d.def = def
	burst := schema.BurstOf(def.Options).Seconds()
	old := d.buckets
	d.buckets = nil
	for _, name := range rates {
		limit, ok := schema.Quota(def.Options, name)
		if !ok {
			continue
		}
		b := &bucket{name: name}
		for _, had := range old {
			if had.name == name {
				b = had
			}
		}
		b.limit(float64(limit), burst, routers, now)
		d.buckets = append(d.buckets, b)
	}
}

// Ready returns an error if a request for the database would be refused: a rate is used up, or the database stores too
// much. The error has code RateLimited, and the figures.
func (k *Keeper) Ready(name string) error { return k.Take(name, 0, 0) }

// Take counts rows and bytes of a request. If a rate of the database is used up, or the database stores too much, it
// counts nothing and returns an error of code RateLimited.
func (k *Keeper) Take(name string, rows, bytes int64) error {
	def, ok := k.cfg.Catalog.Database(name)
	if !ok || len(def.GetOptions()) == 0 {
		return nil
	}
	if err := k.storable(name, def); err != nil {
		return err
	}
	now := time.Now()
	d := k.limited(name, def, now)
	if d == nil {
		return nil
	}
	defer d.mu.Unlock()
	for _, b := range d.buckets {
		if !b.positive(now) {
			b.refuse(of(b.name, rows, bytes))
			k.metrics.refused(name, b.name)
			k.hurry.Store(true)
			return d.used(b, now)
		}
	}
	for _, b := range d.buckets {
		b.take(float64(of(b.name, rows, bytes)))
	}
	return nil
}

// Owe counts rows and bytes of a request, a part of which Take has admitted.
func (k *Keeper) Owe(name string, rows, bytes int64) {
	now := time.Now()
	d := k.find(name, now)
	if d == nil {
		return
	}
	defer d.mu.Unlock()
	for _, b := range d.buckets {
		b.positive(now)
		b.take(float64(of(b.name, rows, bytes)))
	}
}

// GiveBack no longer counts rows and bytes that were not stored.
func (k *Keeper) GiveBack(name string, rows, bytes int64) { k.Owe(name, -rows, -bytes) }

// of returns what counts for a quota.
func of(quota string, rows, bytes int64) int64 {
	if quota == schema.QuotaBytes {
		return bytes
	}
	return rows
}

// used returns the error for a bucket that is used up.
func (d *database) used(b *bucket, now time.Time) error {
	wait := b.wait(now)
	limit, value := uint64(b.quota), uint64(b.offered(now))
	q := errs.Quota{Database: d.name, Name: b.name, Limit: limit, Value: value, Unit: schema.QuotaUnit(b.name)}
	return errs.OverQuota(q, wait, "database %s is sent %s/s, and its quota is %s/s (%s); send again in %.0f s", d.name,
		amount(b.name, value), amount(b.name, limit), b.name, wait.Seconds())
}

// amount returns a number of rows or bytes as a text.
func amount(quota string, n uint64) string {
	if quota == schema.QuotaRows {
		return words.Say(int(min(n, 1<<62)), "row", "rows") //nolint:gosec // it is not larger
	}
	return size(n)
}

// storable returns an error if the database stores as much as its quota, or more.
func (k *Keeper) storable(name string, def *schemapb.Database) error {
	limit, ok := schema.Quota(def.Options, schema.QuotaStored)
	if !ok {
		return nil
	}
	stored := k.Stored(name)
	if stored < limit {
		return nil
	}
	k.metrics.refused(name, schema.QuotaStored)
	q := errs.Quota{
		Database: name, Name: schema.QuotaStored, Limit: limit, Value: stored, Unit: schema.QuotaUnit(schema.QuotaStored),
	}
	return errs.OverQuota(q, schema.QuotaWait, "database %s stores %s, and its quota is %s (%s); delete rows, shorten "+
		"the ttl, drop tables, or ask an operator for a higher quota", name, size(stored), size(limit), schema.QuotaStored)
}

// Value returns the present value of a quota in the cluster, by the last reports. ok is false if it is not known here.
func (k *Keeper) Value(name, quota string) (value uint64, ok bool) {
	if quota == schema.QuotaStored {
		return k.Stored(name), k.stored.Load() != nil
	}
	switch quota {
	case schema.QuotaQueries, schema.QuotaTails:
		return k.slots.running(slotKey{name, quota})
	case schema.QuotaCPU:
		return uint64(k.usedCPU(name).Round(time.Second) / time.Second), k.cpu.Load() != nil //nolint:gosec // not negative
	}
	now := time.Now()
	d := k.find(name, now)
	if d == nil {
		return 0, false
	}
	defer d.mu.Unlock()
	for _, b := range d.buckets {
		if b.name == quota {
			return uint64(b.offered(now)), true
		}
	}
	return 0, false
}

// Stored returns the bytes that a database stores, by the last reports; 0 if it has no quota of them.
func (k *Keeper) Stored(name string) uint64 {
	if all := k.stored.Load(); all != nil {
		return (*all)[name]
	}
	return 0
}
