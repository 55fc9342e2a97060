package partial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/shard/query"
)

// batchOf returns a batch of the columns of a schema from JSON.
func batchOf(t *testing.T, s *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func schemaOf(types ...arrow.DataType) *arrow.Schema {
	fields := make([]arrow.Field, len(types))
	for i, ty := range types {
		fields[i] = arrow.Field{Name: fmt.Sprint("c", i), Type: ty, Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func rowsOf(rec arrow.RecordBatch) (out []string) {
	for row := range int(rec.NumRows()) {
		var values []string
		for _, c := range rec.Columns() {
			values = append(values, c.ValueStr(row))
		}
		out = append(out, strings.Join(values, "|"))
	}
	return out
}

func TestMerge(t *testing.T) {
	s := schemaOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		&arrow.Decimal128Type{Precision: 38}, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Boolean)
	rec := batchOf(t, s, `[
		{"c0":"a","c1":1,"c2":5,"c3":"70","c4":"x","c5":false},
		{"c0":"a","c1":1,"c2":6,"c3":null,"c4":null,"c5":true},
		{"c0":null,"c1":1,"c2":1,"c3":null,"c4":null,"c5":null},
		{"c0":"a","c1":null,"c2":2,"c3":"-3","c4":"y","c5":null},
		{"c0":"a","c1":1,"c2":1,"c3":"-5","c4":"b","c5":null},
		{"c0":null,"c1":1,"c2":1,"c3":null,"c4":null,"c5":null}]`)
	for _, c := range []struct {
		how  []query.How
		want []string
	}{
		{[]query.How{query.Sum, query.Sum, query.Least, query.Greatest}, []string{
			"a|1|12|65|b|true", "(null)|1|2|(null)|(null)|(null)", "a|(null)|2|-3|y|(null)",
		}},
		{[]query.How{query.Greatest, query.Least, query.Greatest, query.Least}, []string{
			"a|1|6|-5|x|false", "(null)|1|1|(null)|(null)|(null)", "a|(null)|2|-3|y|(null)",
		}},
		{[]query.How{query.Sum, query.Sum, query.Sum, query.Greatest}, rowsOf(rec)},   // no sum of texts
		{[]query.How{query.Sum, query.Sum, query.Apart, query.Greatest}, rowsOf(rec)}, // left to the final statement
	} {
		got, err := Merge(rec, c.how)
		if err != nil || !slices.Equal(rowsOf(got), c.want) {
			t.Errorf("%v: %v %v, want %v", c.how, rowsOf(got), err, c.want)
		}
	}
}

// TestMergeZeros checks that the zeros of both signs are one group, and that all NaNs are, as in the
// engine.
func TestMergeZeros(t *testing.T) {
	for _, c := range []struct {
		ty  arrow.DataType
		add func(b array.Builder, v float64)
	}{
		{arrow.PrimitiveTypes.Float64, func(b array.Builder, v float64) { b.(*array.Float64Builder).Append(v) }},
		{arrow.PrimitiveTypes.Float32, func(b array.Builder, v float64) { b.(*array.Float32Builder).Append(float32(v)) }},
	} {
		keys := array.NewBuilder(memory.DefaultAllocator, c.ty)
		counts := array.NewInt64Builder(memory.DefaultAllocator)
		for _, v := range []float64{0, math.NaN(), math.Copysign(0, -1), -math.NaN(), 1} {
			c.add(keys, v)
			counts.Append(1)
		}
		rec := array.NewRecordBatch(schemaOf(c.ty, arrow.PrimitiveTypes.Int64),
			[]arrow.Array{keys.NewArray(), counts.NewArray()}, 5)
		got, err := Merge(rec, []query.How{query.Sum})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"0|2", "NaN|2", "1|1"}; !slices.Equal(rowsOf(got), want) {
			t.Errorf("%s: %v, want %v", c.ty, rowsOf(got), want)
		}
	}
}

// TestMergeNoGroups checks that rows without groups are one group.
func TestMergeNoGroups(t *testing.T) {
	s := schemaOf(arrow.PrimitiveTypes.Float64, arrow.PrimitiveTypes.Float64)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{2, math.NaN(), 1}, nil)
	b.Field(1).(*array.Float64Builder).AppendValues([]float64{2, math.NaN(), 1}, nil)
	got, err := Merge(b.NewRecordBatch(), []query.How{query.Least, query.Greatest})
	if err != nil || !slices.Equal(rowsOf(got), []string{"1|NaN"}) {
		t.Error(rowsOf(got), err)
	}
}

// TestMergeOverflow checks that a sum of more than 38 digits is an error, as in the engine.
func TestMergeOverflow(t *testing.T) {
	nines := strings.Repeat("9", 38)
	rec := batchOf(t, schemaOf(&arrow.Decimal128Type{Precision: 38}), `[{"c0":"`+nines+`"},{"c0":"1"}]`)
	if got, err := Merge(rec, []query.How{query.Sum}); err == nil {
		t.Error(rowsOf(got))
	}
}

func TestConcatAndRows(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int64)
	s := schemaOf(arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, list)
	one := batchOf(t, s, `[{"c0":1,"c1":"a","c2":[1,2]},{"c0":2,"c1":null,"c2":null}]`)
	two := batchOf(t, s, `[{"c0":3,"c1":"c","c2":[3]}]`)
	all, err := Concat(s, []arrow.RecordBatch{one, two})
	if err != nil || !slices.Equal(rowsOf(all), append(rowsOf(one), rowsOf(two)...)) {
		t.Fatal(all, err)
	}
	last := arrow.NewSchema(s.Fields()[1:], nil)
	some, err := Rows(last, all, []int{2, 0})
	if err != nil || !slices.Equal(rowsOf(some), []string{"c|[3]", "a|[1,2]"}) {
		t.Error(rowsOf(some), err)
	}
	if none, err := Rows(last, all, nil); err != nil || none.NumRows() != 0 || none.NumCols() != 2 {
		t.Error(none, err)
	}
	if other, err := Concat(last, []arrow.RecordBatch{two}); err == nil {
		t.Error(other)
	}
}

