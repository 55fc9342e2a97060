package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/proto/metapb"
)

// TestUnknownCallers checks that unauthenticated callers can register only a limited number of addresses,
// and cannot replace addresses from trusted sources.
func TestUnknownCallers(t *testing.T) {
	now := time.Unix(1e9, 0)
	file := filepath.Join(t.TempDir(), "PEERS")
	r := newRegistry(t, file)
	r.cfg.Now = func() time.Time { return now }
	count := func() (n int) {
		for _, e := range r.nodes {
			if e.node == nil {
				n++
			}
		}
		return n
	}
	r.Seen("seed", "seed:1", []string{"meta"})
	r.Learn([]*metapb.Node{{Id: "listed", RpcAddr: "listed:1"}})
	for i := range 5 {
		r.RecordCaller("10.0.0.1", "listed", fmt.Sprint("false:", i), nil)
	}
	if got := r.Addrs("listed"); !slices.Contains(got, "listed:1") {
		t.Errorf("the address from the metadata was replaced: %v", got)
	}

	for i := range 500 {
		now = now.Add(time.Millisecond)
		r.RecordCaller("10.0.0.1", fmt.Sprint("made-up-", i), "10.0.0.1:1", []string{"meta"})
	}
	if got := count(); got != maxCallersOfHost+1 {
		t.Errorf("%d nodes are recorded for one host, want %d", got-1, maxCallersOfHost)
	}
	r.RecordCaller("10.0.0.9", "joins", "10.0.0.9:1", []string{"shard"})
	for host := range 500 {
		for i := range 20 {
			now = now.Add(time.Millisecond)
			r.RecordCaller(fmt.Sprint("10.1.0.", host), fmt.Sprintf("made-up-%d-%d", host, i), "10.0.0.1:1", nil)
		}
	}
	if got := count(); got != maxCallers+1 {
		t.Errorf("%d nodes are recorded, want %d", got-1, maxCallers)
	}
	if len(r.Addrs("joins")) == 0 {
		t.Error("a joining node was removed because other hosts reported many nodes")
	}
	var many []*metapb.Node
	for i := range 5000 {
		many = append(many, &metapb.Node{Id: fmt.Sprint("heard-", i), RpcAddr: "x:1"}, &metapb.Node{
			Id: strings.Repeat("x", 1000), RpcAddr: "x:1",
		})
	}
	r.Heard(many)
	if got := count(); got != maxCallers+1 {
		t.Errorf("%d nodes are recorded after another node reported many, want %d", got-1, maxCallers)
	}
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "made-up") ||
		strings.Contains(string(data), "heard") || !strings.Contains(string(data), `"listed"`) {
		t.Errorf("kept: %s, %v", data, err)
	}

	// Once the metadata list a node, it belongs to the cluster.
	listed := []*metapb.Node{{Id: "listed", RpcAddr: "listed:1"}, {Id: "joins", RpcAddr: "10.0.0.9:1"}}
	r.Learn(listed)
	now = now.Add(unlistedFor + time.Second)
	r.RecordCaller("10.0.0.8", "late", "10.0.0.8:1", nil)
	r.Learn(listed)
	var left []string
	for _, n := range r.Known() {
		left = append(left, n.Id)
	}
	if want := []string{"joins", "late", "listed"}; !slices.Equal(left, want) || len(r.callersBy) != 1 || r.callers != 1 {
		t.Errorf("after a while: %v (%v), want %v", left, r.callersBy, want)
	}
}
