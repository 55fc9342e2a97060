package snapshot

import (
	"cmp"
	"fmt"
	"strings"

	"cordwood/proto/lazyregexp"
	"cordwood/proto/metapb"
)

// naming maps the nodes of a cluster to their names.
type naming struct {
	nodes map[string]*metapb.NodeStatus
}

// Name returns the name of a node, or its id if it has none.
func (n naming) Name(id string) string {
	if own := n.nodes[id].GetNode().GetName(); own != "" && own != id {
		return own
	}
	return cmp.Or(id, "unknown")
}

// Names returns the names of nodes as a list.
func (n naming) Names(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, n.Name(id))
	}
	return strings.Join(out, ", ")
}

// Label returns the name of a node if it is unique, otherwise its id.
func (n naming) Label(id string) string {
	name := n.Name(id)
	same := 0
	for _, other := range n.nodes {
		if other.GetNode().GetName() == name {
			same++
		}
	}
	if same > 1 {
		return id
	}
	return name
}

// Labels returns the labels of nodes as a list, shortened if there are many.
func (n naming) Labels(ids []string) string {
	var out []string
	for _, id := range ids {
		out = append(out, n.Label(id))
	}
	return Few(out)
}

// Zone returns the zone of a node, or an empty text.
func (n naming) Zone(id string) string { return n.nodes[id].GetNode().GetZone() }

// Relabel replaces "node ID" in a text by the label of the node.
func (n naming) Relabel(text string) string {
	for id := range n.nodes {
		text = strings.ReplaceAll(text, "node "+id, "node "+n.Label(id))
	}
	return text
}

// nodeID matches ids of nodes, which are ULIDs.
var nodeID = lazyregexp.New(`\b[0-9A-HJKMNP-TV-Z]{26}\b`)

// Spell replaces the ids of nodes in the text of an error by their labels and addresses.
func (n naming) Spell(text string) string {
	return nodeID.ReplaceAllStringFunc(text, func(id string) string {
		if m := n.nodes[id].GetNode(); m.GetRpcAddr() != "" {
			return fmt.Sprintf("%s (%s)", n.Label(id), m.RpcAddr)
		}
		return id
	})
}
