package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// TestRefusals checks which writes are refused, and with which errors.
func TestRefusals(t *testing.T) {
	t.Parallel()
	with := func(change func(*column.Header)) []byte {
		h := head(1, 9, 100)
		change(&h)
		return batch(h, "bad")
	}
	typed := func(build func(b *column.Builder)) []byte {
		var b column.Builder
		build(&b)
		return b.Encode(nil, head(1, 9, 100))
	}
	ts := schema.FromProto(def(1)).Columns[0]
	corrupt := batch(head(1, 9, 100), "bad")
	corrupt[len(corrupt)-1] ^= 1
	tests := []struct {
		name   string
		batch  []byte
		reason errs.Reason
		code   errs.Code
		need   []uint64
		text   string
	}{
		{name: "unknown table", batch: with(func(h *column.Header) { h.TableID = 5 }), need: []uint64{5}},
		{name: "newer schema", batch: with(func(h *column.Header) { h.SchemaVersion = 3 }), need: []uint64{1}},
		{name: "newer epoch", batch: with(func(h *column.Header) { h.Epoch = 4 }), need: []uint64{1}},
		{
			name: "older schema", batch: with(func(h *column.Header) { h.SchemaVersion = 1 }), reason: errs.SchemaStale,
			code: errs.RequestOutdated, text: "at least 2 is needed",
		},
		{
			name: "older epoch", batch: with(func(h *column.Header) { h.Epoch = 2 }), reason: errs.WrongEpoch,
			code: errs.RequestOutdated, text: "go to shard 7 since epoch 3",
		},
		{
			name: "dropped table", batch: with(func(h *column.Header) { h.TableID = 3 }), reason: errs.TableGone,
			code: errs.TableNotFound, text: "table id 3 was dropped",
		},
		{
			name: "moved table", batch: with(func(h *column.Header) { h.TableID = 4 }), reason: errs.WrongEpoch,
			code: errs.RequestOutdated, text: "go to shard 8",
		},
		{name: "damaged", batch: corrupt, reason: errs.BadBatch, code: errs.InvalidArguments, text: "damaged"},
		{name: "empty bytes", batch: nil, reason: errs.BadBatch, code: errs.InvalidArguments, text: "batch 1"},
		{
			name: "unknown column", reason: errs.BadBatch, code: errs.InvalidArguments, text: "column id 77 is not in version 2",
			batch: typed(func(b *column.Builder) {
				b.Add(ts).SetInt(0, 1)
				b.Add(schema.Column{ID: 77, Name: "z", Type: schema.Int64}).SetInt(0, 1)
				b.EndRow()
			}),
		},
		{
			name: "other type", reason: errs.BadBatch, code: errs.InvalidArguments,
			text: `column "m" has type Int64, in the table it has String`,
			batch: typed(func(b *column.Builder) {
				b.Add(ts).SetInt(0, 1)
				b.Add(schema.Column{ID: 3, Name: "m", Type: schema.Int64}).SetInt(0, 1)
				b.EndRow()
			}),
		},
		{
			name: "no time index", reason: errs.BadBatch, code: errs.InvalidArguments, text: "the time index is missing",
			batch: typed(func(b *column.Builder) {
				b.Add(schema.Column{ID: 3, Name: "m", Type: schema.String}).SetString(0, "x")
				b.EndRow()
			}),
		},
		{
			name: "null in the time index", reason: errs.BadBatch, code: errs.InvalidArguments,
			text: `time index "ts" is null in 1 rows`,
			batch: typed(func(b *column.Builder) {
				c := b.Add(ts)
				c.SetInt(0, 1)
				b.EndRow()
				c.SetNull(1)
				b.EndRow()
			}),
		},
	}
	s := openShard(t, testConfig(t))
	table := def(1)
	table.Version, table.MinWriterVersion = 2, 2
	moved := def(4)
	moved.Placement[0].ShardId = 8
	good := head(1, 9, 1)
	good.SchemaVersion = 2
	ok := batch(good, "good")
	if _, need, err := s.Write(context.Background(), [][]byte{ok, batch(head(2, 9, 2), "good")},
		[]*schemapb.Table{table, moved, def(2), def(3)}); err != nil || need != nil {
		t.Fatal(need, err)
	}
	if err := s.DropTable(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	for i := range tests {
		// The tests of columns and types use version 2 of the schema.
		if strings.Contains(tests[i].text, "column") || strings.Contains(tests[i].text, "time index") {
			tests[i].batch = reversion(t, tests[i].batch)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			// The valid batch of the same write must not be appended either.
			index, need, err := s.Write(context.Background(), [][]byte{batch(head(2, 9, 200), "sibling"), test.batch}, nil)
			if index != 0 || !slices.Equal(need, test.need) {
				t.Errorf("index %d, need %v, want need %v", index, need, test.need)
			}
			if test.need != nil {
				if err != nil {
					t.Errorf("error %v", err)
				}
				return
			}
			if errs.ReasonOf(err) != test.reason || errs.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.text) ||
				!strings.Contains(err.Error(), "shard 7") {
				t.Errorf("reason %q, code %d: %v", errs.ReasonOf(err), errs.CodeOf(err), err)
			}
		})
	}
	if diff := cmp.Diff([]string{"good"}, s.rows(2)); diff != "" {
		t.Error(diff)
	}
}

