package shard

import (
	"context"
	"fmt"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

const (
	// maxDefineTables and maxCheckKeys bound what one call may ask.
	maxDefineTables = 10_000
	maxCheckKeys    = 10_000
)

// DefineTables puts definitions of tables into the shard's log, if they are newer than
// those that it has.
func (s *server) DefineTables(ctx context.Context,
	req *shardpb.DefineTablesRequest,
) (*shardpb.DefineTablesResponse, error) {
	sh, err := s.leading(req.ShardId)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	index, err := sh.Seal(ctx, req.Tables)
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	return &shardpb.DefineTablesResponse{Index: index}, nil
}

// CheckKeys reports which batches of requests with a key were appended.
func (s *server) CheckKeys(ctx context.Context, req *shardpb.CheckKeysRequest) (*shardpb.CheckKeysResponse, error) {
	sh, err := s.leading(req.ShardId)
	if err == nil && len(req.Keys) > maxCheckKeys {
		err = errs.New(errs.InvalidArguments, "shard %d: check %d keys: at most %d go in one call", req.ShardId,
			len(req.Keys), maxCheckKeys)
	}
	if err == nil {
		_, err = sh.ReadBarrier(ctx)
	}
	if err != nil {
		return nil, errs.ToGRPC(err)
	}
	resp := &shardpb.CheckKeysResponse{Appended: make([]bool, len(req.Keys))}
	for i, k := range req.Keys {
		if !column.KeyedSession(k.Session) {
			return nil, errs.ToGRPC(errs.New(errs.InvalidArguments,
				"shard %d: check key %016x: it is no key but the session of a writer", req.ShardId, k.Session))
		}
		resp.Appended[i] = sh.HasKey(k.Session, k.Sequence)
	}
	return resp, nil
}

// leading returns a shard that this node leads.
func (s *server) leading(id uint32) (*Shard, error) {
	sh, ok := s.cfg.Shards(id)
	if !ok {
		return nil, store.Unreachable(id).WithReason(errs.NotLeader)
	}
	return sh, sh.replica.CheckLeads()
}

// Seal puts definitions into the log, those that are newer than what the shard has by the
// log, and returns an index: from there on the shard's log holds no rows of a table whose
// writes it does not take by its definition, and its state says what it took before.
func (s *Shard) Seal(ctx context.Context, tables []*schemapb.Table) (index uint64, err error) {
	if len(tables) > maxDefineTables {
		return 0, errs.New(errs.InvalidArguments, "shard %d: define %d tables: at most %d go in one call", s.cfg.ID,
			len(tables), maxDefineTables)
	}
	if slices.ContainsFunc(tables, func(t *schemapb.Table) bool { return t.GetId() == 0 }) {
		return 0, errs.New(errs.InvalidArguments, "shard %d: define a table that has no id", s.cfg.ID)
	}
	encoded, err := rules.MarshalTables(tables)
	if err != nil {
		return 0, errs.Wrap(errs.InvalidArguments, err, "shard %d: define", s.cfg.ID)
	}
	defs, err := rules.ParseTables(encoded)
	if err != nil {
		return 0, errs.Wrap(errs.InvalidArguments, err, "shard %d: define", s.cfg.ID)
	}
	news, index := s.store.Definitions.Newer(tables, defs)
	if len(news) == 0 {
		return index, nil
	}
	if err := s.DefineTable(ctx, news...); err != nil {
		return 0, fmt.Errorf("seal: %w", err)
	}
	return s.store.Tables.Applied(), nil
}
