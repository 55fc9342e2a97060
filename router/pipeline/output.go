package pipeline

import (
	"cmp"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// The limits of the memory that Release keeps for the next request.
const (
	keepBytes = 32 << 20
	// keepExact is the most memory of the exact path that is kept.
	keepExact   = 256 << 10
	keepColumns = 4096
)

// output returns the Output of the request without its tables.
func (s *sink) output() *Output {
	out := &Output{
		Records: s.records, Skipped: s.skips.total, SkippedBy: s.skips.kinds, Reasons: s.skips.reasons,
		Dropped: s.drops.total,
	}
	if ti := s.req.TimeIndex; ti != nil && ti.warning != "" {
		out.Warnings = append(out.Warnings, ti.warning)
	}
	out.Warnings = append(out.Warnings, s.notes.warnings(s.timeName)...)
	out.Warnings = append(out.Warnings, s.lost.warnings()...)
	if s.drops.total == s.records { // dropping some records is normal for a program
		out.Warnings = append(out.Warnings, s.drops.warnings()...)
	}
	return out
}

// appendTables adds the tables with rows to out, as tables of a branch.
func (s *sink) appendTables(out *Output, branch int) {
	slices.SortStableFunc(s.dests, func(a, b *dest) int { return cmp.Compare(a.born, b.born) })
	for _, d := range s.dests {
		if d.rows.Rows() == 0 && len(d.parts) == 0 {
			continue
		}
		discard := d.opts.instant
		if d.existing != nil {
			discard = d.existing.Options[schema.OptionTTL] == "instant"
		}
		if d.warmed {
			d.rows.OmitUnused()
		}
		d.rows.Finish()
		if d.existing == nil {
			d.orderColumns()
		}
		t := &out.firstRows
		if out.Tables == nil {
			out.Tables = out.firstTables[:0]
		} else {
			t = &TableRows{}
		}
		*t = TableRows{
			Database: s.req.Database, Table: d.table, Branch: branch, Options: d.opts.options,
			NoCreate: d.opts.noCreate || !s.req.AutoCreate, Discard: discard,
			Existing: d.existing, Parts: d.parts, Rows: d.rows, Expired: d.expired + d.old(), Cast: d.casts.Count,
		}
		for _, a := range d.asides {
			if a.Count > 0 {
				t.Asides = append(t.Asides, *a)
			}
		}
		out.Tables = append(out.Tables, t)
	}
}

// orderColumns moves the time index to its position among the listed columns.
func (d *dest) orderColumns() {
	if d.s.timePlace == 0 {
		return
	}
	cols := d.rows.Cols()
	ordered := make([]*column.Col, 0, len(cols))
	ordered = append(ordered, cols[1:1+d.s.timePlace]...)
	ordered = append(ordered, cols[0])
	d.rows.SetCols(append(ordered, cols[1+d.s.timePlace:]...))
}

// byteSize estimates the memory of all rows.
func (s *sink) byteSize() int {
	size := 0
	for _, d := range s.dests {
		size += d.rows.ByteSize()
	}
	return size
}

// empty prepares s for begin and keeps its memory. The memory of warm stays in use.
func (s *sink) empty(warm *dest) {
	for _, d := range s.dests {
		if d != warm {
			d.rows.Reset()
			s.spare = append(s.spare, d.rows)
		}
	}
	clear(s.byKey)
	clear(s.dests)
	*s = sink{dests: s.dests[:0], byKey: s.byKey, quoted: s.quoted, key: s.key, spare: s.spare}
}
