package tier

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/store"
)

const (
	// jobBytes is the approximate maximum size of the rows of a job in segments, and that of an object.
	jobBytes = 192 << 20
	// jobInputs is the maximum number of segments that a job reads.
	jobInputs = 64
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
func plan(rows *store.CutRows, limit int64) (jobs []job) {
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
	own := ownFiles(rows)
	for i := range rows.Segments {
		s := &rows.Segments[i]
		add(partOf(s, byID, bounds))
		for id, p := range mergingParts(s, all, own) {
			add(p, mergingKey(s, id, all, bounds))
		}
	}
	slices.SortFunc(keys, jobKey.compare)
	for _, key := range keys {
		jobs = append(jobs, divide(groups[key], key.table == 0, limit)...)
	}
	for i := range jobs {
		jobs[i].number = i
	}
	return jobs
}

// Rows that merge may be anywhere among the rows of their table, and later ones win. So all of a table's rows in a cut
// are built in their order, whatever their days: by itself if one of its segments is its own, else with the other
// tables whose segments are all shared.

// ownFiles returns the tables that have a segment of their own in a cut.
func ownFiles(rows *store.CutRows) map[uint64]bool {
	own := map[uint64]bool{}
	for i := range rows.Segments {
		if s := &rows.Segments[i]; !s.Shared() {
			own[s.TableID] = true
		}
	}
	return own
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

// mergingKey returns with which other segments a part of mergingParts is built.
func mergingKey(s *store.Segment, id uint64, tables map[uint64]*store.CutTable, bounds []uint64) jobKey {
	key := jobKey{table: id, days: math.MaxInt64}
	if id != 0 {
		return key
	}
	key.from = rangeOf(s.Order, bounds)
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
		from, to := floorDiv(span.MinTime, unit), floorDiv(span.MaxTime, unit)
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
			parts = append(parts, job{shared: j.shared, tables: map[uint64]size{}})
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
		return floorDiv(m.MinTime, int64(24*time.Hour))
	}
	return floorDiv(m.MinTime, 86400*unit)
}

// floorDiv divides and rounds down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
