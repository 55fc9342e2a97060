package worker

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// filler sets every field to a value that is not zero.
type filler struct {
	t *testing.T
	n int64
}

func (f *filler) fill(v reflect.Value) {
	f.n++
	if v.Type() == batchType {
		v.Set(reflect.ValueOf(logBatch(f.t, nil, int(f.n), int(f.n)%3)))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(f.n % 100)
		if v.Kind() == reflect.Int64 {
			v.SetInt(-f.n << 40)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range 3 {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 3 {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(elem)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
		if restore := restored[v.Type()]; restore != nil {
			restore(v)
		}
	default:
		f.t.Fatalf("the test does not know how to fill a %s", v.Type())
	}
}

// roundTrip encodes v and returns the decoded copy.
func roundTrip[T any](t *testing.T, v T) T {
	t.Helper()
	e := newEncoder()
	defer e.free()
	e.encode(v)
	d := &decoder{src: string(e.buf[headerSize:])}
	got, err := decode[T](d)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.pending) != len(e.bodies) {
		t.Fatalf("%d batches were sent, %d are expected", len(e.bodies), len(d.pending))
	}
	for i := range d.pending {
		if err := d.pending[i].open(e.bodies[i]); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

var sameTables = cmp.Options{
	cmp.AllowUnexported(schema.Table{}),
	cmpopts.EquateEmpty(),
}

// TestEveryFieldTravels fills every field of the messages, including fields added in the future,
// and compares the received message with the sent one.
func TestEveryFieldTravels(t *testing.T) {
	req := &query.Request{}
	(&filler{t: t}).fill(reflect.ValueOf(req).Elem())
	if diff := cmp.Diff(req, roundTrip(t, req), sameTables); diff != "" {
		t.Error("request:", diff)
	}
	var a query.Analysis
	(&filler{t: t}).fill(reflect.ValueOf(&a).Elem())
	if diff := cmp.Diff(a, roundTrip(t, a)); diff != "" {
		t.Error("analysis:", diff)
	}
	var h hello
	(&filler{t: t}).fill(reflect.ValueOf(&h).Elem())
	if diff := cmp.Diff(h, roundTrip(t, h)); diff != "" {
		t.Error("hello:", diff)
	}
}

// TestEmptyTravels checks that nil differs from empty, and that a pointer to zero differs from nil.
func TestEmptyTravels(t *testing.T) {
	zero, columns := int64(0), []query.SegmentColumn{{ID: 1, Name: "a"}}
	for _, req := range []*query.Request{
		nil,
		{},
		{Tables: []query.Table{}},
		{Tables: []query.Table{{}, {ExpiredBefore: &zero, Segments: []query.Segment{}}}},
		{Tables: []query.Table{{Segments: []query.Segment{ // the same columns, other columns, nil, no columns
			{Path: "a", Columns: columns},
			{Path: "b", Columns: columns},
			{Path: "c", Columns: []query.SegmentColumn{{ID: 1, Name: "a"}}},
			{Path: "d", Columns: []query.SegmentColumn{{ID: 2}}},
			{Path: "e"},
			{Path: "f", Columns: []query.SegmentColumn{}},
			{Path: "g", Columns: columns},
		}}}},
		{Tables: []query.Table{{Batches: []*column.Batch{nil, logBatch(t, nil, 0, 0), logBatch(t, nil, 0, 5)}}}},
	} {
		got := roundTrip(t, req)
		if diff := cmp.Diff(req, got, cmp.AllowUnexported(schema.Table{})); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBatchHasNoMore fails when a batch gets a field that the messages do not send.
func TestBatchHasNoMore(t *testing.T) {
	var fields []string
	for i := range reflect.TypeFor[column.Batch]().NumField() {
		fields = append(fields, reflect.TypeFor[column.Batch]().Field(i).Name)
	}
	if diff := cmp.Diff([]string{"Header", "Cols", "Mem"}, fields); diff != "" {
		t.Errorf("putBatch and column.Reopen make a batch of its header and its memory:\n%s", diff)
	}
}

// TestHeaderIsFlat fails when a batch's header gets a field that cannot be copied to another
// process as bytes.
func TestHeaderIsFlat(t *testing.T) {
	header := reflect.TypeFor[column.Header]()
	for i := range header.NumField() {
		switch f := header.Field(i); f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64:
		default:
			t.Errorf("%s is a %s: putBatch copies the header as it is in memory", f.Name, f.Type)
		}
	}
}

// TestBatches checks that recently used batches stay cached, and that a cached batch is not used
// for another batch in the same memory.
func TestBatches(t *testing.T) {
	c := &batches{}
	batch := func(seq uint64, columns int) (batchKey, *column.Batch) {
		b := &column.Batch{Header: column.Header{Session: 1, Seq: seq}, Cols: make([]column.View, columns)}
		return batchKey{header: b.Header, offset: 64, size: 128}, b
	}
	first, b1 := batch(1, 10)
	c.put(first, b1)
	if second, b2 := batch(2, 10); c.get(second, 10, nil) != nil {
		t.Error("another batch at the same place is mistaken for the first")
	} else {
		c.put(second, b2)
	}
	for n := range uint64(4) { // the first is used, so it stays
		key, b := batch(100+n, keptViews/2)
		c.put(key, b)
		if c.get(first, 10, nil) != b1 {
			t.Fatalf("a batch in use is gone after %d others", n+1)
		}
	}
	if second, _ := batch(2, 0); c.get(second, 10, nil) != nil {
		t.Error("a batch that nobody uses is kept")
	}
	var none *batches
	none.put(first, b1)
	if none.get(first, 10, nil) != nil {
		t.Error("a batch from nowhere")
	}
}

// TestBatchOfTheSameName checks a batch of a request whose key is repeated. It has the ids, times,
// size and place of the batch before it, but other values.
func TestBatchOfTheSameName(t *testing.T) {
	encode := func(texts ...string) (*column.Batch, []byte) {
		b := &column.Builder{}
		b.Add(schema.Column{ID: 1, Name: "ts", Type: schema.TimestampSecond, Semantic: schema.Timestamp}).SetInt(0, 7)
		for i, text := range texts {
			b.Add(schema.Column{ID: uint32(i) + 2, Name: fmt.Sprint("c", i), Type: schema.String}).SetString(0, text)
		}
		b.EndRow()
		out, err := column.Decode(b.Encode(nil, column.Header{TableID: 1, Session: column.KeyedBit | 5, Seq: 6}), nil)
		if err != nil {
			t.Fatal(err)
		}
		return out, out.Mem
	}
	first, mem := encode("a", strings.Repeat("b", 30))
	second, other := encode(strings.Repeat("c", 30), "d")
	if first.Header != second.Header || len(mem) != len(other) {
		t.Fatalf("the batches differ: %+v of %d bytes, %+v of %d", first.Header, len(mem), second.Header, len(other))
	}
	shared := make([]uint64, len(mem)/8+1)
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&shared[0])), 8*len(shared))
	kept := &batches{}
	for round, b := range []*column.Batch{first, first, second, second, first} {
		copy(memory, b.Mem)
		e := newEncoder()
		e.locate = func([]byte) (int64, bool) { return 0, true }
		e.encode(&query.Request{Tables: []query.Table{{Batches: []*column.Batch{b}}}})
		got, err := decode[*query.Request](&decoder{src: string(e.buf[headerSize:]), memory: memory, batches: kept})
		e.free()
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []uint32{2, 3} {
			if want, have := b.Column(id).Bytes(0), got.Tables[0].Batches[0].Column(id).Bytes(0); !bytes.Equal(want, have) {
				t.Errorf("round %d: column %d is %q, want %q", round, id, have, want)
			}
		}
	}
}

// TestErrorsTravel covers every field of an error except the chain of causes and the quota: only routers refuse a
// request because of a quota.
func TestErrorsTravel(t *testing.T) {
	want := &errs.Error{
		Code: errs.PlanQuery, Msg: "no plan", HTTPStatus: 418, RetryAfter: 3 * time.Second, Reason: errs.TableGone,
		Leader: "n", Err: fmt.Errorf("the cause"),
	}
	v := reflect.ValueOf(*want)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Quota" {
			t.Fatalf("the test does not fill %s", name)
		}
	}
	f := roundTrip(t, failureOf(fmt.Errorf("outer: %w", want)))
	got := errs.From(f.err())
	if got.Err == nil || got.Err.Error() != want.Err.Error() {
		t.Errorf("cause %v, want %v", got.Err, want.Err)
	}
	got.Err = want.Err
	if !reflect.DeepEqual(want, got) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestCannotTravel checks that types are refused if they would lose something in transit.
func TestCannotTravel(t *testing.T) {
	for _, test := range []struct {
		v    any
		says string
	}{
		{struct{ f int }{}, "not exported"},
		{struct{ F func() }{}, "func()"},
		{struct{ E error }{}, "error"},
		{struct{ T time.Time }{}, "not exported"},
		{make(chan int), "chan int"},
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, test.says) {
					t.Errorf("%T: panic %q does not say %q", test.v, p, test.says)
				}
			}()
			codecOf(reflect.TypeOf(test.v))
		}()
	}
}

