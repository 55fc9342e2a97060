package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/server/distribute"
)

// This file queries whole tables through the service of shards, as routers do. The nodes that hold the rows compute
// partial results, or send their rows to the node that answers.

const (
	// splitRows is a statement that is split: each node counts how often it has each row.
	splitRows = "SELECT writer, number, count(*) FROM t GROUP BY ALL"
	// fetchRows is a statement with the same answer for which rows are fetched.
	fetchRows = splitRows + " -- not split"
)

// queryAlong repeatedly queries all rows of a table. At the end its answers are compared with those of the writers.
func (w *World) queryAlong(ctx context.Context, t table, rng *rand.Rand) {
	for n := 0; ctx.Err() == nil; n++ {
		w.queryTable(ctx, n, t)
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(200+rng.IntN(3000)) * time.Millisecond):
		}
	}
}

// queryTable queries all rows of a table, and records the answer.
func (w *World) queryTable(ctx context.Context, n int, t table) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, begun := w.routers[n%len(w.routers)], time.Since(w.start)
	now, err := r.table(ctx, t.name)
	if err != nil || now == nil || len(now.Shards()) == 0 {
		return
	}
	shards, sql := now.Shards(), splitRows
	if n%8 > 5 {
		sql = fetchRows
	}
	ask := r.query
	if n%2 == 0 {
		ask = func(ctx context.Context, req *shardpb.QueryRequest) (map[rowID]int, error) {
			return w.queryLeader(ctx, r, n/2, req)
		}
	}
	rows, err := ask(ctx, &shardpb.QueryRequest{
		Sql: sql, Database: schema.DefaultDatabase, QueryId: fmt.Sprint(r.id, "/", t.name, "/", n),
		Tables: []*shardpb.QueryTable{{
			Name:  &shardpb.TableName{Database: schema.DefaultDatabase, Name: t.name},
			Table: now.ToProto(), ShardId: shards[0], MoreShards: shards[1:],
		}},
	})
	if err != nil {
		if ctx.Err() == nil && wrongOfQuery(err) {
			w.watched.bad("a query of table %s: %v", t.name, err)
		}
		return
	}
	w.queries.Add(1)
	ended := time.Since(w.start)
	if after, err := r.table(ctx, t.name); err == nil && after != nil && after.ID == now.ID {
		w.answers.note(place{table: t.name}, answer{"of all rows through " + r.id, begun, ended, rows, true})
	}
}

// query returns how often each row is in the answer to a query.
func (r *router) query(ctx context.Context, req *shardpb.QueryRequest) (map[rowID]int, error) {
	body, err := r.client.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // the answer has been read
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	rows := map[rowID]int{}
	return rows, addCounts(bytes.NewReader(data), rows)
}

// queryLeader sends a query to the n-th node that considers itself the leader of one of its shards. There may be
// several if a node does not know yet that it was deposed, and routers would ask it only by chance.
func (w *World) queryLeader(ctx context.Context, r *router, n int, req *shardpb.QueryRequest) (map[rowID]int, error) {
	shards := distribute.ShardsOf(req.Tables[0])
	for _, id := range shards {
		req.Nodes = append(req.Nodes, &shardpb.ShardNodes{ShardId: id, NodeIds: r.replicas(id)})
	}
	leaders := w.leaders(shards[n%len(shards)])
	if len(leaders) == 0 {
		return nil, errs.New(errs.ShardUnreachable, "no node considers itself the leader")
	}
	leader := leaders[n/len(shards)%len(leaders)]
	if err := leader.calls.pass(ctx); err != nil {
		return nil, err
	}
	conn, err := r.dial(leader.ID)
	if err != nil {
		return nil, err
	}
	stream, err := shardpb.NewShardServiceClient(conn).Query(ctx, req)
	if err != nil {
		return nil, errs.FromGRPC(err)
	}
	var data []byte
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errs.FromGRPC(err)
		}
		data = append(data, piece.ArrowIpc...)
	}
	rows := map[rowID]int{}
	return rows, addCounts(bytes.NewReader(data), rows)
}

// wrongOfQuery reports whether an error is one that no fault of nodes, networks and disks explains: clients would not
// repeat the query.
func wrongOfQuery(err error) bool {
	switch errs.CodeOf(err) {
	case errs.Internal, errs.Unexpected, errs.Unknown, errs.InvalidArguments, errs.PlanQuery, errs.Unsupported:
		return true
	}
	return false
}
