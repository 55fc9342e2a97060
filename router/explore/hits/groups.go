package hits

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
	"cordwood/router/query/format"
	"cordwood/router/vrl/value"
)

// Groups of values are numbered from 0. Other groups have these numbers.
const (
	otherGroup = -1
	nullGroup  = -2
)

// groups has the values with separate series.
type groups struct {
	// level is set if the groups are the levels.
	level bool
	// none is set if all rows are one group.
	none   bool
	values []json.RawMessage
	// cases has the SQL conditions of the values, by table id.
	cases map[uint64]string
}

// newGroups finds the values of the field that a request counts by.
func newGroups(ctx context.Context, s *scope.Scope, req *Request, extents map[uint64]*query.Extent) (*groups, error) {
	switch {
	case req.By == "":
		return &groups{none: true}, nil
	case strings.EqualFold(req.By, "level"):
		return newLevels(s), nil
	}
	g := &groups{cases: map[uint64]string{}}
	tops, err := frequent(ctx, s, req, extents)
	if err != nil {
		return nil, err
	}
	found := false
	for _, t := range s.Tables {
		expr, _, has, err := t.Columns.Value(req.By)
		if err != nil {
			return nil, err
		}
		if !has {
			g.cases[t.Def.ID] = strconv.Itoa(nullGroup)
			continue
		}
		found = true
		var b strings.Builder
		b.WriteString("CASE WHEN " + expr + " IS NULL THEN " + strconv.Itoa(nullGroup))
		for i, top := range tops {
			b.WriteString(" WHEN " + expr + " = " + top.literal + " THEN " + strconv.Itoa(i))
		}
		b.WriteString(" ELSE " + strconv.Itoa(otherGroup) + " END")
		g.cases[t.Def.ID] = b.String()
	}
	if !found {
		return nil, s.NoField("by", req.By)
	}
	for _, top := range tops {
		g.values = append(g.values, top.value)
	}
	return g, nil
}

// newLevels returns the levels as groups.
func newLevels(s *scope.Scope) *groups {
	g := &groups{level: true, cases: map[uint64]string{}}
	for _, name := range levels {
		g.values = append(g.values, value.AppendJSONString(nil, name))
	}
	for _, t := range s.Tables {
		g.cases[t.Def.ID] = "CAST(NULL AS VARCHAR)"
		if l := t.Columns.Roles().Level; l != nil {
			g.cases[t.Def.ID] = l.Expression(scope.Ident)
		}
	}
	return g
}

// expression returns the SQL expression for the group of a row of t; empty means that there is only one group.
func (g *groups) expression(t *scope.Table) string {
	if g.none {
		return ""
	}
	return g.cases[t.Def.ID]
}

// of returns the number of the group in a row of an answer.
func (g *groups) of(a arrow.Array, row int) int {
	if format.IsNull(a, row) {
		return nullGroup
	}
	if g.level {
		return slices.Index(levels, format.Text(a)(row))
	}
	switch a := a.(type) {
	case *array.Int32:
		return int(a.Value(row))
	case *array.Int64:
		return int(a.Value(row))
	case *array.Int8:
		return int(a.Value(row))
	case *array.Int16:
		return int(a.Value(row))
	}
	return otherGroup
}

// series returns the counts: levels in their order, values by frequency, then other values and null.
func (g *groups) series(counts map[int][]int64, buckets int) []Series {
	out := []Series{}
	if g.none {
		all := counts[0]
		if all == nil {
			all = make([]int64, buckets)
		}
		return append(out, Series{Value: json.RawMessage("null"), Counts: all})
	}
	for i, v := range g.values {
		if counts[i] != nil {
			out = append(out, Series{Value: v, Counts: counts[i]})
		}
	}
	if !g.level {
		slices.SortStableFunc(out, func(a, b Series) int { return cmp.Compare(sum(b.Counts), sum(a.Counts)) })
	}
	if other := counts[otherGroup]; other != nil {
		out = append(out, Series{Value: json.RawMessage(`"other"`), Other: true, Counts: other})
	}
	if null := counts[nullGroup]; null != nil {
		out = append(out, Series{Value: json.RawMessage("null"), Counts: null})
	}
	return out
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// top is a frequent value.
type top struct {
	value   json.RawMessage
	literal string
	count   int64
}

// maxShown limits a value with a separate series, in bytes.
const maxShown = 1024

// frequent returns the most frequent values of the field. If there are many rows, it uses a sample.
func frequent(ctx context.Context, s *scope.Scope, req *Request, extents map[uint64]*query.Extent) ([]top, error) {
	var sample *budget.Sample
	if !req.Exact && budget.Estimate(s, extents).Rows > budget.MaxExact {
		sample, _ = budget.NewSample(s, extents, budget.SampleRows)
	}
	byValue := map[string]*top{}
	for _, t := range s.Tables {
		expr, _, has, err := t.Columns.Value(req.By)
		if err != nil || !has {
			continue // newGroups has reported it
		}
		sql := "SELECT " + expr + ", count(*) FROM " + sample.Rows(t, t.Condition, s.Times(t), expr+" IS NOT NULL") +
			" GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT " +
			strconv.Itoa(4*req.Top)
		err = s.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			numbers, ok := rec.Column(1).(*array.Int64)
			for i := 0; ok && i < int(rec.NumRows()); i++ {
				literal, ok := scope.ValueLiteral(rec.Column(0), i)
				text, _ := scope.ValueJSON(rec.Column(0), i, maxShown)
				if !ok {
					continue
				}
				if byValue[literal] == nil {
					byValue[literal] = &top{value: text, literal: literal}
				}
				byValue[literal].count += numbers.Value(i)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]top, 0, len(byValue))
	for _, v := range byValue {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b top) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.literal, b.literal))
	})
	return out[:min(len(out), req.Top)], nil
}