// reversion encodes a batch again with schema version 2.
func reversion(t *testing.T, data []byte) []byte {
	t.Helper()
	b, err := column.Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out column.Builder
	for i := range b.Cols {
		v := &b.Cols[i]
		c := out.Add(schema.Column{
			ID:       v.ID,
			Type:     v.Type,
			Semantic: map[bool]schema.Semantic{true: schema.Timestamp}[v.ID == 1],
		})
		for row := range v.Rows {
			switch {
			case v.IsNull(row):
				c.SetNull(row)
			case v.Type.IsBytes():
				c.SetBytes(row, v.Bytes(row))
			default:
				c.SetInt(row, v.Int(row))
			}
		}
	}
	for range b.Rows {
		out.EndRow()
	}
	h := b.Header
	h.SchemaVersion = 2
	return out.Encode(nil, h)
}

// TestUnstorableDefinitions sends definitions of tables whose rows could never be flushed.
func TestUnstorableDefinitions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		change func(p *schemapb.Table)
	}{
		{"0 time indexes", func(p *schemapb.Table) { p.Columns[0].Semantic = schemapb.Semantic_SEMANTIC_FIELD }},
		{"2 time indexes", func(p *schemapb.Table) {
			p.Columns = append(p.Columns, &schemapb.Column{
				Id: 9, Name: "t2", Type: p.Columns[0].Type, Semantic: p.Columns[0].Semantic,
			})
		}},
		{`time index "ts" has type Int64`, func(p *schemapb.Table) { p.Columns[0].Type = schemapb.Type_TYPE_INT64 }},
		{`column "m" has the id 2, which another column has too`, func(p *schemapb.Table) { p.Columns[2].Id = 2 }},
		{`column "m" has the unknown type 268`, func(p *schemapb.Table) { p.Columns[2].Type = 268 }},
		{"at most 30000 can be stored", func(p *schemapb.Table) {
			for i := range uint32(rules.MaxColumns) {
				p.Columns = append(p.Columns, &schemapb.Column{
					Id: 100 + i, Name: fmt.Sprint(i), Type: schemapb.Type_TYPE_INT64,
					Semantic: schemapb.Semantic_SEMANTIC_FIELD,
				})
			}
		}},
	}
	s := openShard(t, testConfig(t))
	for i, test := range tests {
		p := def(uint64(i + 1))
		test.change(p)
		_, _, err := s.Write(context.Background(), [][]byte{batch(head(p.Id, 9, p.Id), "x")}, []*schemapb.Table{p})
		if errs.ReasonOf(err) != errs.BadBatch || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v", test.text, err)
		}
	}
	s.mustPut(batch(head(100, 9, 100), "good"))
	s.flush()
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	_, _, err := s.Write(context.Background(), [][]byte{make([]byte, MaxWriteBytes)}, nil)
	if errs.ReasonOf(err) != errs.BadBatch || !strings.Contains(err.Error(), "split it") {
		t.Errorf("got %v", err)
	}
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	_, err := Open(Config{Config: store.Config{ID: 3, FlushLogBytes: -1, MemoryLimit: 5}})
	for _, want := range []string{
		"shard 3: config", "Dir is empty", "NodeID is empty", "FlushLogBytes is -1", "MemoryLimit is 5",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestCancelledWrite(t *testing.T) {
	t.Parallel()
	s := openShard(t, testConfig(t))
	s.mustPut(batch(head(1, 9, 1), "a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := s.Write(ctx, [][]byte{batch(head(1, 9, 2), "b")}, nil)
	if !errors.Is(err, context.Canceled) || errs.ReasonOf(err) != "" || errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a"}, s.rows(1)); diff != "" {
		t.Error(diff)
	}
}
