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

// TestNotReady checks the errors of a shard that is not ready. A read without a leader says so, and
// how long it waited. A query that needs a damaged segment may be sent again, since other replicas
// repair it.
func TestNotReady(t *testing.T) {
	g := newGroup(t, nil, "a", "b", "c")
	l := g.leader()
	engine := &fakeEngine{err: errs.New(errs.TableUnavailable, "damaged")}
	s := server.New(server.Config{Shards: server.Find(g.node(l.cfg.NodeID).get), Engine: engine})
	err := scan(wait(t), s, &shardpb.ScanRequest{Table: def(1)})
	if e := errs.From(err); e.Status() != 503 || e.RetryAfter == 0 {
		t.Errorf("damage that other replicas mend: status %d, again after %s: %v", e.Status(), e.RetryAfter, err)
	}
	g.isolate(l, "a", "b", "c")
	for ctx := wait(t); l.replica.Leader() != "" || l.Ready(); {
		select {
		case <-ctx.Done():
			t.Fatal("the leader of nobody still leads")
		case <-time.After(time.Millisecond):
		}
	}
	err = scan(wait(t), s, &shardpb.ScanRequest{Table: def(1)})
	if errs.CodeOf(err) != errs.ShardNotReady || !strings.Contains(err.Error(),
		"it has had no leader for 250ms") || strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v", err)
	}
}

// scan asks the service for rows of the shard under test, and returns the error.
func scan(ctx context.Context, s shardpb.ShardServiceServer, req *shardpb.ScanRequest) error {
	req.ShardId = testShard
	return errs.FromGRPC(s.Scan(req, scanStream{ctx: ctx}))
}

// scanStream receives the answer of a scan, and drops it.
type scanStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s scanStream) Context() context.Context       { return s.ctx }
func (scanStream) SendHeader(metadata.MD) error     { return nil }
func (scanStream) Send(*shardpb.ScanResponse) error { return nil }
