package direct

import (
	"cmp"
	"math"
	"os"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/segment"
)

// This file finds and reads the rows of a statement that is answered without the engine:
// the columns of conditions first, row group by row group, the newest or the oldest first where those
// are asked for, and of the others only the rows that are in the answer.

const (
	// maxDirectRows is the most rows of such an answer.
	maxDirectRows = 10_000
	// maxExamined is the most rows that are looked at; of more the engine, which has
	// more threads, is the faster reader. maxNewestExamined is the same for the newest
	// rows, where it is not known before how many that will be.
	maxExamined       = 262_144
	maxNewestExamined = 131_072
	// maxFoundAtOnce is the most rows found by a lookup whose columns are all read
	// at once, before the other conditions are known.
	maxFoundAtOnce = 256
	// maxDirectBytes is about the most memory of the rows read.
	maxDirectBytes = 64 << 20
)

// place is some rows of a part: a batch, or rows of a row group of a segment.
type place struct {
	part     *plan.Part
	batch    *column.Batch // nil until read
	file     *directFile
	group    int
	runs     []segment.Run // nil: all of the row group
	found    bool          // the runs are of one row each, which was looked up
	rows     int64
	best     int64 // the largest rank of its rows
	complete bool  // the batch has all columns
	looked   bool  // at its rows
}

// rowGroup is a row group of a segment.
type rowGroup struct {
	file  *directFile
	group int
}

func (p *place) rowGroup() rowGroup { return rowGroup{p.file, p.group} }

// directFile is an open segment.
type directFile struct {
	*os.File
	filters *segment.Filters
	segment *query.Segment
}

// hit is a row of the answer.
type hit struct {
	rank  int64 // the larger, the earlier in the answer
	place int
	row   int32
}

// Read finds and reads the rows of the answer, in its order; ok is false if the engine is to do it.
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
	end := d.end()
	if end == d.offset {
		places = nil
	}
	// The newest, the oldest, or the first ones in any order: not all rows need be looked at.
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

// rank returns the place of a time, in the unit of the time index, in the order of the answer.
func (d *Run) rank(time int64) int64 {
	if d.order != "" && !d.desc {
		return ^time // the other way round, without an overflow
	}
	return time
}

// sortPlaces puts the places in front whose rows may come first.
func sortPlaces(places []*place) {
	slices.SortStableFunc(places, func(a, b *place) int { return cmp.Compare(b.best, a.best) })
}

// end returns how many rows the answer is cut from, including the rows that OFFSET skips.
func (d *Run) end() uint64 {
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

// find looks for rows of the answer at one place after the other, until there are enough. It returns false if the
// engine is to do it.
func (d *Run) find(out *Rows, end uint64, newest, first bool) bool {
	for i := 0; i < len(out.places); i++ {
		if newest && d.split(out, i) {
			sortPlaces(out.places[i:]) // the first of its pages may come after other row groups
		}
		if i == len(out.places) {
			return true // none of its pages matters
		}
		pl := out.places[i]
		if enough := uint64(len(out.hits)) >= end; enough && (first || newest && out.hits[end-1].rank >= pl.best) {
			return true
		}
		d.examined += pl.rows
		switch {
		case d.examined > maxExamined, newest && d.examined > maxNewestExamined && len(out.places) > 1, d.ctx.Err() != nil,
			!d.look(out, i, end, newest, first), len(out.hits) > maxDirectRows:
			return false
		}
	}
	return true
}

// few reports whether all of the places are few enough to be looked at.
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

// Rows are the rows found.
type Rows struct {
	run    *Run
	places []*place
	hits   []hit
	files  []*directFile
	bytes  int
}

// places returns the rows that may matter, in the order of the table's parts.
func (d *Run) places(out *Rows) (places []*place, ok bool) {
	p := d.Plan
	for _, part := range p.Parts() {
		if !p.MeetsTimes(&part, false) {
			continue
		}
		if part.Segment != nil && (part.Segment.Damaged != "" || part.Segment.Shared) {
			return nil, false
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

// placesOf returns the places of a segment: rows that were looked up by a value, or row groups.
func (d *Run) placesOf(out *Rows, pt *plan.Part) (places []*place, ok bool) {
	filters := d.Plan.Filters.Get(pt.Segment)
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

// best returns the largest rank of rows between two times.
func (d *Run) best(least, greatest int64) int64 { return max(d.rank(least), d.rank(greatest)) }

// split replaces a row group by its pages whose times can matter, so that the newest rows may be in the last one. It
// reports whether it did.
func (d *Run) split(out *Rows, at int) bool {
	pl := out.places[at]
	if pl.batch != nil || pl.runs != nil {
		return false
	}
	field, _ := plan.FieldOf(pl.part.Segment, d.index.ID)
	pages, err := pl.file.filters.PageBounds(pl.file, field, pl.group)
	if err != nil || len(pages) < 2 {
		return false // what is wrong shows when it is read
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

// look adds the rows of a place that meet the conditions; of the newest, or the first,
// only the first end need be kept.
func (d *Run) look(out *Rows, at int, end uint64, newest, first bool) bool {
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
			i = len(truths) - 1 - n // mostly the newest come last
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

// read reads the columns of the conditions of a place, or all columns if it is a few rows.
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

// columnsRead returns the indexes of the columns that are read, of some rows at least.
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
