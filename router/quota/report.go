package quota

import (
	"context"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

const (
	// reportEvery is the time between two reports. After a refusal it is soonEvery, because the share of this router may
	// be too small. reportLimit is the longest duration of a report.
	reportEvery = 500 * time.Millisecond
	soonEvery   = 100 * time.Millisecond
	reportLimit = 2 * time.Second
)

// Run reports to the leader of the metadata group until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(soonEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if k.hurry.Swap(false) || now.Sub(last) >= reportEvery {
				last = now
				k.exchange(ctx)
			}
		}
	}
}

// exchange makes one report and applies the answer. Without an answer, shares end after their time.
func (k *Keeper) exchange(ctx context.Context) {
	req := &metapb.ShareQuotasRequest{NodeId: k.cfg.NodeID, Process: k.cfg.Process, Uses: k.uses(time.Now())}
	req.Uses = append(req.Uses, k.slots.uses(k.cfg.Catalog)...)
	if len(req.Uses) == 0 && !k.needsValues() {
		return
	}
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, reportLimit)
	defer cancel()
	resp, err := k.cfg.Share(ctx, req)
	if err != nil {
		k.metrics.unanswered.Inc()
		return
	}
	k.apply(resp, sent)
}

// needsValues reports whether a database has a quota of something that only nodes with shards measure.
func (k *Keeper) needsValues() bool {
	for _, d := range k.cfg.Catalog.Databases() {
		for _, quota := range [...]string{schema.QuotaStored, schema.QuotaCPU} {
			if _, ok := schema.Quota(d.GetOptions(), quota); ok {
				return true
			}
		}
	}
	return false
}

// uses returns what all databases with quotas used since the last report. Idle databases are reported too, so that the
// shares of a quota never add up to more than its limit. Databases that no longer have quotas are forgotten.
func (k *Keeper) uses(now time.Time) (out []*metapb.QuotaUse) {
	for _, def := range k.cfg.Catalog.Databases() {
		if d := k.find(def.GetName(), now); d != nil {
			d.mu.Unlock()
		}
	}
	k.databases.Range(func(key, value any) bool {
		name, d := key.(string), value.(*database)
		d.mu.Lock()
		defer d.mu.Unlock()
		def, ok := k.cfg.Catalog.Database(name)
		if !ok || !limitsRates(def.GetOptions()) {
			d.dropped = true
			k.databases.Delete(name)
			return true
		}
		d.follow(def, k.cfg.Routers, now)
		for _, b := range d.buckets {
			admitted, refused := b.report(now)
			out = append(out, &metapb.QuotaUse{Database: name, Name: b.name, Admitted: admitted, Refused: refused})
		}
		return true
	})
	return out
}

// apply sets the shares of an answer. The time of the shares begins when the request was sent.
func (k *Keeper) apply(resp *metapb.ShareQuotasResponse, sent time.Time) {
	stored := make(map[string]uint64, len(resp.Stored))
	for _, s := range resp.Stored {
		stored[s.Database] = s.Bytes
	}
	k.stored.Store(&stored)
	cpu := make(map[string]time.Duration, len(resp.QueryCpu))
	for _, s := range resp.QueryCpu {
		cpu[s.Database] = time.Duration(s.Nanos)
	}
	k.cpu.Store(&cpuReport{cpu, sent})
	now, until := time.Now(), sent.Add(time.Duration(resp.ValidNanos))
	k.slots.apply(resp, until)
	for _, s := range resp.Shares {
		found, ok := k.databases.Load(s.Database)
		if !ok {
			continue
		}
		d := found.(*database)
		d.mu.Lock()
		for _, b := range d.buckets {
			if b.name == s.Name && s.Limit == b.quota {
				b.lease(s.Share, until, now)
				b.cluster = s.Value
			}
		}
		d.mu.Unlock()
	}
}
