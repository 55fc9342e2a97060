package partial

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/shard/query"
)

// Concat copies batches with the same columns into one batch.
func Concat(schema *arrow.Schema, list []arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, schema.NumFields())
	rows := int64(0)
	for _, rec := range list {
		rows += rec.NumRows()
	}
	for i := range columns {
		pieces := make([]arrow.Array, len(list))
		for k, rec := range list {
			if !arrow.TypeEqual(rec.Column(i).DataType(), schema.Field(i).Type) {
				return nil, fmt.Errorf("partials: column %d is of type %s and of type %s", i+1, rec.Column(i).DataType(),
					schema.Field(i).Type)
			}
			pieces[k] = rec.Column(i)
		}
		if len(pieces) == 0 {
			b := array.NewBuilder(memory.DefaultAllocator, schema.Field(i).Type)
			pieces = append(pieces, b.NewArray())
			b.Release()
		}
		a, err := array.Concatenate(pieces, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("partials: %w", err)
		}
		columns[i] = a
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}

// Merge combines the rows of each group into one row. The first len(columns)-len(how) columns are
// the groups. If it does not support a type, or if a column is Apart, it returns the rows
// unchanged.
func Merge(rec arrow.RecordBatch, how []query.How) (arrow.RecordBatch, error) {
	groups := int(rec.NumCols()) - len(how)
	rows := int(rec.NumRows())
	if groups < 0 || rows < 2 || !mergeable(rec, how) {
		return rec, nil
	}
	of, first := groupRows(rec, groups)
	if len(first) == rows {
		return rec, nil
	}
	columns := make([]arrow.Array, rec.NumCols())
	for i := range columns {
		c := rec.Column(i)
		if i < groups {
			columns[i] = take(c, first)
			continue
		}
		a, err := combine(c, how[i-groups], of, len(first))
		if err != nil {
			return nil, err
		}
		columns[i] = a
	}
	return array.NewRecordBatch(rec.Schema(), columns, int64(len(first))), nil
}

// mergeable reports whether Merge can combine all columns: it supports their types, and none is
// Apart.
func mergeable(rec arrow.RecordBatch, how []query.How) bool {
	groups := int(rec.NumCols()) - len(how)
	for i, c := range rec.Columns() {
		if keyWriter(c) == nil {
			return false
		}
		if i < groups {
			continue
		}
		switch how[i-groups] {
		case query.Apart:
			return false
		case query.Sum:
			switch c.(type) {
			case *array.Int64, *array.Float64, *array.Decimal128:
			default:
				return false
			}
		}
	}
	return true
}

// groupRows numbers the groups in the order in which they occur. It returns the number of each row's group, and the
// first row of each group.
func groupRows(rec arrow.RecordBatch, groups int) (of, first []int) {
	of = make([]int, rec.NumRows())
	numbers := map[string]int{}
	writers := make([]func(key []byte, row int) []byte, groups)
	for i := range writers {
		writers[i] = keyWriter(rec.Column(i))
	}
	var key []byte
	for row := range of {
		key = key[:0]
		for i, write := range writers {
			if rec.Column(i).IsNull(row) {
				key = append(key, 0)
				continue
			}
			key = write(append(key, 1), row)
		}
		n, ok := numbers[string(key)]
		if !ok {
			n = len(first)
			numbers[string(key)] = n
			first = append(first, row)
		}
		of[row] = n
	}
	return of, first
}

// fixed is a column whose values are of one width.
type fixed[T any] interface {
	arrow.Array
	Value(i int) T
}

func number[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | arrow.Timestamp | arrow.Date32](
	c fixed[T],
) func(key []byte, row int) []byte {
	return func(key []byte, row int) []byte { return binary.LittleEndian.AppendUint64(key, uint64(c.Value(row))) }
}

