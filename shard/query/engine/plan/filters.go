package plan

import (
	"context"
	"fmt"
	"sync"

	"cordwood/proto/lru"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// MaxFilterBytes limits the memory for the filters of segments.
const MaxFilterBytes = 32 << 20

// maxRuns is the maximum number of separate runs of rows of a file. If there are more, some are
// joined.
const maxRuns = 8

// maxLayoutBytes limits the memory for the layouts of cold segments.
const maxLayoutBytes = 8 << 20

// FilterCache caches the metadata of row groups, and the layouts of cold segments, from the footers of recently used
// segments. It is safe for concurrent use.
type FilterCache struct {
	pages   *segment.PageCache // cached pages of the same files; may be nil
	mu      sync.Mutex         // guards the fields below
	kept    *lru.Cache[fileKey, *segment.Filters]
	layouts *lru.Cache[fileKey, segment.Layouts]
}

// fileKey identifies the content of a file. The path is not enough: a replica that was removed and
// created again may reuse paths.
type fileKey struct {
	path string
	crc  uint32
}

// NewFilterCache returns a cache of at most limit bytes of filters. pages has the cached pages of the same files.
func NewFilterCache(limit int, pages *segment.PageCache) *FilterCache {
	return &FilterCache{
		pages: pages, kept: lru.New[fileKey, *segment.Filters](int64(limit)),
		layouts: lru.New[fileKey, segment.Layouts](maxLayoutBytes),
	}
}

// layoutsOf returns which columns of a cold segment belong to which table. The segment's end must be there.
func (c *FilterCache) layoutsOf(s *query.Segment) (segment.Layouts, error) {
	key := fileKey{s.Path, s.CRC}
	c.mu.Lock()
	l, ok := c.layouts.Get(key)
	c.mu.Unlock()
	if ok {
		return l, nil
	}
	l, err := segment.ReadColdLayouts(vfs.OS, s.Path, s.Cold)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, fields := range l {
		size += 64 + 4*len(fields)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.layouts.Put(key, l, int64(size))
	return l, nil
}

// Get returns the filters of a file, or nil if they cannot be read. DuckDB reports the reason when
// it reads the file.
func (c *FilterCache) Get(s *query.Segment) *segment.Filters {
	key := fileKey{s.Path, s.CRC}
	c.mu.Lock()
	f, ok := c.kept.Get(key)
	c.mu.Unlock()
	if ok {
		return f
	}
	var err error
	if s.Cold > 0 {
		f, err = readColdFilters(s)
	} else {
		f, err = segment.ReadFilters(vfs.OS, s.Path)
	}
	if err != nil {
		return nil
	}
	f.Cached(c.pages)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Put(key, f, int64(f.Size()))
	return f
}

// reduceByFilters excludes row groups and segments whose filters show that none of their rows can
// matter.
//
// It may read the filters of many files, which takes seconds if they are not cached. So it looks at ctx before each.
func reduceByFilters(ctx context.Context, p *Plan, s *Source) error {
	var cold []Part
	for pt := range s.Parts() {
		if pt.Segment != nil && pt.Segment.Cold > 0 {
			cold = append(cold, *pt)
		}
	}
	p.OpenCold(cold)
	if p.may != nil || len(cold) > 0 {
		s.keep(func(pt *Part, identity bool) bool { return ctx.Err() == nil && p.MeetsFilters(pt, identity) })
	}
	return context.Cause(ctx)
}

func explainFilters(p *Plan, _ *Source) string {
	text := ""
	if p.Pruned.byFilters > 0 {
		text = fmt.Sprintf(", %d left out by bloom or token filters", p.Pruned.byFilters)
	}
	if p.Pruned.groups > 0 {
		text += fmt.Sprintf("; %d of %d row groups by filters", p.Pruned.GroupsLeft, p.Pruned.groups)
	}
	return text
}

// MeetsFilters reports whether a part may have rows that matter according to the filters of its row
// groups, and records these row groups.
func (p *Plan) MeetsFilters(part *Part, identity bool) bool {
	if part.Segment == nil || part.Segment.Damaged != "" || p.may == nil && part.Segment.Cold == 0 {
		return true
	}
	if part.Segment.Cold > 0 {
		return p.askFilters(part, p.probe(part, identity)) // what is not asked for is not fetched
	}
	if used := &p.used; used.value || used.tokens || used.bounds && p.narrower(part.Segment) {
		return p.askFilters(part, p.probe(part, identity))
	}
	return true
}

// askFilters checks the filters of each row group of a segment.
func (p *Plan) askFilters(part *Part, pr *probe) bool {
	f := p.FiltersOf(part.Segment)
	if f == nil || len(f.Groups) == 0 {
		return true
	}
	asked := groupFilters{plan: p, segment: part.Segment, filters: f}
	defer asked.close()
	pr.value, pr.tokens = asked.mayHave, asked.mayContain
	if p.used.bounds {
		pr.bounds = asked.bounds
	}
	var runs []rowRun
	var left []int
	for ; asked.group < len(f.Groups); asked.group++ {
		if part.Segment.Cold > 0 && !p.groupMatters(part.Segment, f, asked.group) || p.may != nil && !p.may(pr) {
			continue
		}
		left = append(left, asked.group)
		first := f.Groups[asked.group].First
		last := first + f.Groups[asked.group].Rows - 1
		if n := len(runs); n > 0 && runs[n-1].Last == first-1 {
			runs[n-1].Last = last
		} else {
			runs = append(runs, rowRun{first, last})
		}
	}
	p.Pruned.groups += len(f.Groups)
	p.Pruned.GroupsLeft += len(left)
	part.Left = left
	switch {
	case len(left) == 0:
		p.Pruned.byFilters++
		return false
	case len(left) < len(f.Groups) && !p.hasColumn("file_row_number"):
		if len(runs) > maxRuns {
			runs = []rowRun{{runs[0].First, runs[len(runs)-1].Last}}
		}
		part.Groups = runs
	}
	return true
}

// groupFilters are the filters of one row group of a segment. If a filter cannot decide, the answer
// is that a row may match.
type groupFilters struct {
	plan    *Plan
	segment *query.Segment
	filters *segment.Filters
	group   int
	file    *File // opened when a filter is first read
}

func (g *groupFilters) close() {
	if g.file != nil {
		g.file.Close()
	}
}

// open opens the file, if it is not open, and reports whether that was possible.
func (g *groupFilters) open() bool {
	if g.file == nil {
		g.file, _ = g.plan.Open(g.segment, g.filters)
	}
	return g.file != nil
}

// mayHave reports whether a column may have a value.
func (g *groupFilters) mayHave(column uint32, value *literal) bool {
	c, ok := columnIn(g.segment, column)
	if !ok {
		return false // null in every row
	}
	values, ok := value.in(c.Type)
	if !ok {
		return true
	}
	field := fieldID(c)
	if len(values) > 0 && !g.filters.HasBloom(field, g.group) {
		return true
	}
	for _, v := range values {
		if !g.open() {
			return true
		}
		if may, err := g.filters.MayHave(g.file, field, g.group, v); may || err != nil {
			return true
		}
	}
	return false
}

// mayContain reports whether a text of a column may have all words of the given text.
func (g *groupFilters) mayContain(column uint32, a sql.Analyzer, text string) bool {
	field, ok := FieldOf(g.segment, column)
	if !ok {
		return false
	}
	// Use a filter only if it separates words at least as finely as the search does. A
	// case-sensitive filter has no other cases of a word, and a filter of whole runs of Han
	// characters does not have parts of the runs.
	chinese, caseSensitive, has := g.filters.Analyzer(field)
	if !has || caseSensitive && !a.CaseSensitive || a.Chinese && !chinese {
		return true
	}
	return !g.open() || g.filters.MayContain(g.file, field, g.group, text)
}

// bounds returns the least and the greatest value of a column of integers.
func (g *groupFilters) bounds(column uint32) (lo, hi float64, ok bool) {
	c, has := columnIn(g.segment, column)
	if !has || !c.Type.IsInteger() {
		return 0, 0, false
	}
	least, most, ok := g.filters.Bounds(fieldID(c), g.group)
	return float64(least), float64(most), ok && least >= -schema.MaxExact && most <= schema.MaxExact && least <= most
}

// narrower reports whether a segment has integers in a column that is now of doubles.
func (p *Plan) narrower(s *query.Segment) bool {
	for i := range p.View.Columns {
		if def := &p.View.Columns[i]; def.Type == schema.Float64 {
			if c, ok := columnIn(s, def.ID); ok && c.Type.IsInteger() {
				return true
			}
		}
	}
	return false
}

// hasColumn reports whether the table has a column that DuckDB knows by this name.
func (p *Plan) hasColumn(name string) bool {
	for _, n := range p.View.Names {
		if sql.LowerASCII(n) == name {
			return true
		}
	}
	return false
}
