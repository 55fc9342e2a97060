package segment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// MaxPartitions is the maximum number of files for one table in one flush.
const MaxPartitions = 16

// RowRef refers to a row in one of several batches.
type RowRef struct {
	// Time is the row's time index.
	Time int64
	// Batch is the index of the row's batch, Row its number in the batch.
	Batch, Row uint32
}

// Partition is a span of time with some rows. All rows of a file belong to one partition.
type Partition struct {
	// Day is the first day of the span, counted from 1970-01-01 UTC; Days is its
	// length, a power of two. Day is a multiple of Days.
	Day, Days int64
	Rows      []RowRef
}

// Partitions assigns all rows of a table's batches to partitions by the UTC day of their time
// index, or by a longer span if there were more than MaxPartitions days. In each partition the rows
// are in the order of the batches and of their rows. It fails if a batch has no time index.
func Partitions(table *schema.Table, batches []*column.Batch) ([]Partition, error) {
	timeIndex := table.TimeIndex()
	if timeIndex == nil {
		return nil, errors.New("it has no time index")
	}
	unit := timeIndex.Type.UnitsPerSecond()
	if unit == 0 {
		return nil, fmt.Errorf("its time index %q has type %s", timeIndex.Name, timeIndex.Type)
	}
	total := 0
	for _, b := range batches {
		total += b.Rows
	}
	all := make([]RowRef, 0, total)
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for i, b := range batches {
		v := b.Column(timeIndex.ID)
		if v == nil || v.Nulls > 0 {
			return nil, fmt.Errorf("batch %d of %d rows has no time index, or nulls in it", b.Seq, b.Rows)
		}
		for row := range b.Rows {
			t := v.Int(row)
			lo, hi = min(lo, t), max(hi, t)
			all = append(all, RowRef{Time: t, Batch: uint32(i), Row: uint32(row)})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	day := unit * 86400
	if schema.FloorDiv(lo, day) == schema.FloorDiv(hi, day) {
		return []Partition{{schema.FloorDiv(lo, day), 1, all}}, nil
	}
	shift, spans := chooseSpan(all, day)
	parts := make(map[int64][]RowRef, len(spans))
	for span, n := range spans {
		parts[span] = make([]RowRef, 0, n)
	}
	for _, r := range all {
		span := schema.FloorDiv(r.Time, day) >> shift
		parts[span] = append(parts[span], r)
	}
	out := make([]Partition, 0, len(parts))
	for _, span := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, Partition{span << shift, 1 << shift, parts[span]})
	}
	return out, nil
}

// chooseSpan returns the logarithm of the shortest span in days for which the rows need at most MaxPartitions
// partitions, and the number of rows in each span. A span of 2^k days begins at a multiple of itself, so flushes with
// the same k have the same boundaries.
func chooseSpan(rows []RowRef, day int64) (shift int, counts map[int64]int) {
	counts = map[int64]int{}
	for ; ; shift++ {
		clear(counts)
		for i := range rows {
			counts[schema.FloorDiv(rows[i].Time, day)>>shift]++
			if len(counts) > MaxPartitions {
				break
			}
		}
		if len(counts) <= MaxPartitions {
			return shift, counts
		}
	}
}
