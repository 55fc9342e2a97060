package shard

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

const month = 30 * 24 * time.Hour

// expiring opens a shard whose table 1 has a ttl of 30 days. Its clocks are wall and elapsed, the
// monotonic time.
func expiring(t *testing.T, cfg Config, wall *clock, elapsed *time.Duration) *opened {
	t.Helper()
	cfg.Now, cfg.FlushAge = wall.Now, time.Hour
	cfg.Monotonic = func() time.Duration { return *elapsed }
	cfg.TTL = ttls(map[uint64]time.Duration{1: month})
	return openShard(t, cfg)
}

// expireOnce does what the shard does every FlushAge.
func (o *opened) expireOnce() {
	o.t.Helper()
	if err := o.clock.expireRows(context.Background()); err != nil {
		o.t.Fatal(err)
	}
	o.flush()
}

// TestClockAheadAtStart starts a process with a clock that is a year ahead. If the clock is
// corrected within the hour, no row expires. If the clock is not corrected, rows expire by it.
func TestClockAheadAtStart(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	wall, elapsed := clockAt(day), time.Duration(0)
	cfg := testConfig(t)
	s := expiring(t, cfg, wall, &elapsed)
	s.mustPut(batch(head(1, 9, uint64(day.Unix())), "precious")) //nolint:gosec // the present time
	s.flush()
	s.crash()

	wall.set(day.AddDate(1, 0, 0))
	s = expiring(t, cfg, wall, &elapsed)
	s.mustPut(batch(head(1, 9, uint64(day.Unix())+1), "of the wrong time")) //nolint:gosec // as above
	for range 3 {
		s.expireOnce()
		elapsed += 15 * time.Minute
	}
	leaps := dto.Metric{}
	if err := s.metrics.ClockLeaps.Write(&leaps); err != nil || leaps.GetCounter().GetValue() != 1 {
		t.Errorf("reported leaps: %v, %v, want 1", &leaps, err)
	}
	s.crash()
	wall.set(day.Add(time.Hour)) // NTP has corrected the clock
	s = expiring(t, cfg, wall, &elapsed)
	s.expireOnce()
	if rows, files := s.rows(1), s.files("segments"); len(rows) != 2 || len(files) == 0 {
		t.Fatalf("rows %v in files %v, want both", rows, files)
	}
	s.crash()

	wall.set(day.AddDate(1, 0, 0)) // the server was off for a year
	s = expiring(t, cfg, wall, &elapsed)
	s.expireOnce()
	elapsed += clockSettles
	wall.set(wall.Now().Add(clockSettles))
	if rows := s.rows(1); len(rows) != 2 {
		t.Fatalf("rows %v", rows)
	}
	s.expireOnce()
	if rows := s.rows(1); len(rows) != 0 {
		t.Errorf("after an hour got rows %v, but all have expired", rows)
	}
	s.mustPut(batch(head(1, 9, 1<<40), "new"))
	if ahead := time.Unix(0, replicatedClock(s)).Sub(wall.Now()); ahead.Abs() > 2*maxStep {
		t.Errorf("the replicated clock is %v off, although the time was accepted", ahead)
	}
}

// TestClockBehindAtStart checks that keys and sessions age normally if the clock is a year behind
// at the start.
func TestClockBehindAtStart(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	wall, elapsed := clockAt(day), time.Duration(0)
	cfg := testConfig(t)
	s := expiring(t, cfg, wall, &elapsed)
	keyed := head(1, column.KeyedBit|7, 1)
	s.mustPut(batch(keyed, "once"))
	s.flush()
	s.crash()
	wall.set(day.AddDate(-1, 0, 0))
	s = expiring(t, cfg, wall, &elapsed)
	s.mustPut(batch(keyed, "once"))
	if rows := s.rows(1); len(rows) != 1 {
		t.Errorf("rows %v, want one", rows)
	}
	elapsed += rules.KeyTTL + time.Minute
	s.mustPut(batch(head(1, 9, 2), "another"))
	if s.store.Definitions.HasKey(keyed.Session, keyed.Seq) {
		t.Error("a key is remembered after its time, because the clock is behind")
	}
}

// TestPaceOfClocks lets leaders take turns whose clocks differ by days and jump. The replicated
// clock never goes back, and over any time it advances by about that time.
func TestPaceOfClocks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var passed, ticked time.Duration // by the monotonic clocks of all nodes
		begun := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		offset := func() time.Duration { return time.Duration(rng.Int64N(int64(800*24*time.Hour))) - 400*24*time.Hour }
		wrong := []time.Duration{offset(), offset(), 0}
		paces := make([]pace, len(wrong))
		st := mustState(t, testShard, &manifest.State{})
		st.Clock = begun.UnixNano()
		term, leads := uint64(1), 0
		type key struct {
			h     column.Header
			added time.Duration
		}
		var keys []key
		changes := 0
		for i := range 2000 {
			passed += time.Duration(rng.Int64N(int64(5 * time.Second)))
			switch rng.IntN(400) {
			case 0:
				term, leads, changes = term+1, rng.IntN(len(wrong)), changes+1
				paces[leads] = pace{}
			case 1:
				wrong[rng.IntN(len(wrong))] = offset()
			}
			before := st.Clock
			st.Tick(paces[leads].next(moment{term, st.Clock, ticked, passed}, begun.Add(passed+wrong[leads]).UnixNano()))
			if st.Clock > before {
				ticked = passed
			}
			if off := time.Duration(st.Clock-begun.UnixNano()) - passed; off < -time.Second ||
				off > time.Duration(changes+1)*maxStep {
				t.Fatalf("seed %d: after %v and %d leaders the clock is %v off", seed, passed, changes+1, off)
			}
			h := column.Header{Session: column.KeyedBit | 7, Seq: uint64(i)}
			st.Note(&h)
			keys = append(keys, key{h, passed})
			if i%10 != 0 {
				continue // errors in the age of a key last longer than this
			}
			for _, k := range keys {
				age := passed - k.added
				have, _ := st.Seen(&k.h)
				if sure := rules.KeyTTL - time.Duration(changes+1)*maxStep; have != (age <= rules.KeyTTL) && age < sure ||
					have && age > rules.KeyTTL+time.Second {
					t.Fatalf("seed %d: a key of %v ago is known: %v", seed, age, have)
				}
			}
			if len(keys) > 400 {
				keys = keys[len(keys)-300:]
			}
		}
	}
}