func TestCache(t *testing.T) {
	rec := batchOf(t, schemaOf(arrow.PrimitiveTypes.Int64), `[{"c0":1}]`)
	large := batchOf(t, schemaOf(arrow.PrimitiveTypes.Int64), "["+strings.Repeat(`{"c0":1},`, MaxRows)+`{"c0":1}]`)
	c := New(2*overhead + 100)
	key := func(n int) Key { return Key{Statement: "s", Segment: fmt.Sprint(n), CRC: uint32(n)} }
	if c.Put(key(0), large) {
		t.Error("too many rows are kept")
	}
	for n := range 3 {
		if !c.Put(key(n), rec) {
			t.Error("not kept")
		}
	}
	if _, ok := c.Get(key(0)); ok {
		t.Error("the cache exceeds its bound")
	}
	if _, ok := c.Get(key(2)); !ok {
		t.Error("the last one is gone")
	}
	if s := c.Stats(); s.Hits != 1 || s.Misses != 1 || s.Bytes == 0 || s.Bytes > c.limit {
		t.Errorf("%+v", s)
	}
	now := time.Unix(1000, 0)
	for _, a := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {again / 2, true}, {2 * again, false}, {2*again + time.Second, true}} {
		if got := c.Asked("x", now.Add(a.after)); got != a.want {
			t.Errorf("asked after %s: %v", a.after, got)
		}
	}
	c.TooLarge("x", now)
	if !c.IsTooLarge("x") || c.IsTooLarge("y") {
		t.Error("TooLarge was not recorded")
	}
	for _, a := range []struct {
		after time.Duration
		want  bool
	}{{time.Second, false}, {again - time.Second, false}, {again + time.Second, false}, {again + 2*time.Second, true}} {
		if got := c.Asked("x", now.Add(a.after)); got != a.want {
			t.Errorf("IsTooLarge after %s: %v", a.after, got)
		}
	}
	if c.IsTooLarge("x") {
		t.Error("IsTooLarge remains true for ever")
	}
	if none := New(0); none != nil || none.Stats() != (Stats{}) {
		t.Error("a cache of nothing keeps something")
	}
}
