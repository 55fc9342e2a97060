package shard

import (
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// TestNotReady: a read of a shard without a leader says that it has none, and for how long it
// waited. A query that lacks a damaged segment may be sent again, as other replicas mend it.
func TestNotReady(t *testing.T) {
	g := newGroup(t, nil, "a", "b", "c")
	l := g.leader()
	s := &server{cfg: ServerConfig{Shards: func(uint32) (*Shard, bool) { return l.Shard, true }}}
	err := s.lasting([]uint32{testShard}, errs.New(errs.TableUnavailable, "damaged"))
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
		t.Errorf("damage that other replicas mend: status %d, again after %s", e.Status(), e.RetryAfter)
	}
	g.isolate(l, "a", "b", "c")
	for ctx := wait(t); l.replica.Leader() != "" || l.Ready(); {
		select {
		case <-ctx.Done():
			t.Fatal("the leader of nobody still leads")
		case <-time.After(time.Millisecond):
		}
	}
	_, err = s.ready(wait(t), testShard)
	if errs.CodeOf(err) != errs.ShardNotReady || !strings.Contains(err.Error(),
		"it has no leader, and got none within 250ms") || strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v", err)
	}
}
