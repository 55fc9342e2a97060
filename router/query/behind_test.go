package query

import (
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// TestBehindRefuses checks that a node that cannot read the metadata does not report that something does not exist or
// that there is nothing to change, because another node may have created it.
func TestBehindRefuses(t *testing.T) {
	for _, sql := range []string{
		"DROP TABLE IF EXISTS later", "DROP TABLE later", "TRUNCATE TABLE later", "ALTER TABLE later ADD COLUMN c STRING",
		"ALTER TABLE logs DROP COLUMN IF EXISTS later", "CREATE TABLE later (ts TIMESTAMP TIME INDEX)",
		"CREATE DATABASE IF NOT EXISTS later",
		"DROP DATABASE IF EXISTS later", "SELECT * FROM later", "INSERT INTO later (ts) VALUES (1)",
		"INSERT INTO logs (ts, later) VALUES (1, 2)",
		"DELETE FROM later WHERE host = 'a'",
	} {
		w := newWorld(t)
		w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "later"}}
		w.meta.fresh = func() error { return errs.New(errs.DeadlineExceeded, "this node is isolated") }
		_, err := w.run(t.Context(), sql)
		if e := errs.From(err); e.Code != errs.ShardNotReady || e.Status() != 503 || e.RetryAfter == 0 ||
			!strings.Contains(err.Error(), "isolated") {
			t.Errorf("%s: %v, want code %d with the cause", sql, err, errs.ShardNotReady)
		}
		if len(w.meta.proposed) > 0 {
			t.Errorf("%s: it was proposed", sql)
		}
	}
}

// TestBehindAsksShards checks that a query on a node that cannot read the metadata uses the tables that the node knows,
// unless a shard knows newer ones.
func TestBehindAsksShards(t *testing.T) {
	cut := errs.New(errs.DeadlineExceeded, "this node is isolated")
	for _, c := range []struct {
		newer int
		heals bool
		code  errs.Code
	}{{0, false, errs.Success}, {1, true, errs.Success}, {1, false, errs.ShardNotReady}} {
		w := newWorld(t)
		w.shards.reads, w.shards.newer = []*shardpb.TableName{{Database: "public", Name: "logs"}}, c.newer
		asked := 0
		w.meta.fresh = func() error {
			if asked++; asked > 1 && c.heals {
				return nil
			}
			return cut
		}
		_, err := w.run(t.Context(), "SELECT * FROM logs")
		if errs.CodeOf(err) != c.code {
			t.Errorf("%+v: %v", c, err)
		}
		if got := w.shards.queried.Unchecked; got == c.heals {
			t.Errorf("%+v: the last query was sent with unchecked %v", c, got)
		}
	}
}
