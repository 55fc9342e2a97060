package metapb

import (
	"fmt"
	"slices"
)

// Refuses reports whether a data folder is refused. mark is its mark, earlier are its former marks,
// the oldest first, and known is the newest known mark of the node. The folder is refused if it is
// a copy of an earlier state, or if another copy of it has been used since. A nil known refuses
// nothing.
//
// A folder that has the known mark continues from it. If a folder does not have it, but its first
// mark is newer, then known is outdated: it came from a member that is behind.
func (known *FolderMark) Refuses(mark *FolderMark, earlier []*FolderMark) bool {
	if known == nil {
		return false
	}
	all := append(slices.Clone(earlier), mark)
	if slices.ContainsFunc(all, func(m *FolderMark) bool { return m.GetTag() == known.Tag }) {
		return false
	}
	return all[0].GetNumber() <= known.Number
}

// RefusedFolder returns the text for a node's data folder that is refused, with what to do.
func RefusedFolder(node string, first, known *FolderMark) string {
	what := fmt.Sprintf("the data folder of node %s is older than its last state in the cluster: it has mark %d, and "+
		"the cluster mark %d", node, first.GetNumber(), known.GetNumber())
	if first.GetNumber() == known.GetNumber() {
		what = fmt.Sprintf("there are two copies of the data folder of node %s, which differ since mark %d, and the "+
			"other one was used last", node, known.GetNumber())
	}
	return what + ": a machine was reset to a snapshot, or the folder was restored or copied. Its replicas may " +
		"lack rows and votes that they have given, and do not take part. " +
		"Nothing was deleted. Start the newest copy of the folder if there is one. Else move the folder away, start " +
		"the node with an empty one, and run 'cordwood node decommission " + node +
		"': its replicas are created again from the others. " +
		"If the folder has the only replica of a shard, see 'cordwood recover --group node'"
}