// FuzzRequest decodes arbitrary bytes.
func FuzzRequest(f *testing.F) {
	columns := []query.SegmentColumn{{ID: 1, Name: "a"}}
	before := int64(77)
	e := newEncoder()
	e.encode(&query.Request{SQL: "SELECT 1", Tables: []query.Table{{
		Name: "t", ExpiredBefore: &before, Schema: &schema.Table{
			Columns: logColumns,
			Options: map[string]string{"ttl": "7d"},
		},
		Segments: []query.Segment{{Path: "a", Columns: columns}, {Path: "b", Columns: columns}},
		Batches:  []*column.Batch{logBatch(f, nil, 0, 4)},
	}}})
	f.Add(e.buf[headerSize:])
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			return
		}
		d := &decoder{src: string(src), memory: make([]byte, 256)}
		if _, err := decode[*query.Request](d); err != nil && !strings.HasPrefix(err.Error(), "message: ") {
			t.Errorf("error %q", err)
		}
	})
}

func BenchmarkRequest(b *testing.B) {
	for _, segments := range []int{0, 10, 1000} {
		b.Run(fmt.Sprint(segments), func(b *testing.B) {
			req := &query.Request{SQL: "SELECT 1", Tables: []query.Table{logTable()}}
			for i := range segments {
				columns := make([]query.SegmentColumn, 20)
				for k := range columns {
					columns[k] = query.SegmentColumn{ID: uint32(k + 1), Name: fmt.Sprint("column_", k), Type: schema.String}
				}
				req.Tables[0].Segments = append(req.Tables[0].Segments, query.Segment{
					Path: fmt.Sprintf("/data/shards/00000001/segments/%016x.parquet", i), Columns: columns, Rows: 1e6,
				})
			}
			for b.Loop() {
				e := newEncoder()
				e.encode(req)
				if _, err := decode[*query.Request](&decoder{src: string(e.buf[headerSize:])}); err != nil {
					b.Fatal(err)
				}
				e.free()
			}
		})
	}
}
