package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/proto/errs"

	"cordwood/shard/replica/raftlog"
)

func TestRestartReplaysWhatIsNotDurable(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		dir := t.TempDir()
		fsm := &list{}
		r := mustOpen(t, config(dir, kind, fsm))
		mustPropose(t, r, words("a", 1, 5)...)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}

		fsm = fsm.reopened()
		r = mustOpen(t, config(dir, kind, fsm))
		wantList(t, fsm, words("a", 1, 5))
		if len(fsm.seen) != 5 {
			t.Errorf("replayed %d entries, want 5", len(fsm.seen))
		}

		if err := r.Snapshot(); err != nil {
			t.Fatal(err)
		}
		mustPropose(t, r, words("b", 1, 2)...)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}

		fsm = fsm.reopened()
		mustOpen(t, config(dir, kind, fsm))
		wantList(t, fsm, append(words("a", 1, 5), words("b", 1, 2)...))
		if len(fsm.seen) != 2 {
			t.Errorf("replayed %d entries after the snapshot, want 2", len(fsm.seen))
		}
	})
}

// TestOpenAfterKill copies the directory of a running replica, which is what a kill leaves behind.
func TestOpenAfterKill(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		dir, copied := t.TempDir(), t.TempDir()
		fsm := &list{}
		r := mustOpen(t, config(dir, kind, fsm))
		mustPropose(t, r, words("a", 1, 20)...)
		if err := r.Snapshot(); err != nil {
			t.Fatal(err)
		}
		mustPropose(t, r, words("b", 1, 20)...)
		killed := fsm.reopened()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, config(copied, kind, killed))
		wantList(t, killed, append(words("a", 1, 20), words("b", 1, 20)...))
	})
}

func TestConcurrentProposals(t *testing.T) {
	fsm := batchList{&list{}}
	r := mustOpen(t, config(t.TempDir(), raftlog.WAL, fsm))
	const writers, each = 8, 25
	var wg sync.WaitGroup
	indexes := make([][]uint64, writers)
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range each {
				a, err := r.Propose(context.Background(), fmt.Appendf(nil, "%d/%d", w, i))
				if err != nil {
					t.Error(err)
					return
				}
				indexes[w] = append(indexes[w], a.Index)
			}
		}()
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, list := range indexes {
		for i, index := range list {
			if seen[index] {
				t.Errorf("index %d given twice", index)
			}
			if i > 0 && index <= list[i-1] {
				t.Errorf("index %d after %d from one writer", index, list[i-1])
			}
			seen[index] = true
		}
	}
	if got := len(fsm.all()); got != writers*each {
		t.Errorf("applied %d, want %d", got, writers*each)
	}
	if fsm.batches == 0 || fsm.batches > writers*each {
		t.Errorf("%d batches", fsm.batches)
	}
}

func TestProposeRefusals(t *testing.T) {
	cfg := config(t.TempDir(), raftlog.WAL, &list{})
	cfg.MaxEntryBytes = 100
	r := mustOpen(t, cfg)
	ended, cancel := context.WithCancel(context.Background())
	cancel()

	check := func(name string, err error, code errs.Code, reason errs.Reason, cause error) {
		t.Helper()
		if errs.CodeOf(err) != code || errs.ReasonOf(err) != reason || !errors.Is(err, cause) {
			t.Errorf("%s: %v, code %d, reason %q", name, err, errs.CodeOf(err), errs.ReasonOf(err))
		}
	}
	_, err := r.Propose(within(t), make([]byte, 101))
	check("too large", err, errs.InvalidArguments, errs.BadBatch, ErrTooLarge)
	_, err = r.Propose(ended, []byte("a"))
	check("ended", err, errs.Cancelled, "", context.Canceled)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = r.Propose(within(t), []byte("a"))
	check("closed", err, errs.ShardNotReady, errs.NotLeader, ErrClosed)
	if err := r.WaitLeader(ended); err == nil {
		t.Error("a closed replica leads")
	}
}

// blocker holds its goroutine in Apply until released.
type blocker struct {
	*list
	entered, release chan struct{}
}

func (b blocker) Apply(index, term uint64, data []byte) any {
	if string(data) == "block" {
		close(b.entered)
		<-b.release
	}
	return b.list.Apply(index, term, data)
}

func TestProposeEndsWithItsContext(t *testing.T) {
	fsm := blocker{&list{}, make(chan struct{}), make(chan struct{})}
	r := mustOpen(t, config(t.TempDir(), raftlog.WAL, fsm))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-fsm.entered; cancel() }()
	_, err := r.Propose(ctx, []byte("block"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown || errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("got %v, reason %q, want an unknown outcome", err, errs.ReasonOf(err))
	}
	close(fsm.release)
	mustPropose(t, r, "after")
	wantList(t, fsm.list, []string{"block", "after"})
}

