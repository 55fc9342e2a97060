package write

import (
	"fmt"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/pipeline"
)

// hosts returns rows of a table with a tag, one for each of n hosts.
func hosts(n int) *pipeline.Output {
	return output(rows("a", 2*n, schema.Column{Name: "host", Type: schema.String, Semantic: schema.Tag}))
}

// merging places table a, which merges rows, on the shards.
func merging(t *testing.T, m *fakeMeta, s *fakeShards, placement ...schema.Placement) *schema.Table {
	t.Helper()
	if _, err := newWriter(t, m, s).Write(t.Context(), hosts(1)); err != nil {
		t.Fatal(err)
	}
	old, _ := m.Table("public", "a")
	moved := *old
	moved.Version, moved.Placement, moved.Options = old.Version+1, placement, map[string]string{"append_mode": "false"}
	m.put(&moved)
	s.got = nil
	return &moved
}

// placed returns the shards and tables with rows of each host, once for each row.
func placed(s *fakeShards, t *schema.Table) map[string][]string {
	out := map[string][]string{}
	for _, g := range s.got {
		v := g.batch.Column(t.Column("host").ID)
		for i := range g.batch.Rows {
			out[string(v.Bytes(i))] = append(out[string(v.Bytes(i))], fmt.Sprintf("%d/%d", g.shard, g.batch.TableID))
		}
	}
	return out
}

// TestDividesByKey checks that, in a table that merges rows, all rows with the same key go to the same shard, whichever
// writer sends them, and each row is sent once.
func TestDividesByKey(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := merging(t, m, s, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2, 3}})
	for range 2 {
		if _, err := newWriter(t, m, s).WriteKeyed(t.Context(), hosts(100), Key{Text: "same"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newWriter(t, m, s).Write(t.Context(), hosts(100)); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for host, at := range placed(s, table) {
		if len(at) != 2 || at[0] != at[1] {
			t.Fatalf("host %s is at %v", host, at)
		}
		used[at[0]] = true
	}
	if len(used) != 3 {
		t.Errorf("used are %v", used)
	}
}

// TestDividesAgain writes to a table that gets fewer shards during the request, after one shard has stored its part.
func TestDividesAgain(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := merging(t, m, s, schema.Placement{Epoch: 1, ShardID: 1, More: []uint32{2, 3}})
	next := *table
	next.ID, next.OriginID, next.Version = 900, table.ID, table.Version+1
	next.Placement = []schema.Placement{
		{Epoch: 1, ShardID: 1, More: []uint32{2, 3}, Handed: true}, {Epoch: 3, ShardID: 4, More: []uint32{5}},
	}
	taken := make(chan struct{})
	s.refuse = func(_ int, shard uint32, _ []column.Header) error {
		switch shard {
		case 1:
			close(taken)
		case 2, 3:
			s.mu.Unlock() // the calls run concurrently
			<-taken
			s.mu.Lock()
			m.put(&next)
			return errs.New(errs.TableNotFound, "gone").WithReason(errs.TableGone)
		}
		return nil
	}
	if _, err := newWriter(t, m, s).WriteKeyed(t.Context(), hosts(100), Key{Text: "k"}); err != nil {
		t.Fatal(err)
	}
	used := map[string]int{}
	all := placed(s, table)
	for host, at := range all {
		if len(at) != 1 {
			t.Fatalf("host %s is at %v", host, at)
		}
		used[at[0]]++
	}
	if len(all) != 200 || len(used) != 3 || used["4/900"] == 0 || used["5/900"] == 0 {
		t.Errorf("%d rows at %v", len(all), used)
	}
}

// TestRestoring checks that a table that a restore is filling takes no rows until the restore is complete, whether or
// not the writer knew the table before.
func TestRestoring(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := merging(t, m, s, schema.Placement{Epoch: 1, ShardID: 1})
	for _, c := range []struct {
		restored *schema.Restored
		taken    bool
	}{{&schema.Restored{BackupID: "b1"}, false}, {&schema.Restored{BackupID: "b1", Complete: true}, true}, {nil, true}} {
		next := *table
		next.Version++
		next.Restored = c.restored
		table = &next
		m.put(table)
		before := len(s.got)
		_, err := newWriter(t, m, s).Write(t.Context(), hosts(1))
		switch {
		case c.taken && err != nil, !c.taken && err == nil:
			t.Errorf("restored %+v: %v", c.restored, err)
		case !c.taken:
			if e := errs.From(err); e.Code != errs.TableUnavailable || e.Status() != 503 || e.RetryAfter == 0 ||
				len(s.got) != before {
				t.Errorf("restored %+v: %v, %d batches", c.restored, err, len(s.got)-before)
			}
		}
	}
}

// TestWaitsWhileClosed checks that, while the rows of a table are handed over, nothing is sent. Afterwards everything
// goes to the new shard.
func TestWaitsWhileClosed(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	table := merging(t, m, s, schema.Placement{Epoch: 1, ShardID: 1}, schema.Placement{Epoch: 2, ShardID: 1, Closed: true})
	_, err := newWriter(t, m, s, func(c *Config) { c.ClosedWait = time.Millisecond }).Write(t.Context(), hosts(1))
	if e := errs.From(err); e.Code != errs.TableUnavailable || e.Status() != 503 || e.RetryAfter == 0 || len(s.got) != 0 {
		t.Errorf("got %v, %d batches", err, len(s.got))
	}
	next := *table
	next.ID, next.Version, next.Placement = 900, table.Version+1, []schema.Placement{{Epoch: 3, ShardID: 4}}
	go m.put(&next)
	if _, err := newWriter(t, m, s).Write(t.Context(), hosts(1)); err != nil {
		t.Fatal(err)
	}
	if at := placed(s, table); len(at) != 2 || at["value 0"][0] != "4/900" {
		t.Errorf("rows are at %v", at)
	}
}
