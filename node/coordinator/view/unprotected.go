package view

import (
	"slices"

	"cordwood/proto/metapb"
)

const adviceProtect = "give all nodes the same --cluster-secret-file, or certificates (docs/cluster.md: " +
	"Authentication between nodes)"

// unprotected reports nodes that accept every connection to their port between nodes.
func (d *diagnosis) unprotected() {
	snap := d.snap
	by := map[metapb.Protection][]string{}
	plain := map[string]bool{} // nodes that other nodes have to call without TLS
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		if !snap.Alive(id) || n.Report == nil {
			continue
		}
		by[n.Report.Protection] = append(by[n.Report.Protection], id)
		for _, other := range n.Report.PlainNodes {
			plain[other] = plain[other] || snap.Alive(other)
		}
	}
	if ids := by[metapb.Protection_PROTECTION_NONE]; len(ids) > 0 {
		d.add(warning, adviceProtect+", then remove --rpc-insecure",
			"anyone who can reach the port between nodes of %s can act as a node of the cluster, and read and write everything "+
				"(--rpc-insecure)", snap.Labels(ids))
	}
	if ids := by[metapb.Protection_PROTECTION_OPTIONAL]; len(ids) > 0 {
		var missing []string
		for _, n := range snap.Status.Nodes {
			if id := n.GetNode().GetId(); plain[id] || snap.Alive(id) && without(n.GetReport().GetProtection()) {
				missing = append(missing, id)
			}
		}
		advice := "remove --rpc-insecure: all nodes have the secret or certificates"
		if len(missing) > 0 {
			slices.Sort(missing)
			advice = "give the secret or certificates to " + snap.Labels(missing) +
				" as well, then remove --rpc-insecure everywhere"
		}
		d.add(warning, advice, "nodes %s accept connections without TLS too (--rpc-insecure): "+
			"anyone who can reach their ports between nodes can read and write everything", snap.Labels(ids))
	}
	if ids := by[metapb.Protection_PROTECTION_MACHINE]; len(ids) > 0 {
		d.add(info, adviceProtect, "every account of the machine of %s may call it as a node of the cluster: "+
			"it has neither the cluster's secret nor certificates, and listens on loopback only", snap.Labels(ids))
	}
}

// without reports whether a node has neither a secret nor certificates.
func without(p metapb.Protection) bool {
	switch p {
	case metapb.Protection_PROTECTION_CERTIFICATES, metapb.Protection_PROTECTION_SECRET,
		metapb.Protection_PROTECTION_OPTIONAL:
		return false
	}
	return true
}
