package engine

import (
	"cmp"
	"slices"
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/engine/sql"
)

// This file splits statements that read tables in several places: with UNION, joins of subqueries, or several queries
// of WITH. Each query over one table is a block. A block is split by itself, and its last step takes its place in the
// text of the statement. Around the blocks, the text stays as the client wrote it.

const (
	// maxBlocks is the maximum number of blocks of a statement. A search of the page reads up to 32 tables.
	maxBlocks = 32
	// maxTried is the maximum number of parts of the text that are tried as blocks. Each is planned by the engine.
	maxTried = 64
)

// blockSpan is a part of the text that may be a block.
type blockSpan struct {
	sql.Span
	// operand means that it is an operand of a UNION at the top of the statement, so its rows are rows of the answer.
	operand bool
	// inner is the UNION ALL with LIMIT inside of the statement of which it is an operand, or nil.
	inner *innerUnion
}

// hasBlocks reports whether the statement may have blocks or subqueries.
func hasBlocks(st *studied) bool { return len(sql.Queries(st.SQL)) > 0 || sql.Operands(st.SQL) != nil }

// blockSpans returns the parts of the text that may be blocks, the outer ones before those inside of them.
func (r *run) blockSpans() ([]blockSpan, error) {
	text := r.st.SQL
	var out []blockSpan
	for _, s := range sql.Operands(text) {
		out = append(out, blockSpan{Span: s, operand: true})
	}
	length := 0
	for _, s := range sql.Queries(text) {
		out = append(out, blockSpan{Span: s})
		if length += s.To - s.From; length > maxParsed {
			continue
		}
		union, err := r.innerUnion(text[s.From:s.To])
		if err != nil {
			return nil, err
		}
		if union == nil {
			continue
		}
		for _, operand := range sql.Operands(text[s.From:s.To]) {
			out = append(out, blockSpan{Span: sql.Span{From: s.From + operand.From, To: s.From + operand.To}, inner: union})
		}
	}
	slices.SortStableFunc(out, func(a, b blockSpan) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To))
	})
	return out, nil
}

// splitBlocks splits the run's statement by its blocks. whole is the reason why it was not split as a whole, which is
// the error if this is not possible either.
func (r *run) splitBlocks(whole error) (out *query.Split, err error) {
	r.session, r.Planned = nil, nil
	defer r.close()
	if strings.Contains(r.st.SQL, split.Partials) || r.request.Values != nil {
		return nil, whole
	}
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
	first := r.firstOfUnion(want)
	out = &query.Split{Kind: "several", Lasting: true}
	var edits []sql.Edit
	var operands []bool
	read, end, tried := 0, 0, 0
	spans, err := r.blockSpans()
	if err != nil {
		return nil, err
	}
	for _, s := range spans {
		if s.From < end {
			continue // it is inside of a block
		}
		if r.references(s.Span) != 1 {
			continue
		}
		if tried++; tried > maxTried {
			return nil, split.TooManyQueries(maxTried)
		}
		b, err := r.block(s, first, want)
		if unsplit(err, "") != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		read, end = read+1, s.To
		edits = append(edits, sql.Edit{From: s.From, To: s.To, Text: b.Final})
		operands = append(operands, s.operand || s.inner != nil)
		out.Lasting, out.Moment = out.Lasting && b.Lasting, cmp.Or(out.Moment, b.Moment)
		out.Blocks = append(out.Blocks, query.Block{Table: b.Table, Worker: b.Worker, Kind: b.Kind, Counts: b.Counts})
		if len(out.Blocks) > maxBlocks {
			return nil, split.TooManyQueries(maxBlocks)
		}
	}
	if read < len(r.st.Tables) || len(out.Blocks) == 0 {
		return nil, whole // a table is read outside of the blocks
	}
	for i := range edits {
		edits[i].Text = split.InPlace(edits[i].Text, i)
		if operands[i] {
			edits[i].Text = "(" + edits[i].Text + ")"
		}
	}
	out.Final = sql.Replace(r.st.SQL, edits)
	return out, r.verifyBlocks(out, edits, want)
}

// parseBlock returns a run of a part of the statement, or of a text made from one.
func (r *run) parseBlock(text string) (*run, error) {
	st, root, err := sql.Parse(text, r.request.Database, r.in.SyntaxTree)
	if err != nil {
		return nil, err
	}
	request := *r.request
	request.SQL, request.Limit = text, 0
	return &run{ctx: r.ctx, engine: r.engine, in: r.in, st: newStudied(st, root), request: &request, now: r.now}, nil
}

// block splits a part of the text, which has one reference to a table. If the statement is a UNION ALL, first are the
// rows of each operand that it needs, and answer are its columns.
func (r *run) block(s blockSpan, first *split.Union, answer []duck.Column) (out *query.Split, err error) {
	text := r.st.SQL[s.From:s.To]
	b, err := r.parseBlock(text)
	if sql.IsBroken(err) {
		return nil, err
	}
	if err != nil || len(b.st.Tables) != 1 { // a name may refer to a query of WITH
		return nil, split.SeveralTables()
	}
	out, err = b.split(split.Split)
	switch {
	case err != nil && unsplit(err, "") == nil && !sql.IsBroken(err) && r.ctx.Err() == nil:
		return nil, split.Subquery("a subquery uses columns of the query around it; x IN (SELECT …) without such " +
			"columns runs first, and its values become literals")
	case err != nil:
		return nil, err
	case len(out.First) > 0 || out.Kind == "rows" && !s.operand && s.inner == nil:
		return nil, split.SeveralTables() // the partial results would be the rows themselves
	}
	if s.inner != nil {
		return r.ofInnerUnion(s.inner, text, out, b.answer)
	}
	if s.operand && out.Kind == "rows" && split.DropsDuplicates(r.st.tree) {
		less, err := r.distinctRows(text, b, answer)
		if less != nil || err != nil {
			return less, err
		}
	}
	if first != nil && s.operand && (out.Kind == "rows" || out.Kind == "distinct") {
		less, err := r.firstRows(first, text, b.answer, answer)
		if less != nil || err != nil {
			return less, err
		}
	}
	return out, nil
}

// verifyBlocks creates the tables of the partial results, checks the statement around the blocks, and compares the
// names and types of its answer.
func (r *run) verifyBlocks(out *query.Split, edits []sql.Edit, want []duck.Column) error {
	for i, b := range out.Blocks {
		if _, err := r.partialTable(b.Worker, split.PartialsOf(i)); err != nil {
			return refused("the statement for nodes", err)
		}
	}
	outer := slices.Clone(edits)
	for i := range outer {
		outer[i].Text = "(SELECT * FROM " + split.PartialsOf(i) + ")"
	}
	st, root, err := sql.Parse(sql.Replace(r.st.SQL, outer), r.request.Database, r.in.SyntaxTree)
	if err != nil {
		return refused("the last step", err)
	}
	if st.Edited() || len(st.Tables) != len(out.Blocks) {
		return split.SeveralTables()
	}
	if err := split.CheckOuter(root); err != nil {
		return err
	}
	final, err := r.session.Describe(out.Final)
	if err != nil {
		return refused("the last step", err)
	}
	if !slices.Equal(final, want) {
		return split.Types("the names or types of the columns of the answer would differ")
	}
	return nil
}
