package query

import (
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// TestQueryFollowsTables checks that, if a query reaches a shard after the rows of a table have moved, it is sent again
// to the table's current shards.
func TestQueryFollowsTables(t *testing.T) {
	for _, c := range []struct {
		gone int
		code errs.Code
	}{{1, errs.Success}, {followTries - 1, errs.Success}, {followTries, errs.TableUnavailable}} {
		w := newWorld(t)
		w.shards.reads, w.shards.gone = []*shardpb.TableName{{Database: "public", Name: "logs"}}, c.gone
		moved := *w.meta.tables[0]
		w.meta.fresh = func() error { // the table that the second look-up finds
			moved.ID, moved.Placement = 77, nil
			moved.Placement = append(moved.Placement, w.meta.tables[1].Placement...)
			if w.shards.queried != nil {
				w.meta.tables[0] = moved.Index()
			}
			return nil
		}
		_, err := w.run(t.Context(), "SELECT * FROM logs")
		if errs.CodeOf(err) != c.code {
			t.Errorf("%d times gone: %v", c.gone, err)
		}
		if q := w.shards.queried.Tables[0]; q.Table.Id != 77 || q.ShardId != 3 {
			t.Errorf("%d times gone: the last query was for table %d of shard %d", c.gone, q.Table.Id, q.ShardId)
		}
	}
}
