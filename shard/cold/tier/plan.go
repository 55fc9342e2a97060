package tier

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/compaction"
	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

const (
	// jobBytes is the approximate maximum size of the rows of a job in segments, and that of an object.
	jobBytes = 192 << 20
	// jobInputs is the maximum number of segments that a job reads.
	jobInputs = 64
	// maxDays is the maximum number of days of a table in a cut that get objects of their own, if the rows of the table
	// merge. Otherwise objects have several days.
	maxDays = 128
	// sharedJobs is the maximum number of jobs that read the same shared segments.
	sharedJobs = 4
)

// job is a part of a cut that is built at once: rows of one table, or of tables that share files, of one day.
type job struct {
	// number is the position among the jobs of the cut.
	number int
	inputs []store.Segment // in ascending order
	shared bool
	// tables are the tables whose rows are taken, with the size of the rows.
	tables map[uint64]size
	// bytes and rows are those of the tables.
	bytes, rows int64
	// within, if not nil, are the times of the rows that are taken.
	within *compaction.Within
	// whole means that the inputs have all rows of these times, so marks of deletions are left out. The rows of an input
	// merge as modes says for its order, if it is not nil.
	whole bool
	modes func(order uint64) query.Merge
}

// jobKey identifies segments whose rows may be in one object.
type jobKey struct {
	// table is 0 for shared segments.
	table              uint64
	database, physical string
	// from is where the range of orders begins that the segment is in. The tables of the cut all have rows within the
	// range, or none.
	from uint64
	// day is the first UTC day of the partition, and days its length. See partition.
	day, days int64
}

func (a jobKey) compare(b jobKey) int {
	return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.database, b.database), cmp.Compare(a.physical, b.physical),
		cmp.Compare(a.days, b.days), cmp.Compare(a.day, b.day), cmp.Compare(a.from, b.from))
}

// plan divides the rows of a cut into jobs of about limit bytes. Tables with rows of several merge modes are left out.
// Tables with split bytes or more get objects of their own if their rows merge.
func plan(rows *store.CutRows, limit, split int64) (jobs []job) {
	all, byID := make(map[uint64]*store.CutTable, len(rows.Tables)), make(map[uint64]*store.CutTable, len(rows.Tables))
	var bounds []uint64
	for i := range rows.Tables {
		t := &rows.Tables[i]
		if t.Mixed {
			continue
		}
		bounds = append(bounds, t.From, t.To)
		all[t.Def.ID] = t
		if t.Merge == query.Append {
			byID[t.Def.ID] = t
		}
	}
	slices.Sort(bounds)
	groups := map[jobKey][]part{}
	var keys []jobKey
	add := func(p part, key jobKey) {
		if len(p.spans) == 0 {
			return
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], p)
	}
	own := ownFiles(rows, split)
	days := daysOf(rows, all, own)
	for i := range rows.Segments {
		s := &rows.Segments[i]
		add(partOf(s, byID, bounds))
		for id, p := range mergingParts(s, all, own) {
			if id == 0 {
				add(p, mergingKey(s, all, bounds))
				continue
			}
			for _, key := range days[id].keys(id, p.spans[0]) {
				add(p.share(days[id].count(p.spans[0])), key)
			}
		}
	}
	slices.SortFunc(keys, jobKey.compare)
	for _, key := range keys {
		from := len(jobs)
		jobs = append(jobs, divide(groups[key], key.table == 0, limit)...)
		if d := days[key.table]; d != nil {
			for i := range jobs[from:] {
				jobs[from+i].within = d.within(key)
			}
		}
	}
	for i := range jobs {
		jobs[i].number = i
	}
	return jobs
}

// Rows that merge may be anywhere among the rows of their table of a day, and later ones win. So all of a table's rows
// of a day in a cut are built in their order, if the table gets objects of its own. Those of the other tables are built
// together, whatever their days.

// ownFiles returns the tables that get objects of their own if their rows merge: they have a segment of their own in a
// cut, much data, or are shown as Iceberg.
func ownFiles(rows *store.CutRows, split int64) map[uint64]bool {
	own, bytes := map[uint64]bool{}, map[uint64]int64{}
	for i := range rows.Segments {
		s := &rows.Segments[i]
		if !s.Shared() {
			own[s.TableID] = true
		}
		for _, span := range spansOf(&s.Meta) {
			if bytes[span.TableID] += bytesOf(&s.Meta, span); bytes[span.TableID] >= split {
				own[span.TableID] = true
			}
		}
	}
	for i := range rows.Tables {
		if d := rows.Tables[i].Def; iceberg.FormatOf(d.Table) != 0 {
			own[d.ID] = true
		}
	}
	return own
}

// tableDays divides the rows of a table by time: into days, or into spans of 2^shift days.
type tableDays struct {
	unit  int64 // of a day in the time index
	shift int
}

