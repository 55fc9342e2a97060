package server

import (
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// countRows answers a part of a query that asks only for a number of rows, without the engine, if
// the number is known.
func countRows(req *shardpb.QueryRequest, g *gathered, out *answer) (done bool, err error) {
	if req.CountAs == "" || !req.Part || len(g.tables) != 1 || len(g.spools) > 0 {
		return false, nil
	}
	rows, ok := query.CountRows(&g.tables[0])
	if !ok {
		return false, nil
	}
	ipc, err := partial.Number(rows, req.CountAs)
	if err != nil {
		return false, err
	}
	return true, out.Rows(ipc)
}
