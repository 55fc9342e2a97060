package shard

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
)

var (
	manyTables  = flag.Int("many-tables", 20_000, "tables of TestManyTables")
	manyMinutes = flag.Int("many-minutes", 10, "minutes that TestManyTables plays")
)

// TestManyTables simulates minutes of many tables that each get a row a minute, with a flush every
// five minutes. It logs what they cost (-v).
func TestManyTables(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	cfg := testConfig(t)
	cfg.Compaction = compaction.NewLimiter(0, 0)
	cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s := openShard(t, cfg)
	ctx := context.Background()
	defs := make([]*schemapb.Table, *manyTables)
	tables := make([]*schema.Table, *manyTables)
	for i := range defs {
		d := def(uint64(i + 1))
		if i%2 == 0 {
			d.Options["physical_table"] = "physical"
		}
		for c := range 8 {
			d.Columns = append(d.Columns, &schemapb.Column{
				Id: d.NextColumnId, Name: fmt.Sprint("field_", c), Type: schemapb.Type(int(schemapb.Type_TYPE_INT64) + 7*(c%2)),
				Semantic: schemapb.Semantic_SEMANTIC_FIELD,
			})
			d.NextColumnId++
		}
		defs[i], tables[i] = d, schema.FromProto(d)
	}
	seq := uint64(0)
	start := time.Now().Truncate(24 * time.Hour).UnixMilli()
	minute := func(n int) {
		const group = 200
		for from := 0; from < len(defs); from += group {
			var batches [][]byte
			to := min(from+group, len(defs))
			for i := from; i < to; i++ {
				seq++
				var b column.Builder
				for _, c := range tables[i].Columns {
					col := b.Add(c)
					switch {
					case c.Semantic == schema.Timestamp:
						col.SetInt(0, start+int64(n)*60_000+int64(i))
					case c.Type == schema.String:
						col.SetString(0, fmt.Sprint("value of ", n, " ", i))
					case c.Type == schema.Int64:
						col.SetInt(0, int64(i*n))
					default:
						col.SetFloat(0, float64(n))
					}
				}
				b.EndRow()
				batches = append(batches, b.Encode(nil, head(uint64(i+1), 1, seq)))
			}
			_, need, err := s.Write(ctx, batches, nil)
			if err == nil && len(need) > 0 {
				_, need, err = s.Write(ctx, batches, defs[from:to])
			}
			if err != nil || len(need) > 0 {
				t.Fatalf("needs %d: %v", len(need), err)
			}
		}
	}
	most := 0
	for n := range *manyMinutes {
		minute(n)
		if n%5 == 4 {
			began := time.Now()
			s.flush()
			flushed := time.Since(began)
			if err := s.Compact(ctx); err != nil { // minutes pass faster here
				t.Fatal(err)
			}
			most = max(most, len(s.files("segments")))
			t.Logf("minute %d: flush took %s, compaction %s, %d segments, RSS %d MB",
				n+1, flushed.Round(time.Millisecond), (time.Since(began) - flushed).Round(time.Millisecond),
				len(s.files("segments")), rss(t)>>20)
		}
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	s.close()
	began := time.Now()
	s = openShard(t, cfg)
	took := time.Since(began)
	t.Logf("%d tables: restart took %s, RSS %d MB, at most %d segments, %d in the end",
		len(s.store.Definitions.TableIDs()),
		took.Round(time.Millisecond), rss(t)>>20, most, len(s.files("segments")))
	v := s.ReadView(77)
	defer v.Close()
	rows := int64(0)
	for _, seg := range v.Segments(77) {
		rows += seg.Span.Rows
	}
	if rows != int64(*manyMinutes) {
		t.Errorf("a table has %d rows, want %d", rows, *manyMinutes)
	}
	if most > 200 {
		t.Errorf("%d segments", most)
	}
}

// rss returns the memory of this process, or 0 if the system does not report it.
func rss(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range bytes.Split(b, []byte("\n")) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmRSS:")); ok {
			kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	return 0
}
