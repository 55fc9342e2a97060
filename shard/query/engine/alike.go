package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/schema"
)

// This file answers from the bounds of parts alone what asks for nothing but times, and
// for these only as coarsely as the bounds are: hits per minute, rows of last week. If
// all rows of a part look the same to a statement, it gets as many rows of one value.

// A reader tells whether a use of the time index cannot tell moments of a span, in
// nanoseconds, apart.
type reader func(times span) bool

// sameRows are rows of one time, as far as the statement can tell.
type sameRows struct {
	at   int64 // in the unit of the time index
	rows int64
}

const (
	// maxSame is how many sameRows a reference reads; each is a part of the plan.
	maxSame = 64
	// farAway bounds the moments that are looked at: those beyond may mean infinity.
	farAway = math.MaxInt64 / 2
	// apart is how long before the end of a bucket moments are not looked at, in
	// nanoseconds: some functions see microseconds, rounded.
	apart = 1000
)

// readsTimes tells whether a node may be a use of a time index that readers understand.
func readsTimes(n node) bool {
	switch text(n, "class") {
	case "COMPARISON", "BETWEEN", "CAST", "FUNCTION":
		return true
	}
	return false
}

// findTimes returns the outermost nodes of a tree that may be uses of a time index.
func findTimes(root node) (list []node) {
	eachNode(root, func(n node) bool {
		found := readsTimes(n)
		if found {
			list = append(list, n)
		}
		return !found
	})
	return list
}

// readers returns what the statement reads of the time index of its only table, if that
// is all that it reads of it, and nothing in another way.
func (p *plan) readers(now time.Time) (list []reader, ok bool) {
	st := p.st
	index := p.view.Schema.TimeIndex()
	if index == nil || len(st.tables) != 1 || st.whole {
		return nil, false
	}
	pl := &planner{schema: p.view.Schema, names: p.view.names, alias: p.ref.calledAs(), alone: true}
	pl.constants = p.constants(now)
	if pl.named(index.Name) == nil {
		return nil, false
	}
	uses := 0
	for _, n := range p.shape.times {
		eachNode(n, func(n node) bool {
			found := pl.readersOf(n)
			if found != nil {
				list = append(list, found...)
				uses++
			}
			return found == nil
		})
	}
	// Whatever else has the name of the column may be another use of it.
	return list, uses == st.words[lowerASCII(index.Name)]
}

// readersOf returns what an expression with one use of the time index reads of it, or nil.
func (p *planner) readersOf(n node) []reader {
	switch kind := text(n, "type"); text(n, "class") {
	case "COMPARISON":
		if r := p.readerOf(n["left"], n["right"]); r != nil {
			return []reader{r}
		}
		if r := p.readerOf(n["right"], n["left"]); r != nil {
			return []reader{r}
		}
	case "BETWEEN":
		lower, upper := p.readerOf(n["input"], n["lower"]), p.readerOf(n["input"], n["upper"])
		if lower != nil && upper != nil {
			return []reader{lower, upper}
		}
	case "CAST":
		cast, _ := n["cast_type"].(node)
		if kind == "OPERATOR_CAST" && text(cast, "id") == "DATE" && p.isTimeIndex(n["child"]) {
			return []reader{sameBucket(day, 0)}
		}
	case "FUNCTION":
		list := args(n)
		switch name := lowerASCII(text(n, "function_name")); {
		case len(list) != 2 || !p.isTimeIndex(list[1]):
		case name == "date_trunc" || name == "datetrunc":
			if r := sameUnit(list[0]); r != nil {
				return []reader{r}
			}
		case name == "time_bucket":
			// Buckets are counted from the third of January 2000, a Monday.
			if by, ok := p.duration(list[0]); ok && by.lo == by.hi && by.lo > 0 && by.lo%apart == 0 {
				return []reader{sameBucket(by.lo, 946857600*second)}
			}
		}
	}
	return nil
}

