package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// diskWarning is the disk usage at which a warning starts.
const diskWarning = 0.85

func (d *diagnosis) disks() {
	snap := d.snap
	var filling []*metapb.NodeStatus
	for _, n := range snap.Status.Nodes {
		r := n.GetReport()
		switch {
		case r.GetDiskFull():
			d.add(critical, "free space on it, shorten the ttl of tables, or move shards to other nodes",
				"the disk of node %s is full: it accepts no rows", snap.Label(n.Node.GetId()))
			d.offer(addNode, clusterapi.Action{Kind: operation.ShardMove, Node: snap.Label(n.Node.GetId())})
		case r.GetDiskCapacity() > 0 && diskUse(r) > diskWarning:
			filling = append(filling, n)
		}
	}
	if len(filling) == 0 {
		return
	}
	// Use one line, since nodes often share a disk or fill up together.
	slices.SortFunc(filling, func(a, b *metapb.NodeStatus) int {
		// Compare the printed values. Nodes with the same disk report slightly different sizes each second, and must
		// not change places in the list.
		return cmp.Or(cmp.Compare(math.Round(100*diskUse(b.Report)), math.Round(100*diskUse(a.Report))),
			cmp.Compare(snap.Label(a.Node.GetId()), snap.Label(b.Node.GetId())))
	})
	var texts []string
	for _, n := range filling {
		texts = append(texts, fmt.Sprintf("%s %.0f %%", snap.Label(n.Node.GetId()), 100*diskUse(n.Report)))
	}
	d.add(warning, "add nodes or space, or shorten the ttl of tables", "disks are filling up: %s", snapshot.Few(texts))
	d.offer(addNode)
}

// diskUse returns the used share of a node's disk.
func diskUse(r *metapb.ReportRequest) float64 { return float64(r.DiskUsed) / float64(r.DiskCapacity) }

// maxSkew is the accepted error of a node's clock.
const maxSkew = 2 * time.Second

func (d *diagnosis) clocks() {
	var clocks []int64
	for _, n := range d.snap.Status.Nodes {
		if !n.Down && n.GetReport().GetTimeUnixNano() != 0 {
			clocks = append(clocks, n.Report.TimeUnixNano+n.SilentNanos)
		}
	}
	if len(clocks) < 2 {
		return
	}
	slices.Sort(clocks)
	median := clocks[len(clocks)/2]
	for _, n := range d.snap.Status.Nodes {
		if n.Down || n.GetReport().GetTimeUnixNano() == 0 {
			continue
		}
		if skew := time.Duration(n.Report.TimeUnixNano + n.SilentNanos - median); skew.Abs() > maxSkew {
			d.add(warning, "synchronise its clock with NTP: expiry, and times that the server adds, would be wrong",
				"the clock of node %s differs by %s from the clocks of the others", d.snap.Label(n.Node.GetId()),
				skew.Round(100*time.Millisecond))
		}
	}
}

func (d *diagnosis) versions() {
	snap := d.snap
	programs := map[string][]string{}
	for _, n := range snap.Status.Nodes {
		v := n.GetReport().GetVersion()
		if v == "" {
			v = n.GetNode().GetVersion()
		}
		programs[v] = append(programs[v], n.Node.GetId())
	}
	if len(programs) < 2 {
		return
	}
	var words []string
	for v, ids := range programs {
		words = append(words, fmt.Sprintf("%s on %s", v, snap.Labels(ids)))
	}
	slices.Sort(words)
	d.add(info, "finish the upgrade; the cluster uses new features once all nodes support them",
		"nodes run different programs: %s", snapshot.Few(words))
}
