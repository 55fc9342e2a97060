package shard

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
)

// TestColdExplain compares what EXPLAIN says about objects with the requests that the bucket has seen. What a plain
// EXPLAIN announces is what the statement then does.
func TestColdExplain(t *testing.T) {
	t.Parallel()
	w := newColdWorld(t)
	const first = 20_000 // 2024-10-04
	for day := range 5 {
		w.fill(1, first+day, 10, 9000) // too many to be read while planning
		w.tier(1)
	}
	w.dropTwins(func(*segment.Meta) bool { return true })
	const sql = "SELECT host, max(length(m)) FROM t1 WHERE ts >= '2024-10-06' AND ts < '2024-10-08' GROUP BY host"
	cold := func(explain string) (text string) {
		t.Helper()
		w.bucket.set(nil)
		rows, _, err := w.ask(explain+sql, &shardpb.QueryRequest{}, def(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if rest, ok := strings.CutPrefix(r, "cold|"); ok {
				text = rest
			}
		}
		return text
	}
	scan := func(text, format string, to ...any) {
		t.Helper()
		if n, err := fmt.Sscanf(text, format, to...); err != nil || n != len(to) {
			t.Fatalf("EXPLAIN says %q, want %q", text, format)
		}
	}
	var objects, all, more, fetch, cached, plan, got, had int
	const plain = "%d of %d objects, %d requests, %d bytes to fetch, %d bytes cached; to plan, %d requests, %d bytes " +
		"fetched, %d bytes cached"
	scan(cold("EXPLAIN "), plain, &objects, &all, &more, &fetch, &cached, &plan, &got, &had)
	if objects != 2 || all != 5 || plan != w.bucket.count() || plan != 2 || got == 0 || had != 0 {
		t.Errorf("%d requests were made to plan, EXPLAIN says %d for %d of %d objects, with %d bytes, and %d before",
			w.bucket.count(), plan, objects, all, got, had)
	}
	if more == 0 || fetch == 0 || cached != 0 {
		t.Errorf("EXPLAIN says that %d requests will fetch %d bytes, and %d are cached", more, fetch, cached)
	}
	var requests, fetched, there int
	const ran = "%d of %d objects, %d requests, %d bytes fetched, %d bytes cached"
	text := cold("EXPLAIN ANALYZE ")
	scan(text, ran, &objects, &all, &requests, &fetched, &there)
	if objects != 2 || all != 5 || requests != w.bucket.count() || requests != more || fetched != fetch || there != got {
		t.Errorf("%s, and the bucket has seen %d requests; EXPLAIN announced %d with %d bytes, and had got %d bytes", text,
			w.bucket.count(), more, fetch, got)
	}
	text = cold("EXPLAIN ANALYZE ")
	scan(text, ran, &objects, &all, &requests, &fetched, &there)
	if requests != 0 || fetched != 0 || there != got+fetch || w.bucket.count() != 0 {
		t.Errorf("the second time: %s, and the bucket has seen %d requests", text, w.bucket.count())
	}
	rows, _, err := w.ask("EXPLAIN SELECT count(*) FROM t2", &shardpb.QueryRequest{}, def(2))
	if err != nil || strings.Contains(fmt.Sprint(rows), "cold|") {
		t.Errorf("a table without objects: %q, %v", rows, err)
	}
}
