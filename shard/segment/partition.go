package segment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// MaxPartitions is the most files that one table gets in one flush.
const MaxPartitions = 16

// RowRef is a row of one of some batches.
type RowRef struct {
	// Time is the row's time index.
	Time int64
	// Batch is the index of its batch among them, Row its number there.
	Batch, Row uint32
}

// Partition is a span of time and some rows in it. All rows of a file lie in one.
type Partition struct {
	// Day is the first day of the span, counted from 1970-01-01 UTC; Days is its
	// length, a power of two. Day is a multiple of Days.
	Day, Days int64
	Rows      []RowRef
}

// Partitions lists all rows of a table's batches by the UTC day of their time index,
// or by a longer span if there were more than MaxPartitions of them; in each in the
// order of the batches and their rows. It fails if a batch lacks the time index.
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
	if floorDiv(lo, day) == floorDiv(hi, day) {
		return []Partition{{floorDiv(lo, day), 1, all}}, nil
	}
	// Longer spans until there are few enough of them; a span of 2^k days begins at a
	// multiple of itself, so flushes with the same k cut at the same times.
	shift := 0
	spans := map[int64]int{}
	for ; ; shift++ {
		clear(spans)
		for i := range all {
			spans[floorDiv(all[i].Time, day)>>shift]++
			if len(spans) > MaxPartitions {
				break
			}
		}
		if len(spans) <= MaxPartitions {
			break
		}
	}
	parts := make(map[int64][]RowRef, len(spans))
	for span, n := range spans {
		parts[span] = make([]RowRef, 0, n)
	}
	for _, r := range all {
		span := floorDiv(r.Time, day) >> shift
		parts[span] = append(parts[span], r)
	}
	out := make([]Partition, 0, len(parts))
	for _, span := range slices.Sorted(maps.Keys(parts)) {
		out = append(out, Partition{span << shift, 1 << shift, parts[span]})
	}
	return out, nil
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// sortKey is a tag column as numbers of the same order: rank[batch][row], where null
// is 0. A nil slice is a batch that is null throughout.
type sortKey [][]uint32

// sortKeys returns the keys of the table's tags.
func sortKeys(table *schema.Table, batches []*column.Batch) []sortKey {
	var keys []sortKey
	for _, tag := range table.Tags() {
		views := make([]*column.View, len(batches))
		for i, b := range batches {
			views[i] = b.Column(tag.ID)
		}
		if tag.Type.IsBytes() {
			keys = append(keys, rankBytes(views))
		} else {
			keys = append(keys, rankNumbers(tag.Type, views))
		}
	}
	return keys
}

func rankBytes(views []*column.View) sortKey {
	ids := map[string]uint32{} // by value, in the order in which values were met
	var values []string
	id := func(v []byte) uint32 {
		n, ok := ids[string(v)]
		if !ok {
			n = uint32(len(values))
			s := string(v)
			ids[s] = n
			values = append(values, s)
		}
		return n
	}
	key := make(sortKey, len(views))
	for i, v := range views {
		if v == nil {
			continue
		}
		key[i] = make([]uint32, v.Rows)
		var entries []uint32
		if v.Encoding == column.Dict {
			entries = make([]uint32, v.DictLen)
			for e := range entries {
				entries[e] = id(v.Entry(e)) + 1
			}
		}
		for row := range v.Rows {
			switch {
			case v.IsNull(row):
			case entries != nil:
				key[i][row] = entries[v.Code(row)]
			default:
				key[i][row] = id(v.Bytes(row)) + 1
			}
		}
	}
	key.order(len(values), func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
	return key
}

func rankNumbers(typ schema.Type, views []*column.View) sortKey {
	ids := map[uint64]uint32{}
	var values []uint64
	key := make(sortKey, len(views))
	for i, v := range views {
		if v == nil {
			continue
		}
		key[i] = make([]uint32, v.Rows)
		for row := range v.Rows {
			if v.IsNull(row) {
				continue
			}
			n := ordered(typ, v, row)
			id, ok := ids[n]
			if !ok {
				id = uint32(len(values))
				ids[n] = id
				values = append(values, n)
			}
			key[i][row] = id + 1
		}
	}
	key.order(len(values), func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
	return key
}

// ordered maps a number to one that compares, unsigned, in the same way.
func ordered(typ schema.Type, v *column.View, row int) uint64 {
	const sign = 1 << 63
	switch {
	case typ.IsFloat():
		bits := math.Float64bits(v.Float(row))
		if bits&sign != 0 {
			return ^bits
		}
		return bits | sign
	case typ == schema.Uint64:
		return uint64(v.Int(row))
	}
	return uint64(v.Int(row)) ^ sign
}

// order replaces ids of values, counted from 1, by the ranks of the values.
func (k sortKey) order(n int, compare func(a, b uint32) int) {
	byRank := make([]uint32, n)
	for i := range byRank {
		byRank[i] = uint32(i)
	}
	slices.SortFunc(byRank, compare)
	rank := make([]uint32, n+1)
	for r, id := range byRank {
		rank[id+1] = uint32(r + 1)
	}
	for _, rows := range k {
		for i, id := range rows {
			rows[i] = rank[id]
		}
	}
}

func (k sortKey) at(r RowRef) uint32 {
	if rows := k[r.Batch]; rows != nil {
		return rows[r.Row]
	}
	return 0
}

// Sort orders rows of a table's batches as they lie in a file: by the table's tags,
// null first, by time, and equal ones as they were applied.
func Sort(table *schema.Table, batches []*column.Batch, rows []RowRef) {
	sortRows(rows, sortKeys(table, batches))
}

// sortRows orders rows by the keys, then by time, then as they were applied.
func sortRows(rows []RowRef, keys []sortKey) {
	compare := func(a, b RowRef) int {
		for _, k := range keys {
			if c := cmp.Compare(k.at(a), k.at(b)); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(a.Time, b.Time); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Batch, b.Batch); c != 0 {
			return c
		}
		return cmp.Compare(a.Row, b.Row)
	}
	if !slices.IsSortedFunc(rows, compare) {
		slices.SortFunc(rows, compare)
	}
}