// keyWriter returns a function that appends a value of a column; different values give different bytes. It returns
// nil if the type is not known.
func keyWriter(c arrow.Array) func(key []byte, row int) []byte {
	switch c := c.(type) {
	case *array.Int8:
		return number(fixed[int8](c))
	case *array.Int16:
		return number(fixed[int16](c))
	case *array.Int32:
		return number(fixed[int32](c))
	case *array.Int64:
		return number(fixed[int64](c))
	case *array.Uint8:
		return number(fixed[uint8](c))
	case *array.Uint16:
		return number(fixed[uint16](c))
	case *array.Uint32:
		return number(fixed[uint32](c))
	case *array.Uint64:
		return number(fixed[uint64](c))
	case *array.Timestamp:
		return number(fixed[arrow.Timestamp](c))
	case *array.Date32:
		return number(fixed[arrow.Date32](c))
	case *array.Float32:
		return func(key []byte, row int) []byte {
			return binary.LittleEndian.AppendUint32(key, math.Float32bits(canonical(c.Value(row))))
		}
	case *array.Float64:
		return func(key []byte, row int) []byte {
			return binary.LittleEndian.AppendUint64(key, math.Float64bits(canonical(c.Value(row))))
		}
	case *array.Boolean:
		return func(key []byte, row int) []byte {
			if c.Value(row) {
				return append(key, 1)
			}
			return append(key, 0)
		}
	case *array.Decimal128:
		return func(key []byte, row int) []byte {
			v := c.Value(row)
			key = binary.LittleEndian.AppendUint64(key, v.LowBits())
			return binary.LittleEndian.AppendUint64(key, uint64(v.HighBits()))
		}
	case *array.String:
		return text(c)
	case *array.LargeString:
		return text(c)
	}
	return nil
}

// canonical returns the same bits for values that the engine groups together: the zeros of both signs, and all NaNs.
func canonical[T float32 | float64](v T) T {
	switch {
	case v == 0:
		return 0
	case v != v:
		return T(math.NaN())
	}
	return v
}

func text(c fixed[string]) func(key []byte, row int) []byte {
	return func(key []byte, row int) []byte {
		v := c.Value(row)
		return append(binary.LittleEndian.AppendUint32(key, uint32(len(v))), v...)
	}
}

// take returns some rows of a column.
func take(c arrow.Array, rows []int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, c.DataType())
	defer b.Release()
	b.Reserve(len(rows))
	add := adder(b, c)
	for _, row := range rows {
		if c.IsNull(row) {
			b.AppendNull()
		} else {
			add(row)
		}
	}
	return b.NewArray()
}

// builder builds a column of one type.
type builder[T any] interface{ Append(v T) }

func copier[T any](b array.Builder, c fixed[T]) func(row int) {
	to := b.(builder[T])
	return func(row int) { to.Append(c.Value(row)) }
}

// adder returns a function that appends the value of a row. It supports the same types as
// keyWriter.
func adder(b array.Builder, c arrow.Array) func(row int) {
	switch c := c.(type) {
	case *array.Int8:
		return copier(b, fixed[int8](c))
	case *array.Int16:
		return copier(b, fixed[int16](c))
	case *array.Int32:
		return copier(b, fixed[int32](c))
	case *array.Int64:
		return copier(b, fixed[int64](c))
	case *array.Uint8:
		return copier(b, fixed[uint8](c))
	case *array.Uint16:
		return copier(b, fixed[uint16](c))
	case *array.Uint32:
		return copier(b, fixed[uint32](c))
	case *array.Uint64:
		return copier(b, fixed[uint64](c))
	case *array.Timestamp:
		return copier(b, fixed[arrow.Timestamp](c))
	case *array.Date32:
		return copier(b, fixed[arrow.Date32](c))
	case *array.Float32:
		return copier(b, fixed[float32](c))
	case *array.Float64:
		return copier(b, fixed[float64](c))
	case *array.Boolean:
		return copier(b, fixed[bool](c))
	case *array.Decimal128:
		return copier(b, fixed[decimal128.Num](c))
	case *array.String:
		return copier(b, fixed[string](c))
	case *array.LargeString:
		return copier(b, fixed[string](c))
	}
	return func(int) { b.AppendNull() }
}

// combine combines the values of each group into one; of has the group of each row.
func combine(c arrow.Array, how query.How, of []int, groups int) (arrow.Array, error) {
	if how != query.Sum {
		return take(c, bestRows(c, how, of, groups)), nil
	}
	b := array.NewBuilder(memory.DefaultAllocator, c.DataType())
	defer b.Release()
	switch c := c.(type) {
	case *array.Int64:
		addUp(b, c, of, groups, func(a, b int64) int64 { return a + b })
	case *array.Float64:
		addUp(b, c, of, groups, func(a, b float64) float64 { return a + b })
	case *array.Decimal128:
		bits := c.DataType().(*arrow.Decimal128Type).Precision
		most := decimal128.GetMaxValue(bits).BigInt()
		over := false
		addUp(b, c, of, groups, func(x, y decimal128.Num) decimal128.Num {
			sum := new(big.Int).Add(x.BigInt(), y.BigInt())
			if sum.CmpAbs(most) > 0 {
				over = true
				return x
			}
			return decimal128.FromBigInt(sum)
		})
		if over {
			return nil, fmt.Errorf("partials: a sum has more than %d digits", bits)
		}
	}
	return b.NewArray(), nil
}

