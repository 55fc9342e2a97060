package shard

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/shard/store"
)

// TestDatabasesShareMemory: while nothing can be flushed, a flood of rows for one database does not use all memory, if
// another database writes too: of a node with two shards, or of one shard. Then the other database still has room, also
// for its first rows in the flooded shard. A database that is alone may use all memory.
func TestDatabasesShareMemory(t *testing.T) {
	t.Parallel()
	const limit, piece = 1 << 20, 10_000
	for name, alone := range map[string]bool{"two databases": false, "alone": true} {
		for _, ofNode := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				var broken atomic.Bool
				var budget *store.Budget
				if ofNode {
					budget = store.NewBudget(limit)
				}
				var shards []*opened
				for id := range uint32(2) {
					cfg := testConfig(t)
					cfg.ID, cfg.Budget, cfg.FS = id+testShard, budget, noSegments(&broken)
					if !ofNode {
						cfg.MemoryLimit, cfg.FlushBytes = limit, limit/2
					}
					shards = append(shards, openShard(t, cfg))
				}
				broken.Store(true)
				seq := uint64(0)
				write := func(s *opened, table uint64, database string, n int) error {
					seq++
					d := def(table)
					d.Database = database
					for _, p := range d.Placement {
						p.ShardId = s.cfg.ID
					}
					_, _, err := s.Write(context.Background(), [][]byte{batch(head(table, 9, seq), noise(n))},
						[]*schemapb.Table{d})
					return err
				}
				quiet := shards[1]
				if !ofNode {
					quiet = shards[0]
				}
				if !alone {
					if err := write(quiet, 2, "quiet", 100); err != nil {
						t.Fatal(err)
					}
				}
				var err error
				used := func() int64 {
					if ofNode {
						return budget.Used()
					}
					return shards[0].memory()
				}
				for range 2 * limit / piece {
					if err = write(shards[0], 1, "flood", piece); err != nil {
						break
					}
				}
				if errs.ReasonOf(err) != errs.Busy || strings.Contains(err.Error(), "more than its part") == alone {
					t.Fatalf("the flood ends with %v", err)
				}
				if n := used(); alone != (n > limit-2*piece) || n < limit-limit/8-piece {
					t.Errorf("the flood uses %d of %d bytes", n, limit)
				}
				if alone {
					return
				}
				for i := range 20 {
					for _, s := range []*opened{quiet, shards[0]} {
						if err := write(s, 2, "quiet", 1000); err != nil {
							t.Fatalf("write %d of the other database: %v", i, err)
						}
					}
					if write(shards[0], 1, "flood", piece) == nil {
						t.Error("the flood goes on")
					}
				}
			})
		}
	}
}
