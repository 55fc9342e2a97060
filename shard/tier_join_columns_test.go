package shard

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cordwood/proto/schemapb"
	"cordwood/shard/cold/bucket"
)

var joinSeeds = flag.Uint64("join-seeds", 4, "how many seeds TestJoinChangingColumns runs")

// TestJoinChangingColumns moves the rows of a table and joins its objects, while its columns are widened, renamed,
// dropped, and added with a default, and while steps end in the middle, with and without the process. The table shares
// segments and objects with others in some of the seeds.
func TestJoinChangingColumns(t *testing.T) {
	e := openTestEngine(t)
	joins := 0
	for seed := range *joinSeeds {
		dir := bucket.NewDir(t.TempDir())
		cfg := joining(testConfig(t), dir)
		w := &steps{}
		cfg.atStep = w.at
		if seed%2 == 1 {
			cfg.ShareBytes, cfg.SplitBytes = 1<<20, []int64{1, 1 << 20}[seed/2%2]
		}
		var mono hand
		cfg.Monotonic = mono.get
		c := &changing{
			t: t, r: rand.New(rand.NewPCG(seed, 18)), next: 5, objects: testReader(t, t.TempDir(), dir),
			history: []*schemapb.Table{widening(1, 2, schemapb.Type_TYPE_INT32)},
		}
		c.o = openShard(t, cfg)
		c.o.stopCompactor()
		other := widening(2, 2, schemapb.Type_TYPE_FLOAT64)
		other.Columns[3].Name = "c4v3"
		for step := range 120 {
			when := fmt.Sprintf("seed %d, step %d", seed, step)
			switch c.r.IntN(20) {
			case 0:
				when += c.alter()
			case 1:
				when += c.addDefault()
			case 2:
				when += ": compacted"
				if err := c.o.compactNow(); err != nil {
					t.Fatal(err)
				}
			case 3, 4:
				when += ": ended"
				ctx, cancel := context.WithCancel(wait(t))
				w.endAfter(1+c.r.IntN(12), cancel)
				_ = c.o.mover.Step(ctx)
				w.endAfter(0, nil)
				cancel()
				if c.r.IntN(2) == 0 {
					c.o = c.o.reopen()
					c.o.stopCompactor()
				}
			case 5:
				when += ": defined"
				if err := c.o.DefineTable(context.Background(), c.now()); err != nil {
					t.Fatal(err)
				}
			case 6, 7, 8, 9, 10, 11:
				when += ": moved"
				mono.add(time.Hour)
				c.o.move()
			case 12:
				c.seq++
				if _, _, err := c.o.Write(context.Background(), [][]byte{numbersOf(other, 9, c.seq, 5, 1, 2, 3)},
					[]*schemapb.Table{other}); err != nil {
					t.Fatal(err)
				}
			default:
				when += ": written"
				c.write()
			}
			if step%8 == 0 {
				c.check(e, when)
			}
		}
		mono.add(time.Hour)
		c.o.move()
		c.check(e, fmt.Sprintf("seed %d, at the end", seed))
		joins += w.joined()
		c.o.crash()
	}
	if joins < 3*int(*joinSeeds) {
		t.Errorf("only %d joins", joins)
	}
	t.Logf("%d joins", joins)
}
