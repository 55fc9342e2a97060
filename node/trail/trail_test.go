package trail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/metapb"
	"cordwood/router/audit"
	"cordwood/shard/vfs"
)

// fakeTable is the table of a test. Rows with the same id replace each other, as in the real one.
type fakeTable struct {
	mu   sync.Mutex
	rows map[int64]Row
	err  error
	// hang makes writes wait until their context ends.
	hang bool
}

func (f *fakeTable) write(ctx context.Context, rows []Row) error {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang {
		<-ctx.Done()
		return ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	for _, r := range rows {
		f.rows[r.ID] = r
	}
	return nil
}

func (f *fakeTable) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fakeTable) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.rows)
}

// lostRows returns the sum of the numbers in rows about lost records.
func (f *fakeTable) lostRows() (n uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.rows {
		if r.Action == lostAction {
			var one uint64
			if _, err := fmt.Sscanf(r.Message, "%d records", &one); err == nil {
				n += one
			}
		}
	}
	return n
}

func openTrail(t *testing.T, fsys vfs.FS, f *fakeTable) *Trail {
	t.Helper()
	tr, err := Open(Config{
		FS: fsys, Dir: "audit", Node: "n1", Write: f.write, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// start runs tr. stop ends it.
func start(t *testing.T, tr *Trail) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- tr.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func entry(action string) audit.Entry {
	return audit.Entry{Time: time.Now(), Outcome: audit.OK, Record: &metapb.AuditRecord{Action: action}}
}

// TestRecordsWaitForTheTable makes records while the table cannot be written, stops, and starts again with a working
// table: each record is in the table once, and the chain holds.
func TestRecordsWaitForTheTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fsys := vfs.NewMem()
		f := &fakeTable{rows: map[int64]Row{}, err: errors.New("its shard has no leader")}
		tr := openTrail(t, fsys, f)
		stop := start(t, tr)
		for range 1500 {
			tr.Add(entry("drop table"))
		}
		time.Sleep(10 * time.Second)
		s := tr.State()
		if f.count() != 0 || s.Failing == nil || s.Waiting == 0 || s.Lost != 0 {
			t.Fatalf("%d rows, state %+v", f.count(), s)
		}
		stop()
		f.fail(nil)
		tr = openTrail(t, fsys, f)
		stop = start(t, tr)
		tr.Add(entry("last"))
		time.Sleep(5 * time.Second)
		stop()
		if n := f.count(); n != 1501 {
			t.Errorf("%d rows, want 1501", n)
		}
		if s := tr.State(); s.Failing != nil || s.Waiting != 0 {
			t.Errorf("state %+v", s)
		}
		first := tr.spool.last.ID - 1500
		chain := ""
		for id := first; id <= tr.spool.last.ID; id++ {
			r := f.rows[id]
			if r.Chain == "" || r.Chain != r.Link(chain) {
				t.Fatalf("the chain breaks at row %d of %d", id-first, 1501)
			}
			chain = r.Chain
		}
	})
}

// TestLostRecordsAreCounted makes more records at a time than the queue holds, and then more than the files hold:
// Add does not wait, and the lost records are counted in rows.
func TestLostRecordsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeTable{rows: map[int64]Row{}, hang: true}
		tr := openTrail(t, vfs.NewMem(), f)
		for range maxQueue + 100 {
			tr.Add(entry("many"))
		}
		if s := tr.State(); s.Lost != 100 {
			t.Fatalf("state %+v, want 100 lost records", s)
		}
		tr.spool.max = 1 << 20
		stop := start(t, tr)
		time.Sleep(3 * time.Second)
		lost := tr.State().Lost
		if lost < 1000 {
			t.Fatalf("%d records are lost, although the files hold 1 MiB", lost)
		}
		f.mu.Lock()
		f.hang = false
		f.mu.Unlock()
		stop()
		tr2 := openTrail(t, tr.cfg.FS, f)
		tr2.lost, tr2.why = tr.lost, tr.why // the process goes on
		stop = start(t, tr2)
		time.Sleep(5 * time.Second)
		stop()
		if n := f.lostRows(); n != lost {
			t.Errorf("rows tell of %d lost records, and %d were lost", n, lost)
		}
		if n := uint64(f.count()); n < maxQueue+100-lost {
			t.Errorf("%d rows in the table; %d of %d were lost", n, lost, maxQueue+100)
		}
	})
}
