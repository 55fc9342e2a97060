package shard

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/segment"
)

// TestColdRowGroups asks for values in row groups of an object that are no neighbours. What is between them is not
// fetched, so it must not be read either.
func TestColdRowGroups(t *testing.T) {
	t.Parallel()
	for _, physical := range []string{"", "physical"} {
		t.Run("physical table "+physical, func(t *testing.T) {
			t.Parallel()
			w := newColdWorld(t)
			t1 := def(1)
			if physical != "" {
				t1.Options["physical_table"] = physical
			}
			const day, rows = 20_000, 140_000
			list := make([]string, rows) // their filters are made because they look like ids
			for i := range list {
				list[i] = idOf(i)
			}
			_, need, err := w.Write(wait(t), [][]byte{batch(head(1, 1, day*86400), list...)}, []*schemapb.Table{t1})
			if err != nil || len(need) > 0 {
				t.Fatal(err, need)
			}
			w.tier(1)
			w.dropTwins(func(*segment.Meta) bool { return true })
			for _, test := range []struct {
				rows []int
				want string
			}{
				{[]int{0, 1, 2}, "3|0|2"}, // each host's rows are together
				{[]int{0, rows - 3}, "2|0|139997"},
				{[]int{3, rows / 2, rows - 1, rows}, "3|3|139999"}, // there is no row with the last number
			} {
				var ids []string
				for _, i := range test.rows {
					ids = append(ids, "'"+idOf(i)+"'")
				}
				sql := fmt.Sprintf("SELECT count(*), min(n), max(n) FROM (SELECT substr(m, 33)::BIGINT AS n FROM t1 "+
					"WHERE m IN (%s))", strings.Join(ids, ", "))
				got, missing, err := w.ask(sql, &shardpb.QueryRequest{}, t1)
				if err != nil || len(missing) > 0 || !slices.Equal(got, []string{test.want}) {
					t.Errorf("%v: %q, missing %q, %v; want %q", test.rows, got, missing, err, test.want)
				}
			}
			if w.bucket.count() == 0 {
				t.Error("nothing was read from the bucket")
			}
		})
	}
}

// idOf returns an id that ends with a number.
func idOf(i int) string {
	hash := sha256.Sum256([]byte{byte(i), byte(i >> 8), byte(i >> 16)})
	return fmt.Sprintf("%x%06d", hash[:16], i)
}
