package segment

import (
	"encoding/binary"
	"fmt"

	"cordwood/proto/column"
)

// This file limits the bytes of a row group by the bytes of its rows, which are counted before the
// rows are gathered. An average would be useless, because the sizes of texts differ by a factor of
// a million.

const (
	// maxGroupBytes is the maximum weight of the rows of a row group with several rows.
	maxGroupBytes = 64 << 20
	// maxGroupValues is the maximum number of values of a row group, which limits the memory for
	// numbers.
	maxGroupValues = 1 << 25
	// maxRowBytes is the maximum weight of one row. It is larger than any row in a Write to a
	// shard.
	maxRowBytes = 1 << 30
	// shortEntry is the length up to which all texts of a dictionary count as long as the longest
	// one. Counting more exactly gains nothing.
	shortEntry = 64
)

// groupRows returns the maximum number of rows of the current row group, whatever their size.
func (w *Writer) groupRows() int {
	most := min(w.cfg.RowGroupRows, max(maxGroupValues/len(w.cols), 1024))
	if w.endAt > 0 {
		return min(most, w.endAt)
	}
	return most
}

// countFitting returns how many of the first rows of part fit into the current row group, and their
// weight. w.runs holds part. It returns 0 only if the row group already has rows.
func (w *Writer) countFitting(part []RowRef) (n int, weight int64, err error) {
	room := maxGroupBytes - w.weight
	if weight = w.weigh(w.runs); weight <= room {
		return len(part), weight, nil
	}
	weight = 0
	for _, r := range part {
		w.single[0] = run{r.Batch, r.Row, 1}
		more := w.weigh(w.single[:])
		if more > maxRowBytes {
			return 0, 0, fmt.Errorf("a row has %d bytes; at most %d are allowed", more, maxRowBytes)
		}
		if weight+more > room && n+w.rows > 0 {
			break
		}
		n, weight = n+1, weight+more
	}
	return n, weight, nil
}

// weigh returns the maximum size of the texts of rows in memory. Texts in a dictionary count half,
// because most stay in one.
func (w *Writer) weigh(runs []run) (weight int64) {
	for _, c := range w.cols {
		if !c.Type.IsBytes() {
			continue
		}
		coded := int64(0)
		for _, r := range runs {
			if v := c.views[r.batch]; v != nil && v.Encoding != column.Plain {
				coded += c.codedBytes(v, r)
			}
		}
		weight += int64(plainBytes(c.views, runs)) + coded/2
	}
	return weight
}

// plainBytes returns the size of the texts in rows whose batches have no dictionary.
func plainBytes(views []*column.View, runs []run) (n int) {
	for _, r := range runs {
		if v := views[r.batch]; v != nil && v.Encoding == column.Plain {
			from, to := v.Offsets[4*r.row:], v.Offsets[4*(r.row+r.n):]
			n += int(binary.LittleEndian.Uint32(to)) - int(binary.LittleEndian.Uint32(from))
		}
	}
	return n
}

// codedBytes returns the maximum size of a column's texts in rows whose batches have a dictionary.
func (c *fileColumn) codedBytes(v *column.View, r run) (n int64) {
	longest := &c.longest[r.batch]
	if *longest < 0 {
		for i := range v.DictLen {
			*longest = max(*longest, len(v.Entry(i)))
		}
	}
	if *longest <= shortEntry || v.Width == 0 {
		return int64(*longest) * int64(r.n)
	}
	for row := int(r.row); row < int(r.row+r.n); row++ {
		n += int64(len(v.Entry(v.Code(row))))
	}
	return n
}
