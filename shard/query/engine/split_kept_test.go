package engine

import (
	"strings"
	"testing"
	"time"

	"cordwood/shard/query"
)

// TestKeptSplits checks that a repeated statement gets the present moment, and that it is split
// again if its table has changed.
func TestKeptSplits(t *testing.T) {
	e := openEngine(t, t.TempDir())
	taken := func(sql string, columns ...string) *query.Split {
		t.Helper()
		s, err := e.Split(t.Context(), &query.Request{
			SQL: sql, Database: "public", Tables: []query.Table{table("logs", cols(columns...))},
		})
		if err != nil || s.Reason != "" {
			t.Fatal(s, err)
		}
		return s
	}
	const recent = "SELECT host, count(*) FROM logs WHERE ts > now() - INTERVAL 1 HOUR GROUP BY host"
	columns := []string{"ts:TimestampMillisecond", "host:String", "n:Int64"}
	first := taken(recent, columns...)
	second := taken(recent, columns...)
	if first.Moment == "" || first.Moment == second.Moment || !strings.Contains(second.Worker, second.Moment) ||
		strings.Contains(second.Worker, first.Moment) {
		t.Errorf("first %+v, then %+v", first, second)
	}
	if n := e.splits.lru.Len(); n != 1 {
		t.Errorf("%d statements are kept, want 1", n)
	}
	later := first.At(time.Unix(0, 0))
	if want := strings.ReplaceAll(first.Worker, first.Moment, query.Moment(time.Unix(0, 0))); later.Worker != want {
		t.Errorf("at 1970: %s", later.Worker)
	}
	// A literal of the client cannot be distinguished from today's date.
	taken("SELECT count(*) FROM logs WHERE ts::DATE = today() OR host = '1970-01-01'", columns...)
	if n := e.splits.lru.Len(); n != 1 {
		t.Errorf("%d statements are kept, want 1", n)
	}
	narrow := taken("SELECT max(n) FROM logs", columns...)
	wide := taken("SELECT max(n) FROM logs", "ts:TimestampMillisecond", "host:String", "n:Float64")
	if n := e.splits.lru.Len(); n != 3 || narrow.Worker != wide.Worker {
		t.Errorf("%d statements are kept, want 3: of an old and a new definition", n)
	}
}
