package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
	"cordwood/shard/shardtest"
)

// shipping is a shard that ships its log when it is told to, and the place where it does.
func shipping(t *testing.T, change func(*Config)) (*opened, states.Place) {
	t.Helper()
	b := tierBucket(t)
	cfg := tiered(testConfig(t), b)
	cfg.Tier.LogEvery, cfg.Tier.LogGrace = 24*time.Hour, time.Nanosecond
	if change != nil {
		change(&cfg)
	}
	s := openShard(t, cfg)
	s.stopCompactor()
	return s, states.Place{Bucket: b, Cluster: "cluster"}
}

func (o *opened) shipLog() {
	o.t.Helper()
	if err := o.mover.ShipLog(wait(o.t)); err != nil {
		o.t.Fatal(err)
	}
}

// log returns the bounds of the log that a bucket has from an entry on.
func logFrom(t *testing.T, p states.Place, from uint64) (last uint64, pieces int) {
	t.Helper()
	list, err := p.Log(wait(t), testShard)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range states.Follow(list, from, 0) {
		last = part.To
	}
	return last, len(list)
}

// needed returns from where on the newest state needs the log, and which tables are not in it.
func needed(t *testing.T, p states.Place) (from uint64, without []uint64) {
	t.Helper()
	groups, err := p.List(wait(t))
	if err != nil || len(groups[testShard]) == 0 {
		t.Fatal(groups, err)
	}
	h, _, err := p.Read(wait(t), &groups[testShard][0])
	if err != nil {
		t.Fatal(err)
	}
	return h.LogFrom, h.LogWithout
}

// TestShipLog ships entries once, over restarts. The entries stay in the log of the replica until they are in the
// bucket, although their rows are in segments.
func TestShipLog(t *testing.T) {
	t.Parallel()
	s, place := shipping(t, nil)
	var last uint64
	for i := range uint64(5) {
		last = s.mustPut(batch(head(1, 9, i+1), fmt.Sprint("row ", i)))
		s.flush() // this cuts the log
		s.flush()
	}
	if first, _, err := s.replica.LogBounds(); err != nil || first != 1 {
		t.Errorf("the log begins at %d: %v", first, err)
	}
	s.shipLog()
	if got, n := logFrom(t, place, 1); got < last || n > 3 { // terms are apart
		t.Errorf("the bucket has entries up to %d in %d pieces, want %d", got, n, last)
	}
	last = s.mustPut(batch(head(1, 9, 6), "row"))
	s.flush()
	if first, _, err := s.replica.LogBounds(); err != nil || first < 3 {
		t.Errorf("the log begins at %d: %v", first, err)
	}
	s = s.reopen()
	_, before := logFrom(t, place, 1)
	s.shipLog()
	s.shipLog()
	if got, n := logFrom(t, place, 1); got < last || n == before || n > before+3 {
		t.Errorf("the bucket has entries up to %d in %d pieces, want %d, after %d pieces", got, n, last, before)
	}
	if err := s.mover.Step(wait(t)); err != nil {
		t.Fatal(err)
	}
	if w := s.Warnings(); len(w) > 0 || s.mover.LogGap() || s.mover.LogLag() > 0 {
		t.Errorf("warnings %v, gap %t, lag %s", w, s.mover.LogGap(), s.mover.LogLag())
	}
}

