package node

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/node/config"
	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// awaitShards waits until the cluster has shards and every replica of this node serves. In a cluster without tables,
// it also waits until all shards have had a leader. After that the node stays ready: see DESIGN.md.
func (n *node) awaitShards(ctx context.Context) error {
	first := firstLeaders{ask: n.meta.Status}
	reported := false // the metadata have a report of this node's replicas
	led := 0          // the number of shards that this node last led
	for {
		if now := n.leadsNow(); now != led {
			led = now
			n.reports.reportSoon() // other nodes wait until all first shards have leaders
		}
		waits := n.whyNoShards()
		if waits == "" && n.host != nil {
			waits = n.host.Waits()
		}
		if waits == "" && !reported {
			// Clients and other nodes that request the cluster's state as soon as this node is ready should not see
			// shards without leaders.
			n.reports.reportNow(ctx)
			reported = true
		}
		if waits == "" && n.unused() {
			waits = first.waits(ctx, n.meta.Shards())
		}
		if waits == "" {
			n.wait("")
			return nil
		}
		n.wait(waits)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-n.failed:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// leadsNow counts the shards that this node leads.
func (n *membership) leadsNow() (count int) {
	if n.host == nil {
		return 0
	}
	for _, s := range n.host.All() {
		if s.Leads() {
			count++
		}
	}
	return count
}

// whyNoShards describes what is missing for the first shards of a new cluster. It is empty once they exist.
func (n *membership) whyNoShards() string {
	holders := 0
	for _, m := range n.meta.Nodes() {
		if slices.Contains(m.Roles, config.RoleShard) {
			holders++
		}
	}
	return missingShards(len(n.meta.Shards()), n.meta.Settings(), holders, n.unused())
}

// missingShards returns the reason of whyNoShards for `have` shards and `holders` nodes that hold shards. unused
// means that nothing was written to the cluster yet.
func missingShards(have int, set *metapb.Settings, holders int, unused bool) string {
	left := int(set.GetInitialShards())
	if have > 0 && (left == 0 || !unused) {
		return ""
	}
	text := "the first shards to be created"
	if have > 0 {
		text += fmt.Sprintf(": %d of %d are", have, have+left)
	}
	if need := int(max(set.GetReplication(), 1)); holders < need {
		text += fmt.Sprintf(": they need %s with the role shard, one for each replica, and %d %s available",
			words.Count(need, "node"), holders, words.Pick(holders, "is", "are"))
	}
	return text
}

// unused reports whether the cluster has no tables. No client depends on such a cluster yet, so a node may wait
// longer before it serves.
func (n *membership) unused() bool {
	for _, d := range n.meta.Databases() {
		if len(n.meta.Tables(d.Name)) > 0 {
			return false
		}
	}
	return true
}

// firstLeaders waits for the first leaders of a new cluster's shards, also on other nodes, so that the first writes
// do not wait for an election. It gives up after patience, since a cluster without tables may also be an old one that
// has lost a node.
type firstLeaders struct {
	ask   func(context.Context) (*metapb.StatusResponse, error)
	began time.Time
	asked time.Time
	text  string // what the last check found missing
}

const (
	firstPatience = 30 * time.Second
	firstPause    = 100 * time.Millisecond
)

// waits describes which shards have had no leader yet. It is empty once all have had one, or after patience.
func (f *firstLeaders) waits(ctx context.Context, shards []*metapb.Shard) string {
	if f.began.IsZero() {
		f.began = time.Now()
	}
	if time.Since(f.began) > firstPatience {
		return ""
	}
	if !f.asked.IsZero() && time.Since(f.asked) < firstPause {
		return f.text
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, err := f.ask(ctx)
	f.asked = time.Now()
	if err != nil {
		f.text = "the metadata group to report whether the first shards have leaders: " + err.Error()
		return f.text
	}
	led := map[uint32]bool{}
	for _, m := range status.Nodes {
		for _, r := range m.GetReport().GetReplicas() {
			led[r.ShardId] = led[r.ShardId] || r.State == "Leader"
		}
	}
	var without []string
	for _, s := range shards {
		if !led[s.Id] {
			without = append(without, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	f.text = ""
	if len(without) > 0 {
		f.text = fmt.Sprintf("the first shards to have leaders; without one: %s",
			strings.Join(without[:min(len(without), 8)], ", "))
	}
	return f.text
}
