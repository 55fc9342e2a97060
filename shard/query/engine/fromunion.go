package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// This file splits statements whose FROM is a UNION ALL of tables, such as counts over the rows of several tables. The
// statement for nodes is run over each operand of the UNION ALL, as a block. The last step reads the results of all.

// unionTable is the name of the UNION ALL in the statements that are split.
const unionTable = `"__union"`

// fromUnion is the UNION ALL in the FROM of a statement.
type fromUnion struct {
	operands []string
	byName   bool
	columns  []duck.Column
}

// splitUnion splits the run's statement for each operand of the UNION ALL in its FROM. whole is the reason why it was
// not split as a whole, which is the error if there is no such UNION ALL.
func (r *run) splitUnion(whole error) (out *query.Split, err error) {
	node := split.UnionOf(r.st.tree)
	if node == nil || r.request.Values != nil || strings.Contains(r.st.SQL, split.Partials) ||
		strings.Contains(r.st.SQL, "__union") {
		return nil, whole
	}
	r.session, r.Planned = nil, nil
	defer r.close()
	if err := r.plan(); err != nil {
		return nil, err
	}
	if len(r.shadowed) > 0 {
		return nil, whole
	}
	if err := r.connect(); err != nil {
		return nil, err
	}
	defer r.session.Watch(r.ctx)()
	want, err := r.columns()
	if err != nil {
		return nil, err
	}
	u, err := r.fromUnion(node, whole)
	if err != nil {
		return nil, err
	}
	of := &split.Statement{
		Root: r.st.tree, SQL: r.st.SQL, Union: unionTable, Limit: r.request.Limit, Now: r.now,
		Sets: func() ([]any, error) { return sql.GroupingSets(r.st.SQL, r.in.WholeTree) },
	}
	for _, c := range u.columns {
		of.Columns = append(of.Columns, c.Name)
	}
	for _, c := range want {
		of.Names = append(of.Names, c.Name)
	}
	p, err := split.Split(of)
	if err != nil {
		return nil, err
	}
	if strings.Count(p.Worker, unionTable) != 1 {
		return nil, whole
	}
	out = &query.Split{Kind: "several", Lasting: !p.UsesDay, Draws: p.Draws}
	if p.UsesNow {
		out.Moment = query.Moment(r.now)
	}
	var rows []string
	for i := range u.operands {
		from, err := r.operandInFrom(u, i)
		if err != nil {
			return nil, err
		}
		b, err := r.operandBlock(strings.Replace(p.Worker, unionTable, from, 1))
		if err != nil {
			return nil, err
		}
		out.Lasting, out.Moment = out.Lasting && b.Lasting, cmp.Or(out.Moment, b.Moment)
		out.Blocks = append(out.Blocks, query.Block{
			Table: b.Table, Worker: b.Worker, Kind: cmp.Or(b.Kind, p.Kind), Counts: b.Counts,
		})
		rows = append(rows, "("+split.InPlace(b.Final, i)+")")
	}
	all := "(" + strings.Join(rows, " UNION ALL ") + ") AS __rows"
	out.Final = strings.ReplaceAll(cmp.Or(p.Final, "SELECT * FROM "+split.Partials), "FROM "+split.Partials, "FROM "+all)
	return out, r.verifyUnion(out, p, "SELECT * FROM "+all, want)
}

// fromUnion finds the text of a UNION ALL, and of its operands.
func (r *run) fromUnion(node sql.Node, whole error) (*fromUnion, error) {
	queries, err := r.queriesInParentheses()
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		// All tables of the statement are read by the UNION ALL, and it reads nothing of the WITH around it.
		if !split.IsQuery(node, q.root) || q.references != len(r.st.Tables) || r.references(q.span) != len(r.st.Tables) {
			continue
		}
		text := r.st.SQL[q.span.From:q.span.To]
		u := &fromUnion{byName: split.UnionByName(node)}
		for _, s := range sql.Operands(text) {
			u.operands = append(u.operands, text[s.From:s.To])
		}
		if len(u.operands) != split.UnionOperands(node) {
			return nil, whole
		}
		if len(u.operands) > maxBlocks {
			return nil, split.TooManyQueries(maxBlocks)
		}
		u.columns, err = r.columnsOf(text)
		return u, err
	}
	return nil, whole
}

// columnsOf returns the columns of a part of the statement.
func (r *run) columnsOf(text string) ([]duck.Column, error) {
	st, err := r.parseWorker(text)
	if err != nil {
		return nil, refused("a part of the statement", err)
	}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, session: r.session, now: r.now}
	if err := w.plan(); err != nil {
		return nil, refused("a part of the statement", err)
	}
	defer w.release()
	out, err := w.columns()
	if err != nil {
		return nil, refused("a part of the statement", err)
	}
	return out, nil
}

// operandInFrom returns an operand as a subquery with the columns of the UNION ALL.
func (r *run) operandInFrom(u *fromUnion, i int) (string, error) {
	have, err := r.columnsOf(u.operands[i])
	if err != nil {
		return "", err
	}
	names := make([]string, len(have)) // by which the columns of the operand are known
	for k, c := range have {
		if names[k] = c.Name; !u.byName {
			names[k] = u.columns[k].Name
		}
	}
	list := make([]string, len(u.columns))
	same := len(have) == len(u.columns)
	for k, c := range u.columns {
		at := slices.IndexFunc(names, func(name string) bool { return sql.SameName(name, c.Name) })
		if at < 0 {
			list[k], same = fmt.Sprintf("CAST(NULL AS %s)", c.Type), false
		} else if list[k] = sql.QuoteName(names[at]); have[at].Type != c.Type {
			list[k], same = fmt.Sprintf("CAST(%s AS %s)", list[k], c.Type), false
		}
		list[k] += " AS " + sql.QuoteName(c.Name)
		same = same && at == k
	}
	for k := range names {
		names[k] = sql.QuoteName(names[k])
	}
	from := fmt.Sprintf("(%s\n) AS %s(%s)", u.operands[i], unionTable, strings.Join(names, ", "))
	if same {
		return from, nil
	}
	return fmt.Sprintf("(SELECT %s FROM %s) AS %[3]s", strings.Join(list, ", "), from, unionTable), nil
}

// operandBlock splits the statement for nodes over an operand.
func (r *run) operandBlock(text string) (*query.Split, error) {
	b, err := r.parseBlock(text)
	if err != nil {
		return nil, refused("the statement for nodes", err)
	}
	out, err := b.split(split.ForOperand)
	switch {
	case err != nil && unsplit(err, "") == nil:
		return nil, refused("the statement for nodes", err)
	case err != nil:
		return nil, err
	case len(out.First) > 0:
		return nil, split.Subquery("it has a subquery in an expression of a UNION ALL in its FROM")
	}
	return out, nil
}

// verifyUnion creates the tables of the partial results, and compares the names and types of the answer. rows selects
// the partial results of all operands.
func (r *run) verifyUnion(out *query.Split, p *split.Plan, rows string, want []duck.Column) error {
	for i, b := range out.Blocks {
		if _, err := r.partialTable(b.Worker, split.PartialsOf(i)); err != nil {
			return refused("the statement for nodes", err)
		}
	}
	have, err := r.session.Describe(rows)
	if err != nil {
		return refused("the last step", err)
	}
	return r.verifyLast(p, out.Final, have, want)
}
