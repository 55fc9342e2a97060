package fault_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
	"cordwood/test/load"
)

// TestDamage damages an intact data folder in one place at a time, in all kinds of files: it changes a byte or
// truncates a file. Doctor, the start or a query must find the damage, and no query may return other rows than
// before. A changed byte that nothing finds must be an unused one.
func TestDamage(t *testing.T) {
	t.Parallel()
	wanted := 18
	if os.Getenv("CORDWOOD_CHAOS") != "" {
		wanted = 200
	} else if testing.Short() {
		wanted = 9
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	master, l := soundFolder(t, rng)
	files := fault.FilesByKind(t, master)
	kinds := make([]string, 0, len(files))
	for kind := range files {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	if len(kinds) < 9 {
		t.Fatalf("the folder has only %q", kinds)
	}

	how := map[string]int{}
	unused, byKind := 0, map[string]int{}
	for i := 0; len(how) == 0 || sum(how) < wanted; i++ {
		kind := kinds[i%len(kinds)]
		n := cluster.New(t, "--log-level", "error")
		if err := os.CopyFS(n.Dir, os.DirFS(master)); err != nil {
			t.Fatal(err)
		}
		what := fault.Damage(t, rng, n.Dir, files[kind][rng.IntN(len(files[kind]))])
		found := outcome(t, n, l, what)
		if err := os.RemoveAll(n.Dir); err != nil {
			t.Fatal(err)
		}
		switch {
		case found != "":
			how[found]++
			byKind[kind]++
		case fault.Slack(kind) && !strings.Contains(what, "cut"):
			unused++
		default:
			t.Errorf("%s: nothing finds it", what)
			how["nothing"]++
		}
		if unused > 3*wanted {
			t.Fatalf("%d of the damages have no effect", unused)
		}
	}
	t.Logf("%d damages, found by %v; of %v; %d more changed bytes have no effect; 0 wrong rows", sum(how), how, byKind,
		unused)
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// soundFolder returns the folder of a server that was killed under load.
func soundFolder(t *testing.T, rng *rand.Rand) (string, *load.Load) {
	t.Helper()
	n, l := cluster.New(t, "--shards", "1", "--shard-flush-bytes", "1MiB", "--shard-flush-age", "1s"), load.New()
	for round := range 2 {
		n.Start()
		l.Prepare(t, n)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			l.Run(n, rng.Uint64(), stop)
			close(done)
		}()
		awaitAcked(t, l, n, 20*time.Second)
		wait(t, 20*time.Second, "a snapshot to be taken", func() bool {
			list, err := filepath.Glob(filepath.Join(n.Dir, "shards/1/raft/snapshots/*/state.bin"))
			return err == nil && len(list) > round
		})
		awaitAcked(t, l, n, 20*time.Second)
		if round == 0 {
			close(stop)
			<-done
			n.Stop()
			continue
		}
		n.Kill()
		close(stop)
		<-done
	}
	if r := fault.Doctor(t, n.Dir); r.Result == "damaged" {
		t.Fatalf("before any damage, doctor reports %+v", r)
	}
	return n.Dir, l
}

// outcome starts a server on a damaged folder and returns what found the damage.
func outcome(t *testing.T, n *cluster.Node, l *load.Load, what string) (found string) {
	t.Helper()
	doctor := fault.Doctor(t, n.Dir).Result == "damaged"
	if err := n.TryStart(10 * time.Second); err != nil {
		n.Kill()
		if !fault.SaysWhy(err) {
			t.Errorf("%s: the server does not start and does not report why: %v", what, err)
		}
		return "the start"
	}
	defer n.Kill()
	r, err := l.Compare(n)
	switch {
	case err != nil && !n.Running():
		t.Errorf("%s: the server ends while it answers: %v", what, err)
		return "a query"
	case err != nil:
		if !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s: a query fails without a reason: %v", what, err)
		}
		return "a query"
	case r != load.Result{}:
		t.Errorf("%s: wrong rows: %+v (doctor finds it: %t)", what, r, doctor)
		return "nothing"
	case doctor:
		return "the doctor"
	}
	return ""
}
