package patterns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/scope"
	"cordwood/router/query/format"
)

func (f *finder) countTable(ctx context.Context, t *scope.Table) error {
	columns, first := f.columns(t)
	where := f.scope.Where(t, scope.Ident(f.req.Field)+" IS NOT NULL", f.sampled.Condition(t))
	sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + f.sampled.From(t) + where +
		" GROUP BY 1 ORDER BY 2 DESC, 1" +
		" LIMIT " + fmt.Sprint(maxMasks)
	counted := int64(0)
	err := f.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		masks, texts := format.Text(rec.Column(0)), format.Text(rec.Column(4))
		begins, ok := rec.Column(2).(*array.Timestamp)
		ends, also := rec.Column(3).(*array.Timestamp)
		if masks == nil || texts == nil || !ok || !also {
			return errs.New(errs.Internal, "find patterns: the answer has the types %s", rec.Schema())
		}
		for i := range int(rec.NumRows()) {
			n := number(rec.Column(1), i)
			counted += n
			node := f.tree.add(masks(i))
			if node == nil {
				f.other += n
				continue
			}
			if node.of == nil {
				node.of = &Pattern{Levels: map[string]int64{}, Spark: make([]int64, sparks), whole: true}
			}
			typ := t.Def.TimeIndex().Type
			p := node.of
			p.add(n, scope.TimeOf(int64(begins.Value(i)), typ), scope.TimeOf(int64(ends.Value(i)), typ), texts(i), t.Def.Name)
			for k := firstLevel; k < first; k++ {
				if c := number(rec.Column(k), i); c > 0 {
					p.Levels[levels[k-firstLevel]] += c
				}
			}
			for k := range sparks {
				p.Spark[k] += number(rec.Column(first+k), i)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.total += counted
	if counted == 0 {
		return nil
	}
	return f.scope.Run(ctx, "SELECT count(*) FROM "+t.From()+where, func(rec arrow.RecordBatch) error {
		f.other += max(0, number(rec.Column(0), 0)-counted)
		return nil
	})
}

// columns returns the columns of the statement that counts the masks of a table, and the index of the first one that
// counts a part of the range. The columns before it, from firstLevel on, count the levels.
func (f *finder) columns(t *scope.Table) (columns []string, firstPart int) {
	column, at := scope.Ident(f.req.Field), scope.Ident(t.Def.TimeIndex().Name)
	columns = []string{
		Mask(column), "count(*)", "min(" + at + ")", "max(" + at + ")", "max_by(" + column + ", " + at + ")",
	}
	if l := t.Columns.Roles().Level; l != nil {
		for _, name := range levels {
			columns = append(columns, "count(*) FILTER (WHERE "+l.Condition([]string{name}, scope.Ident)+")")
		}
	}
	firstPart = len(columns)
	r := f.scope.Range
	span := r.To.Sub(r.From)
	for i := range sparks {
		from, to := r.From.Add(span/sparks*time.Duration(i)), r.From.Add(span/sparks*time.Duration(i+1))
		if i == sparks-1 {
			to = r.To
		}
		columns = append(columns, "count(*) FILTER (WHERE "+t.Compare(">=", from)+" AND "+t.Compare("<", to)+")")
	}
	return columns, firstPart
}

// firstLevel is the index of the first column that counts a level, if any does.
const firstLevel = 5

// levels are the names of the levels, in their order.
var levels = append(slices.Clone(roles.Names), roles.Other)

// number returns the count in a row of an answer.
func number(a arrow.Array, row int) int64 {
	if n, ok := a.(*array.Int64); ok && row < n.Len() && !n.IsNull(row) {
		return n.Value(row)
	}
	return 0
}

// add adds the texts of a mask.
func (p *Pattern) add(n int64, first, last time.Time, text, table string) {
	p.Count += n
	if p.first.IsZero() || first.Before(p.first) {
		p.first = first
	}
	if p.last.IsZero() || last.After(p.last) {
		p.last, p.text = last, text
		p.Example = Example{Table: table, Text: scope.Cut(text, exampleBytes)}
	}
	if len([]rune(text)) >= textChars {
		p.whole = false
	}
}
