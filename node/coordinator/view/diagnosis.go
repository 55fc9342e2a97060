package view

import (
	"cordwood/node/coordinator/snapshot"
	"cordwood/router/httpapi/clusterapi"
)

// diagnosis collects the problems of a cluster. Each of its methods looks for one kind of problem.
type diagnosis struct {
	snap *snapshot.Snapshot
	out  []clusterapi.Problem
}