func addUp[T any](b array.Builder, c fixed[T], of []int, groups int, add func(a, b T) T) {
	sums, some := make([]T, groups), make([]bool, groups)
	for row, g := range of {
		switch {
		case c.IsNull(row):
		case some[g]:
			sums[g] = add(sums[g], c.Value(row))
		default:
			sums[g], some[g] = c.Value(row), true
		}
	}
	to := b.(builder[T])
	for g := range sums {
		if some[g] {
			to.Append(sums[g])
		} else {
			b.AppendNull()
		}
	}
}

// bestRows returns, for each group, the row with its smallest or largest value, or a row with null if all are null.
func bestRows(c arrow.Array, how query.How, of []int, groups int) []int {
	before := comparer(c)
	best := make([]int, groups)
	for g := range best {
		best[g] = -1
	}
	for row, g := range of {
		have := best[g]
		switch {
		case have < 0, c.IsNull(have):
			best[g] = row
		case c.IsNull(row):
		case how == query.Least && before(row, have), how == query.Greatest && before(have, row):
			best[g] = row
		}
	}
	return best
}

func lesser[T any](c fixed[T], less func(a, b T) bool) func(a, b int) bool {
	return func(a, b int) bool { return less(c.Value(a), c.Value(b)) }
}

func ordered[T cmp.Ordered](c fixed[T]) func(a, b int) bool { return lesser(c, cmp.Less[T]) }

// nanLast orders doubles as the engine does: NaN is the largest value. For cmp.Less it is the smallest.
func nanLast[T float32 | float64](a, b T) bool { return a < b || a == a && b != b }

// comparer returns a function that reports whether the value of one row is less than the value of
// another; neither may be null. It supports the same types as keyWriter.
func comparer(c arrow.Array) func(a, b int) bool {
	switch c := c.(type) {
	case *array.Int8:
		return ordered(fixed[int8](c))
	case *array.Int16:
		return ordered(fixed[int16](c))
	case *array.Int32:
		return ordered(fixed[int32](c))
	case *array.Int64:
		return ordered(fixed[int64](c))
	case *array.Uint8:
		return ordered(fixed[uint8](c))
	case *array.Uint16:
		return ordered(fixed[uint16](c))
	case *array.Uint32:
		return ordered(fixed[uint32](c))
	case *array.Uint64:
		return ordered(fixed[uint64](c))
	case *array.Timestamp:
		return ordered(fixed[arrow.Timestamp](c))
	case *array.Date32:
		return ordered(fixed[arrow.Date32](c))
	case *array.String:
		return ordered(fixed[string](c))
	case *array.LargeString:
		return ordered(fixed[string](c))
	case *array.Float32:
		return lesser(fixed[float32](c), nanLast[float32])
	case *array.Float64:
		return lesser(fixed[float64](c), nanLast[float64])
	case *array.Boolean:
		return lesser(fixed[bool](c), func(a, b bool) bool { return !a && b })
	case *array.Decimal128:
		return lesser(fixed[decimal128.Num](c), decimal128.Num.Less)
	}
	return nil
}

// Rows copies some rows of the last columns of rec, which s describes.
func Rows(s *arrow.Schema, rec arrow.RecordBatch, rows []int) (arrow.RecordBatch, error) {
	skip := int(rec.NumCols()) - s.NumFields()
	columns := make([]arrow.Array, s.NumFields())
	for i := range columns {
		c := rec.Column(i + skip)
		if keyWriter(c) != nil {
			columns[i] = take(c, rows)
			continue
		}
		pieces := make([]arrow.Array, 0, len(rows)+1)
		for _, row := range rows {
			pieces = append(pieces, array.NewSlice(c, int64(row), int64(row+1)))
		}
		if len(pieces) == 0 {
			pieces = append(pieces, array.NewSlice(c, 0, 0))
		}
		a, err := array.Concatenate(pieces, memory.DefaultAllocator)
		if err != nil {
			return nil, fmt.Errorf("partials: %w", err)
		}
		columns[i] = a
	}
	return array.NewRecordBatch(s, columns, int64(len(rows))), nil
}
