package server

import (
	"context"

	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/proto/words"
	"cordwood/shard/query"
	"cordwood/shard/store"
)

// prepared is a query that is ready to run over gathered rows.
type prepared struct {
	// known is the answer, if it is kept. Nothing else is set then.
	known []byte
	// part, if not nil, may keep the answer.
	part *keptPart
	// runs are what the engine runs, one after the other. Each has one Arrow IPC stream as its answer. There are several
	// only for several shards of a table that merges rows.
	runs []run
	// missing are texts about what is missing in the answer.
	missing []words.Missing
}

// run is a query over gathered rows.
type run struct {
	req *shardpb.QueryRequest
	g   *gathered
}

// prepare gathers the rows of a query, unless its answer is known. views are of the shards that are read here; the
// caller closes them. The caller releases the result, also after an error.
func (s *server) prepare(ctx context.Context, q *runningQuery, req *shardpb.QueryRequest, views map[uint32]*store.View,
) (*prepared, error) {
	p := &prepared{}
	if p.known, p.part = s.kept.find(req, views); p.known != nil {
		return p, nil
	}
	list := shardByShard(req)
	if list == nil {
		list = []*shardpb.QueryRequest{req}
	}
	for _, of := range list {
		g := &gathered{views: views, cold: s.newColdRows(), progress: q}
		p.runs = append(p.runs, run{of, g})
		if err := s.gather(ctx, of, g); err != nil {
			return p, err
		}
		p.missing = append(p.missing, g.missing...)
	}
	return p, nil
}

// release releases the rows, but not the views.
func (p *prepared) release() {
	for _, r := range p.runs {
		r.g.release()
	}
}

// fetched returns the answers of other nodes that sent rows.
func (p *prepared) fetched() (out []fetched) {
	for _, r := range p.runs {
		out = append(out, r.g.fetched...)
	}
	return out
}

// answer sends the rows of a query. note is a text for EXPLAIN.
func (s *server) answer(ctx context.Context, p *prepared, note string, out *answer) error {
	if p.known != nil {
		return out.Rows(p.known)
	}
	out.keep(p.part)
	for _, r := range p.runs {
		if done, err := countRows(r.req, r.g, out); err != nil {
			return err
		} else if done {
			continue
		}
		running, span := tracing.Start(ctx, "run query")
		err := s.runQuery(running, r.req, &query.Request{
			SQL: r.req.Sql, Database: r.req.Database, Tables: r.g.tables, Limit: r.req.Limit, Timezone: r.req.Timezone,
			Note: withFetches(note, r.g.note), Part: r.req.Part,
		}, r.g.cold, out)
		span.End(err)
		if err != nil {
			return err
		}
	}
	s.kept.put(p.part, out.kept)
	return nil
}
