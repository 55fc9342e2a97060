package shard

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/segment"
)

// hostBatch is like batch, but all rows have the same host.
func hostBatch(h column.Header, messages ...string) []byte {
	var b column.Builder
	t := schema.FromProto(def(h.TableID))
	ts, host, m := b.Add(t.Columns[0]), b.Add(t.Columns[1]), b.Add(t.Columns[2])
	for i, text := range messages {
		ts.SetInt(i, int64(h.Seq)*1000+int64(i))
		host.SetString(i, "h")
		m.SetString(i, text)
		b.EndRow()
	}
	return b.Encode(nil, h)
}

// TestColdNewest searches the newest and the oldest rows of an object with statements that the engine runs. They read a
// few row groups of it, also if it has rows of another table. Nothing is read if local rows suffice.
func TestColdNewest(t *testing.T) {
	t.Parallel()
	for _, physical := range []string{"", "physical"} {
		t.Run("physical table "+physical, func(t *testing.T) {
			t.Parallel()
			w := newColdWorld(t)
			t1, t2 := def(1), def(2)
			if physical != "" {
				t1.Options["physical_table"], t2.Options["physical_table"] = physical, physical
			}
			const day, batches, rows = 20_000, 8, 40_960 // about one row group each
			for k := range batches {
				list := make([]string, rows)
				for i := range list {
					list[i] = idOf(k*rows + i)
				}
				at := uint64(day*86400 + k*rows/1000 + k)
				put := [][]byte{hostBatch(head(1, 1, at), list...), hostBatch(head(2, 2, at), list[:3]...)}
				if _, need, err := w.Write(wait(t), put, []*schemapb.Table{t1, t2}); err != nil || len(need) > 0 {
					t.Fatal(err, need)
				}
			}
			w.tier(1, 2)
			w.dropTwins(func(*segment.Meta) bool { return true })
			size := int64(0)
			_, sets := w.coldState()
			for i := range sets {
				for k := range sets[i].Objects {
					o := &sets[i].Objects[k]
					size += o.Meta.Bytes
					if shared := o.Meta.Shared(); shared != (physical != "") && o.Meta.Rows > 1000 {
						t.Errorf("object %s: shared is %v", o.Key, shared)
					}
				}
			}
			const n, last = "substr(m, 33)::BIGINT", batches*rows - 1
			for _, test := range []struct {
				sql         string
				first, step int
			}{
				{"SELECT " + n + " FROM t1 ORDER BY ts DESC LIMIT 5", last, -1},
				{"SELECT " + n + " FROM t1 ORDER BY ts LIMIT 5", 0, 1},
				{"SELECT " + n + " FROM t1 WHERE length(m) > 3 ORDER BY ts DESC LIMIT 5", last, -1},
				{"SELECT " + n + " FROM t1 WHERE " + n + " % 10 = 5 ORDER BY ts DESC LIMIT 5", last - 4, -10},
				{"SELECT " + n + " FROM t1 WHERE " + n + " % 10 = 5 ORDER BY ts LIMIT 5", 5, 10},
			} {
				var want []string
				for i := range 5 {
					want = append(want, fmt.Sprint(test.first+i*test.step))
				}
				w.bucket.set(nil)
				w.reader = testReader(t, t.TempDir(), w.bucket)
				got, _, err := w.ask(test.sql, &shardpb.QueryRequest{}, t1)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: %q, %v; want %q", test.sql, got, err, want)
				}
				if w.bucket.bytes == 0 || w.bucket.bytes > size*2/5 || w.bucket.count() > 10 {
					t.Errorf("%s: %d requests, %d of %d bytes", test.sql, w.bucket.count(), w.bucket.bytes, size)
				}
			}
			w.reader = testReader(t, t.TempDir(), w.bucket)
			w.bucket.set(&bucket.Error{
				Kind: bucket.Unavailable, Op: "read", At: "s3://logs/prod/x", Err: errors.New("i/o timeout"),
			})
			put := [][]byte{hostBatch(head(1, 1, day*86400+5000), "new", "newer", "newest")}
			if _, need, err := w.Write(wait(t), put, []*schemapb.Table{t1}); err != nil || len(need) > 0 {
				t.Fatal(err, need)
			}
			got, _, err := w.ask("SELECT upper(m) FROM t1 WHERE length(m) > 3 ORDER BY ts DESC LIMIT 2",
				&shardpb.QueryRequest{}, t1)
			if err != nil || !slices.Equal(got, []string{"NEWEST", "NEWER"}) || w.bucket.count() > 0 {
				t.Errorf("local rows: %q, %v, %d requests", got, err, w.bucket.count())
			}
			if got, _, err = w.ask("SELECT upper(m) FROM t1 WHERE length(m) > 3 ORDER BY ts DESC LIMIT 3",
				&shardpb.QueryRequest{}, t1); err == nil {
				t.Errorf("with rows in the bucket: %q", got)
			}
		})
	}
}
