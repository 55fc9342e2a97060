package engine

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// This file checks a plan of a split statement, and describes to the coordinator how its parts are combined.

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
