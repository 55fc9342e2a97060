package tier

import (
	"cmp"
	"maps"
	"slices"
	"time"

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

// plan divides the rows of a cut into jobs of about limit bytes. Tables whose rows merge are left out.
func plan(rows *store.CutRows, limit int64) (jobs []job) {
	byID := make(map[uint64]*store.CutTable, len(rows.Tables))
	var bounds []uint64
	for i := range rows.Tables {
		if t := &rows.Tables[i]; !t.Merges {
			byID[t.Def.ID] = t
			bounds = append(bounds, t.From, t.To)
		}
	}
	slices.Sort(bounds)
	groups := map[jobKey][]part{}
	var keys []jobKey
	for i := range rows.Segments {
		p, key, ok := partOf(&rows.Segments[i], byID, bounds)
		if !ok {
			continue
		}
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], p)
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

// part is what a segment has of a cut.
type part struct {
	seg   *store.Segment
	spans []segment.TableSpan
	bytes int64
}

// partOf returns what a segment has of a cut, and with which other segments it may be joined.
func partOf(s *store.Segment, tables map[uint64]*store.CutTable, bounds []uint64) (p part, key jobKey, ok bool) {
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
		return p, key, false
	}
	key.table = s.TableID
	if s.Shared() {
		at, found := slices.BinarySearch(bounds, s.Order)
		if !found {
			at--
		}
		key.from = bounds[at]
	}
	key.day, key.days = partition(low, high)
	return p, key, true
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