func TestUnknownCommandHalts(t *testing.T) {
	dir := t.TempDir()
	stopped := make(chan error, 2)
	cfg := config(dir, raftlog.WAL, &list{})
	cfg.FailStop = func(err error) { stopped <- err }
	r := mustOpen(t, cfg)
	mustPropose(t, r, "a1")
	_, err := r.Propose(within(t), []byte("unknown"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("proposal returned %v", err)
	}
	if err := <-stopped; !strings.Contains(err.Error(), "no such command") {
		t.Errorf("FailStop got %v", err)
	}
	if _, err := r.Propose(within(t), []byte("a2")); err == nil {
		t.Error("a halted replica took a proposal")
	}
	if s := r.Stats(); s.State != "Failed" || s.AppliedIndex != 4 {
		t.Errorf("stats are %+v", s)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	// The replica halts again, because the entry is in the log and is not skipped.
	cfg.FSM = &list{}
	r, err = Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if err := <-stopped; !strings.Contains(err.Error(), "no such command") {
		t.Errorf("FailStop after the restart got %v", err)
	}
}

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	_, err := Open(Config{Log: 7, MaxEntryBytes: -1})
	for _, want := range []string{"Group", "NodeID", "Dir", "FSM", "Log is 7", "MaxEntryBytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestBootstrapAfterItWasCutShort(t *testing.T) {
	dir := t.TempDir()
	if err := raftlog.MakeDirs(dir); err != nil {
		t.Fatal(err)
	}
	log, err := raftlog.Open(raftlog.Config{Dir: dir, AppendDeadline: time.Minute, Fail: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.SetTerm(1); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, mustOpen(t, config(dir, raftlog.WAL, &list{})), "a")
}

func TestInspectLog(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		dir := t.TempDir()
		r := mustOpen(t, config(dir, kind, &list{}))
		mustPropose(t, r, "alpha", "beta")
		if kind == raftlog.Bolt { // only one process at a time
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		if err := raftlog.Inspect(&out, dir, func(w io.Writer, data []byte) {
			_, _ = fmt.Fprintf(w, "  %s\n", data)
		}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"1 term 1 membership", "Voter n1 at n1", "command, 5 bytes\n  alpha\n", "command, 4 bytes\n  beta\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("output lacks %q:\n%s", want, out.String())
			}
		}
	})
	if err := raftlog.Inspect(io.Discard, filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a missing directory is not an error")
	}
}

// TestThreeMembers uses raft's in-memory transport. The leader transfers leadership when it closes,
// and a member that lacks the log gets a snapshot.
func TestThreeMembers(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	trans := map[string]*raft.InmemTransport{}
	for _, id := range ids {
		_, trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
	}
	for _, a := range ids {
		for _, b := range ids {
			trans[a].Connect(raft.ServerAddress(b), trans[b])
		}
	}
	fsms, members := map[string]*list{}, map[string]*Replica{}
	open := func(id string, bootstrap bool) {
		fsms[id] = &list{}
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: fsms[id], Bootstrap: bootstrap, Transport: trans[id],
			Log:              raftlog.Bolt,
			HeartbeatTimeout: 150 * time.Millisecond, CommitTimeout: 20 * time.Millisecond, TrailingLogs: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		members[id] = r
	}
	open("n1", true)
	if err := members["n1"].WaitLeader(within(t)); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, members["n1"], words("a", 1, 10)...)
	if err := members["n1"].Snapshot(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[1:] {
		open(id, false)
		if err := members["n1"].raft.AddVoter(raft.ServerID(id), raft.ServerAddress(id), 0, 0).Error(); err != nil {
			t.Fatal(err)
		}
	}
	mustPropose(t, members["n1"], "b1")
	_, err := members["n2"].Propose(within(t), []byte("x"))
	if errs.ReasonOf(err) != errs.NotLeader || !strings.Contains(err.Error(), "leader is n1") {
		t.Errorf("a follower answers %v", err)
	}
	if err := members["n1"].Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(within(t))
	leads := make(chan string, 2)
	for _, id := range ids[1:] {
		go func() {
			if members[id].WaitLeader(ctx) == nil {
				leads <- id
			}
		}()
	}
	leader := <-leads
	cancel()
	mustPropose(t, members[leader], "c1")
	wantList(t, fsms[leader], append(words("a", 1, 10), "b1", "c1"))
	if fsms[leader].restored != 1 {
		t.Errorf("the new leader was restored %d times, want once", fsms[leader].restored)
	}
}
