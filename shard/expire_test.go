package shard

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/compaction"
	"cordwood/shard/segment"
)

// clock is a time that a test sets.
type clock struct{ now atomic.Pointer[time.Time] }

func clockAt(at time.Time) *clock {
	c := &clock{}
	c.set(at)
	return c
}

func (c *clock) set(at time.Time) { c.now.Store(&at) }
func (c *clock) Now() time.Time   { return *c.now.Load() }

// TestExpireRowGroups checks that expired row groups leave the disk although most of their file has
// not expired. A file that expires as a whole within a flush interval is not rewritten.
func TestExpireRowGroups(t *testing.T) {
	t.Parallel()
	const rows = 2*segment.DefaultRowGroupRows + 100
	var s *opened
	time0 := clockAt(time.Unix(0, 0))
	open := func(flushAge time.Duration) {
		cfg := testConfig(t)
		cfg.FlushAge, cfg.Now = flushAge, time0.Now
		time0.set(time.Unix(0, 0))
		s = openShard(t, cfg)
		s.stopCompactor()
		s.ttlFor(map[uint64]time.Duration{1: time.Hour, 2: time.Hour})
	}
	open(time.Hour)
	write := func(table uint64, step int64) {
		t.Helper()
		d := def(table)
		d.Columns = append(d.Columns[:1], d.Columns[2]) // without tags, rows are ordered by time
		var b column.Builder
		tab := schema.FromProto(d)
		ts, m := b.Add(tab.Columns[0]), b.Add(tab.Columns[1])
		for i := range rows {
			ts.SetInt(i, int64(i)*step)
			m.SetString(i, fmt.Sprint("text ", i))
			b.EndRow()
		}
		if _, need, err := s.Write(context.Background(), [][]byte{b.Encode(nil, head(table, 9, table))},
			[]*schemapb.Table{d}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
		s.flush()
	}
	expire := func(table uint64, at time.Time) (rows int64, files int) {
		t.Helper()
		time0.set(at)
		if err := s.expireAt(at); err != nil {
			t.Fatal(err)
		}
		s.flush()
		if err := s.compactNow(); err != nil {
			t.Fatal(err)
		}
		for _, l := range s.store.Status.SegmentsOf(table) {
			rows += l.Rows
		}
		return rows, len(s.files("segments"))
	}
	// Write a row a second, so that a row group spans over eleven hours.
	write(1, 1000)
	group := segment.DefaultRowGroupRows * time.Second
	for _, step := range []struct {
		at   time.Duration
		want int64
	}{
		{group / 2, rows}, // the file is left alone until a row group has expired
		{group + 10*time.Second, rows - segment.DefaultRowGroupRows - 10},
		{group + time.Hour, rows - segment.DefaultRowGroupRows - 10},
		{rows * time.Second, 0},
	} {
		// The data starts at second 0 of 1970. A row that expires at this moment stays.
		if got, files := expire(1, time.Unix(0, 0).Add(time.Hour+step.at)); got != step.want ||
			(files == 0) != (step.want == 0) {
			t.Errorf("%v after the first row expired: %d rows in %d files, want %d rows", step.at, got, files, step.want)
		}
	}
	// The same in some 82 seconds, which is less than a flush interval.
	open(30 * time.Second)
	write(2, 1)
	if got, _ := expire(2, time.Unix(0, 0).Add(time.Hour+60*time.Second)); got != rows {
		t.Errorf("a file that expires soon was rewritten: %d rows, want %d", got, rows)
	}
	open(10 * time.Second)
	write(2, 1)
	if got, _ := expire(2, time.Unix(0, 0).Add(time.Hour+61*time.Second)); got != rows-61_000 {
		t.Errorf("a file that does not expire soon was not rewritten: %d rows, want %d", got, rows-61_000)
	}
}

// TestExpiredOneIntervalLate lets a file expire over many flush intervals. After each interval,
// expired row groups may be left only in files that will be removed at the next one. The table
// takes less than three times the bytes of its rows, in at most 32 files.
func TestExpiredOneIntervalLate(t *testing.T) {
	t.Parallel()
	const groups, step = 24, 10 // milliseconds from row to row
	const rows = groups * segment.DefaultRowGroupRows
	cfg := testConfig(t)
	time0 := clockAt(time.Unix(0, 0))
	cfg.FlushBytes, cfg.Now = 1<<30, time0.Now
	cfg.FlushAge = 2 * time.Minute // a row group spans almost seven minutes
	s := openShard(t, cfg)
	s.stopCompactor()
	ttl := 6 * time.Hour
	s.ttlFor(map[uint64]time.Duration{1: ttl})
	d := def(1)
	d.Columns = append(d.Columns[:1], d.Columns[2])
	for i := range groups {
		var b column.Builder
		tab := schema.FromProto(d)
		ts, m := b.Add(tab.Columns[0]), b.Add(tab.Columns[1])
		for k := range segment.DefaultRowGroupRows {
			ts.SetInt(k, int64(i*segment.DefaultRowGroupRows+k)*step)
			m.SetString(k, fmt.Sprint("text ", (i*segment.DefaultRowGroupRows+k)*2654435761))
			b.EndRow()
		}
		if _, need, err := s.Write(context.Background(), [][]byte{b.Encode(nil, head(1, 9, uint64(i+1)))},
			[]*schemapb.Table{d}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
	}
	s.flush()
	if n := len(s.store.Status.SegmentsOf(1)); n != 1 {
		t.Fatalf("%d files, want 1", n)
	}
	size, most, seen := s.store.Status.SegmentsOf(1)[0].Bytes, 0, map[uint64]int64{}
	for at := time.Duration(0); ; at += s.Shard.cfg.FlushAge {
		now := time.Unix(0, 0).Add(ttl + at)
		time0.set(now)
		if err := s.expireAt(now); err != nil {
			t.Fatal(err)
		}
		s.flush()
		if err := s.compactNow(); err != nil {
			t.Fatal(err)
		}
		before, left := at.Milliseconds(), int64(0)
		for _, l := range s.store.Status.SegmentsOf(1) {
			left += l.Rows
			seen[l.ID] = l.Bytes
			list, err := segment.ReadGroups(s.Shard.cfg.FS, l.Path, &l.Meta)
			if err != nil {
				t.Fatal(err)
			}
			soon := l.MaxTime-before < s.Shard.cfg.FlushAge.Milliseconds()
			for _, g := range list {
				if g.MaxTime < before && !soon {
					t.Fatalf("at %v: a row group of %d rows that expired at %d is still there", at, g.Rows, g.MaxTime)
				}
			}
			if l.MaxTime < before {
				t.Fatalf("at %v: a file that expired at %d is still there", at, l.MaxTime)
			}
		}
		if alive := min(rows-before/step, rows); left < alive {
			t.Fatalf("at %v: %d rows are left, %d have not expired", at, left, alive)
		}
		if most = max(most, len(s.store.Status.SegmentsOf(1))); left == 0 {
			break
		}
	}
	written := int64(0)
	for _, bytes := range seen {
		written += bytes
	}
	t.Logf("at most %d files, %.2f of the bytes written again", most, float64(written-size)/float64(size))
	if written >= 3*size || most > 2*compaction.Pieces {
		t.Errorf("%d bytes were written of a file of %d, in at most %d files", written, size, most)
	}
}

// TestExpiredAmongOthers checks that expired rows in a file shared with other tables are removed,
// however few they are.
func TestExpiredAmongOthers(t *testing.T) {
	t.Parallel()
	time0 := clockAt(time.Unix(0, 0))
	cfg := testConfig(t)
	cfg.FlushAge, cfg.Now = time.Minute, time0.Now
	s := openShard(t, cfg)
	s.stopCompactor()
	s.ttlFor(map[uint64]time.Duration{1: 8 * time.Hour})
	s.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b", "c", "d", "e"))
	s.flush()
	for _, step := range []struct {
		at   time.Duration
		want int64
	}{{0, 5}, {59 * time.Minute, 5}, {61 * time.Minute, 4}} {
		now := time.Unix(1, 0).Add(8*time.Hour + time.Millisecond + step.at)
		time0.set(now)
		if err := s.expireAt(now); err != nil {
			t.Fatal(err)
		}
		s.flush()
		if err := s.compactNow(); err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for _, l := range s.store.Status.Segments() {
			rows += l.Rows
		}
		if got := s.rows(1); len(got) != 0 {
			t.Errorf("%v after the row expired: queries return %v", step.at, got)
		}
		if rows != step.want || len(s.rows(2)) != 4 {
			t.Errorf("%v after the row expired: %d rows in files, %d of the other table, want %d and 4", step.at, rows,
				len(s.rows(2)), step.want)
		}
	}
}
