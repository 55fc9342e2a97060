package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
)

// This file answers statements that use only the time, and only coarsely, from the bounds of parts:
// hits per minute, or rows of last week. If all rows of a part are the same to a statement, DuckDB
// gets the same number of rows with one constant value instead.

const (
	// maxSame is the maximum number of sameRows of a reference. Each is a part of DuckDB's plan.
	maxSame = 64
	// FarAway limits the moments that are considered. Moments beyond it may mean infinity.
	FarAway = math.MaxInt64 / 2
	// apart is a margin in nanoseconds before the end of a bucket. Moments within the margin are
	// not counted by bounds, since some functions round to microseconds.
	apart = 1000
)

// readsTimes reports whether a node may be a use of a time index that a reader function handles.
func readsTimes(n sql.Node) bool {
	switch sql.Text(n, "class") {
	case "COMPARISON", "BETWEEN", "CAST", "FUNCTION":
		return true
	}
	return false
}

// findTimes returns the outermost nodes of a tree that may use a time index.
func findTimes(root sql.Node) (list []sql.Node) {
	sql.EachNode(root, func(n sql.Node) bool {
		found := readsTimes(n)
		if found {
			list = append(list, n)
		}
		return !found
	})
	return list
}

// readers returns the uses of the time index of the statement's only table. ok is false if the
// statement reads another column, or uses the time index in a way that is not known here.
func (p *Plan) readers(now time.Time) (list []indistinct, ok bool) {
	st := p.St
	index := p.View.Schema.TimeIndex()
	if index == nil || len(st.Tables) != 1 || st.Whole {
		return nil, false
	}
	pl := &Scope{Schema: p.View.Schema, Names: p.View.Names, Alias: p.Ref.CalledAs(), Alone: true}
	pl.Constants = p.Constants(now)
	if pl.Named(index.Name) == nil {
		return nil, false
	}
	uses := 0
	for _, n := range p.shape.times {
		sql.EachNode(n, func(n sql.Node) bool {
			found := pl.readersOf(n)
			if found != nil {
				list = append(list, found...)
				uses++
			}
			return found == nil
		})
	}
	// Another node with the name of the column may be another use of it.
	return list, uses == st.Words[sql.LowerASCII(index.Name)]
}

// readersOf returns how an expression with one use of the time index reads it, or nil if that is
// not known.
func (p *Scope) readersOf(n sql.Node) []indistinct {
	switch kind := sql.Text(n, "type"); sql.Text(n, "class") {
	case "COMPARISON":
		if r := p.readerOf(n["left"], n["right"]); r != nil {
			return []indistinct{r}
		}
		if r := p.readerOf(n["right"], n["left"]); r != nil {
			return []indistinct{r}
		}
	case "BETWEEN":
		lower, upper := p.readerOf(n["input"], n["lower"]), p.readerOf(n["input"], n["upper"])
		if lower != nil && upper != nil {
			return []indistinct{lower, upper}
		}
	case "CAST":
		cast, _ := n["cast_type"].(sql.Node)
		if kind == "OPERATOR_CAST" && sql.Text(cast, "id") == "DATE" && p.isTimeIndex(n["child"]) {
			return []indistinct{sameBucket(day, 0)}
		}
	case "FUNCTION":
		if r := p.bucketOf(n); r != nil {
			return []indistinct{r}
		}
	}
	return nil
}

// bucketOf handles a function that assigns the time index to buckets.
func (p *Scope) bucketOf(n sql.Node) indistinct {
	list := sql.Args(n)
	if len(list) != 2 || !p.isTimeIndex(list[1]) {
		return nil
	}
	switch sql.LowerASCII(sql.Text(n, "function_name")) {
	case "date_trunc", "datetrunc":
		return sameUnit(list[0])
	case "time_bucket":
		// Buckets are counted from January 3, 2000, a Monday.
		if by, ok := p.duration(list[0]); ok && by.Lo == by.Hi && by.Lo > 0 && by.Lo%apart == 0 {
			return sameBucket(by.Lo, 946857600*Second)
		}
	}
	return nil
}

// readerOf handles a comparison of an expression of the time index with a constant.
func (p *Scope) readerOf(expr, constant any) indistinct {
	at, back, forth, ok := p.compared(expr, constant)
	if !ok {
		return nil
	}
	border := Span{Plus(at.Lo, -forth), Plus(at.Hi, back)}
	return func(times Span) bool { return !times.Meets(border) }
}

