package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// Split splits a statement over one table for nodes that each have some of the table's rows. It
// ignores the segments and batches of the request.
//
// It binds the resulting statements over a table without rows, so the names and types of the answer
// do not depend on the rows. If that fails, or if the statement is not supported, the result has a
// Reason.
//
// It returns the errors of Query for a wrong statement.
func (e *Engine) Split(ctx context.Context, req *query.Request) (*query.Split, error) {
	short := sql.Shorten(req.SQL)
	if short == nil || len(req.SQL) > sql.MaxSQL {
		return e.split(ctx, req)
	}
	shorter := *req
	shorter.SQL = short.SQL
	if out, err := e.split(ctx, &shorter); err == nil {
		if whole := restore(out, short); whole != nil {
			return whole, nil
		}
	}
	return e.split(ctx, req) // for the columns and errors of the whole statement
}

// restore returns the split of a statement from the split of the statement with shorter lists, or nil if a mark would
// stay or a text would be too long.
func restore(out *query.Split, short *sql.Shortened) *query.Split {
	complete := true
	whole := out.With(func(text string) string {
		text, ok := short.Restore(text)
		complete = complete && ok && len(text) <= sql.MaxSQL
		return text
	})
	texts := []string{out.Reason}
	if out.Combine != nil {
		texts = append(texts, out.Combine.Names...)
	}
	for _, text := range texts {
		same, ok := short.Restore(text)
		complete = complete && ok && same == text
	}
	if !complete {
		return nil
	}
	return whole
}

