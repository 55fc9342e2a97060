package chaos

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// long reports whether this is the long form of the tests.
func long() bool { return os.Getenv("CORDWOOD_CHAOS") != "" }

// together lets a test run in parallel with others in the short form, because the tests mostly wait.
func together(t *testing.T) {
	if !long() {
		t.Parallel()
	}
}

// rounds returns the number of times that a fault is caused: short in the short form, chaos in the long form.
// $CORDWOOD_CHAOS_ROUNDS overrides chaos.
func rounds(short, chaos int) int {
	if !long() {
		return short
	}
	if n, err := strconv.Atoi(os.Getenv("CORDWOOD_CHAOS_ROUNDS")); err == nil && n > 0 {
		return n
	}
	return chaos
}

// dice returns a random source for a test's choices, with a seed that is logged.
func dice(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number is suitable
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // choices of a test
}

// pause waits for a random time between two limits.
func pause(r *rand.Rand, from, to time.Duration) {
	<-time.After(from + time.Duration(r.Int64N(int64(to-from))))
}

// start starts a cluster and a sufficient load on it.
func start(t testing.TB, spec cluster.Spec, opt Options) (*cluster.Cluster, *Load) {
	t.Helper()
	c := cluster.NewCluster(t, spec)
	c.Start()
	if opt.Routers == nil {
		opt.Routers = c.Routers
	}
	l := Start(opt)
	t.Cleanup(func() {
		if !closed(l.stop) { // the test ended before end was called
			close(l.healed)
			close(l.stop)
			l.wg.Wait()
		}
	})
	l.Warm(t)
	return c, l
}

// mixed is a load of writers of all manners.
var mixed = Options{Keyed: 4, Again: 2, Once: 2}

// end stops the load and checks the rows through every router, the replicas, and the placement
// history of the tables.
func end(t testing.TB, c *cluster.Cluster, l *Load, replicas int) {
	t.Helper()
	l.Stop()
	l.Check(t, c.Routers...)
	checkReplicas(t, c, replicas)
	checkPlacement(t, c)
	if len(c.Shards) == replicas && replicas > 1 {
		checkHeld(t, c, l)
	}
}
