package node

import (
	"time"

	"cordwood/node/config"
	"cordwood/node/coordinator"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/iceberg"
)

// coordinate runs the cluster's operations on this node whenever its member leads the metadata
// group.
func (n *node) coordinate() {
	if n.member == nil {
		return
	}
	cfg := coordinator.Config{
		Meta: n.meta, Dial: n.nodes.Dial, Leads: n.member.Leads, LeadsChanged: n.member.LeadsChanged,
		Reported: n.member.Reported, Holders: func() ([]string, bool) { return n.discovery.WithRole(config.RoleShard) },
		Limits:  snapshot.Limits{HotBytes: float64(n.cfg.Cluster.PartitionHotBytes), HotFor: n.cfg.Cluster.PartitionHotAfter},
		MaxSize: int64(n.cfg.Cluster.MaxSize), Logger: n.log, Registerer: n.registry,
	}
	if n.objects != nil {
		cluster, _ := n.data.Cluster()
		commits := iceberg.New(iceberg.Config{
			Meta: n.meta, Dial: n.nodes.Dial, Bucket: n.objects.afterCheck(n.objects.guard),
			Root: n.cfg.Objects.Root(), Cluster: cluster, Now: time.Now, Logger: n.log, Registerer: n.registry,
			Alone: n.states.checkRivals,
		})
		cfg.Iceberg, cfg.IcebergEvery = commits, n.cfg.Objects.IcebergEvery
		n.trouble.iceberg.Store(commits)
	}
	c := coordinator.New(cfg)
	n.run("coordinating the cluster", c.Run)
}
