package view

import (
	"maps"
	"slices"
)

const adviceObjects = "run 'cordwood object-storage check' with the settings of this node (docs/object-storage.md)"

// objectStorage reports what is wrong with object storage: once for nodes with the same fault.
func (d *diagnosis) objectStorage() {
	by := map[string][]string{}
	for _, n := range d.snap.Status.Nodes {
		if id := n.GetNode().GetId(); d.snap.Alive(id) && n.GetReport().GetObjectStorage() != "" {
			by[n.Report.ObjectStorage] = append(by[n.Report.ObjectStorage], id)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(by)) {
		d.add(warning, adviceObjects, "%s: %s", d.snap.Labels(by[text]), text)
	}
}