// sameUnit handles date_trunc.
func sameUnit(v any) indistinct {
	n, _ := v.(sql.Node)
	value, _ := n["value"].(sql.Node)
	name, ok := value["value"].(string)
	if sql.Text(n, "class") != "CONSTANT" || !ok {
		return nil
	}
	switch strings.ToLower(name) {
	case "second", "seconds":
		return sameBucket(Second, 0)
	case "minute", "minutes":
		return sameBucket(60*Second, 0)
	case "hour", "hours":
		return sameBucket(3600*Second, 0)
	case "day", "days":
		return sameBucket(day, 0)
	case "week", "weeks":
		return sameBucket(7*day, 4*day) // 1970-01-05 was a Monday
	case "month", "months":
		return func(times Span) bool {
			lo, hi := time.Unix(0, times.Lo).UTC(), time.Unix(0, times.Hi).UTC()
			return lo.Year() == hi.Year() && lo.Month() == hi.Month()
		}
	}
	return nil
}

// sameBucket handles buckets of a fixed width in nanoseconds. One bucket begins at origin.
func sameBucket(size, origin int64) indistinct {
	floor := func(v int64) int64 {
		v -= origin
		if v < 0 {
			return (v - size + 1) / size
		}
		return v / size
	}
	return func(times Span) bool { return floor(times.Lo) == floor(times.Hi) }
}

// alike reports whether the statement cannot distinguish any two moments of a span. The span is in
// the unit of the time index.
func (p *Plan) alike(lo, hi int64, timeType schema.Type) bool {
	times := Span{Nanoseconds(lo, timeType), Nanoseconds(hi, timeType)}
	if before := p.View.ExpiredBefore; before != nil && lo < *before && hi >= *before {
		return false
	}
	if lo > hi || times.Lo < -FarAway || times.Hi > FarAway {
		return false
	}
	if lo == hi {
		return true // any use of a single moment has one result
	}
	times.Hi = Plus(times.Hi, apart)
	return !slices.ContainsFunc(p.reads, func(r indistinct) bool { return !r(times) })
}

// countByBounds removes parts and row groups from the source if their rows are all the same to the
// statement, and counts the rows instead.
func countByBounds(_ context.Context, p *Plan, s *Source) error {
	if !p.timesOnly || len(s.need) != 1 || s.Columns[s.need[0]].Semantic != schema.Timestamp {
		return nil
	}
	timeType := p.View.timeType()
	var units []alikeRows
	for i := range s.Plain {
		units = append(units, p.alikeIn(s, i, &s.Columns[s.need[0]], maxBorderPages)...)
	}
	same := p.join(countedUnits(units), timeType)
	if len(same) > maxSame {
		slices.SortStableFunc(same, func(a, b []alikeRows) int { return cmp.Compare(rowsOf(b), rowsOf(a)) })
		same = same[:maxSame]
	}
	taken := slices.DeleteFunc(units, func(u alikeRows) bool { return u.rows > 0 })
	for _, list := range same {
		s.same = append(s.same, sameRows{at: list[0].min, rows: rowsOf(list)})
		taken = append(taken, list...)
	}
	s.take(taken)
	return nil
}

// take removes rows that need not be read from the source.
func (s *Source) take(units []alikeRows) {
	taken := make(map[int][]rowRun) // by the position in s.plain
	whole := make(map[int]bool)
	for _, u := range units {
		taken[u.part] = append(taken[u.part], u.run)
		whole[u.part] = whole[u.part] || u.whole
	}
	var left []Part
	for i, part := range s.Plain {
		switch runs, some := taken[i]; {
		case !some:
			left = append(left, part)
		case !whole[i]:
			if part.Groups = without(part.Segment.Rows, runs); len(part.Groups) > 0 {
				left = append(left, part)
			}
		}
	}
	s.Plain = left
}

