package shard

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/server"
)

// TestNotReady checks the errors of a shard that is not ready. The error of a read without a leader
// contains this reason, and how long the read waited. A query that needs a damaged segment may be
// sent again, because other replicas repair the segment.
func TestNotReady(t *testing.T) {
	g := newGroup(t, nil, "a", "b", "c")
	l := g.leader()
	engine := &fakeEngine{err: errs.New(errs.TableUnavailable, "damaged")}
	s := server.New(server.Config{Shards: server.Find(g.node(l.cfg.NodeID).get), Engine: engine})
	err := scan(wait(t), s, &shardpb.ScanRequest{Table: def(1)})
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
		t.Errorf("damage that other replicas repair: status %d, retry after %s: %v", e.Status(), e.RetryAfter, err)
	}
	g.isolate(l, "a", "b", "c")
	for ctx := wait(t); l.replica.Leader() != "" || l.Ready(); {
		select {
		case <-ctx.Done():
			t.Fatal("the leader without followers still leads")
		case <-time.After(time.Millisecond):
		}
	}
	err = scan(wait(t), s, &shardpb.ScanRequest{Table: def(1)})
	if errs.CodeOf(err) != errs.ShardNotReady || !strings.Contains(err.Error(),
		"it has no leader: more than half of its replicas must be running. This replica "+
			"can be read with consistency=any and max_staleness=1m") || strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v", err)
	}
}

// scan requests rows of the shard under test from the service, and returns the error.
func scan(ctx context.Context, s shardpb.ShardServiceServer, req *shardpb.ScanRequest) error {
	req.ShardId = testShard
	return errs.FromGRPC(s.Scan(req, scanStream{ctx: ctx}))
}

// scanStream receives the answer of a scan, and discards it.
type scanStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s scanStream) Context() context.Context       { return s.ctx }
func (scanStream) SendHeader(metadata.MD) error     { return nil }
func (scanStream) Send(*shardpb.ScanResponse) error { return nil }
