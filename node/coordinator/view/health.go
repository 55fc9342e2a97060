package view

import (
	"slices"

	"cordwood/node/coordinator/snapshot"
	"cordwood/router/httpapi/clusterapi"
)

// The states of the cluster's health. The table in docs/operating.md shows which situation leads to
// which state.
const (
	healthOK       = "ok"
	healthStarting = "starting" // a new cluster whose first shards are being created
	healthUnknown  = "unknown"  // no fault is known, but not everything has been reported
	healthDegraded = "degraded" // the cluster works, but something should be done
	healthBroken   = "broken"   // something does not work
)

// Health returns the state of the cluster's health.
func Health(snap *snapshot.Snapshot, problems []clusterapi.Problem) string {
	has := func(severity string) bool {
		return slices.ContainsFunc(problems, func(p clusterapi.Problem) bool { return p.Severity == severity })
	}
	switch {
	case has(critical):
		return healthBroken
	case has(warning):
		return healthDegraded
	case len(snap.Unknown()) > 0:
		return healthUnknown
	case snap.Founding():
		return healthStarting
	}
	return healthOK
}
