package direct

import (
	"cmp"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/segment"
)

// This file finds and reads the rows of a statement that is answered without DuckDB. It reads the
// columns of the conditions first, row group by row group, and starts with the newest or the oldest
// rows if the statement requests these. Of the other columns it reads only the rows that are in the
// answer.

const (
	// maxDirectRows is the maximum number of rows of such an answer.
	maxDirectRows = 10_000
	// maxExamined is the maximum number of rows on which conditions are tested. For more rows
	// DuckDB is faster, since it uses several threads. maxNewestExamined is the limit for the
	// newest rows, where the number is not known in advance.
	maxExamined       = 262_144
	maxNewestExamined = 131_072
	// maxFoundAtOnce limits the rows of a lookup for which all columns are read at once, before the
	// other conditions are tested.
	maxFoundAtOnce = 256
	// maxDirectBytes limits the memory of the rows read, approximately.
	maxDirectBytes = 64 << 20
)

// place is a set of rows of one part: a batch, or rows of a row group of a segment.
type place struct {
	part     *plan.Part
	batch    *column.Batch // nil until read
	file     *directFile
	group    int
	runs     []segment.Run // nil for the whole row group
	found    bool          // each run is one row that was found by a lookup
	rows     int64
	best     int64 // the largest rank of its rows
	complete bool  // the batch has all columns
	looked   bool  // whether its rows were tested
	closed   bool  // a cold segment as a whole, which was not opened yet
}

// rowGroup is a row group of a segment.
type rowGroup struct {
	file  *directFile
	group int
}

func (p *place) rowGroup() rowGroup { return rowGroup{p.file, p.group} }

// directFile is an open segment.
type directFile struct {
	*plan.File
	filters *segment.Filters
	segment *query.Segment
}

// hit is a row of the answer.
type hit struct {
	rank  int64 // a larger rank comes earlier in the answer
	place int
	row   int32
}

// Read finds and reads the rows of the answer, in the order of the answer. It returns false for ok
// if DuckDB has to run the statement.
func (d *Run) Read() (*Rows, bool) {
	out := &Rows{run: d}
	defer func() {
		for _, f := range out.files {
			f.Close()
		}
	}()
	places, ok := d.places(out)
	if !ok {
		return nil, false
	}
	end := d.rowsNeeded()
	if end == d.offset {
		places = nil
	}
	// The answer is the newest rows, the oldest, or any rows up to a limit, so not all rows have to
	// be tested.
	newest := d.order != "" && end <= maxDirectRows
	first := d.order == "" && end <= maxDirectRows
	if !newest && !first && !few(places) {
		return nil, false
	}
	if newest {
		sortPlaces(places)
	}
	out.places = places
	if !d.find(out, end, newest, first) || d.ctx.Err() != nil {
		return nil, false
	}
	d.sort(out.hits)
	out.hits = out.hits[min(d.offset, uint64(len(out.hits))):min(end, uint64(len(out.hits)))]
	d.found = len(out.hits)
	return out, d.fetch(out)
}

// rank converts a time, in the unit of the time index, to the row's rank in the answer.
func (d *Run) rank(time int64) int64 {
	if d.order != "" && !d.desc {
		return ^time // reverse the order without an overflow
	}
	return time
}

// sortPlaces sorts the places by the best rank that their rows may have.
func sortPlaces(places []*place) {
	slices.SortStableFunc(places, func(a, b *place) int { return cmp.Compare(b.best, a.best) })
}

// rowsNeeded returns how many rows must be found, including the rows that OFFSET skips.
func (d *Run) rowsNeeded() uint64 {
	want := uint64(math.MaxUint64)
	if d.limited {
		want = d.limit
	}
	if d.request > 0 {
		want = min(want, d.request)
	}
	end := d.offset + want
	if end < want {
		end = math.MaxUint64
	}
	return end
}

// find searches one place after the other until enough rows are found. It returns false if DuckDB
// has to run the statement.
func (d *Run) find(out *Rows, end uint64, newest, first bool) bool {
	for i := 0; i < len(out.places); i++ {
		if newest && uint64(len(out.hits)) >= end && out.hits[end-1].rank >= out.places[i].best {
			return true
		}
		for newest && i < len(out.places) && out.places[i].closed {
			if !d.openPlace(out, i) {
				return false
			}
			sortPlaces(out.places[i:])
		}
		if i == len(out.places) {
			return true
		}
		if newest && d.split(out, i) {
			sortPlaces(out.places[i:]) // its first page may come after other row groups
		}
		if i == len(out.places) {
			return true // no page has rows that matter
		}
		pl := out.places[i]
		if enough := uint64(len(out.hits)) >= end; enough && (first || newest && out.hits[end-1].rank >= pl.best) {
			return true
		}
		d.examined += pl.rows
		switch {
		case d.examined > maxExamined, newest && d.examined > maxNewestExamined && len(out.places) > 1, d.ctx.Err() != nil,
			!d.addMatches(out, i, end, newest, first), len(out.hits) > maxDirectRows:
			return false
		}
	}
	return true
}

