package store

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/query"
	"cordwood/shard/segment"
)

// This file is the part of a follower that takes the segments of the leader's flush in place of
// writing its own. The result is the same as that of a flush, except for the author of the files: a
// file is fsynced and has the checksum that the leader computed while it wrote it, and the follower
// commits its own manifest. If anything is unusual, the follower writes its segments by itself.

// TakeLimit is how long a follower waits for the segments of the leader. Until then its rows stay in
// memory.
const TakeLimit = 30 * time.Second

// FetchSegments fetches the segments that a node offers with the given rows into a folder, under new ids and
// orders of this replica. When it returns, the files are synced and have the right checksums, but their names may
// not be durable. After an error the caller discards the returned segments, some of which have no file.
type FetchSegments func(ctx context.Context, node string, rows Range, dir string) ([]segment.Meta, error)

// taking is the state of a Flusher that takes segments.
type taking struct {
	fetch FetchSegments // nil if there are no other nodes

	urgent atomic.Int64 // the number of flushes that must not wait

	mu     sync.Mutex // guards cancel
	cancel context.CancelFunc
}

// Hurry makes a running flush write its rows by itself if it waits for the leader's segments.
func (fl *Flusher) Hurry() {
	fl.taking.mu.Lock()
	defer fl.taking.mu.Unlock()
	if fl.taking.cancel != nil {
		fl.taking.cancel()
	}
}

// begin returns the context of a fetch.
func (tk *taking) begin() (ctx context.Context, end func()) {
	ctx, cancel := context.WithTimeout(context.Background(), TakeLimit)
	tk.mu.Lock()
	defer tk.mu.Unlock()
	tk.cancel = cancel
	return ctx, func() {
		cancel()
		tk.mu.Lock()
		defer tk.mu.Unlock()
		tk.cancel = nil
	}
}

// take takes the segments of the leader's flush of the same rows. It returns false if the rows have to be
// written here.
func (fl *Flusher) take(todo []*frozen, stages []stage) (metas []segment.Meta, ok bool) {
	if len(todo) != 1 || todo[0].offeredBy == "" || fl.taking.fetch == nil {
		return nil, false
	}
	f := todo[0]
	leader := f.offeredBy
	f.offeredBy = "" // another attempt does not wait again
	if !plain(stages) {
		return nil, false
	}
	ctx, end := fl.taking.begin()
	defer end()
	if _, closing, _ := fl.tables.Filling(); closing || fl.taking.urgent.Load() > 0 {
		return nil, false // Hurry may have been called before begin
	}
	metas, err := fl.taking.fetch(ctx, leader, f.rows, fl.segmentDir)
	if err == nil {
		err = checkTaken(stages[0], metas)
	}
	if err == nil {
		err = fl.cfg.FS.SyncDir(fl.segmentDir)
	}
	if err != nil {
		fl.files.discard(metas)
		fl.metrics.notTaken.Inc()
		fl.cfg.Logger.Info("could not take the segments of the leader's flush; this replica writes its own", "from", leader,
			"index", f.rows.Last, "error", err)
		return nil, false
	}
	fl.metrics.taken.Add(float64(len(metas)))
	fl.Taken.Add(int64(len(metas)))
	return metas, true
}

// plain reports whether a flush writes rows of tables that keep all rows, in one stage. The order of the files
// does not matter then.
func plain(stages []stage) bool {
	if len(stages) != 1 || len(stages[0].ends)+len(stages[0].cuts) > 0 || len(stages[0].rows) == 0 {
		return false
	}
	for _, t := range stages[0].rows {
		if t.merge != query.Append {
			return false
		}
	}
	return true
}

// checkTaken compares the number of rows of each table with the rows in memory. They differ if a table was
// dropped, or rows have expired, on only one of the replicas when it wrote or fetched the files.
func checkTaken(st stage, metas []segment.Meta) error {
	want := map[uint64]int64{}
	for id, t := range st.rows {
		for _, b := range t.batches {
			want[id] += int64(b.Rows)
		}
	}
	if have := rowsByTable(metas); !maps.Equal(have, want) {
		return fmt.Errorf("the segments do not have the rows of the memtable: rows by table id %v, want %v", have, want)
	}
	return nil
}

// rowsByTable returns the number of rows of each table in segments.
func rowsByTable(list []segment.Meta) map[uint64]int64 {
	rows := map[uint64]int64{}
	for i := range list {
		m := &list[i]
		if !m.Shared() {
			rows[m.TableID] += m.Rows
			continue
		}
		for _, t := range m.Tables {
			rows[t.TableID] += t.Rows
		}
	}
	return rows
}
