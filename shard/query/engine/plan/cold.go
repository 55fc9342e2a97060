package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file reads cold segments. Their files have only what the query's Fetcher got, so all that is read of them is
// fetched before: what the engine reads all at once, before it gets the statement, and what our own readers read at the
// latest when they read it.

// Columns are columns of row groups of a segment, or their bloom filters.
type Columns struct {
	Segment *query.Segment
	// Groups are the row groups; nil means all.
	Groups []int
	Fields []uint32
	Blooms bool
}

// Prefetch makes columns of cold segments available, with as few requests as possible. It ignores other segments. It
// reports whether everything is available.
func (p *Plan) Prefetch(list ...Columns) bool {
	if !slices.ContainsFunc(list, func(c Columns) bool { return c.Segment.Cold > 0 }) {
		return true
	}
	var cold []*query.Segment
	for _, c := range list {
		if c.Segment.Cold > 0 {
			cold = append(cold, c.Segment)
		}
	}
	if !p.fetchEnds(cold) {
		return false
	}
	wants, ok := p.wants(list)
	return ok && p.Cold.fetch(wants)
}

// wants lists the units of columns. The ends of the segments must be there.
func (p *Plan) wants(list []Columns) (wants []query.Want, ok bool) {
	for _, c := range list {
		if c.Segment.Cold == 0 {
			continue
		}
		f := p.FiltersOf(c.Segment)
		if f == nil {
			return nil, false
		}
		kind := segment.ChunkUnit
		if c.Blooms {
			kind = segment.FilterUnit
		}
		w := query.Want{Path: c.Segment.Path}
		fields, groups := setOf(c.Fields), setOf(c.Groups)
		for i := range f.Units.List {
			u := &f.Units.List[i]
			if u.Kind == kind && fields[u.Field] && (c.Groups == nil || groups[u.Group]) {
				w.Units = append(w.Units, i)
			}
		}
		wants = append(wants, w)
	}
	return wants, true
}

// setOf returns the values of a list as a set.
func setOf[T comparable](list []T) map[T]bool {
	set := make(map[T]bool, len(list))
	for _, v := range list {
		set[v] = true
	}
	return set
}

// FiltersOf returns the filters of a segment, or nil if they cannot be read.
func (p *Plan) FiltersOf(s *query.Segment) *segment.Filters {
	if s.Cold > 0 && !p.fetchEnds([]*query.Segment{s}) {
		return nil
	}
	return p.Filters.Get(s)
}

// fetchEnds makes the ends of cold segments available, and chooses the columns of the table. It reports whether all
// ends are there and can be read.
func (p *Plan) fetchEnds(list []*query.Segment) bool {
	ends := make([]query.Want, len(list))
	for i, s := range list {
		ends[i].Path = s.Path
	}
	if !p.Cold.fetch(ends) {
		return false
	}
	for _, s := range list {
		if !p.Cold.ambiguous(s) {
			continue
		}
		layouts, err := p.Filters.layoutsOf(s)
		if err != nil {
			return false
		}
		p.Cold.choose(s, layouts[p.View.Schema.ID])
	}
	return true
}

// ambiguous reports whether the columns of the table in a segment have to be chosen.
func (c *Cold) ambiguous(s *query.Segment) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.Ambiguous
}

// choose leaves the columns in a segment that are the table's. fields are the field ids of these in the file.
func (c *Cold) choose(s *query.Segment, fields []uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Ambiguous {
		s.Columns = segment.Choose(s.Columns, fields, func(c *query.SegmentColumn) (id, field uint32) {
			return c.ID, fieldID(*c)
		})
		s.Ambiguous = false
	}
}

// OpenCold fetches the ends of the cold segments among parts at once, and the bloom filters that conditions can use.
func (p *Plan) OpenCold(parts []Part) {
	var cold []*query.Segment
	for i := range parts {
		if s := parts[i].Segment; s != nil && s.Cold > 0 && s.Damaged == "" {
			cold = append(cold, s)
		}
	}
	if len(cold) == 0 || !p.fetchEnds(cold) {
		return
	}
	var list []Columns
	for _, s := range cold {
		c := Columns{Segment: s, Blooms: true}
		for _, k := range p.keys {
			if field, ok := FieldOf(s, k.column); ok {
				c.Fields = append(c.Fields, field)
			}
		}
		if c.Fields == nil {
			continue
		}
		if f := p.FiltersOf(s); f != nil {
			c.Groups = []int{}
			for g := range f.Groups {
				if p.groupMatters(s, f, g) {
					c.Groups = append(c.Groups, g)
				}
			}
		}
		list = append(list, c)
	}
	p.Prefetch(list...)
}

// groupMatters reports whether a row group may have rows that matter according to the bounds of the times, and of the
// tables in a shared file.
func (p *Plan) groupMatters(s *query.Segment, f *segment.Filters, group int) bool {
	if s.Shared {
		id := int64(p.View.Schema.ID)
		if lo, hi, ok := f.Bounds(segment.TableFieldID, group); ok && (id < lo || id > hi) {
			return false
		}
	}
	index := p.View.Schema.TimeIndex()
	if index == nil {
		return true
	}
	field, ok := FieldOf(s, index.ID)
	if !ok {
		return true
	}
	lo, hi, ok := f.Bounds(field, group)
	return !ok || (&RowFinder{Plan: p, TimeType: index.Type}).Matters(lo, hi)
}