// TestKeysWithWrongClocks repeats a request to the next leader, whose clock is hours ahead. The
// request must be stored once.
func TestKeysWithWrongClocks(t *testing.T) {
	t.Parallel()
	ahead := map[string]time.Duration{"a": 0, "b": 5 * time.Hour, "c": 50 * 24 * time.Hour}
	start := time.Now()
	g := newGroup(t, func(node string, cfg *Config) {
		cfg.Now = func() time.Time { return time.Now().Add(ahead[node]) }
		cfg.Monotonic = func() time.Duration { return time.Since(start) }
	}, "a", "b", "c")
	keyed, numbered := head(1, column.KeyedBit|7, 1), head(1, 9, 1)
	g.put(batch(keyed, "k"), batch(numbered, "n"))
	for _, id := range []string{"c", "a", "b", "c"} {
		l := g.leader()
		if l.cfg.NodeID != id {
			g.change(l, replica.Lead, id)
		}
		for g.leader().cfg.NodeID != id {
			<-time.After(10 * time.Millisecond)
		}
		g.put(batch(keyed, "k"), batch(numbered, "n"))
		if rows := g.leader().rows(1); len(rows) != 2 {
			t.Fatalf("on %s: rows %v, want each once", id, rows)
		}
	}
}

// TestExpiryNeedsOthers checks that rows do not expire by a clock that is ahead of the clocks of a
// majority, nor while the present ttl is unknown.
func TestExpiryNeedsOthers(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	wall, elapsed := clockAt(day.Add(31*24*time.Hour)), time.Duration(0)
	agreed, refused := day, error(nil)
	cfg := testConfig(t)
	cfg.Agreed = func(context.Context) (time.Time, error) { return agreed, refused }
	s := expiring(t, cfg, wall, &elapsed)
	s.mustPut(batch(head(1, 9, uint64(day.Unix())), "row")) //nolint:gosec // the present time
	s.expireOnce()
	if rows := s.rows(1); len(rows) != 1 {
		t.Fatal("a row expired by a single clock that the other clocks contradict")
	}
	agreed, refused = wall.Now(), errors.New("the metadata cannot be read")
	if err := s.clock.expireRows(context.Background()); err == nil || !strings.Contains(err.Error(), refused.Error()) {
		t.Errorf("expired by an old copy of the ttl: %v", err)
	}
	refused = nil
	s.expireOnce()
	if rows := s.rows(1); len(rows) != 0 {
		t.Errorf("got rows %v", rows)
	}
}

// TestExpiredFilesKept checks that files with expired rows stay in a separate folder for a day,
// unless the disk is short of space.
func TestExpiredFilesKept(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	wall, elapsed := clockAt(day), time.Duration(0)
	var space atomic.Value // the shard reads it every second
	space.Store(store.SpaceOK)
	cfg := testConfig(t)
	cfg.Space = func() store.Space { return space.Load().(store.Space) }
	s := expiring(t, cfg, wall, &elapsed)
	s.stopCompactor()
	pass := func(d time.Duration) {
		elapsed += d
		wall.set(wall.Now().Add(d))
	}
	kept := func(want int) {
		t.Helper()
		got, err := filepath.Glob(filepath.Join(cfg.Dir, "expired", "*"))
		if err != nil || len(got) != want {
			t.Errorf("kept are %v, want %d: %v", got, want, err)
		}
	}
	write := func(seq uint64) {
		s.mustPut(batch(head(1, 9, uint64(wall.Now().Unix())+seq), fmt.Sprint(seq))) //nolint:gosec // the present time
		s.flush()
	}
	write(1)
	kept(0)
	pass(month + time.Hour)
	s.expireOnce()
	kept(1)
	if live := s.files("segments"); len(live) != 0 {
		t.Errorf("live are %v", live)
	}
	pass(20 * time.Hour)
	s.Shard.store.Files.SweepExpired()
	kept(1)
	pass(6 * time.Hour)
	s.Shard.store.Files.SweepExpired()
	kept(0)
	write(2)
	pass(month + time.Hour)
	s.expireOnce()
	kept(1)
	space.Store(store.SpaceLow)
	s.MakeRoom()
	kept(0)
	space.Store(store.SpaceOK)
	write(3)
	if err := s.DropTable(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	s.flush()
	kept(0) // the metric must show zero before the kept files are dropped
}

func replicatedClock(s *opened) (clock int64) {
	clock, _ = s.store.Tables.Replicated()
	return clock
}
