package segment

import (
	"cmp"
	"math"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// sortKey represents a tag column by numbers with the same order.
type sortKey struct {
	// ranks are by batch and row; null is 0. A nil slice means that the batch has only nulls.
	ranks [][]uint32
	// values is the number of different values, which is the highest rank.
	values int
}

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
	ids := map[string]uint32{} // by value, in the order of first occurrence
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
	key := sortKey{ranks: make([][]uint32, len(views))}
	for i, v := range views {
		if v == nil {
			continue
		}
		key.ranks[i] = make([]uint32, v.Rows)
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
				key.ranks[i][row] = entries[v.Code(row)]
			default:
				key.ranks[i][row] = id(v.Bytes(row)) + 1
			}
		}
	}
	key.order(len(values), func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
	return key
}

func rankNumbers(typ schema.Type, views []*column.View) sortKey {
	ids := map[uint64]uint32{}
	var values []uint64
	key := sortKey{ranks: make([][]uint32, len(views))}
	for i, v := range views {
		if v == nil {
			continue
		}
		key.ranks[i] = make([]uint32, v.Rows)
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
			key.ranks[i][row] = id + 1
		}
	}
	key.order(len(values), func(a, b uint32) int { return cmp.Compare(values[a], values[b]) })
	return key
}

// ordered maps a number to an unsigned number with the same order.
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
func (k *sortKey) order(n int, compare func(a, b uint32) int) {
	byRank := make([]uint32, n)
	for i := range byRank {
		byRank[i] = uint32(i)
	}
	slices.SortFunc(byRank, compare)
	rank := make([]uint32, n+1)
	for r, id := range byRank {
		rank[id+1] = uint32(r + 1)
	}
	k.values = n
	for _, rows := range k.ranks {
		for i, id := range rows {
			rows[i] = rank[id]
		}
	}
}

func (k *sortKey) at(r RowRef) uint32 {
	if rows := k.ranks[r.Batch]; rows != nil {
		return rows[r.Row]
	}
	return 0
}

// Sort sorts rows of a table's batches into the order of a file: by the table's tags, null first,
// then by time. Equal rows stay in the order in which they were applied.
func Sort(table *schema.Table, batches []*column.Batch, rows []RowRef) {
	sortRows(rows, sortKeys(table, batches))
}

// sortRows sorts rows by the keys, then by time, then by the order in which they were applied. It
// sorts by time first, and then by each key from the last to the first with a stable sort.
func sortRows(rows []RowRef, keys []sortKey) {
	buf := sortTimes(rows)
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i].values > 0 {
			buf = sortRanks(rows, buf, &keys[i])
		}
	}
}

// sortRanks sorts rows by the ranks of a key, with a stable sort. It uses buf, and returns the
// memory that may be reused.
func sortRanks(rows, buf []RowRef, k *sortKey) []RowRef {
	ends := make([]int, k.values+2) // by rank: first counts, then the position of the next row
	last, sorted := uint32(0), true
	for _, r := range rows {
		rank := k.at(r)
		ends[rank+1]++
		sorted = sorted && rank >= last
		last = rank
	}
	if sorted {
		return buf
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	if len(buf) < len(rows) {
		buf = make([]RowRef, len(rows))
	}
	for _, r := range rows {
		rank := k.at(r)
		buf[ends[rank]] = r
		ends[rank]++
	}
	copy(rows, buf)
	return buf
}

func before(a, b *RowRef) bool {
	if a.Time != b.Time {
		return a.Time < b.Time
	}
	if a.Batch != b.Batch {
		return a.Batch < b.Batch
	}
	return a.Row < b.Row
}

// sortTimes sorts rows by time, then by the order in which they were applied. Rows in batches
// mostly ascend in time, so ascending runs are merged instead of sorted. It returns memory that may
// be reused.
func sortTimes(rows []RowRef) []RowRef {
	runs := ascendingRuns(rows)
	if len(runs) <= 1 {
		return nil
	}
	if len(runs) > len(rows)/4 {
		slices.SortFunc(rows, func(a, b RowRef) int {
			if before(&a, &b) {
				return -1
			}
			return 1
		})
		return nil
	}
	// In the order of their first rows, the runs of different connections overlap little.
	slices.SortFunc(runs, func(a, b [2]int) int {
		if before(&rows[a[0]], &rows[b[0]]) {
			return -1
		}
		return 1
	})
	buf := make([]RowRef, 0, len(rows))
	for _, r := range runs {
		buf = append(buf, rows[r[0]:r[1]]...)
	}
	copy(rows, buf)
	for runs = ascendingRuns(rows); len(runs) > 1; {
		merged := runs[:0]
		for i := 0; i < len(runs); i += 2 {
			if i+1 == len(runs) {
				merged = append(merged, runs[i])
				break
			}
			mergeRuns(rows, buf, runs[i][0], runs[i][1], runs[i+1][1])
			merged = append(merged, [2]int{runs[i][0], runs[i+1][1]})
		}
		runs = merged
	}
	return buf
}

// ascendingRuns returns the maximal ascending runs of rows.
func ascendingRuns(rows []RowRef) [][2]int {
	var runs [][2]int
	from := 0
	for i := 1; i <= len(rows); i++ {
		if i == len(rows) || before(&rows[i], &rows[i-1]) {
			runs = append(runs, [2]int{from, i})
			from = i
		}
	}
	return runs
}

// mergeRuns merges the sorted rows [from, middle) with the sorted rows [middle, to).
func mergeRuns(rows, buf []RowRef, from, middle, to int) {
	// Leave rows that are in their place.
	for from < middle && !before(&rows[middle], &rows[from]) {
		from++
	}
	left := buf[:copy(buf[:middle-from], rows[from:middle])]
	i, j := 0, middle
	for at := from; i < len(left); at++ {
		if j < to && before(&rows[j], &left[i]) {
			rows[at] = rows[j]
			j++
		} else {
			rows[at] = left[i]
			i++
		}
	}
}
