package replica

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/raftlogtest"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/shardtest"
)

// stopped creates a group of one whose log has files before and after a snapshot, and returns its
// state.
func stopped(t *testing.T, dir string, behind int) *list {
	t.Helper()
	cfg := config(dir, raftlog.WAL, &list{})
	cfg.SegmentBytes = 16 << 10
	state, _ := cfg.FSM.(*list)
	r := mustOpen(t, cfg)
	long := strings.Repeat("x", 500)
	write := func(prefix string, n int) {
		for _, w := range words(prefix, 1, n) {
			mustPropose(t, r, w+long)
		}
	}
	write("a", 40)
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	write("b", 3)
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if behind > 0 {
		write("c", behind)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestUnneededDamage damages each file of the log of a group of one in many places. If the damage
// is in entries that the state has, the replica opens with all entries and continues. Otherwise it
// reports that the log is damaged, and changes nothing. If another member is in the snapshot,
// nothing is cut.
func TestUnneededDamage(t *testing.T) {
	for _, test := range []struct {
		name   string
		behind int
	}{{"all is in the state", 0}, {"entries behind the snapshot", 5}, {"files behind the snapshot", 60}} {
		t.Run(test.name, func(t *testing.T) {
			master := t.TempDir()
			state := stopped(t, master, test.behind)
			want := state.all()
			files, err := filepath.Glob(filepath.Join(master, "log", "*"+".wal"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%v, %v", files, err)
			}
			rng := rand.New(rand.NewPCG(4, uint64(test.behind))) //nolint:gosec // a test
			opened, refused, harmless := 0, 0, 0
			for _, file := range files {
				sound, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				offsets := raftlogtest.DamageOffsets(rng, sound)
				rng.Shuffle(len(offsets), func(i, j int) { offsets[i], offsets[j] = offsets[j], offsets[i] })
				for i, at := range offsets[:min(len(offsets), 25)] {
					dir := t.TempDir()
					raftlogtest.CopyDir(t, dir, master)
					target := filepath.Join(dir, "log", filepath.Base(file))
					bad := slices.Clone(sound)
					what := "changed"
					if bad[at] ^= byte(1 + rng.IntN(255)); i%5 == 4 {
						bad, what = sound[:at], "cut"
					}
					if err := os.WriteFile(target, bad, 0o600); err != nil {
						t.Fatal(err)
					}
					_, damage := raftlog.Verify(dir, nil, nil)
					will := damage != nil && raftlog.WillCut(dir, "n1", state.AppliedIndex(), damage)
					reg := prometheus.NewRegistry()
					cfg := config(dir, raftlog.WAL, state.reopened())
					cfg.Registerer = reg
					r, err := Open(cfg)
					if cut := err == nil && shardtest.Metric(t, reg, "cordwood_raft_log_damage_cut_total") > 0; cut != will {
						t.Errorf("%s %s at %d: cut off: %t, predicted: %t (%v)", filepath.Base(file), what, at,
							cut, will, damage)
					}
					if err != nil {
						refused++
						if after, rerr := os.ReadFile(target); !errors.Is(err, raftlog.ErrDamaged) || rerr != nil ||
							!bytes.Equal(after, bad) {
							t.Errorf("%s %s at %d: the log changed, or the error is wrong: %v, %v", filepath.Base(file), what, at, err, rerr)
						}
						continue
					}
					if err := r.WaitLeader(within(t)); err != nil {
						t.Fatal(err)
					}
					if shardtest.Metric(t, reg, "cordwood_raft_log_damage_cut_total") == 0 {
						harmless++
					} else {
						opened++
					}
					mustPropose(t, r, "later")
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
					again := state.reopened()
					r = mustOpen(t, config(dir, raftlog.WAL, again))
					if got := again.all(); !slices.Equal(got, append(slices.Clone(want), "later")) {
						t.Errorf("%s %s at %d: %d commands, want %d and one", filepath.Base(file), what, at, len(got), len(want))
					}
					if err := r.Close(); err != nil {
						t.Fatal(err)
					}
				}
			}
			t.Logf("%d files: %d damages cut off, %d refused, %d of unused bytes", len(files), opened, refused, harmless)
			if opened == 0 || test.behind > 0 && refused == 0 {
				t.Errorf("%d damages were cut off, and %d refused", opened, refused)
			}
		})
	}
}

// TestCutOnlyAlone checks that entries are unneeded only in a group of one whose state includes the
// snapshot.
func TestCutOnlyAlone(t *testing.T) {
	dir := t.TempDir()
	stopped(t, dir, 1)
	newest, err := snapshot.VerifyAll(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := raftlog.Unneeded(newest, "n1", newest.Command); got != newest.Index {
		t.Errorf("alone: %d, want %d", got, newest.Index)
	}
	if got := raftlog.Unneeded(newest, "n1", newest.Command-1); got != 0 {
		t.Errorf("the state holds less than the snapshot: %d", got)
	}
	if got := raftlog.Unneeded(newest, "n2", newest.Command); got != 0 {
		t.Errorf("the only member is another one: %d", got)
	}
	if got := raftlog.Unneeded(nil, "n1", 0); got != 0 {
		t.Errorf("no snapshot: %d", got)
	}
	newest.Configuration.Servers = append(slices.Clone(newest.Configuration.Servers), newest.Configuration.Servers[0])
	if got := raftlog.Unneeded(newest, "n1", newest.Command); got != 0 {
		t.Errorf("there is another member: %d", got)
	}
}

// BenchmarkVerifyLog measures the check of a log before it is opened.
func BenchmarkVerifyLog(b *testing.B) {
	const size = 128 << 20
	dir := b.TempDir()
	cfg := Config{Group: "b", NodeID: "n1", Dir: dir, FSM: discard{}, Bootstrap: true}
	r, err := Open(cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := r.WaitLeader(b.Context()); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = byte(i * 7)
	}
	for range size / len(data) {
		if _, err := r.Propose(b.Context(), data); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	b.ResetTimer()
	before := cpuTime(b)
	for range b.N {
		if _, err := raftlog.Verify(dir, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()/float64(b.N)*(1<<30)/size, "cpu-s/GiB")
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
