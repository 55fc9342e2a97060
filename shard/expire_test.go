package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/segment"
)

// TestExpireRowGroups: row groups that have expired leave the disk although most of their
// file has not; a file all of which expires within a flush interval is left to go by itself.
func TestExpireRowGroups(t *testing.T) {
	const rows = 2*segment.DefaultRowGroupRows + 100
	s := openShard(t, testConfig(t))
	s.stopCompactor()
	s.ttlFor(map[uint64]time.Duration{1: time.Hour, 2: time.Hour})
	write := func(table uint64, step int64) {
		t.Helper()
		d := def(table)
		d.Columns = append(d.Columns[:1], d.Columns[2]) // no tag: rows are in the order of time
		var b column.Builder
		tab := schema.FromProto(d)
		ts, m := b.Add(tab.Columns[0]), b.Add(tab.Columns[1])
		for i := range rows {
			ts.SetInt(i, int64(i)*step)
			m.SetString(i, fmt.Sprint("text ", i))
			b.EndRow()
		}
		if _, need, err := s.Write(context.Background(), [][]byte{b.Encode(nil, head(table, 9, table))}, []*schemapb.Table{d}); err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
		s.flush()
	}
	expire := func(table uint64, at time.Time) (rows int64, files int) {
		t.Helper()
		if err := s.expireAt(at); err != nil {
			t.Fatal(err)
		}
		s.flush()
		if err := s.compactNow(); err != nil {
			t.Fatal(err)
		}
		for _, l := range s.segments[table] {
			rows += l.Rows
		}
		return rows, len(s.files("segments"))
	}
	// A row a second, so that a row group takes over eleven hours.
	write(1, 1000)
	group := segment.DefaultRowGroupRows * time.Second
	for _, step := range []struct {
		at   time.Duration
		want int64
	}{
		{group / 2, rows}, // the file is left alone until a row group goes
		{group + 10*time.Second, rows - segment.DefaultRowGroupRows - 10},
		{group + time.Hour, rows - segment.DefaultRowGroupRows - 10},
		{rows*time.Second - s.Shard.cfg.FlushAge/2, rows - segment.DefaultRowGroupRows - 10},
		{rows * time.Second, 0},
	} {
		// The first second of the data is that of 1970; a row of the last moment stays.
		if got, files := expire(1, time.Unix(0, 0).Add(time.Hour+step.at)); got != step.want || (files == 0) != (step.want == 0) {
			t.Errorf("%v after the first row expired: %d rows in %d files, want %d rows", step.at, got, files, step.want)
		}
	}
	// The same in some 82 seconds, which is less than a flush interval.
	write(2, 1)
	s.Shard.cfg.FlushAge = 30 * time.Second
	if got, _ := expire(2, time.Unix(0, 0).Add(time.Hour+60*time.Second)); got != rows {
		t.Errorf("a file that goes soon was written anew: %d rows, want %d", got, rows)
	}
	s.Shard.cfg.FlushAge = 10 * time.Second
	if got, _ := expire(2, time.Unix(0, 0).Add(time.Hour+61*time.Second)); got != rows-61_000 {
		t.Errorf("a file that does not go soon: %d rows, want %d", got, rows-61_000)
	}
}