// TestPruneLog deletes the log up to the entries that two states do not need, and keeps what rows in no object need.
func TestPruneLog(t *testing.T) {
	t.Parallel()
	var now hand
	s, place := shipping(t, func(cfg *Config) {
		cfg.Monotonic = now.get
		cfg.Now = func() time.Time { return time.Now().Add(now.get()) }
		cfg.Tier.UploadAfter = time.Hour
	})
	step := func() {
		t.Helper()
		s.flush()
		now.add(20 * time.Minute)
		if err := s.mover.Step(wait(t)); err != nil {
			t.Fatal(err)
		}
	}
	first := s.mustPut(batch(head(1, 9, 1), "old"))
	step()
	if from, _ := needed(t, place); from > first {
		t.Errorf("the rows of entry %d are in no object, and the log is needed from %d on", first, from)
	}
	for range 4 {
		step()
	}
	second := s.mustPut(batch(head(2, 9, 2), "new"))
	for range 2 {
		step()
	}
	if from, _ := needed(t, place); from <= first || from > second {
		t.Errorf("the log is needed from %d on, the first table was moved and the row of entry %d was not", from, second)
	}
	for range 10 {
		step()
	}
	from, _ := needed(t, place)
	if from <= second {
		t.Errorf("all rows are in objects, and the log is needed from %d on", from)
	}
	list, err := place.Log(wait(t), testShard)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(list, func(p states.Piece) bool { return p.Last <= first }) || len(list) == 0 {
		t.Errorf("the bucket has %v, needed from %d on", list, from)
	}
	// The log is not shipped any more: nothing needs it.
	s.crash()
	of := *s.cfg.Tier
	of.LogEvery = 0
	s.cfg.Tier = &of
	s = openShard(t, s.cfg)
	for range 3 {
		now.add(7 * 24 * time.Hour)
		step()
	}
	if list, err := place.Log(wait(t), testShard); err != nil || len(list) > 0 {
		t.Errorf("without the setting the bucket has %v: %v", list, err)
	}
	if from, _ := needed(t, place); from != 0 {
		t.Errorf("without the setting the log is needed from %d on", from)
	}
}

// brokenPuts is a bucket that stores no pieces of logs while broken is set.
type brokenPuts struct {
	bucket.Bucket
	broken atomic.Bool
}

func (b *brokenPuts) Put(ctx context.Context, key string, c bucket.Content) error {
	if b.broken.Load() && strings.Contains(key, "/log/") {
		return errors.New("the bucket is broken")
	}
	return b.Bucket.Put(ctx, key, c)
}

// TestLogGap writes more than the log keeps while the bucket fails. Writes and flushes go on, the log is cut, and this
// is told. Once the rows of the gap are in objects, it has gone.
func TestLogGap(t *testing.T) {
	t.Parallel()
	b := &brokenPuts{Bucket: tierBucket(t)}
	reg := prometheus.NewRegistry()
	s, place := shipping(t, func(cfg *Config) {
		cfg.Tier.Bucket, cfg.TrailingBytes, cfg.Registerer = b, 100<<10, reg
	})
	place.Bucket = b
	s.mustPut(batch(head(1, 9, 1), "first"))
	s.shipLog()
	b.broken.Store(true)
	if err := s.mover.ShipLog(wait(t)); err != nil {
		t.Fatal(err) // nothing is to be shipped
	}
	for i := range uint64(20) {
		s.mustPut(batch(head(1, 9, i+2), noise(20<<10)))
		s.flush()
		_ = s.mover.ShipLog(wait(t))
	}
	if bytes := s.replica.LogBytes(); bytes > 300<<10 {
		t.Errorf("the log has %d bytes", bytes)
	}
	b.broken.Store(false)
	s.shipLog()
	first, _ := logFrom(t, place, 1)
	s.move() // stores a state, and moves the rows
	if !s.mover.LogGap() || shardtest.Metric(t, reg, "cordwood_cold_log_gap") != 1 ||
		!slices.ContainsFunc(s.Warnings(), func(w string) bool { return strings.Contains(w, "has a gap") }) {
		t.Errorf("entries after %d are missing: gap %t, warnings %v", first, s.mover.LogGap(), s.Warnings())
	}
	s.move()
	if s.mover.LogGap() || shardtest.Metric(t, reg, "cordwood_cold_log_gap") != 0 || len(s.Warnings()) > 0 {
		t.Errorf("all rows are in objects: gap %t, warnings %v", s.mover.LogGap(), s.Warnings())
	}
	if shardtest.Metric(t, reg, "cordwood_cold_log_bytes_total") == 0 {
		t.Error("no bytes are counted")
	}
}