// readerOf is about the comparison of an expression of the time index with a constant.
func (p *planner) readerOf(expr, constant any) reader {
	at, back, forth, ok := p.compared(expr, constant)
	if !ok {
		return nil
	}
	border := span{plus(at.lo, -forth), plus(at.hi, back)}
	return func(times span) bool { return !times.meets(border) }
}

func (p *planner) isTimeIndex(v any) bool { return p.timeIndex(v) != nil }

// sameUnit is about date_trunc.
func sameUnit(v any) reader {
	n, _ := v.(node)
	value, _ := n["value"].(node)
	name, ok := value["value"].(string)
	if text(n, "class") != "CONSTANT" || !ok {
		return nil
	}
	switch strings.ToLower(name) {
	case "second", "seconds":
		return sameBucket(second, 0)
	case "minute", "minutes":
		return sameBucket(60*second, 0)
	case "hour", "hours":
		return sameBucket(3600*second, 0)
	case "day", "days":
		return sameBucket(day, 0)
	case "week", "weeks":
		return sameBucket(7*day, 4*day) // 1970-01-05 was a Monday
	case "month", "months":
		return func(times span) bool {
			lo, hi := time.Unix(0, times.lo).UTC(), time.Unix(0, times.hi).UTC()
			return lo.Year() == hi.Year() && lo.Month() == hi.Month()
		}
	}
	return nil
}

// sameBucket is about buckets of so many nanoseconds of which one begins at origin.
func sameBucket(size, origin int64) reader {
	floor := func(v int64) int64 {
		v -= origin
		if v < 0 {
			return (v - size + 1) / size
		}
		return v / size
	}
	return func(times span) bool { return floor(times.lo) == floor(times.hi) }
}

// alike tells whether the statement cannot tell moments of a span, in the unit of the
// time index, apart.
func (p *plan) alike(lo, hi int64, timeType schema.Type) bool {
	times := span{nanoseconds(lo, timeType), nanoseconds(hi, timeType)}
	if before := p.view.ExpiredBefore; before != nil && lo < *before && hi >= *before {
		return false
	}
	if lo > hi || times.lo < -farAway || times.hi > farAway {
		return false
	}
	times.hi = plus(times.hi, apart)
	return !slices.ContainsFunc(p.reads, func(r reader) bool { return !r(times) })
}

// countByBounds takes what the statement need not read out of the source: parts, or row groups of
// segments, whose rows are alike to it.
func countByBounds(_ context.Context, p *plan, s *source) error {
	if !p.timesOnly || len(s.need) != 1 || s.columns[s.need[0]].Semantic != schema.Timestamp {
		return nil
	}
	timeType := p.view.timeType()
	var units []alikeRows
	for i := range s.plain {
		units = append(units, p.alikeIn(s, i, timeType)...)
	}
	same := p.join(units, timeType)
	if len(same) > maxSame {
		slices.SortStableFunc(same, func(a, b []alikeRows) int { return cmp.Compare(rowsOf(b), rowsOf(a)) })
		same = same[:maxSame]
	}
	taken := make(map[int][]rowRun) // of s.plain
	whole := make(map[int]bool)
	for _, list := range same {
		s.same = append(s.same, sameRows{at: list[0].min, rows: rowsOf(list)})
		for _, u := range list {
			taken[u.part] = append(taken[u.part], u.run)
			whole[u.part] = whole[u.part] || u.whole
		}
	}
	var left []part
	for i, part := range s.plain {
		switch runs, some := taken[i]; {
		case !some:
			left = append(left, part)
		case !whole[i]:
			if part.groups = without(part.segment.Rows, runs); len(part.groups) > 0 {
				left = append(left, part)
			}
		}
	}
	s.plain = left
	return nil
}

