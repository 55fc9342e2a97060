package plan

import (
	"errors"
	"os"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment/parquet"
)

// This file finds the conditions that all rows of a part meet because of the bounds of the part's
// times. The other conditions have to be checked for each row.

// Condition is a part of a WHERE that every row of the answer meets.
type Condition struct {
	Expr sql.Node
	// meets reports whether all rows between two times, in nanoseconds, meet the condition. It is
	// nil if the condition uses other columns than the time index.
	meets func(times Span) bool
}

// OnTime reports whether the condition uses only the time index.
func (c *Condition) OnTime() bool { return c.meets != nil }

// Conjuncts splits a condition at its ANDs.
func Conjuncts(where sql.Node) []sql.Node {
	if where == nil {
		return nil
	}
	if sql.Text(where, "class") != "CONJUNCTION" || sql.Text(where, "type") != "CONJUNCTION_AND" {
		return []sql.Node{where}
	}
	var out []sql.Node
	for _, v := range sql.Args(where) {
		n, _ := v.(sql.Node)
		out = append(out, Conjuncts(n)...)
	}
	return out
}

// Conditions returns the conditions of a WHERE that use only the reference's table, evaluated for one time.
func (p *Plan) Conditions(where sql.Node, now time.Time) []Condition {
	var out []Condition
	for _, expr := range Conjuncts(where) {
		pl := &Scope{Schema: p.View.Schema, Names: p.View.Names, Alias: p.Ref.CalledAs(), Alone: true}
		pl.Constants = p.Constants(now)
		c := Condition{Expr: expr}
		if pl.onTime(expr) {
			// The condition holds for all rows if no row meets its opposite, and neither the time
			// index nor the constant is null.
			if not := pl.predicate(withoutBetween(expr), true); not != nil {
				c.meets = func(times Span) bool { return !not(&probe{times: times}) }
			}
		}
		out = append(out, c)
	}
	return out
}

// onTime reports whether an expression consists only of comparisons of the time index with
// constants.
func (p *Scope) onTime(expr sql.Node) bool {
	only := true
	sql.EachNode(expr, func(n sql.Node) bool {
		switch sql.Text(n, "class") {
		case "COLUMN_REF":
			only = only && p.isTimeIndex(n)
			return false
		case "", "CONSTANT", "CAST", "COMPARISON", "BETWEEN", "CONJUNCTION":
		case "FUNCTION":
			name := sql.LowerASCII(sql.Text(n, "function_name"))
			only = only && (constantFunctions[name] || unorderedFunctions[name])
		default:
			only = false
		}
		return only
	})
	return only
}

// withoutBetween replaces each BETWEEN of a condition by two comparisons, because only comparisons
// can be negated.
func withoutBetween(n sql.Node) sql.Node {
	switch sql.Text(n, "class") {
	case "BETWEEN":
		side := func(kind, bound string) sql.Node {
			return sql.Node{"class": "COMPARISON", "type": kind, "left": n["input"], "right": n[bound]}
		}
		return sql.Node{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "children": []any{
			side("COMPARE_GREATERTHANOREQUALTO", "lower"), side("COMPARE_LESSTHANOREQUALTO", "upper"),
		}}
	case "CONJUNCTION":
		children := slices.Clone(sql.Args(n))
		for i, v := range children {
			child, _ := v.(sql.Node)
			children[i] = withoutBetween(child)
		}
		return sql.Node{"class": "CONJUNCTION", "type": n["type"], "children": children}
	}
	return n
}

// Decided reports whether all rows of a part meet the conditions that use only the time index.
func (p *Plan) Decided(pt *Part, conditions []Condition) bool {
	times := p.probe(pt, false).times
	if pt.far || times.Lo < -FarAway || times.Hi > FarAway {
		return !slices.ContainsFunc(conditions, func(c Condition) bool { return c.OnTime() })
	}
	times = Span{Plus(times.Lo, -apart), Plus(times.Hi, apart)}
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return c.OnTime() && !c.meets(times) })
}

// WholeRows returns the number of rows of a part if all of them are visible: none has expired, and
// none is marked as deleted.
func (p *Plan) WholeRows(pt *Part) (rows int64, ok bool) {
	if before := p.View.ExpiredBefore; before != nil && pt.Min < *before {
		return 0, false
	}
	if pt.Batch != nil {
		return int64(pt.Batch.Rows), pt.Batch.Column(schema.DeletedColumnID) == nil
	}
	_, marked := columnIn(pt.Segment, schema.DeletedColumnID)
	return pt.Segment.Rows, pt.Segment.Damaged == "" && !marked
}

// Keepable returns the segments with at least minRows rows whose partial results can be kept: no
// row has expired or has to be merged with others, and all rows meet the conditions that use only
// the time index.
func (p *Plan) Keepable(conditions []Condition, rows int64) (out []*query.Segment) {
	if p.hasColumn("file_index") || p.hasColumn(NumberColumn) {
		return nil
	}
	parts := p.Parts()
	if p.View.Merges() {
		parts, _ = separate(parts)
	}
	for i := range parts {
		pt := &parts[i]
		if pt.Segment == nil || pt.Segment.Rows < rows || pt.Segment.Damaged != "" || !p.MeetsTimes(pt, false) {
			continue
		}
		if before := p.View.ExpiredBefore; before != nil && pt.Min < *before || !p.Decided(pt, conditions) {
			continue
		}
		out = append(out, pt.Segment)
	}
	return out
}

// ManyValues reports whether a segment has more than most different values of a column, as far as
// the dictionary of a row group shows this. Texts without a dictionary are mostly different.
func (p *Plan) ManyValues(s *query.Segment, name string, most int) bool {
	at := slices.Index(p.View.Names, name)
	if s.Cold > 0 {
		return false // finding out would take a request
	}
	filters := p.Filters.Get(s)
	if at < 0 || filters == nil || s.Shared || len(filters.Groups) == 0 {
		return false
	}
	columns, ok := p.PageColumns(s, []int{at})
	if !ok || len(columns) == 0 || columns[0].ID != p.View.Columns[at].ID {
		return false
	}
	file, err := os.Open(s.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	n, err := filters.Entries(file, 0, columns[0])
	if errors.Is(err, parquet.ErrNoDictionary) {
		return columns[0].Type == schema.String && filters.Groups[0].Rows > int64(most)
	}
	return err == nil && n > most
}

// Apart returns the parts of the table whose times may match. It returns them only if no rows of
// different parts have to be merged.
func (p *Plan) Apart() (parts []Part, ok bool) {
	parts = p.Parts()
	if p.View.Merges() {
		var merges [][]Part
		if parts, merges = separate(parts); len(merges) > 0 {
			return nil, false
		}
	}
	return slices.DeleteFunc(parts, func(pt Part) bool { return !p.MeetsTimes(&pt, false) }), true
}
