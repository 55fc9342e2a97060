package simulation

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seedFlag = flag.Uint64("seed", 0, "run only this seed")
	seeds    = flag.Int("seeds", 0, "number of seeds to run, starting at a random one; 0: the first 12")
	only     = flag.String("faults", "", "cause only these faults, separated by commas")
	verbose  = flag.Bool("events", false, "print the events of every run, and the logs of the nodes")
)

// fixedSeeds is the number of seeds that run by default.
const fixedSeeds = 12

func runSeed(t *testing.T, opt Options) (r *Report) {
	t.Helper()
	dir := newDir(t)
	if *verbose {
		opt.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	var passed atomic.Int64
	defer watch(opt, &passed)()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		go func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Second):
					passed.Add(1)
				}
			}
		}()
		var err error
		if r, err = Run(opt, dir); err != nil {
			t.Fatalf("%s: %v", opt, err)
		}
	})
	r.Violations = append(r.Violations, r.schemas.check()...) // outside the bubble, because it takes real time
	return r
}

const (
	// standstill is how long virtual time may stand still in real time. Virtual time normally advances after
	// milliseconds of work, so this is long even on a busy machine.
	standstill = 4 * time.Minute
	// endless is the number of seconds of virtual time that no run reaches.
	endless = 2 * 3600
)

// watch ends the process if virtual time stands still, or passes without end, and prints the responsible goroutines.
// Virtual time stands still if a goroutine waits for a mutex whose owner waits for time to pass. With real time this
// would only cause a delay. The real time of a run is not checked, because other programs may use the machine.
func watch(opt Options, passed *atomic.Int64) (stop func()) {
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(10 * time.Second)
		defer tick.Stop()
		last, since := int64(0), time.Now()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			switch now := passed.Load(); {
			case now > endless:
				quit(fmt.Sprintf("%s: not done after %d s of virtual time", opt, now), true)
			case now != last:
				last, since = now, time.Now()
			case time.Since(since) > standstill:
				quit(fmt.Sprintf("%s: virtual time has stood still for %s of real time", opt, standstill), false)
			}
		}
	}()
	return func() { close(over) }
}

// quit ends the process with the stacks of goroutines in bubbles, of this run or another. If waiting is set, they are
// the goroutines that wait for others in the bubble, and otherwise all others.
func quit(why string, waiting bool) {
	stacks := make([]byte, 64<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	fmt.Println(why)
	for g := range strings.SplitSeq(string(stacks), "\n\n") {
		state, _, _ := strings.Cut(g, "\n")
		if strings.Contains(state, "synctest bubble") && strings.Contains(state, "(durable)") == waiting {
			fmt.Printf("%s\n\n", g)
		}
	}
	os.Exit(1)
}

// newDir returns a folder for real files, in memory if the system has such a folder, because there
// are many small syncs.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "cordwood-simulation-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // it is no longer needed
	return dir
}

// TestSeeds runs seeds. No acknowledged row may be lost or doubled, no read may be stale, the replicas must agree,
// and every shard must accept writes after all faults are repaired. The seeds are fixed, so that a failure is caused
// by the tested change. -seeds runs others.
func TestSeeds(t *testing.T) {
	first, n := uint64(1), fixedSeeds
	switch {
	case *seedFlag != 0:
		first, n = *seedFlag, 1
	case *seeds > 0:
		first, n = rand.Uint64()%1_000_000, *seeds
	case testing.Short():
		n = 2
	}
	var cold, joined atomic.Int64
	t.Cleanup(func() { // when all seeds have run
		if cold.Load() > 3 && joined.Load() == 0 {
			t.Error("no objects were joined")
		}
	})
	for seed := first; seed < first+uint64(n); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			opt, again := Draw(seed), ""
			if *only != "" {
				opt.Faults, again = strings.Split(*only, ","), fmt.Sprintf(" -faults %q", *only)
			}
			r := runSeed(t, opt)
			cold.Add(int64(boolInt(opt.Cold)))
			joined.Add(int64(r.Joined))
			if r.Failed() {
				t.Errorf("go test ./test/simulation -run TestSeeds -seed %d%s\n%s", seed, again, r)
			} else {
				t.Logf("%s: %d rows, gap %s, recovery %s, %d logs, %d queries, %d parts, %d segments taken, %d cuts joined",
					r.Options, r.Acked, r.Longest, r.Recovery, r.Logs, r.Queries, r.Parts, r.Taken, r.Joined)
			}
		})
	}
}

