package shard

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// repeated are statements whose parts are kept.
var repeated = []string{
	"SELECT count(*) FROM logs",
	"SELECT count(*), max(ts) FROM state",
	"SELECT host, count(*), sum(n), min(s) FROM logs GROUP BY host ORDER BY host",
	"SELECT host, count(*), sum(n), min(s) FROM state GROUP BY host ORDER BY host",
	"SELECT count(*) FROM state WHERE s LIKE '%3%'",
	"SELECT ts FROM logs ORDER BY ts DESC LIMIT 30",
	"SELECT host, median(n) FROM state WHERE ts > '2023-11-15' GROUP BY host ORDER BY host",
}

// askRepeatedly asks each statement three times, and compares the answers with those of one shard.
func (c *spreadNodes) askRepeatedly(what string, change func(*shardpb.QueryTable) *shardpb.QueryTable) {
	c.t.Helper()
	changed := func(list []*shardpb.QueryTable) (out []*shardpb.QueryTable) {
		for _, t := range list {
			out = append(out, change(proto.CloneOf(t)))
		}
		return out
	}
	for _, sql := range repeated {
		want, _, err := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: changed(c.whole)})
		if err != nil {
			c.t.Fatal(err)
		}
		for range 3 {
			got, _, err := c.ask(&shardpb.QueryRequest{Sql: sql, Database: "public", Tables: changed(c.spread)})
			if err != nil || !cmp.Equal(want, got) {
				c.t.Fatalf("%s: %s: %v\n%s", what, sql, err, cmp.Diff(want, got))
			}
		}
	}
}

// TestKeptAnswers checks that nodes keep the answers to parts of repeated statements as long as their rows stay the
// same: until rows are written, expire or are merged, or the table is defined in another way.
func TestKeptAnswers(t *testing.T) {
	t.Parallel()
	c := newSpreadNodes(t, 4000)
	unchanged := func(t *shardpb.QueryTable) *shardpb.QueryTable { return t }
	c.askRepeatedly("rows in memory", unchanged)
	if hits := c.counters()["kept_answers_total hit"]; hits > 0 {
		t.Errorf("%v answers over rows in memory were kept", hits)
	}
	flush := func() {
		for shard := range uint32(4) {
			c.shard(shard + 1).flush()
		}
	}
	flush()
	// asked checks that the third run of each statement is answered from what the three nodes keep.
	asked := func(what string, change func(*shardpb.QueryTable) *shardpb.QueryTable) {
		t.Helper()
		before := c.counters()["kept_answers_total hit"]
		c.askRepeatedly(what, change)
		// For the newest rows, a slow node may get another statement, with a bound.
		if got, want := c.counters()["kept_answers_total hit"]-before, float64(3*(len(repeated)-1)); got < want {
			t.Errorf("%s: %v answers were kept, at least %v are expected", what, got, want)
		}
	}
	asked("rows in segments", unchanged)
	write := func(seq uint64, numbers ...int) {
		for i, shard := range []string{"logs", "state"} {
			d, whole := c.spread[i].Table, c.whole[i].Table
			if d.Name != shard {
				t.Fatalf("table %d is %s", i, d.Name)
			}
			for _, n := range numbers {
				rows := func(d *schemapb.Table) []byte {
					return wideRows(rand.New(rand.NewPCG(seq, uint64(n))), d, seq+uint64(n)+100, []int{n})
				}
				c.write(uint32(n%7%4)+1, rows(d), d)
				c.write(9, rows(whole), whole)
			}
		}
	}
	write(1, 30, 31, 9000)
	c.askRepeatedly("some rows in memory", unchanged)
	flush()
	asked("more segments", unchanged)
	for shard := range uint32(4) {
		if err := c.shard(shard + 1).compactNow(); err != nil {
			t.Fatal(err)
		}
	}
	asked("merged segments", unchanged)
	for _, minutes := range []int64{-5, 700, 701, 5000, 700, -5} {
		c.askRepeatedly("rows expire", func(t *shardpb.QueryTable) *shardpb.QueryTable {
			t.ExpiredBefore = proto.Int64(1_700_000_000_000_000_000 + minutes*int64(time.Minute))
			return t
		})
	}
	asked("column n is another one", func(t *shardpb.QueryTable) *shardpb.QueryTable {
		t.Table.Version++
		n := slices.IndexFunc(t.Table.Columns, func(c *schemapb.Column) bool { return c.Name == "n" })
		us := slices.IndexFunc(t.Table.Columns, func(c *schemapb.Column) bool { return c.Name == "u8" })
		t.Table.Columns[n].Name, t.Table.Columns[us].Name = "u8", "n"
		return t
	})
	asked("column n is the first one again", unchanged)
}
