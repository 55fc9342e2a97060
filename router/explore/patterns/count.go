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
	rows := f.sampled.Rows(t, t.Condition, f.scope.Times(t), scope.Ident(f.req.Field)+" IS NOT NULL")
	sql := "SELECT " + strings.Join(columns, ", ") + " FROM " + rows +
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
		typ := t.Def.TimeIndex().Type
		for i := range int(rec.NumRows()) {
			m := &mask{
				count: number(rec.Column(1), i), text: strings.Clone(texts(i)), table: t.Def.Name,
				first: scope.TimeOf(int64(begins.Value(i)), typ), last: scope.TimeOf(int64(ends.Value(i)), typ),
			}
			text, cut := masks(i), number(rec.Column(6), i) > textChars
			m.loose = cut || number(rec.Column(5), i) > int64(strings.Count(text, " "))
			for k := firstLevel; k < first; k++ {
				m.levels[k-firstLevel] = number(rec.Column(k), i)
			}
			for k := range sparks {
				m.spark[k] = number(rec.Column(first+k), i)
			}
			counted += m.count
			f.masks = append(f.masks, m)
			f.merge(text, m, cut)
		}
		return nil
	})
	if err != nil || counted == 0 {
		return err
	}
	return f.scope.Run(ctx, "SELECT count(*) FROM "+rows, func(rec arrow.RecordBatch) error {
		f.other += max(0, number(rec.Column(0), 0)-counted)
		return nil
	})
}

// merge adds a mask to a pattern, unless there are too many similar ones.
func (f *finder) merge(text string, m *mask, cut bool) {
	node := f.tree.add(text)
	if node == nil {
		return
	}
	if node.of == nil {
		node.of = &merged{}
	}
	node.of.count += m.count
	node.of.loose = node.of.loose || m.loose
	node.of.cut = node.of.cut || cut || strings.Count(text, " ") >= maxWords
}

// columns returns the columns of the statement that counts the masks of a table, and the index of the first one that
// counts a part of the range. The columns before it, from firstLevel on, count the levels.
func (f *finder) columns(t *scope.Table) (columns []string, firstPart int) {
	column, at := scope.Ident(f.req.Field), scope.Ident(t.Def.TimeIndex().Name)
	columns = []string{
		Mask(column), "count(*)", "min(" + at + ")", "max(" + at + ")",
		"max_by(" + begin(column, exampleChars) + ", " + at + ")",
		"max(length(" + begin(column, textChars) + ") - length(replace(" + begin(column, textChars) + ", ' ', '')))",
		"max(length(" + column + "))",
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
const firstLevel = 7

// levels are the names of the levels, in their order.
var levels = append(slices.Clone(roles.Names), roles.Other)

// maxLevels limits the number of levels.
const maxLevels = 8

// number returns the count in a row of an answer.
func number(a arrow.Array, row int) int64 {
	if n, ok := a.(*array.Int64); ok && row < n.Len() && !n.IsNull(row) {
		return n.Value(row)
	}
	return 0
}
