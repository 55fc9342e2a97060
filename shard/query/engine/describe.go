package engine

import (
	"context"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/sql"
)

// Describe returns the columns of the answer to a statement, without running it. The segments and batches of
// the request are not looked at.
//
// It returns the errors of Query for a statement that is wrong.
func (e *Engine) Describe(ctx context.Context, req *query.Request) ([]query.Column, error) {
	st, req, err := e.study(ctx, req)
	if err != nil {
		return nil, err
	}
	if st.Explain != "" {
		return []query.Column{{Name: "explain_key", Type: "VARCHAR"}, {Name: "explain_value", Type: "VARCHAR"}}, nil
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{ctx: ctx, engine: e, in: in, st: st, request: withoutRows(req)}
	columns, err := r.describe()
	e.release(in, sql.IsBroken(err))
	if err != nil && ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if err != nil {
		err = sql.ToClient(err, r.text)
		duck.GiveBackAfter(err)
		return nil, err
	}
	out := make([]query.Column, len(columns))
	for i, c := range columns {
		out[i] = query.Column(c)
	}
	return out, nil
}

func (r *run) describe() ([]duck.Column, error) {
	defer r.close()
	if err := r.plan(); err != nil {
		return nil, err
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	defer r.session.Watch(r.ctx)()
	return r.columns()
}
