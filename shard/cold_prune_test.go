package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/segment"
)

// readDays returns the days of the objects that were read since the bucket was set.
func (w *coldWorld) readDays() (days []int64) {
	w.bucket.mu.Lock()
	defer w.bucket.mu.Unlock()
	_, sets := w.coldState()
	for i := range sets {
		for k := range sets[i].Objects {
			if o := &sets[i].Objects[k]; w.bucket.read[o.Key] {
				days = append(days, o.Day)
			}
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// TestColdPruning asks for rows of some of ten days. Only objects with rows of these days are read, also of tables that
// share objects and whose columns have other names now. The bucket is one of an S3 server.
func TestColdPruning(t *testing.T) {
	w := newColdWorld(t)
	endpoint, name := buckettest.Serve(t)
	s3, err := bucket.Open("s3://"+name+"/prod", bucket.Config{S3: bucket.S3Config{Endpoint: endpoint, PathStyle: true}})
	if err != nil {
		t.Fatal(err)
	}
	w.bucket.Bucket = s3
	const first, days = 20_000, 10 // 2024-10-04 to 2024-10-13
	t1, t2, t3 := def(1), def(2), def(3)
	t3.Columns[2].Name = "other"
	early := [][]byte{batch(head(3, 3, first*86400), "early")}
	if _, need, err := w.Write(wait(t), early, []*schemapb.Table{t3}); err != nil || len(need) > 0 {
		t.Fatal(err, need)
	}
	for day := range days {
		w.fill(1, first+day, 10, 300)
		w.fill(2, first+day, 10, 3) // small tables share segments
		w.fill(3, first+day, 10, 4)
		w.tier(1, 2, 3)
	}
	t2.Version, t2.Columns[2].Name = 2, "text"
	t3.Version, t3.Columns[2].Name = 2, "n"
	w.dropTwins(func(*segment.Meta) bool { return true })
	for _, s := range []struct {
		where    string
		from, to int64 // days from the first one; to is exclusive
	}{
		{"ts >= '2024-10-06' AND ts < '2024-10-08'", 2, 4},
		{"ts BETWEEN '2024-10-06' AND '2024-10-06 12:00:00'", 2, 3},
		{"ts > '2024-10-13 23:00:00'", 10, 10},
		{"'2024-10-06' > ts AND host = 'h1'", 0, 2},
		{"ts = '2024-10-09 00:00:10'", 5, 6},
		{"ts IN ('2024-10-05 00:00:10', '2024-10-11 00:00:10')", 1, 8},
		{"(ts < '2024-10-05' OR ts >= '2024-10-04 12:00:00' AND ts < '2024-10-06') AND length(host) > 0", 0, 2},
		{"ts::DATE = '2024-10-07'", 3, 4},
		{"date_trunc('day', ts) = '2024-10-07'", 3, 4},
		{"ts >= '2030-01-01'", 10, 10},
		{"ts < '2020-01-01'", 0, 0},
	} {
		for _, of := range []struct {
			def  *schemapb.Table
			text string
		}{{t1, "m"}, {t2, "text"}, {t3, "n"}} {
			for _, what := range []string{
				"count(*), min(" + of.text + ")", of.text, "host, count(*) FILTER (length(" + of.text + ") > 1)",
			} {
				sql := fmt.Sprintf("SELECT %s FROM t%d WHERE %s", what, of.def.Id, s.where)
				if strings.HasPrefix(what, "host") {
					sql += " GROUP BY host"
				}
				w.reader = testReader(t, t.TempDir(), w.bucket) // nothing is in its cache
				w.bucket.set(nil)
				if _, missing, err := w.ask(sql, &shardpb.QueryRequest{}, of.def); err != nil || len(missing) > 0 {
					t.Fatalf("%s: %v, missing %q", sql, err, missing)
				}
				for _, day := range w.readDays() {
					if day < first+s.from || day >= first+s.to {
						t.Errorf("%s: an object of day %d was read", sql, day-first)
					}
				}
			}
		}
	}
}