// daysOf returns how the rows of tables are divided that merge and get objects of their own.
func daysOf(rows *store.CutRows, tables map[uint64]*store.CutTable, own map[uint64]bool) map[uint64]*tableDays {
	out := map[uint64]*tableDays{}
	for id, t := range tables {
		if t.Merge == query.Append || !own[id] {
			continue
		}
		d := &tableDays{unit: 86400 * t.Def.TimeIndex().Type.UnitsPerSecond()}
		for out[id] = d; !d.few(rows, t); d.shift++ {
		}
	}
	return out
}

// few reports whether the rows of a table are in few spans.
func (d *tableDays) few(rows *store.CutRows, t *store.CutTable) bool {
	spans := map[int64]struct{}{}
	for i := range rows.Segments {
		s := &rows.Segments[i]
		for _, span := range spansOf(&s.Meta) {
			if span.TableID != t.Def.ID || !t.Has(span, s.Order) {
				continue
			}
			if d.count(span) > maxDays {
				return false
			}
			for _, key := range d.keys(t.Def.ID, span) {
				spans[key.day] = struct{}{}
			}
		}
	}
	return len(spans) <= maxDays
}

// bounds returns the first and the last span of a segment's rows.
func (d *tableDays) bounds(s segment.TableSpan) (from, to int64) {
	return schema.FloorDiv(s.MinTime, d.unit) >> d.shift, schema.FloorDiv(s.MaxTime, d.unit) >> d.shift
}

// count returns the number of spans that a segment's rows may be in.
func (d *tableDays) count(s segment.TableSpan) int64 {
	from, to := d.bounds(s)
	return to - from + 1
}

// keys returns the groups of a segment's rows.
func (d *tableDays) keys(table uint64, s segment.TableSpan) (keys []jobKey) {
	from, to := d.bounds(s)
	for x := from; x <= to; x++ {
		keys = append(keys, jobKey{table: table, day: x << d.shift, days: 1 << d.shift})
	}
	return keys
}

// within returns the times of a group.
func (d *tableDays) within(key jobKey) *compaction.Within {
	return &compaction.Within{From: times(key.day, d.unit), Last: lastBefore(key.day+key.days, d.unit)}
}

// times multiplies, and returns the lowest or the highest number if the product is beyond it.
func times(day, unit int64) int64 {
	switch {
	case day > math.MaxInt64/unit:
		return math.MaxInt64
	case day < math.MinInt64/unit:
		return math.MinInt64
	}
	return day * unit
}

// lastBefore returns the last time before a day.
func lastBefore(day, unit int64) int64 {
	if day > math.MaxInt64/unit {
		return math.MaxInt64
	}
	return times(day, unit) - 1
}

// share returns a part of the rows, of which the size is estimated.
func (p part) share(of int64) part {
	p.spans, p.bytes = slices.Clone(p.spans), max(p.bytes/of, 1)
	p.spans[0].Rows = max(p.spans[0].Rows/of, 1)
	return p
}

// mergingParts returns what a segment has of tables whose rows merge: for each table that is built by itself, and
// under 0 for all others.
func mergingParts(s *store.Segment, tables map[uint64]*store.CutTable, own map[uint64]bool) map[uint64]part {
	var out map[uint64]part
	for _, span := range spansOf(&s.Meta) {
		t := tables[span.TableID]
		if t == nil || t.Merge == query.Append || !t.Has(span, s.Order) {
			continue
		}
		id := uint64(0)
		if own[span.TableID] {
			id = span.TableID
		}
		if out == nil {
			out = map[uint64]part{}
		}
		p := out[id]
		p.seg, p.spans, p.bytes = s, append(p.spans, span), p.bytes+bytesOf(&s.Meta, span)
		out[id] = p
	}
	return out
}

// mergingKey returns with which other segments the rows of tables that share objects are built.
func mergingKey(s *store.Segment, tables map[uint64]*store.CutTable, bounds []uint64) jobKey {
	key := jobKey{days: math.MaxInt64, from: rangeOf(s.Order, bounds)}
	for _, span := range s.Tables {
		if t := tables[span.TableID]; t != nil && t.Def.Physical != "" {
			key.database, key.physical = t.Def.Database, t.Def.Physical
		}
	}
	return key
}

// rangeOf returns where the range of orders begins that an order is in.
func rangeOf(order uint64, bounds []uint64) uint64 {
	at, found := slices.BinarySearch(bounds, order)
	if !found {
		at--
	}
	return bounds[at]
}

// part is what a segment has of a cut.
type part struct {
	seg   *store.Segment
	spans []segment.TableSpan
	bytes int64
}