func (e *Engine) split(ctx context.Context, req *query.Request) (*query.Split, error) {
	st, req, err := e.study(ctx, req)
	if err != nil {
		return nil, err
	}
	if len(st.Tables) != 1 && !hasBlocks(st) {
		return unsplit(split.SeveralTables(), st.Explain), nil
	}
	key := splitKey(st, req)
	if kept := e.splits.get(key); kept != nil {
		out := kept.At(time.Now())
		out.Explain = st.Explain
		return out, nil
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{ctx: ctx, engine: e, in: in, st: st.bare(), request: withoutRows(req)}
	out, err := r.split(split.Split)
	if unsplit(err, "") != nil && hasBlocks(st) {
		out, err = r.splitUnion(err)
	}
	if unsplit(err, "") != nil && hasBlocks(st) {
		out, err = r.splitBlocks(err)
	}
	e.release(in, sql.IsBroken(err))
	if out := unsplit(err, ""); out != nil {
		out.Lasting = true
		e.splits.put(key, out)
		out = out.At(time.Now())
		out.Explain = st.Explain
		return out, nil
	}
	if err != nil && ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if err != nil {
		return nil, sql.ToClient(err, r.text)
	}
	if out.Lasting {
		e.splits.put(key, out)
		out = out.At(time.Now())
	}
	out.Explain = st.Explain
	return out, nil
}

// unsplit converts the reason why a statement was not split to a Split, or returns nil for other
// errors.
func unsplit(err error, explain string) *query.Split {
	h := (*split.NotSplit)(nil)
	if !errors.As(err, &h) {
		return nil
	}
	return &query.Split{Reason: h.Reason, Cause: string(h.Cause), Explain: explain}
}

// withoutRows returns a request whose tables have no rows.
func withoutRows(req *query.Request) *query.Request {
	out := *req
	out.Tables = make([]query.Table, len(req.Tables))
	for i, t := range req.Tables {
		out.Tables[i] = query.Table{Database: t.Database, Name: t.Name, Schema: t.Schema}
	}
	return &out
}

// plan plans the run's statement.
func (r *run) plan() (err error) {
	if r.now.IsZero() {
		r.now = time.Now()
	}
	if r.Planned, err = plan.New(r.ctx, r.st.Statement, r.st.shape, r.request, r.now, r.engine.settings); err != nil {
		return err
	}
	r.shadowed = plan.ShadowedNames(r.Views)
	return nil
}

// columns returns the columns of the statement's answer.
func (r *run) columns() (out []duck.Column, err error) {
	err = r.bind(func() (err error) {
		out, err = r.session.Describe(r.text.SQL)
		return err
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(out))
	for i := range out {
		names[i] = out[i].Name
	}
	r.text.Edits = append(r.text.Edits, r.integersBesideTimes()...)
	r.restoreNames(names)
	for i := range out {
		out[i].Name = names[i]
	}
	return out, nil
}

// split splits the run's statement by a function of package split.
func (r *run) split(by func(*split.Statement) (*split.Plan, error)) (out *query.Split, err error) {
	defer r.close()
	if err := r.plan(); err != nil {
		return nil, err
	}
	if len(r.shadowed) > 0 {
		return nil, split.SimilarNames()
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	defer r.session.Watch(r.ctx)()
	want, err := r.columns()
	if err != nil {
		return nil, err
	}
	r.answer = want
	inner, err := r.subqueries()
	if err != nil {
		return nil, err
	}
	at, err := r.outside(inner)
	if err != nil {
		return nil, err
	}
	view := r.Plans[at].View
	of := &split.Statement{
		Root: r.st.tree, SQL: r.st.SQL, Database: view.Database, Table: view.Name, Columns: view.Names,
		Limit: r.request.Limit, Now: r.now, Values: r.valuesOf(inner, view),
		Sets: func() ([]any, error) { return sql.GroupingSets(r.st.SQL, r.in.WholeTree) },
	}
	if c := view.Schema.TimeIndex(); c != nil {
		of.Time = c.Name
	}
	for _, c := range want {
		of.Names = append(of.Names, c.Name)
	}
	p, err := by(of)
	if err != nil {
		return nil, err
	}
	have, err := r.verify(p, want)
	if err != nil {
		return nil, err
	}
	out = &query.Split{Table: r.Plans[at].Ref.Name, Worker: p.Worker, Final: p.Final, Kind: p.Kind}
	if b := p.Best; b != nil {
		at := slices.IndexFunc(have, func(c duck.Column) bool { return c.Name == b.Count })
		out.Best = &query.Best{Worker: b.Worker, Rows: b.Rows, Groups: b.Groups, Count: at, First: b.First}
	}
	out.Newest = newestOf(p.Newest, have, want)
	if out.Hashed, err = r.hashed(p, have, want); err != nil {
		return nil, err
	}
	if p.UsesNow {
		out.Moment = query.Moment(r.now)
	}
	out.Lasting = !p.UsesDay
	out.Counts, out.Draws = p.Counts, p.Draws
	out.Combine = combineOf(p.Combine, have, want)
	if r.request.Values == nil {
		for _, s := range inner {
			out.First = append(out.First, s.First)
		}
	}
	return out, nil
}

// finish computes the answer of a split statement from the partial results. The request contains
// the statement for nodes and the answers of the nodes.
func (r *run) finish() error {
	defer r.close()
	r.request = withoutRows(r.request)
	partials := r.request.Partials
	if err := r.connect(); err != nil {
		return err
	}
	defer r.session.Watch(r.ctx)()
	if err := r.load(partials); err != nil {
		return err
	}
	final := cmp.Or(partials.Final, "SELECT * FROM "+split.Partials)
	p, err := duck.Prepare(r.session, partials.Explain+final)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "query: run the final statement over the answers of the nodes")
	}
	defer p.Close()
	answer := &duck.Answer{Limit: r.request.Limit, Emit: r.send, Chunk: r.chunk, Rows: &r.rows}
	if partials.Explain != "" && len(p.Names) == 2 {
		answer.First = [][2]string{{"split", r.request.Note}}
	}
	return p.Run(r.ctx, answer)
}

// load stores the partial results in tables of the session.
func (r *run) load(partials *query.Partials) error {
	if partials.Blocks == nil {
		return r.loadOne(split.Partials, r.st.SQL, partials.Moment, partials.Streams)
	}
	for i, b := range partials.Blocks {
		if err := r.loadOne(split.PartialsOf(i), b.Worker, partials.Moment, b.Streams); err != nil {
			return err
		}
	}
	return nil
}

// loadOne stores the partial results of one statement for nodes.
func (r *run) loadOne(table, worker, moment string, streams [][]byte) error {
	shape, err := r.shapeOf(worker, moment)
	if err != nil {
		return err
	}
	if err := r.session.Exec(shape.create(table)); err != nil {
		return err
	}
	return r.session.Append(r.ctx, table, shape.schema, streams)
}
