// Package crash kills real servers and checks what is left.
package crash

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/load"
)

// rounds returns the number of rounds: the value in the environment, or many, or few with -short.
func rounds(t *testing.T, many, few int) int {
	t.Helper()
	if s := os.Getenv("CORDWOOD_CRASH_ROUNDS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CORDWOOD_CRASH_ROUNDS: %v", err)
		}
		return n
	}
	if testing.Short() {
		return few
	}
	return many
}

func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// flags make the server flush, compact and cut the log often, so that it is killed during these.
var flags = []string{"--shards", "2", "--shard-flush-bytes", "1MiB", "--shard-flush-age", "1s"}

// TestKill kills the server with SIGKILL at random times under load, and starts it again. Every acknowledged row must
// be stored once, no row twice, and no row that was never sent. Requests that were not acknowledged must be stored
// completely or not at all.
func TestKill(t *testing.T) {
	t.Parallel()
	n := rounds(t, 8, 3)
	rng := seeded(t)
	node, l := cluster.New(t, flags...), load.New()
	var slowest time.Duration
	for round := range n {
		slowest = max(slowest, node.Start())
		l.Prepare(t, node)
		before := l.Acked()
		loadFor(node, l, rng, node.Kill)
		if l.Acked() == before {
			t.Fatalf("round %d: nothing was acknowledged", round)
		}
		// Check every few rounds, and always after the last one.
		if round%5 == 4 || round == n-1 {
			slowest = max(slowest, node.Start())
			l.Check(t, node)
			if round%2 == 0 {
				node.Stop()
			} else {
				node.Kill()
			}
		}
	}
	t.Logf("%d rounds, %d rows acknowledged, 0 lost, 0 doubled, slowest start %s", n, l.Acked(), slowest)
}

// loadFor writes until some rows are acknowledged and a random time has passed, and then calls end.
func loadFor(node *cluster.Node, l *load.Load, rng *rand.Rand, end func()) {
	stop, done := make(chan struct{}), make(chan struct{})
	seed := rng.Uint64()
	go func() {
		l.Run(node, seed, stop)
		close(done)
	}()
	want := l.Acked() + load.RowsPerPost*(1+rng.IntN(100))
	for deadline := time.Now().Add(20 * time.Second); l.Acked() < want && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	<-time.After(time.Duration(rng.IntN(1500)) * time.Millisecond)
	end()
	close(stop)
	<-done
}
