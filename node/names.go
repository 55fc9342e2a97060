package node

import (
	"regexp"

	"cordwood/proto/metapb"
)

// nodeID is what ids of nodes look like.
var nodeID = regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

// nameNodes puts the names of nodes in the place of their ids, in errors for users: parts of
// the server know ids only.
func (n *membership) nameNodes(text string) string {
	if !nodeID.MatchString(text) {
		return text
	}
	return namesFor(n.meta.Nodes(), text)
}

// namesFor leaves ids of nodes that are not known, or whose name others have too.
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
