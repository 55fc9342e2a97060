package shard

import (
	"context"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/server"
)

func defineServer(s *opened) shardpb.ShardServiceServer {
	return server.New(server.Config{
		Shards: func(id uint32) (server.Shard, bool) { return s.Shard, id == testShard },
		All:    func() []server.Shard { return []server.Shard{s.Shard} },
	})
}

// TestDefineTablesSeals sends a shard a definition that moves the table's writes elsewhere. Then
// the shard refuses writes by the old definition, except batches that it already has, and reports
// which keys it took.
func TestDefineTablesSeals(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	srv := defineServer(s)
	taken := batch(head(1, column.KeyedBit|1, 1), "m")
	s.mustPut(taken)
	moved := def(1)
	moved.Placement = append(moved.Placement, &schemapb.Placement{Epoch: 4, ShardId: testShard + 1})
	ctx := context.Background()
	first, err := srv.DefineTables(ctx, &shardpb.DefineTablesRequest{ShardId: testShard, Tables: []*schemapb.Table{moved}})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := srv.DefineTables(ctx, &shardpb.DefineTablesRequest{
		ShardId: testShard,
		Tables:  []*schemapb.Table{moved},
	}); err != nil || again.Index != first.Index {
		t.Errorf("defined again: index %d after %d, error %v", again.GetIndex(), first.Index, err)
	}
	if _, _, err := s.Write(ctx, [][]byte{batch(head(1, column.KeyedBit|2, 1), "m")},
		nil); errs.ReasonOf(err) != errs.WrongEpoch {
		t.Errorf("a write of the earlier epoch: %v", err)
	}
	if _, _, err := s.Write(ctx, [][]byte{taken}, nil); err != nil {
		t.Errorf("a batch that was appended: %v", err)
	}
	resp, err := srv.CheckKeys(ctx, &shardpb.CheckKeysRequest{ShardId: testShard, Keys: []*shardpb.BatchKey{
		{Session: column.KeyedBit | 1, Sequence: 1},
		{Session: column.KeyedBit | 2, Sequence: 1},
		{Session: column.KeyedBit | 1, Sequence: 2},
	}})
	if err != nil || len(resp.Appended) != 3 || !resp.Appended[0] || resp.Appended[1] || resp.Appended[2] {
		t.Errorf("keys %v, error %v", resp.GetAppended(), err)
	}
}

func TestDefineTablesRefuses(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	srv := defineServer(s)
	ctx := context.Background()
	if _, err := srv.DefineTables(ctx, &shardpb.DefineTablesRequest{ShardId: 99}); errs.ReasonOf(errs.FromGRPC(err)) !=
		errs.NotLeader {
		t.Errorf("another shard: %v", err)
	}
	if _, err := srv.DefineTables(ctx, &shardpb.DefineTablesRequest{
		ShardId: testShard,
		Tables:  []*schemapb.Table{{Name: "x"}},
	}); errs.CodeOf(errs.FromGRPC(err)) != errs.InvalidArguments {
		t.Errorf("a table without an id: %v", err)
	}
	if _, err := srv.CheckKeys(ctx, &shardpb.CheckKeysRequest{
		ShardId: testShard,
		Keys:    []*shardpb.BatchKey{{Session: 5, Sequence: 1}},
	}); errs.CodeOf(errs.FromGRPC(err)) != errs.InvalidArguments {
		t.Errorf("a writer's session: %v", err)
	}
}