func explainBounds(_ *plan, s *source) string {
	n := int64(0)
	for _, same := range s.same {
		n += same.rows
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d rows counted by the bounds of their times", n)
}

// alikeRows are rows of a part that are alike to a statement.
type alikeRows struct {
	part     int // in source.plain
	whole    bool
	run      rowRun // of the file, if not whole
	min, max int64
	rows     int64
}

func rowsOf(list []alikeRows) (n int64) {
	for _, u := range list {
		n += u.rows
	}
	return n
}

// alikeIn returns what of part i of the source is alike: all of it, or row groups.
func (p *plan) alikeIn(s *source, i int, timeType schema.Type) (out []alikeRows) {
	part := &s.plain[i]
	if part.far {
		return nil
	}
	if part.batch != nil {
		if part.batch.Column(schema.DeletedColumnID) == nil && p.alike(part.min, part.max, timeType) {
			out = append(out, alikeRows{part: i, whole: true, min: part.min, max: part.max, rows: int64(part.batch.Rows)})
		}
		return out
	}
	index := s.columns[s.need[0]]
	fields := fieldsOf(part.segment)
	_, has := fields[index.ID]
	if _, marked := fields[schema.DeletedColumnID]; part.groups != nil || marked || !has {
		return nil
	}
	if p.alike(part.min, part.max, timeType) {
		return append(out, alikeRows{part: i, whole: true, min: part.min, max: part.max, rows: part.segment.Rows})
	}
	if part.segment.Shared || p.hasColumn("file_row_number") {
		return nil
	}
	f := p.filters.get(part.segment)
	if f == nil {
		return nil
	}
	factor, total := int64(1), int64(0)
	if index.Type == schema.TimestampSecond {
		factor = 1000 // files have milliseconds
	}
	for g, group := range f.Groups {
		total += group.Rows
		lo, hi, ok := f.Bounds(fields[index.ID], g)
		if !ok {
			continue
		}
		lo, hi = max(lo/factor, part.min), min(hi/factor, part.max)
		if p.alike(lo, hi, timeType) {
			out = append(out, alikeRows{part: i, run: rowRun{group.First, group.First + group.Rows - 1}, min: lo, max: hi, rows: group.Rows})
		}
	}
	if total != part.segment.Rows {
		return nil
	}
	return fewRuns(out, total)
}

// fewRuns leaves out the smallest of some runs of a file, until those that are not among
// them are few enough to be told apart.
func fewRuns(list []alikeRows, rows int64) []alikeRows {
	for {
		var runs []rowRun
		for _, u := range list {
			runs = append(runs, u.run)
		}
		if len(list) == 0 || len(without(rows, runs)) <= maxRuns {
			return list
		}
		// Of neighbours, which are one gap, all or none are of use.
		first, end, least := 0, 0, int64(math.MaxInt64)
		for i := 0; i < len(list); {
			k, n := i+1, list[i].rows
			for ; k < len(list) && list[k].run.first == list[k-1].run.last+1; k++ {
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

// without returns the runs of a file's rows that are not among some.
func without(rows int64, runs []rowRun) (out []rowRun) {
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b rowRun) int { return cmp.Compare(a.first, b.first) })
	next := int64(0)
	for _, r := range append(runs, rowRun{rows, rows}) {
		if r.first > next {
			out = append(out, rowRun{next, r.first - 1})
		}
		next = r.last + 1
	}
	return out
}

// join puts together what is alike.
func (p *plan) join(units []alikeRows, timeType schema.Type) (out [][]alikeRows) {
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

// repeat writes the query of rows that are alike.
func (s *source) repeat(b *strings.Builder, same sameRows) {
	at, c := s.need[0], s.columns[s.need[0]]
	moment := fmt.Sprintf("make_timestamp_ns(%d)", same.at)
	if c.Type != schema.TimestampNanosecond {
		moment = fmt.Sprintf("make_timestamp(%d)", nanoseconds(same.at, c.Type)/1000)
	}
	name := quoteName(s.names[at])
	fmt.Fprintf(b, "SELECT %s::%s AS %s FROM range(%d)", moment, duckTypes[c.Type].sql, name, same.rows)
	s.conditions(b)
}
