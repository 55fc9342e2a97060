package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"

	"github.com/apache/arrow-go/v18/arrow/ipc"
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

// verify binds both statements, and compares the names and types of the answer. It returns the columns of the partials.
func (r *run) verify(p *split.Plan, want []duck.Column) ([]duck.Column, error) {
	have, err := r.partialTable(p.Worker, split.Partials)
	if err != nil {
		return nil, refused("the statement for nodes", err)
	}
	if slices.ContainsFunc(have, func(c duck.Column) bool { return strings.Contains(c.Type, "STRUCT") }) {
		return nil, split.Types("a struct would have to be sent; select its fields, or count the rows of SELECT DISTINCT " +
			"with these fields in place of distinct structs")
	}
	if p.Final == "" {
		if !slices.Equal(have, want) {
			return nil, split.Types("the names or types of the columns of the answer would differ")
		}
		return have, nil
	}
	return have, r.verifyLast(p, p.Final, have, want)
}

// verifyLast binds a last step over partial results with the columns have, and compares the names and types of the
// answer.
func (r *run) verifyLast(p *split.Plan, final string, have, want []duck.Column) error {
	if p.Divides(func(column string) bool {
		return slices.ContainsFunc(have, func(c duck.Column) bool {
			return c.Name == column && c.Type != "HUGEINT" && c.Type != "DOUBLE"
		})
	}) {
		return split.Types("it has an average of decimal numbers; cast them to DOUBLE")
	}
	columns, err := r.session.Describe(final)
	if err != nil {
		return refused("the last step", err)
	}
	if !slices.Equal(columns, want) {
		return split.Types("the names or types of the columns of the answer would differ")
	}
	return nil
}

// hashed returns how the statement is answered by hashes. It returns nil if that is not possible,
// or if the values are not texts, because other values are hardly longer than a hash.
func (r *run) hashed(p *split.Plan, have, want []duck.Column) (*query.Hashed, error) {
	h := p.Hashed
	if h == nil || len(have) != 1 || have[0].Type != "VARCHAR" {
		return nil, nil
	}
	if err := r.session.Exec("DROP TABLE " + split.Partials); err != nil {
		return nil, err
	}
	if _, err := r.partialTable(h.Worker, split.Partials); err != nil {
		return nil, refused("the number of different values", err)
	}
	final, err := r.session.Describe(h.Final)
	if err != nil || !slices.Equal(final, want) {
		return nil, nil //nolint:nilerr // the values themselves are sent
	}
	rows, err := r.session.Rows("SELECT CAST(" + split.Probe + " AS VARCHAR)")
	if err != nil || len(rows) != 1 {
		return nil, err
	}
	probe, err := strconv.ParseUint(rows[0][0], 10, 64)
	if err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	return &query.Hashed{
		Hashes: h.Hashes, Probe: probe, Before: h.Before, After: h.After, Worker: h.Worker, Final: h.Final,
	}, nil
}

// newestOf returns the position of the time index in the partial results. It returns nil if the
// other columns are not the columns of the answer.
func newestOf(n *split.Newest, have, want []duck.Column) *query.Newest {
	if n == nil || len(have) != len(want)+n.Hidden || !slices.Equal(have[:len(want)], want) {
		return nil
	}
	at := slices.IndexFunc(have, func(c duck.Column) bool { return c.Name == n.By })
	if at < 0 || !strings.HasPrefix(have[at].Type, "TIMESTAMP") {
		return nil
	}
	return &query.Newest{
		Column: at, Columns: len(want), Limit: n.Limit, Offset: n.Offset, Descending: n.Descending,
		Before: n.Before, After: n.After,
	}
}

// groupTypes are the types whose values are one group exactly if their bytes are the same.
var groupTypes = map[string]bool{
	"TINYINT": true, "SMALLINT": true, "INTEGER": true, "BIGINT": true, "UTINYINT": true, "USMALLINT": true,
	"UINTEGER": true, "UBIGINT": true, "BOOLEAN": true, "VARCHAR": true, "DATE": true, "TIMESTAMP": true,
	"TIMESTAMP_S": true, "TIMESTAMP_MS": true, "TIMESTAMP_NS": true,
}

// combineOf returns how the answer is computed without the engine, or nil if that is not possible.
func combineOf(m *split.Combine, have, want []duck.Column) *query.Combine {
	if m == nil || len(have) != m.Groups+len(m.How) || len(want) != len(m.Columns) {
		return nil
	}
	for i, c := range have {
		if i < m.Groups && !groupTypes[c.Type] ||
			i >= m.Groups && !groupTypes[c.Type] && c.Type != "DOUBLE" && c.Type != "HUGEINT" {
			return nil
		}
	}
	out := &query.Combine{
		Groups: m.Groups, How: m.How, Columns: m.Columns, Orders: m.Orders,
		Limited: m.Limited, Limit: m.Limit, Offset: m.Offset,
	}
	for i, c := range want {
		if have[m.Columns[i]].Type != c.Type {
			return nil
		}
		out.Names = append(out.Names, c.Name)
	}
	return out
}

// refused returns the error for a generated statement that the engine refuses.
func refused(what string, err error) error {
	if sql.IsBroken(err) {
		return err
	}
	return split.Refused(what, err)
}

// partialTable creates a table of partial results, which has the columns of a statement for nodes.
func (r *run) partialTable(worker, name string) ([]duck.Column, error) {
	st, err := r.parseWorker(worker)
	if err != nil {
		return nil, err
	}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, session: r.session}
	if err := w.plan(); err != nil {
		return nil, err
	}
	defer w.release()
	columns, err := w.columns()
	if err != nil {
		return nil, err
	}
	return columns, r.session.CreateTable(name, w.text.SQL)
}

// shapeOf returns the columns of the partial results of a statement for nodes. moment is the time
// at which the statement was split.
func (r *run) shapeOf(worker, moment string) (*partialShape, error) {
	if r.tables == "" {
		r.tables = tablesKey(r.request)
	}
	key := shapeKey(r.request, r.tables, worker, moment)
	if kept := r.engine.shapes.get(key); kept != nil {
		return kept, nil
	}
	shape := &partialShape{}
	var err error
	if shape.columns, err = r.partialTable(worker, split.Partials); err != nil {
		return nil, err
	}
	if err := r.session.Exec("DROP TABLE " + split.Partials); err != nil {
		return nil, err
	}
	st, err := r.parseWorker(worker)
	if err != nil {
		return nil, err
	}
	var none bytes.Buffer
	w := &run{
		ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, session: r.session,
		emit: func(ipc []byte) error { none.Write(ipc); return nil },
	}
	if err := w.plan(); err != nil {
		return nil, err
	}
	defer w.release()
	if err := w.bind(w.execute); err != nil {
		return nil, err
	}
	in, err := ipc.NewReader(&none)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "query: describe the columns of partial results")
	}
	defer in.Release()
	shape.schema = in.Schema()
	r.engine.shapes.put(key, shape)
	return shape, nil
}

// parseWorker returns the checked statement for nodes, and keeps it, because this node may run it next. It does not
// wait for a slot, since the caller has one.
func (r *run) parseWorker(worker string) (*studied, error) {
	key := cacheKey(worker, r.request.Database)
	if st := r.engine.cache.get(key); st != nil {
		return st, nil
	}
	st, root, err := sql.Parse(worker, r.request.Database, r.in.SyntaxTree)
	if err != nil {
		return nil, err
	}
	out := newStudied(st, root)
	r.engine.cache.put(key, out)
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
