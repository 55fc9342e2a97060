package plan

import (
	"slices"

	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// unit is a set of rows for which the bounds of the time index are known.
type unit struct {
	min, max int64
	rows     int64
	// segment is the file that contains the row group, or nil if its pages do not matter.
	segment *query.Segment
	group   int
	// closed means that the unit is a cold segment as a whole, whose row groups are not known yet.
	closed bool
}

// units returns the pieces of the reference with known bounds of their times, in the order in which
// they have to be read. The pieces of files with many rows are row groups; cold files are divided by openUnits. Pieces
// that conditions on the time exclude are left out.
func (p *Plan) units(index *schema.Column) (units []unit, total int64) {
	for _, part := range p.Parts() {
		whole := unit{min: part.Min, max: part.Max}
		if !p.meets(whole.min, whole.max) {
			continue
		}
		switch {
		case part.Batch != nil:
			whole.rows = int64(part.Batch.Rows)
		case part.Segment.Cold > 0:
			whole.rows, whole.segment, whole.closed = part.Segment.Rows, part.Segment, true
		default:
			whole.rows, whole.segment = part.Segment.Rows, part.Segment
			if groups := p.groupUnits(whole, index); groups != nil {
				for _, u := range groups {
					total += u.rows
					units = append(units, p.sure(u))
				}
				continue
			}
			whole.segment = nil
		}
		total += whole.rows
		units = append(units, p.sure(whole))
	}
	p.shape.Newest.sort(units)
	return units, total
}

// groupUnits returns the row groups of a segment, or nil if they are not known. Row groups that conditions on the time
// exclude are left out, and those without rows of the table.
func (p *Plan) groupUnits(whole unit, index *schema.Column) []unit {
	s := whole.segment
	f := p.FiltersOf(s)
	if f == nil || len(f.Groups) == 0 {
		return nil
	}
	factor := FileFactor(index.Type)
	field, _ := FieldOf(s, index.ID)
	units := make([]unit, 0, len(f.Groups))
	for g := range f.Groups {
		u := unit{min: whole.min, max: whole.max, rows: f.Groups[g].Rows, segment: s, group: g}
		if lo, hi, ok := f.Bounds(field, g); ok {
			u.min, u.max = max(u.min, lo/factor), min(u.max, hi/factor)
		}
		if s.Shared {
			id := int64(p.View.Schema.ID)
			switch lo, hi, ok := f.Bounds(segment.TableFieldID, g); {
			case ok && (id < lo || id > hi):
				continue
			case !ok || lo < hi:
				u.rows, u.segment = 0, nil // some of its rows may be those of other tables
			}
		}
		if p.meets(u.min, u.max) {
			units = append(units, u)
		}
	}
	return units
}

// openUnits divides cold segments into their row groups: those that an attempt at a number of rows reads in part. It
// opens no segment that the attempt does not read.
func (p *Plan) openUnits(units []unit, index *schema.Column, rows int64) []unit {
	for i := 0; i < len(units) && rows > 0; {
		u := units[i]
		if !u.closed || u.rows > 0 && u.rows <= rows {
			rows -= u.rows
			i++
			continue
		}
		units[i].closed, units[i].segment = false, nil
		groups := p.groupUnits(u, index)
		if groups == nil {
			continue
		}
		for k := range groups {
			groups[k] = p.sure(groups[k])
		}
		units = slices.Replace(units, i, i+1, groups...)
		p.shape.Newest.sort(units[i:])
	}
	return units
}

// sure returns the unit. If the unit is across a border of the conditions, its row count is set to 0, since its
// rows may be on either side.
func (p *Plan) sure(u unit) unit {
	timeType := p.View.timeType()
	times := Span{Nanoseconds(u.min, timeType), Nanoseconds(u.max, timeType)}
	if slices.ContainsFunc(p.borders, func(r indistinct) bool { return !r(times) }) {
		u.rows = 0
	}
	return u
}

// pageUnits returns the units that are before a moment, or across it, in reading order. Row groups
// are divided into pages where these are known.
func (p *Plan) pageUnits(units []unit, at int64) (out []unit) {
	oldest := p.shape.Newest.Oldest
	index := p.View.Schema.TimeIndex()
	factor := FileFactor(index.Type)
	for _, u := range units {
		if !oldest && u.max < at || oldest && u.min > at {
			continue
		}
		pages := p.pagesOf(u, index)
		if pages == nil {
			out = append(out, u)
		}
		for _, page := range pages {
			piece := unit{min: max(page.Min/factor, u.min), max: min(page.Max/factor, u.max), rows: int64(page.Rows)}
			if p.meets(piece.min, piece.max) {
				out = append(out, p.sure(piece))
			}
		}
	}
	p.shape.Newest.sort(out)
	return out
}

// pagesOf returns the pages of a row group, or nil if they are unknown.
func (p *Plan) pagesOf(u unit, index *schema.Column) []segment.PageBounds {
	if u.segment == nil || u.closed {
		return nil
	}
	f := p.FiltersOf(u.segment)
	if f == nil {
		return nil
	}
	file, err := p.Open(u.segment, f)
	if err != nil {
		return nil
	}
	defer file.Close()
	field, _ := FieldOf(u.segment, index.ID)
	pages, err := f.PageBounds(file, field, u.group)
	if err != nil {
		return nil
	}
	return pages
}
