package replica

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"
	"cordwood/shard/replica/raftlog"
)

// faulty is a backend whose writes fail or block when the test requires it.
type faulty struct {
	raftlog.Store
	mu    sync.Mutex
	err   error
	hang  chan struct{}
	calls int
}

func (f *faulty) StoreLogs(logs []*raft.Log) error {
	f.mu.Lock()
	err, hang := f.err, f.hang
	f.calls++
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	if err != nil {
		return err
	}
	return f.Store.StoreLogs(logs)
}

func (f *faulty) set(err error, hang chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.hang = err, hang
}

func openFaulty(t *testing.T, deadline time.Duration) (*Replica, *faulty, chan error) {
	t.Helper()
	stopped := make(chan error, 4)
	cfg := config(t.TempDir(), raftlog.WAL, &list{})
	cfg.FailStop = func(err error) { stopped <- err }
	cfg.AppendDeadline = deadline
	f := &faulty{Store: memStore{raft.NewInmemStore(), io.NopCloser(nil)}}
	cfg.Store = func() (raftlog.Store, error) { return f, nil }
	r := mustOpen(t, cfg)
	return r, f, stopped
}

func TestFirstStoreErrorLatches(t *testing.T) {
	r, f, stopped := openFaulty(t, time.Minute)
	mustPropose(t, r, "a1")
	ioErr := errors.New("input/output error")
	f.set(ioErr, nil)
	_, err := r.Propose(within(t), []byte("a2"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("the failed append gives %v, reason %q, want an unknown outcome", err, errs.ReasonOf(err))
	}
	if err := <-stopped; !errors.Is(err, ioErr) {
		t.Errorf("FailStop got %v", err)
	}
	f.set(nil, nil) // the disk works again, but the log must not be trusted
	calls := f.calls
	if err := r.log.StoreLog(&raft.Log{Index: 99}); !errors.Is(err, ioErr) {
		t.Errorf("a later write gives %v", err)
	}
	noted, ended := false, make(chan struct{})
	go func() { // raft would panic over an error of Set, and must not continue
		defer close(ended)
		_ = r.log.SetUint64([]byte("k"), 1)
		noted = true
	}()
	if <-ended; noted {
		t.Error("a goroutine that sets a stable value continues after the failure")
	}
	if f.calls != calls {
		t.Error("the store was written after its failure")
	}
	if _, err := r.Propose(within(t), []byte("a3")); errs.ReasonOf(err) != errs.Busy {
		t.Errorf("a later proposal gives %v", err)
	}
	if err := r.Snapshot(); !errors.Is(err, ioErr) {
		t.Errorf("a later snapshot gives %v", err)
	}
	if err := r.WaitLeader(within(t)); !errors.Is(err, ioErr) {
		t.Errorf("WaitLeader gives %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-stopped:
		t.Errorf("FailStop called again with %v", err)
	default:
	}
}

func TestHangingStoreLatches(t *testing.T) {
	r, f, stopped := openFaulty(t, time.Second)
	release := make(chan struct{})
	f.set(nil, release)
	_, err := r.Propose(within(t), []byte("a1"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("got %v, want an unknown outcome", err)
	}
	if err := <-stopped; !strings.Contains(err.Error(), "did not answer within") {
		t.Errorf("FailStop got %v", err)
	}
	close(release)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestSecondOpenOfBoltLog(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, config(dir, raftlog.Bolt, &list{}))
	if _, err := Open(config(dir, raftlog.Bolt, &list{})); err == nil {
		t.Error("a log was opened twice")
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20} {
		b.Run(byteName(size), func(b *testing.B) {
			r, err := Open(Config{
				Group: "bench", NodeID: "n1", Dir: filepath.Join(b.TempDir(), "g"), FSM: discard{}, Bootstrap: true,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			if err := r.WaitLeader(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				if _, err := r.Propose(b.Context(), make([]byte, size)); err != nil {
					b.Fatal(err)
				}
				if r.LogBytes() > 64<<20 {
					if err := r.Snapshot(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func byteName(n int) string {
	if n >= 1<<20 {
		return "1MiB"
	}
	return map[int]string{4 << 10: "4KiB", 64 << 10: "64KiB"}[n]
}

// discard is a state machine without state.
type discard struct{}

func (discard) Apply(uint64, uint64, []byte) any  { return nil }
func (discard) Snapshot(uint64) (Snapshot, error) { return discard{}, nil }
func (discard) Restore(io.Reader) error           { return nil }
func (discard) Persist(w io.Writer) error         { _, err := w.Write([]byte("-")); return err }
func (discard) Release()                          {}

// TestRefusals checks the errors for proposals that raft did not take.
func TestRefusals(t *testing.T) {
	r := &Replica{cfg: Config{Group: "g", NodeID: "n"}}
	for err, want := range map[error]errs.Reason{
		raft.ErrLeadershipTransferInProgress: errs.NotLeader, // the caller tries again until the deadline
		raft.ErrEnqueueTimeout:               errs.Busy,
		raft.ErrAbortedByRestore:             errs.Busy,
		raft.ErrLeadershipLost:               errs.OutcomeUnknown,
		raft.ErrRaftShutdown:                 errs.OutcomeUnknown,
	} {
		if got := r.refusal(err); got.Reason != want || got.RetryAfter == 0 && want != errs.OutcomeUnknown {
			t.Errorf("%v: reason %q, to be tried again after %s; want %q", err, got.Reason, got.RetryAfter, want)
		}
	}
}