// fetchCold makes everything available that the engine reads of cold segments. For an EXPLAIN it only notes the parts.
func (p *Plan) fetchCold(s *Source) error {
	var list []Columns
	for pt := range s.Parts() {
		if pt.Segment == nil || pt.Segment.Cold == 0 {
			continue
		}
		f := p.FiltersOf(pt.Segment) // the columns of an ambiguous segment are known then
		if f == nil {
			if p.Cold.leaveOut(pt.Segment) {
				continue
			}
			return p.unreadable()
		}
		c := Columns{Segment: pt.Segment, Fields: []uint32{segment.TableFieldID}}
		for _, has := range s.fileColumns(pt.Segment) {
			c.Fields = append(c.Fields, has.FieldID)
		}
		if pt.Groups != nil {
			c.Groups = []int{}
			for g := range f.Groups {
				first, last := f.Groups[g].First, f.Groups[g].First+f.Groups[g].Rows-1
				if slices.ContainsFunc(pt.Groups, func(r rowRun) bool { return r.First <= last && first <= r.Last }) {
					c.Groups = append(c.Groups, g)
				}
			}
		}
		list = append(list, c)
	}
	if p.St.Explain == "" || query.Analyzes(p.St.Explain) {
		if !p.Prefetch(list...) {
			return p.unreadable()
		}
		return p.Cold.Err()
	}
	wants, ok := p.wants(list)
	if !ok {
		return p.unreadable()
	}
	p.Cold.mu.Lock()
	defer p.Cold.mu.Unlock()
	s.keep(func(pt *Part, _ bool) bool { return pt.Segment == nil || !p.Cold.unread[pt.Segment.Path] })
	p.Cold.later = append(p.Cold.later, wants...)
	if p.Cold.spares() {
		return nil
	}
	return p.Cold.err
}

// ColdSummary describes for EXPLAIN what plans of a statement read of cold segments, or is empty if there are none.
func ColdSummary(plans []*Plan) string {
	objects := map[string]bool{}
	for _, p := range plans {
		for i := range p.View.Segments {
			if s := &p.View.Segments[i]; s.Cold > 0 {
				objects[s.Path] = true
			}
		}
	}
	if len(objects) == 0 {
		return ""
	}
	c := plans[0].Cold
	c.mu.Lock()
	later, lacks := c.later, ""
	switch n := len(c.unread); {
	case n > 0:
		them := "them"
		if n == 1 {
			them = "it"
		}
		lacks = fmt.Sprintf("; %s could not be read, so this plan lacks %s: %s", query.CountOf(n, "object"), them, c.err)
	case c.err != nil:
		lacks = fmt.Sprintf("; filters or values that would leave out rows could not be read: %s", c.err)
	}
	c.mu.Unlock()
	var done, more query.Traffic
	err := errors.New("object storage is not set")
	if c.fetcher != nil {
		done, more, err = c.fetcher.Cost(c.ctx, later)
	}
	of := fmt.Sprintf("%d of %s", done.Objects, query.CountOf(len(objects), "object"))
	switch {
	case err != nil:
		return fmt.Sprintf("%s: %s%s", of, err, lacks)
	case query.Analyzes(plans[0].St.Explain):
		return fmt.Sprintf("%s, %s, %s fetched, %s cached", of, query.CountOf(done.Requests, "request"),
			query.CountOf(done.Bytes, "byte"), query.CountOf(done.Cached, "byte"))
	}
	return fmt.Sprintf("%s, %s, %s to fetch, %s cached; to plan, %s, %s fetched, %s cached%s", of,
		query.CountOf(more.Requests, "request"), query.CountOf(more.Bytes, "byte"), query.CountOf(more.Cached, "byte"),
		query.CountOf(done.Requests, "request"), query.CountOf(done.Bytes, "byte"), query.CountOf(done.Cached, "byte"),
		lacks)
}

// unreadable returns the error for a cold segment that could not be fetched, or not be read after that.
func (p *Plan) unreadable() error {
	if err := p.Cold.Err(); err != nil {
		return err
	}
	return errs.New(errs.External, "query: the local copy of a segment in object storage cannot be read; try again")
}

// File is an open segment. If it is cold, what is read of it is fetched first.
type File struct {
	*os.File
	cold  *Cold
	units *segment.Units
	path  string
}

// Open opens a segment. f are its filters.
func (p *Plan) Open(s *query.Segment, f *segment.Filters) (*File, error) {
	file, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	out := &File{File: file, path: s.Path}
	if s.Cold > 0 {
		out.cold, out.units = p.Cold, f.Units
	}
	return out, nil
}

// ReadAt reads a part of the segment.
func (f *File) ReadAt(b []byte, off int64) (int, error) {
	if f.cold != nil && !f.cold.fetch([]query.Want{{Path: f.path, Units: unitsAt(f.units.List, off, int64(len(b)))}}) {
		return 0, f.cold.Err()
	}
	return f.File.ReadAt(b, off)
}

// unitsAt returns the units that have some of n bytes from an offset on. Units are in the order of the file.
func unitsAt(list []segment.Unit, off, n int64) (out []int) {
	i, _ := slices.BinarySearchFunc(list, off, func(u segment.Unit, off int64) int {
		return cmp.Compare(u.Offset+u.Length-1, off)
	})
	for ; i < len(list) && list[i].Offset < off+n; i++ {
		if list[i].Kind != segment.IndexUnit {
			out = append(out, i)
		}
	}
	return out
}

// readColdFilters reads the filters of a cold segment.
func readColdFilters(s *query.Segment) (*segment.Filters, error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out, err := segment.ReadColdFilters(io.NewSectionReader(f, 0, s.Cold), s.Cold)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	return out, nil
}