func explainBounds(_ *Plan, s *Source) string {
	n := int64(0)
	for _, same := range s.same {
		n += same.rows
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d rows counted by the bounds of their times", n)
}

// alikeRows are rows of a part that are the same to a statement.
type alikeRows struct {
	part     int // position in source.plain
	whole    bool
	group    int    // row group of the file, unless the whole part is meant
	run      rowRun // rows of the file, unless the whole part is meant
	min, max int64
	rows     int64            // 0: they need not be read, because none of them matters
	counts   map[string]int64 // of the rows, by the literals of their values; nil: not counted
	// within means that the rows are only the given pieces of the row group.
	within bool
	pieces []segment.Run
}

// countedUnits returns the units whose rows have to be counted. The other units have no rows that matter.
func countedUnits(units []alikeRows) (out []alikeRows) {
	for _, u := range units {
		if u.rows > 0 {
			out = append(out, u)
		}
	}
	return out
}

func rowsOf(list []alikeRows) (n int64) {
	for _, u := range list {
		n += u.rows
	}
	return n
}

// meets reports whether rows within a span may meet the statement's conditions.
func (p *Plan) meets(lo, hi int64) bool {
	return p.may == nil || p.may(p.probe(&Part{Min: lo, Max: hi}, false))
}

// alikeIn returns the rows of part i of the source that are alike: the whole part, or row groups,
// or runs of at most divided row groups.
func (p *Plan) alikeIn(s *Source, i int, index *schema.Column, divided int) (out []alikeRows) {
	part, timeType := &s.Plain[i], index.Type
	if part.far {
		return nil
	}
	if part.Batch != nil {
		if part.Batch.Column(schema.DeletedColumnID) == nil && p.alike(part.Min, part.Max, timeType) {
			out = append(out, alikeRows{part: i, whole: true, min: part.Min, max: part.Max, rows: int64(part.Batch.Rows)})
		}
		return out
	}
	fields := fieldsOf(part.Segment)
	_, has := fields[index.ID]
	if _, marked := fields[schema.DeletedColumnID]; part.Groups != nil || marked || !has {
		return nil
	}
	if p.alike(part.Min, part.Max, timeType) {
		return append(out, alikeRows{part: i, whole: true, min: part.Min, max: part.Max, rows: part.Segment.Rows})
	}
	if part.Segment.Shared || p.hasColumn("file_row_number") {
		return nil
	}
	f := p.FiltersOf(part.Segment)
	if f == nil {
		return nil
	}
	divider := &border{
		Plan: p, part: part, index: i, filters: f, field: fields[index.ID], timeType: timeType, most: divided,
	}
	defer divider.close()
	return p.alikeGroups(part, i, f, divider)
}

// alikeGroups returns the row groups of a segment whose rows are alike. divider divides other row groups into runs of
// alike rows.
func (p *Plan) alikeGroups(part *Part, i int, f *segment.Filters, divider *border) (out []alikeRows) {
	field, timeType := divider.field, divider.timeType
	factor, total, may, counted := FileFactor(timeType), int64(0), int64(0), int64(0)
	for g, group := range f.Groups {
		total += group.Rows
		lo, hi, ok := f.Bounds(field, g)
		if !ok {
			may += group.Rows
			continue
		}
		lo, hi = max(lo/factor, part.Min), min(hi/factor, part.Max)
		u := alikeRows{
			part: i, group: g, run: rowRun{group.First, group.First + group.Rows - 1}, min: lo, max: hi,
			rows: group.Rows,
		}
		if !p.meets(lo, hi) {
			u.rows = 0
			out = append(out, u)
			continue
		}
		may += group.Rows
		if p.alike(lo, hi, timeType) {
			counted += group.Rows
			out = append(out, u)
		} else if runs := divider.divide(g); runs != nil {
			counted += group.Rows
			out = append(out, runs...)
		}
	}
	if total != part.Segment.Rows || counted < may/4*3 {
		return nil // reading the rest by row numbers would take longer than reading all rows
	}
	if counted < may {
		// DuckDB leaves out what does not matter itself, in less time than it takes to read runs.
		out = countedUnits(out)
	}
	return fewRuns(out, total)
}

// fewRuns removes the smallest runs of a file until the others are few enough to be separate.
func fewRuns(list []alikeRows, rows int64) []alikeRows {
	for {
		var runs []rowRun
		for _, u := range list {
			runs = append(runs, u.run)
		}
		if len(list) == 0 || len(without(rows, runs)) <= maxRuns {
			return list
		}
		// Neighbouring runs are one gap, so keep all of them or none.
		first, end, least := 0, 0, int64(math.MaxInt64)
		for i := 0; i < len(list); {
			k, n := i+1, list[i].rows
			for ; k < len(list) && list[k].run.First == list[k-1].run.Last+1; k++ {
				n += list[k].rows
			}
			if n < least {
				first, end, least = i, k, n
			}
			i = k
		}
		list = slices.Delete(list, first, end)
	}
}

// without returns the rows of a file that are in none of the given runs, as runs.
func without(rows int64, runs []rowRun) (out []rowRun) {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b rowRun) int { return cmp.Compare(a.First, b.First) })
	next := int64(0)
	for _, r := range append(runs, rowRun{rows, rows}) {
		if r.First > next {
			out = append(out, rowRun{next, r.First - 1})
		}
		next = r.Last + 1
	}
	return out
}

// join combines the counts of rows that are the same to the statement.
func (p *Plan) join(units []alikeRows, timeType schema.Type) (out [][]alikeRows) {
	slices.SortStableFunc(units, func(a, b alikeRows) int { return cmp.Compare(a.min, b.min) })
	end := int64(0)
	for _, u := range units {
		if n := len(out); n > 0 && p.alike(out[n-1][0].min, max(end, u.max), timeType) {
			out[n-1] = append(out[n-1], u)
			end = max(end, u.max)
			continue
		}
		out, end = append(out, []alikeRows{u}), u.max
	}
	return out
}