// few reports whether all places together have few enough rows to be tested.
func few(places []*place) bool {
	n := int64(0)
	for _, p := range places {
		n += p.rows
	}
	return n <= maxExamined
}

func (d *Run) sort(hits []hit) {
	if d.order != "" {
		slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.rank, a.rank) })
	}
}

// Rows are the rows that were found.
type Rows struct {
	run    *Run
	places []*place
	hits   []hit
	files  []*directFile
	bytes  int
}

// places returns the sets of rows that may matter, in the order of the table's parts.
func (d *Run) places(out *Rows) (places []*place, ok bool) {
	p := d.Plan
	parts := slices.DeleteFunc(p.Parts(), func(pt plan.Part) bool { return !p.MeetsTimes(&pt, false) })
	if slices.ContainsFunc(parts, func(pt plan.Part) bool {
		return pt.Segment != nil && (pt.Segment.Damaged != "" || pt.Segment.Shared)
	}) {
		return nil, false
	}
	lazy := d.order != "" && d.rowsNeeded() <= maxDirectRows
	if !lazy {
		p.OpenCold(parts)
	}
	for _, part := range parts {
		if d.ctx.Err() != nil {
			return nil, false
		}
		if part.Segment != nil && part.Segment.Cold > 0 && lazy {
			places = append(places, &place{
				part: &part, rows: part.Segment.Rows, best: d.best(part.Min, part.Max), closed: true,
			})
			continue
		}
		if !p.MeetsFilters(&part, false) {
			continue
		}
		if part.Batch != nil {
			places = append(places, &place{
				part: &part, batch: part.Batch, rows: int64(part.Batch.Rows), best: d.best(part.Min, part.Max),
				complete: true,
			})
			continue
		}
		list, ok := d.placesOf(out, &part)
		if !ok {
			return nil, false
		}
		places = append(places, list...)
	}
	return places, true
}

// openPlace replaces a cold segment by its places. It returns false if DuckDB has to run the statement.
func (d *Run) openPlace(out *Rows, at int) bool {
	part := out.places[at].part
	d.Plan.OpenCold([]plan.Part{*part})
	var list []*place
	if d.Plan.MeetsFilters(part, false) {
		var ok bool
		if list, ok = d.placesOf(out, part); !ok {
			return false
		}
	}
	out.places = slices.Replace(out.places, at, at+1, list...)
	return d.Plan.Cold.Err() == nil
}

// placesOf returns the places of a segment: row groups, or rows that a lookup found.
func (d *Run) placesOf(out *Rows, pt *plan.Part) (places []*place, ok bool) {
	filters := d.Plan.FiltersOf(pt.Segment)
	if filters == nil || len(filters.Groups) == 0 {
		return nil, false
	}
	columns, ok := d.Plan.PageColumns(pt.Segment, d.filter)
	if !ok {
		return nil, false
	}
	l := &plan.RowFinder{Plan: d.Plan, Segment: pt.Segment, Left: pt.Left, Filters: filters, TimeType: d.index.Type}
	file := &directFile{filters: filters, segment: pt.Segment}
	chosen, _, ok := l.Find(columns)
	if ok {
		for _, c := range chosen {
			n := int64(len(c.Runs))
			places = append(places, &place{
				part: pt, file: file, group: c.Group, runs: c.Runs, found: true, rows: n,
				best: d.best(pt.Min, pt.Max),
			})
		}
	} else {
		field, _ := plan.FieldOf(pt.Segment, d.index.ID)
		factor := plan.FileFactor(d.index.Type)
		l.EachGroup(func(g int) bool {
			lo, hi, bounded := filters.Bounds(field, g)
			if bounded && !l.Matters(lo, hi) {
				return true
			}
			pl := &place{part: pt, file: file, group: g, rows: filters.Groups[g].Rows, best: d.best(pt.Min, pt.Max)}
			if bounded {
				pl.best = min(pl.best, d.best(lo/factor, hi/factor))
			}
			places = append(places, pl)
			return true
		})
	}
	if len(places) > 0 && !l.Open() {
		return nil, false
	}
	if file.File = l.File; file.File != nil {
		out.files = append(out.files, file)
	}
	return places, true
}

