package plan

import (
	"cordwood/proto/schema"
	"cordwood/shard/segment"
)

// This file divides a row group whose rows are not all the same to the statement, because the
// border of a time condition or of a bucket is between their times. If the bounds of a page show
// that its rows are the same, they are not read; otherwise the times of the page are read.

const (
	// maxBorderPages is the maximum number of pages of a segment whose times are read.
	maxBorderPages = 64
	// maxPageRuns is the maximum number of runs of alike rows into which such a page is divided. Rows are mostly
	// sorted by time.
	maxPageRuns = 8
)

// border divides row groups of one segment.
type border struct {
	*Plan
	part     *Part
	index    int // of the part in Source.Plain
	filters  *segment.Filters
	field    uint32
	timeType schema.Type
	file     *File // nil until it is needed
	read     int   // pages whose times were read
	most     int   // row groups that may be divided
}

func (b *border) close() {
	if b.file != nil {
		_ = b.file.Close()
	}
}

// divide returns all rows of a row group as runs of alike rows. Some runs may not matter to the statement. It returns
// nil if the row group cannot be divided. The engine reports a damaged file when it reads it.
func (b *border) divide(g int) (out []alikeRows) {
	if b.most--; b.most < 0 {
		return nil
	}
	if b.file == nil {
		var err error
		if b.file, err = b.Open(b.part.Segment, b.filters); err != nil {
			return nil
		}
	}
	pages, err := b.filters.PageBounds(b.file, b.field, g)
	if err != nil {
		return nil
	}
	factor := FileFactor(b.timeType)
	for _, page := range pages {
		lo, hi := page.Min/factor, page.Max/factor
		matters := b.meets(lo, hi)
		if !matters || b.alike(lo, hi, b.timeType) {
			out = b.add(out, g, page.Run, lo, hi, matters)
			continue
		}
		if b.read++; b.read > maxBorderPages {
			return nil
		}
		if out = b.dividePage(out, g, page.Run); out == nil {
			return nil
		}
	}
	return out
}

// dividePage adds the runs of a page, by its times.
func (b *border) dividePage(out []alikeRows, g int, page segment.Run) []alikeRows {
	index := b.View.Schema.TimeIndex()
	columns := []segment.Column{{
		ID: index.ID, FieldID: b.field, Name: index.Name, Type: index.Type, Semantic: index.Semantic,
	}}
	rows, err := b.filters.Rows(b.file, g, columns, []segment.Run{page})
	if err != nil {
		return nil
	}
	times := rows.Column(index.ID)
	if times == nil || times.Nulls > 0 || times.Rows != page.Rows {
		return nil
	}
	runs := 0
	for i := 0; i < page.Rows; {
		lo := times.Int(i)
		if !b.alike(lo, lo, b.timeType) {
			return nil // too far away for a constant of nanoseconds
		}
		hi, k := lo, i+1
		for ; k < page.Rows; k++ {
			v := times.Int(k)
			if !b.alike(min(lo, v), max(hi, v), b.timeType) {
				break
			}
			lo, hi = min(lo, v), max(hi, v)
		}
		if runs++; runs > maxPageRuns {
			return nil
		}
		out = b.add(out, g, segment.Run{First: page.First + i, Rows: k - i}, lo, hi, b.meets(lo, hi))
		i = k
	}
	return out
}

// add adds a run, or extends the previous run if both are alike.
func (b *border) add(out []alikeRows, g int, run segment.Run, lo, hi int64, matters bool) []alikeRows {
	first := b.filters.Groups[g].First + int64(run.First)
	u := alikeRows{
		part: b.index, group: g, within: true, rows: int64(run.Rows), min: lo, max: hi,
		run: rowRun{first, first + int64(run.Rows) - 1}, pieces: []segment.Run{run},
	}
	if !matters {
		u.rows, u.pieces = 0, nil
	}
	if len(out) > 0 {
		last := &out[len(out)-1]
		same := matters == (last.rows > 0)
		if same && last.run.Last+1 == u.run.First && (!matters ||
			b.alike(min(last.min, lo), max(last.max, hi), b.timeType)) {
			last.run.Last, last.rows = u.run.Last, last.rows+u.rows
			last.min, last.max = min(last.min, lo), max(last.max, hi)
			last.pieces = append(last.pieces, u.pieces...)
			return out
		}
	}
	return append(out, u)
}
