package node

import (
	"cordwood/proto/lazyregexp"
	"cordwood/proto/metapb"
)

// nodeID matches the ids of nodes.
var nodeID = lazyregexp.New(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

// nameNodes replaces the ids of nodes in a text for users by their names. Most of the server only has ids.
func (n *membership) nameNodes(text string) string {
	if !nodeID.MatchString(text) {
		return text
	}
	return namesFor(n.meta.Nodes(), text)
}

// namesFor replaces the ids of nodes by their names. It keeps the id of an unknown node, and of a node that shares
// its name with another.
func namesFor(nodes []*metapb.Node, text string) string {
	count := map[string]int{}
	for _, m := range nodes {
		count[m.Name]++
	}
	return nodeID.ReplaceAllStringFunc(text, func(id string) string {
		for _, m := range nodes {
			if m.Id == id && m.Name != "" && count[m.Name] == 1 {
				return m.Name
			}
		}
		return id
	})
}