// TestMutants runs mutants of the program, and requires that the checkers find each of them.
func TestMutants(t *testing.T) {
	tests := []struct {
		name   string
		mutant Mutant
		faults []string
		want   string
		seed   uint64 // the first seed to try
		pause  time.Duration
		nodes  int // 0 means 3
	}{
		{"appends are not synced", SkipSync, []string{"crash of all"}, "acknowledged rows are lost", 1, 4 * time.Second, 0},
		{
			"appends to the metadata are not synced", SkipMetaSync,
			[]string{"crash of all"},
			"its end is lost", 1,
			4 * time.Second, 0,
		},
		{"a node comes back empty", LoseLog, []string{"crash of all", "crash"}, "", 1, 4 * time.Second, 0},
		{
			"a retry has another identity", SkipDedup,
			[]string{"isolated leader", "partition"},
			"more than once", 4,
			15 * time.Second, 0,
		},
		{
			"acknowledged before it is committed", AckEarly,
			[]string{"isolated leader", "partition"},
			"lost", 1,
			4 * time.Second, 0,
		},
		{
			"the write does not wait for the former shard", SkipFence,
			[]string{"isolated leader", "mend", "table move", "table move"},
			"rows are stored", 4, 4 * time.Second, 0,
		},
		{
			"reads without a barrier", StaleRead,
			[]string{"one-way partition", "partition", "isolated leader"},
			"a read that lacks a row", 1, 4 * time.Second, 0,
		},
		{
			"reads from any node that considers itself the leader", LeaseRead,
			[]string{"standstill"},
			"a read that lacks a row",
			1, 6 * time.Second, 0,
		},
		{
			"queries of any node that considers itself the leader", LeaseQuery,
			[]string{"standstill"},
			"the read of all rows",
			1, 6 * time.Second, 0,
		},
		{
			"learners confirm the leader", LearnersConfirm,
			[]string{"cut learner", "mend"},
			"a read that lacks a row", 1,
			15 * time.Second, 5,
		},
		{"clocks are trusted", TrustClock, []string{"wrong clock"}, "lost", 1, 6 * time.Second, 0},
		{"a full disk reports no error", FullLies, []string{"full disk", "crash of all"}, "", 1, 6 * time.Second, 0},
		{
			"a full disk of the metadata reports no error", FullLies,
			[]string{"metadata's disk", "crash of all"},
			"its end is lost", 1, 6 * time.Second, 0,
		},
		{"a replica applies another entry", SwapEntry, []string{"hand-over"}, "differ in table", 1, 4 * time.Second, 0},
		{
			"a new replica votes at once", ForgetVotes,
			[]string{"added again"},
			"although the same reader has seen", 1, 15 * time.Second, 5,
		},
		{
			"a replica joins fewer objects than are in the new one", ShortJoin,
			[]string{"hand-over"},
			"reads of table c1: a row more than once", 1, 15 * time.Second, 0,
		},
		{"outdated metadata", StaleCopy, []string{"slow copy"}, "not linearizable", 1, 4 * time.Second, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.want == "" && os.Getenv(apart) == "" {
				runApart(t)
				return
			}
			for seed := test.seed; seed < test.seed+12; seed++ {
				opt := Draw(seed)
				opt.Faults, opt.Mutant, opt.Duration, opt.Pause = test.faults, test.mutant,
					max(time.Minute, 8*test.pause), test.pause
				opt.Nodes, opt.Metas, opt.Groups, opt.Writers, opt.Merging = max(3, test.nodes), 3, 2, 2, true
				opt.Cold = test.mutant == ShortJoin
				r := runSeed(t, opt)
				for _, v := range r.Violations {
					if strings.Contains(v, test.want) {
						t.Logf("found with seed %d: %s", seed, v)
						return
					}
				}
				if len(r.Stuck) > 0 && test.want == "" {
					t.Logf("found with seed %d: tables %v accept no rows", seed, r.Stuck)
					return
				}
				t.Logf("seed %d: %d rows, stuck %v, violations %.300q", seed, r.Acked, r.Stuck, r.Violations)
			}
			t.Error("nothing was found")
		})
	}
}

// apart is an environment variable of a process that runs one mutant.
const apart = "CORDWOOD_SIMULATION_APART"

// runApart runs the test in a separate process. The mutant loses entries of the log, and raft ends
// a process in which a committed entry is missing. In this case the fault was found, too.
func runApart(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent, name, _ := strings.Cut(t.Name(), "/")
	run := "^" + regexp.QuoteMeta(parent) + "$/^" + regexp.QuoteMeta(name) + "$"
	cmd := exec.CommandContext(t.Context(), program, "-test.run", run, "-test.v", "-test.count", "1")
	cmd.Env = append(os.Environ(), apart+"=1")
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil && bytes.Contains(out, []byte("panic: log not found")):
		t.Log("found: raft ended the process, because a committed entry was missing")
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	default:
		t.Logf("%s", out)
	}
}

// TestLostLeader crashes leaders, and isolates leaders from the other members but not from the writers. Writes must
// continue within a few seconds.
func TestLostLeader(t *testing.T) {
	for _, fault := range []string{"crash of a leader", "isolated leader"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			opt := Draw(7)
			opt.Faults, opt.Duration, opt.Pause, opt.Writers, opt.Groups = []string{fault}, 2*time.Minute, 15*time.Second, 3, 1
			opt.Mend = true
			r := runSeed(t, opt)
			if r.Failed() || r.Longest > 5*time.Second {
				t.Error(r)
			}
			t.Logf("longest gap %s", r.Longest)
		})
	}
}

// TestAddedAgain removes replicas while others are cut off, and adds them again. The mutant ForgetVotes fails here.
func TestAddedAgain(t *testing.T) {
	opt := Draw(1)
	opt.Faults, opt.Duration, opt.Pause = []string{"added again"}, 4*time.Minute, 15*time.Second
	opt.Nodes, opt.Metas, opt.Groups, opt.Writers, opt.Merging = 5, 3, 2, 2, true
	r := runSeed(t, opt)
	if r.Failed() {
		t.Error(r)
	}
	if !slices.ContainsFunc(r.Events, func(e string) bool { return strings.Contains(e, "opens its new replica") }) {
		t.Errorf("no replica was added again: %q", r.Events)
	}
}
