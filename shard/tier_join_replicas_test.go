package shard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/cold/bucket"
)

// TestJoinReplicasRandom moves and joins rows of three replicas in a random order, while leaders hand over in a
// step, and replicas are killed and come back. The third replica keeps its segments, so it has own rows of cuts
// that others join. All replicas have each row once.
func TestJoinReplicasRandom(t *testing.T) {
	t.Parallel()
	seed := *joinSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test ./shard -run TestJoinReplicasRandom -join-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 19))
	dir, s := bucket.NewDir(t.TempDir()), &steps{}
	ids := []string{"n1", "n2", "n3"}
	g := newGroup(t, func(node string, cfg *Config) {
		*cfg = joining(*cfg, dir)
		cfg.atStep, cfg.commit = s.at, 5*time.Millisecond
		if node == "n3" {
			cfg.Tier.LocalFor = 1_000_000 * time.Hour
		}
	}, ids...)
	for _, o := range g.followers(nil) {
		o.stopCompactor()
	}
	var want []string
	down := ""
	check := func(what string) {
		t.Helper()
		for _, o := range g.followers(nil) {
			g.caughtUp(o)
			rows, _ := o.allRows(dir, 1)
			if d := cmp.Diff(want, rows); d != "" {
				t.Fatalf("seed %d, %s: %s: %s", seed, what, o.cfg.NodeID, d)
			}
		}
	}
	anyone := func() *opened { list := g.followers(nil); return list[rng.IntN(len(list))] }
	joined := 0
	for i := range 150 {
		switch n := rng.IntN(100); {
		case n < 40:
			for range 1 + rng.IntN(3) {
				text := fmt.Sprintf("row%06d", len(want))
				g.put(batch(head(1, 9, uint64(len(want)+1)), text))
				want = append(want, text)
			}
		case n < 58:
			anyone().flush()
		case n < 70:
			_ = anyone().mover.Step(wait(t)) // the leader may change meanwhile
		case n < 88:
			o := g.leader()
			o.flush()
			_ = o.mover.Step(wait(t))
		case n < 93:
			o := g.leader()
			s.endAfter(1+rng.IntN(12), func() { _ = o.StepDown(context.Background()) })
			_ = o.mover.Step(wait(t))
			s.endAfter(0, nil)
		case n < 96:
			if err := anyone().compactNow(); err != nil {
				t.Fatal(err)
			}
		case down == "":
			down = ids[rng.IntN(len(ids))]
			g.stop(down)
		default:
			g.open(down, nil).stopCompactor()
			down = ""
		}
		if n := s.joined(); n > joined || i%10 == 9 { // the next flush of a replica removes its rows of joined cuts
			joined = n
			check(fmt.Sprintf("operation %d", i))
		}
	}
	if down != "" {
		g.open(down, nil).stopCompactor()
	}
	check("at the end")
	if s.joined() == 0 {
		t.Error("no objects were joined")
	}
	t.Logf("%d joins", s.joined())
}
