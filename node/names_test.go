package node

import (
	"testing"

	"cordwood/proto/metapb"
)

func TestNodesAreCalledByName(t *testing.T) {
	a, b, c, d := "01M81BPKJB6HNTNY4Q46BTFYDR", "01M81BPKJAZAV568KBECHPQFS7", "01M81BPKJAZAV568KBECHPQFS8",
		"01M81BPKJAZAV568KBECHPQFS9"
	nodes := []*metapb.Node{{Id: a, Name: "n1"}, {Id: b, Name: "n2"}, {Id: c, Name: "n2"}, {Id: d}}
	for text, want := range map[string]string{
		"node " + a + ": refused; node " + a:             "node n1: refused; node n1",
		"nodes " + b + "," + c + " and " + d:             "nodes " + b + "," + c + " and " + d, // b and c have the same name
		"x" + a + " and " + "01M81BPKJB6HNTNY4Q46BTFYD0": "x" + a + " and 01M81BPKJB6HNTNY4Q46BTFYD0",
		"nothing": "nothing",
	} {
		if got := namesFor(nodes, text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
