package query

import (
	"context"

	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

// Description is what is known about a SELECT before it runs.
type Description struct {
	// Columns are the columns of the answer.
	Columns []AnswerColumn
	// Parameters are the engine's types of $1, $2 and so on; empty if they are unknown.
	Parameters []string
	// Tables are the tables that the SELECT reads, as "database.table".
	Tables []string
}

// AnswerColumn is a column of an answer.
type AnswerColumn struct {
	Name string
	// Type is the engine's name of the type, for example DECIMAL(18,3).
	Type string
}

// Describe describes a SELECT, which may have parameters $1, $2 and so on, for the caller in ctx. types are the
// engine's types of parameters. Empty ones are inferred from the statement, if possible.
func (s *Service) Describe(ctx context.Context, sql string, req Request, types []string) (*Description, error) {
	if err := access.From(ctx).Require(access.Need{Privilege: access.Query, Action: "describe a query"}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	if req.Database == "" {
		req.Database = access.From(ctx).DefaultDatabase()
	}
	req.behind, _ = s.names.fresh(ctx, oldIsFine)
	d, err := s.reader.describe(ctx, sql, &req, types)
	return d, unsure(err, req.behind)
}

// describe binds a SELECT over its tables without rows.
func (r *reader) describe(ctx context.Context, sql string, req *Request, types []string) (*Description, error) {
	r = r.of(ctx)
	caller := access.From(ctx)
	leave, err := r.gate.Enter(ctx, caller.Share())
	if err != nil {
		return nil, err
	}
	defer leave()
	analysis, err := r.shards.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql: sql, Database: req.Database, Share: caller.KnownShare(),
	})
	if err != nil {
		return nil, err
	}
	dr := &shardpb.DescribeRequest{
		Sql: sql, Database: req.Database, Timezone: req.Timezone, Share: caller.KnownShare(), Parameters: types,
	}
	d := &Description{}
	for _, name := range analysis.Tables {
		t, err := r.definition(name)
		if err != nil {
			return nil, err
		}
		dr.Tables = append(dr.Tables, &shardpb.QueryTable{Name: name, Table: t.ToProto()})
		d.Tables = append(d.Tables, name.Database+"."+name.Name)
	}
	resp, err := r.shards.Describe(ctx, dr)
	if err != nil {
		return nil, err
	}
	for _, c := range resp.Columns {
		d.Columns = append(d.Columns, AnswerColumn{c.Name, c.Type})
	}
	d.Parameters = resp.Parameters
	return d, nil
}
