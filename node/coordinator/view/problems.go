package view

import (
	"slices"

	"cordwood/node/coordinator/snapshot"
	"cordwood/router/httpapi/clusterapi"
)

// Diagnose returns the problems of the cluster and what to do about them, the worst first.
func Diagnose(snap *snapshot.Snapshot) []clusterapi.Problem {
	d := &diagnosis{snap: snap}
	d.leaderlessShards()
	d.metadata()
	d.starting()
	d.downNodes()
	d.drainedNodes()
	d.stoppingNodes()
	d.silentNodes()
	d.unheardNodes()
	d.unreachableNodes()
	d.apart()
	d.damagedReplicas()
	d.stuckReplicas()
	d.rowsAside()
	d.missingReplicas()
	d.unreadyReplicas()
	d.operations()
	d.disks()
	d.clocks()
	d.versions()
	d.objectStorage()
	d.unprotected()
	d.notes()
	slices.SortStableFunc(d.out, func(a, b clusterapi.Problem) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	if d.out == nil {
		return []clusterapi.Problem{}
	}
	return d.out
}
