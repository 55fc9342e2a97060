package node

import (
	"maps"
	"slices"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/node/config"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/quota"
	"cordwood/shard"
)

// openQuotas starts to compare what clients do with the quotas of databases.
func (n *node) openQuotas() (*quota.Keeper, error) {
	k, err := quota.New(quota.Config{
		Catalog: n.meta, Share: n.meta.ShareQuotas, Routers: n.routers,
		NodeID: n.data.nodeID, Process: n.process, Registerer: n.registry,
	})
	if err != nil {
		return nil, err
	}
	n.run("sharing quotas", k.Run)
	return k, nil
}

// routers returns the number of routers of the cluster.
func (n *membership) routers() (count int) {
	for _, other := range n.meta.Nodes() {
		if slices.Contains(other.Roles, config.RoleRouter) {
			count++
		}
	}
	return count
}

// storedEvery is the interval at which the bytes of databases are counted.
const storedEvery = 5 * time.Second

// storedBytes counts the bytes of databases with a quota of them in the shards that this node leads. One goroutine at a
// time uses it.
type storedBytes struct {
	at   time.Time
	last []*metapb.DatabaseBytes
}

// count returns the bytes, which are at most storedEvery old.
func (s *storedBytes) count(now time.Time, meta *metaclient.Client, shards []*shard.Shard) []*metapb.DatabaseBytes {
	if !s.at.IsZero() && now.Sub(s.at) < storedEvery {
		return s.last
	}
	s.at, s.last = now, nil
	databases := map[uint64]string{}
	for _, d := range meta.Databases() {
		if _, ok := schema.Quota(d.GetOptions(), schema.QuotaStored); !ok {
			continue
		}
		for _, t := range meta.Tables(d.Name) {
			databases[t.ID] = d.Name
		}
	}
	if len(databases) == 0 {
		return nil
	}
	sums := map[string]uint64{}
	req := &shardpb.StatsRequest{TableIds: slices.Collect(maps.Keys(databases))}
	for _, sh := range shards {
		if !sh.Leads() {
			continue
		}
		for _, t := range sh.StatsOf(req).Tables {
			sums[databases[t.TableId]] += uint64(max(t.SegmentBytes+t.MemtableBytes, 0))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s.last = append(s.last, &metapb.DatabaseBytes{Database: name, Bytes: sums[name]})
	}
	return s.last
}

// limitsCPU reports whether a database has a quota of the CPU time of queries.
func (n *membership) limitsCPU(database string) bool {
	d, ok := n.meta.Database(database)
	if !ok {
		return false
	}
	_, limited := schema.Quota(d.GetOptions(), schema.QuotaCPU)
	return limited
}

// usedCPU returns the CPU time of queries on this node in the last minute, for the databases with a quota of it.
func (n *node) usedCPU() (out []*metapb.DatabaseCPU) {
	if n.queryCPU == nil {
		return nil
	}
	used := n.queryCPU()
	for _, database := range slices.Sorted(maps.Keys(used)) {
		if n.limitsCPU(database) {
			out = append(out, &metapb.DatabaseCPU{Database: database, Nanos: int64(used[database])})
		}
	}
	return out
}
