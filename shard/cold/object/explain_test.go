package object

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/shard/cold/bucket"
)

// TestExplainWhileDown explains statements while the bucket does not answer: the plan lacks what is not in the cache.
func TestExplainWhileDown(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	w := newWorld(t, bucket.NewDir(t.TempDir()))
	id := uint64(0)
	for day := range 3 {
		w.parts = append(w.parts, store(t, w.bucket.Bucket, w.dir, w.table.Schema, &id, 100,
			batchOf(t, r, w.table.Schema, start.AddDate(0, 0, day), 1000))...)
	}
	w.cold = []bool{true, true, false}
	explain := func(sql string) (lines string) {
		t.Helper()
		rows, err := w.ask(wait(t), "EXPLAIN "+sql, false)
		if err != nil {
			t.Errorf("EXPLAIN %s: %v", sql, err)
		}
		for _, row := range rows {
			if strings.HasPrefix(row, "segments|") || strings.HasPrefix(row, "cold|") {
				lines += row + "\n"
			}
		}
		return lines
	}
	want := func(sql string, list ...string) {
		t.Helper()
		text := explain(sql)
		for _, part := range list {
			if !strings.Contains(text, part) {
				t.Errorf("EXPLAIN %s: %s\nwant %s", sql, text, part)
			}
		}
	}
	const down = "could not be read, so this plan lacks them: object storage does not answer: 2 objects with rows of " +
		"2026-03-01 to 2026-03-02 are needed"
	const status, path = "SELECT status, count(*) FROM logs WHERE took > 3 GROUP BY 1", "SELECT max(path) FROM logs"
	w.bucket.fails(&bucket.Error{
		Kind: bucket.Unavailable, Op: "read", At: "s3://logs/prod/x", Err: errors.New("i/o timeout"),
	})
	for _, sql := range []string{status, path, "SELECT * FROM logs ORDER BY ts DESC LIMIT 10"} {
		want(sql, "cold|0 of 2 objects, 0 requests, 0 bytes to fetch", "2 objects "+down)
	}
	want(status, "logs: 1 of 3 segments")
	for _, sql := range []string{"EXPLAIN ANALYZE " + status, "EXPLAIN (FORMAT json) " + status} {
		if _, err := w.ask(wait(t), sql, false); errs.CodeOf(err) != errs.ObjectStorageUnavailable {
			t.Errorf("%s: %v", sql, err)
		}
	}
	// What is in the cache is in the plan: here, all that a statement reads of one day.
	w.bucket.fails(nil)
	w.compare(t, "SELECT max(path) FROM logs WHERE ts < '2026-03-02'")
	w.bucket.fails(&bucket.Error{
		Kind: bucket.Forbidden, Op: "read", At: "s3://logs/prod/x", Err: errors.New("InvalidAccessKeyId"),
	})
	want(path, "logs: 2 of 3 segments", "cold|1 of 2 objects, 0 requests, 0 bytes to fetch, ",
		"1 object could not be read, so this plan lacks it: object storage refuses access")
	// Filters that cannot be read leave the object in the plan.
	want("SELECT max(path) FROM logs WHERE ts < '2026-03-02' AND id = 'id-00000000'", "logs: 1 of 3 segments",
		"1 of 2 objects, ", "filters or values that would leave out rows could not be read: object storage refuses access")
}