// partOf returns what a segment has of a cut, and with which other segments it may be joined.
func partOf(s *store.Segment, tables map[uint64]*store.CutTable, bounds []uint64) (p part, key jobKey) {
	p.seg = s
	var low, high int64
	for _, span := range spansOf(&s.Meta) {
		t := tables[span.TableID]
		if t == nil || !t.Has(span, s.Order) {
			continue
		}
		unit := 86400 * t.Def.TimeIndex().Type.UnitsPerSecond()
		from, to := schema.FloorDiv(span.MinTime, unit), schema.FloorDiv(span.MaxTime, unit)
		if len(p.spans) == 0 {
			low, high = from, to
			if s.Shared() && t.Def.Physical != "" {
				key.database, key.physical = t.Def.Database, t.Def.Physical
			}
		}
		low, high = min(low, from), max(high, to)
		p.spans = append(p.spans, span)
		p.bytes += bytesOf(&s.Meta, span)
	}
	if len(p.spans) == 0 {
		return p, key
	}
	key.table = s.TableID
	if s.Shared() {
		key.from = rangeOf(s.Order, bounds)
	}
	key.day, key.days = partition(low, high)
	return p, key
}

// firstDay is before all days, those of times in seconds included.
const firstDay = -(1 << 47)

// partition returns the first day and the number of days of the smallest partition that has two days. Partitions of 1,
// 2, 4 … days are counted from firstDay on, so one of them has all days.
func partition(low, high int64) (day, days int64) {
	low, high = low-firstDay, high-firstDay
	for days = 1; low/days != high/days; days *= 2 {
	}
	return low/days*days + firstDay, days
}

// divide makes jobs of segments whose rows may be in one object.
func divide(parts []part, shared bool, limit int64) (jobs []job) {
	most := limit
	if shared {
		most *= sharedJobs
	}
	for len(parts) > 0 {
		n, bytes := 0, int64(0)
		for n < len(parts) && n < jobInputs && (n == 0 || bytes+parts[n].bytes <= most) {
			bytes += parts[n].bytes
			n++
		}
		jobs = append(jobs, divideTables(parts[:n], shared, limit)...)
		parts = parts[n:]
	}
	return jobs
}

// divideTables makes jobs that read the same segments, each for some of the tables.
func divideTables(parts []part, shared bool, limit int64) (jobs []job) {
	tables, rows := map[uint64]int64{}, map[uint64]int64{}
	inputs := make([]store.Segment, len(parts))
	for i := range parts {
		inputs[i] = *parts[i].seg
		for _, span := range parts[i].spans {
			tables[span.TableID] += bytesOf(&parts[i].seg.Meta, span)
			rows[span.TableID] += span.Rows
		}
	}
	j := job{inputs: inputs, shared: shared, tables: map[uint64]size{}}
	for id := range tables {
		j.tables[id] = size{tables[id], rows[id]}
	}
	return j.split(limit)
}

// size is the size of a table's rows in segments, and their number.
type size struct{ bytes, rows int64 }

// split divides a job so that no part has more than limit bytes, except for parts of one table.
func (j *job) split(limit int64) (parts []job) {
	for _, id := range slices.Sorted(maps.Keys(j.tables)) {
		t := j.tables[id]
		last := len(parts) - 1
		if last < 0 || parts[last].bytes+t.bytes > limit {
			parts = append(parts, job{
				shared: j.shared, tables: map[uint64]size{}, within: j.within, whole: j.whole, modes: j.modes,
			})
			last++
		}
		p := &parts[last]
		p.tables[id] = t
		p.bytes, p.rows = p.bytes+t.bytes, p.rows+t.rows
	}
	for i := range parts {
		p := &parts[i]
		for k := range j.inputs {
			if slices.ContainsFunc(spansOf(&j.inputs[k].Meta), func(t segment.TableSpan) bool {
				_, has := p.tables[t.TableID]
				return has
			}) {
				p.inputs = append(p.inputs, j.inputs[k])
			}
		}
	}
	return parts
}

// spansOf returns the parts of the tables of a segment.
func spansOf(m *segment.Meta) []segment.TableSpan {
	if m.Shared() {
		return m.Tables
	}
	return []segment.TableSpan{{TableID: m.TableID, Rows: m.Rows, MinTime: m.MinTime, MaxTime: m.MaxTime}}
}

// bytesOf returns the approximate size of a table's rows in a segment. It is not 0.
func bytesOf(m *segment.Meta, span segment.TableSpan) int64 {
	return max(int64(float64(m.Bytes)*float64(span.Rows)/float64(max(m.Rows, 1))), 1)
}

// dayOf returns the UTC day of the first row of a segment file.
func dayOf(m *segment.Meta, unit int64) int64 {
	if m.Shared() {
		return schema.FloorDiv(m.MinTime, int64(24*time.Hour))
	}
	return schema.FloorDiv(m.MinTime, 86400*unit)
}
