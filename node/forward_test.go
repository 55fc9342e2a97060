package node

import (
	"slices"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
)

// TestForwardKeepsTheList: who is named as the leader is asked next, and the list of nodes,
// which is others' too, stays as it was.
func TestForwardKeepsTheList(t *testing.T) {
	nodes := []string{"a", "b", "c"}
	var asked []string
	f := &forward{dial: func(string) (grpc.ClientConnInterface, error) { return nil, nil }}
	err := f.leader(t.Context(), "a test", func() []string { return nodes }, func(node string, _ grpc.ClientConnInterface) error {
		asked = append(asked, node)
		if node == "c" {
			return nil
		}
		e := errs.New(errs.ShardUnreachable, "it leads not").WithReason(errs.NotLeader)
		e.Leader = "c"
		return errs.ToGRPC(e)
	})
	if err != nil || !slices.Equal(asked, []string{"a", "c"}) {
		t.Errorf("asked %q: %v", asked, err)
	}
	if !slices.Equal(nodes, []string{"a", "b", "c"}) {
		t.Errorf("the list is %q now", nodes)
	}
}