// best returns the largest rank that rows between two times can have.
func (d *Run) best(least, greatest int64) int64 { return max(d.rank(least), d.rank(greatest)) }

// split replaces a row group by those of its pages whose times can matter. The search then starts
// with the best pages. It reports whether it split the row group.
func (d *Run) split(out *Rows, at int) bool {
	pl := out.places[at]
	if pl.batch != nil || pl.runs != nil {
		return false
	}
	field, _ := plan.FieldOf(pl.part.Segment, d.index.ID)
	pages, err := pl.file.filters.PageBounds(pl.file, field, pl.group)
	if err != nil || len(pages) < 2 {
		return false // reading the file reports the fault
	}
	factor := plan.FileFactor(d.index.Type)
	parts := make([]*place, 0, len(pages))
	l := &plan.RowFinder{Plan: d.Plan, TimeType: d.index.Type}
	for _, p := range pages {
		if !l.Matters(p.Min, p.Max) {
			continue
		}
		part := *pl
		part.runs, part.rows = []segment.Run{p.Run}, int64(p.Rows)
		part.best = min(pl.best, d.best(p.Min/factor, p.Max/factor))
		parts = append(parts, &part)
	}
	out.places = slices.Replace(out.places, at, at+1, parts...)
	return true
}

// addMatches adds the rows of a place that meet the conditions. If only the newest rows or any rows are requested,
// it keeps only the first end of them.
func (d *Run) addMatches(out *Rows, at int, end uint64, newest, first bool) bool {
	pl := out.places[at]
	pl.looked = true
	if pl.batch == nil && !d.read(out, pl) {
		return false
	}
	b := pl.batch
	if !d.sound(b) {
		return false
	}
	truths := make([]truth, b.Rows)
	d.tests(b, truths)
	var times *column.View
	if d.order != "" {
		if times = columnOf(b, d.index.ID); times == nil {
			return b.Rows == 0
		}
	}
	least := int64(math.MinInt64)
	for n := range truths {
		i := n
		if newest && d.desc {
			i = len(truths) - 1 - n // usually the newest rows come last
		}
		h := hit{place: at, row: int32(i)}
		if times != nil {
			h.rank = d.rank(times.Int(i))
		}
		switch {
		case truths[i] == no || h.rank < least:
			continue
		case truths[i] == perhaps:
			return false
		}
		out.hits = append(out.hits, h)
		switch have := uint64(len(out.hits)); {
		case first && have == end:
			return true
		case newest && have >= 2*end+64:
			d.sort(out.hits)
			out.hits = out.hits[:end]
			least = plan.Plus(out.hits[end-1].rank, 1)
		case have > 4*maxDirectRows:
			return false
		}
	}
	if newest && uint64(len(out.hits)) >= end {
		d.sort(out.hits)
		out.hits = out.hits[:end]
	}
	return true
}

// read reads a place: the columns of the conditions, or all columns if it has only a few rows.
func (d *Run) read(out *Rows, pl *place) bool {
	pl.complete = pl.found && len(pl.runs) <= maxFoundAtOnce
	need := slices.Clone(d.filter)
	if d.order != "" || pl.complete {
		need = append(need, d.at(d.index))
	}
	if pl.complete {
		for _, c := range d.out {
			need = append(need, d.at(c.Column))
		}
	}
	slices.Sort(need)
	runs := pl.runs
	if runs == nil {
		runs = []segment.Run{{First: 0, Rows: int(pl.rows)}}
	}
	var ok bool
	pl.batch, ok = d.gather(out, pl, slices.Compact(need), runs)
	return ok
}

// columnsRead returns the indexes of all columns that the statement reads.
func (d *Run) columnsRead() []int {
	need := slices.Clone(d.filter)
	if d.order != "" {
		need = append(need, d.at(d.index))
	}
	for _, c := range d.out {
		need = append(need, d.at(c.Column))
	}
	slices.Sort(need)
	return slices.Compact(need)
}

// at returns the index of a column in the view.
func (d *Run) at(c *schema.Column) int {
	return slices.IndexFunc(d.Plan.View.Columns, func(have schema.Column) bool { return have.ID == c.ID })
}
