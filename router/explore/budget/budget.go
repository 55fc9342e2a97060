// Package budget estimates how many rows a request would read, from the bounds of the files that contain them. If
// there are too many rows, it chooses a sample to read instead, so that the answer arrives in time.
//
// A sample consists of time slices that are spread evenly over the rows. All numbers are estimates: rows are assumed
// to be evenly distributed between the first and the last time of their file, or of the memory that contains them.
package budget

import (
	"context"
	"slices"
	"sync"
	"time"

	"cordwood/proto/lru"
	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

// The limits for reading.
const (
	// MaxExact is the largest number of rows that are counted exactly.
	MaxExact = 4_000_000
	// SampleRows is the approximate number of rows in a sample.
	SampleRows = 1_000_000
	// sampleSlices is the number of slices in a sample.
	sampleSlices = 16
)

// Read is the amount of data that a request reads.
type Read struct {
	Segments int   `json:"segments"`
	Of       int   `json:"of"`
	Rows     int64 `json:"rows"`
}

// Estimate returns how much data is in the range of s.
func Estimate(s *scope.Scope, extents map[uint64]*query.Extent) Read {
	var r Read
	for _, t := range s.Tables {
		e := extents[t.Def.ID]
		if e == nil {
			continue
		}
		known := int64(0)
		for _, p := range pieces(s, t, e) {
			if p.share > 0 && !p.memory {
				r.Segments++
			}
			r.Rows += int64(float64(p.rows) * p.share)
			known += p.rows
		}
		r.Of += len(e.Segments)
		r.Rows += max(0, e.Rows-known)
	}
	return r
}

// Most returns the largest possible number of rows in the range of s: all rows of the files that overlap it, and all
// rows that are in no file.
func Most(s *scope.Scope, extents map[uint64]*query.Extent) (rows int64) {
	for _, t := range s.Tables {
		e := extents[t.Def.ID]
		if e == nil {
			continue
		}
		rows += e.Rows
		for _, p := range pieces(s, t, e) {
			if p.share == 0 {
				rows -= p.rows
			}
		}
	}
	return rows
}

// piece has the rows of a file, or the rows in memory, between their first and last time.
type piece struct {
	from, to time.Time
	rows     int64
	// share is the fraction of the rows that is in the range.
	share float64
	// memory is set for the rows in memory.
	memory bool
}

// pieces returns the rows of each file of a table, and the rows in memory if their times are known, with times
// restricted to the range of s.
func pieces(s *scope.Scope, t *scope.Table, e *query.Extent) []piece {
	typ := t.Def.TimeIndex().Type
	out := make([]piece, 0, len(e.Segments)+1)
	all := e.Segments
	if e.Memory != nil {
		all = append(slices.Clone(all), *e.Memory)
	}
	for i, seg := range all {
		p := piece{
			from: scope.TimeOf(seg.MinTime, typ), to: scope.TimeOf(seg.MaxTime, typ), rows: seg.Rows,
			memory: i == len(e.Segments),
		}
		first, last := p.from, p.to
		if !s.Range.From.IsZero() && p.from.Before(s.Range.From) {
			p.from = s.Range.From
		}
		if p.to.After(s.Range.To) {
			p.to = s.Range.To
		}
		whole := last.Sub(first)
		switch {
		case p.to.Before(p.from) || !first.Before(s.Range.To):
		case whole <= 0:
			p.share = 1
		default:
			p.share = min(1, max(float64(p.to.Sub(p.from))/float64(whole), 1e-9))
		}
		out = append(out, p)
	}
	return out
}

// NewSample returns a sample of about want rows in the range of s, in slices that are spread evenly over them. ok is
// false if too little is known.
func NewSample(s *scope.Scope, extents map[uint64]*query.Extent, want int64) (sample *Sample, ok bool) {
	return inSlices(s, extents, want, sampleSlices)
}

// inSlices returns a sample of about want rows in a number of slices.
func inSlices(s *scope.Scope, extents map[uint64]*query.Extent, want int64, number int) (sample *Sample, ok bool) {
	total := Estimate(s, extents).Rows
	if total <= want {
		return nil, false
	}
	part := float64(want) / float64(total)
	sample = &Sample{slices: map[uint64][]slice{}}
	for _, t := range s.Tables {
		e := extents[t.Def.ID]
		if e == nil {
			continue
		}
		if list := tableSlices(t, pieces(s, t, e), part, number); len(list) > 0 {
			sample.slices[t.Def.ID] = list
		}
	}
	return sample, len(sample.slices) > 0
}

// edge is a time at which the density of the rows changes.
type edge struct {
	at     time.Time
	change float64 // rows per nanosecond
}

// tableSlices returns the slices of a table. It divides the rows into equal parts and selects the start of each part.
func tableSlices(t *scope.Table, list []piece, part float64, number int) []slice {
	edges, total := densities(list)
	if total <= 0 || len(edges) == 0 {
		return nil
	}
	var out []slice
	for i := range number {
		begin := total * float64(i) / float64(number)
		from, to := quantile(edges, begin), quantile(edges, begin+total*part/float64(number))
		unit := time.Second / time.Duration(t.Def.TimeIndex().Type.UnitsPerSecond())
		if to.Sub(from) < unit {
			to = from.Add(unit)
		}
		if n := len(out); n > 0 && !from.After(out[n-1].to) { // a row must not be in two slices
			out[n-1].to = to
			continue
		}
		out = append(out, slice{from, to})
	}
	return out
}

// quantile returns the time before which there are about the given number of rows.
func quantile(edges []edge, rows float64) time.Time {
	density, sum := 0.0, 0.0
	for i, e := range edges {
		density += e.change
		if i+1 == len(edges) {
			break
		}
		span := float64(edges[i+1].at.Sub(e.at))
		if more := density * span; sum+more < rows {
			sum += more
			continue
		}
		if density <= 0 {
			return e.at
		}
		return e.at.Add(time.Duration((rows - sum) / density))
	}
	return edges[len(edges)-1].at
}

// densities returns the times at which the density of the rows changes, in order, and the number of rows.
func densities(list []piece) (edges []edge, total float64) {
	for _, p := range list {
		if p.share <= 0 {
			continue
		}
		rows := float64(p.rows) * p.share
		span := max(float64(p.to.Sub(p.from)), 1)
		edges = append(edges, edge{p.from, rows / span}, edge{p.from.Add(time.Duration(span)), -rows / span})
		total += rows
	}
	slices.SortFunc(edges, func(a, b edge) int { return a.at.Compare(b.at) })
	return edges, total
}

// Extents returns the extents of tables, and caches them for a short time. It may be used concurrently.
type Extents struct {
	ask func(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error)
	now func() time.Time

	mu    sync.Mutex
	known *lru.Cache[uint64, known] // guarded by mu
}

type known struct {
	extent *query.Extent
	at     time.Time
}

// freshFor is how long an answer is cached, and maxKnown how many files are cached.
const (
	freshFor = 3 * time.Second
	maxKnown = 500_000
)

// NewExtents returns Extents that caches the results of ask.
func NewExtents(ask func(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error),
	now func() time.Time,
) *Extents {
	return &Extents{ask: ask, now: now, known: lru.New[uint64, known](maxKnown)}
}

// Of returns the extent of each table by its id.
func (e *Extents) Of(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error) {
	out := map[uint64]*query.Extent{}
	var unknown []*schema.Table
	now := e.now()
	e.mu.Lock()
	for _, t := range tables {
		if k, ok := e.known.Get(t.ID); ok && now.Sub(k.at) < freshFor {
			out[t.ID] = k.extent
		} else {
			unknown = append(unknown, t)
		}
	}
	e.mu.Unlock()
	if len(unknown) == 0 {
		return out, nil
	}
	asked, err := e.ask(ctx, unknown)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, extent := range asked {
		out[id] = extent
		e.known.Put(id, known{extent, now}, int64(len(extent.Segments))+1)
	}
	return out, nil
}

// Newest returns a condition on the time of each table, by its id, that holds for about the given number of the newest
// rows of s. whole reports whether s has no more rows.
func Newest(s *scope.Scope, extents map[uint64]*query.Extent, rows int64) (conditions map[uint64]string, whole bool) {
	if Estimate(s, extents).Rows <= rows {
		return nil, true
	}
	var list []piece
	for _, t := range s.Tables {
		if e := extents[t.Def.ID]; e != nil {
			list = append(list, pieces(s, t, e)...)
		}
	}
	edges, total := densities(list)
	from := quantile(edges, max(0, total-float64(rows)))
	conditions = map[uint64]string{}
	for _, t := range s.Tables {
		conditions[t.Def.ID] = t.Compare(">=", from)
	}
	return conditions, false
}
