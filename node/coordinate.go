package node

import (
	"cordwood/node/config"
	"cordwood/node/coordinator"
	"cordwood/node/coordinator/snapshot"
)

// coordinate runs the cluster's operations on this node whenever its member leads the metadata
// group.
func (n *node) coordinate() {
	if n.member == nil {
		return
	}
	c := coordinator.New(coordinator.Config{
		Meta: n.meta, Dial: n.nodes.Dial, Leads: n.member.Leads, LeadsChanged: n.member.LeadsChanged,
		Reported: n.member.Reported, Holders: func() ([]string, bool) { return n.discovery.WithRole(config.RoleShard) },
		Limits:  snapshot.Limits{HotBytes: float64(n.cfg.Cluster.PartitionHotBytes), HotFor: n.cfg.Cluster.PartitionHotAfter},
		MaxSize: int64(n.cfg.Cluster.MaxSize), Logger: n.log, Registerer: n.registry,
	})
	n.run("coordinating the cluster", c.Run)
}
