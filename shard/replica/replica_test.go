package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/raft"
	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
)

// list is a state machine that remembers its commands; what is durable of it
// outlives the replica, as a shard's segments do.
type list struct {
	mu      sync.Mutex
	seen    []string // applied since the replica was opened
	applied uint64
	batches int

	durable      []string
	durableIndex uint64
	persistErr   error
	restored     int
}

func (l *list) Apply(index, _ uint64, data []byte) any {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index <= l.applied {
		return nil
	}
	if string(data) == "unknown" {
		return Halt(errors.New("no such command"))
	}
	l.applied = index
	l.seen = append(l.seen, string(data))
	return len(l.seen)
}

func (l *list) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(append([]string{}, l.durable...), l.seen...)
}

// reopened is the state machine after a restart: only what is durable.
func (l *list) reopened() *list {
	return &list{durable: l.durable, durableIndex: l.durableIndex, applied: l.durableIndex}
}

func (l *list) AppliedIndex() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durableIndex
}

type frozen struct {
	l     *list
	index uint64
	rows  []string
}

func (l *list) Snapshot(index uint64) (Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &frozen{l, index, append([]string{}, l.seen...)}, nil
}

func (f *frozen) Persist(w io.Writer) error {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	if f.l.persistErr != nil {
		return f.l.persistErr
	}
	f.l.durable = append(f.l.durable, f.rows...)
	f.l.seen = f.l.seen[len(f.rows):]
	f.l.durableIndex = f.index
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], f.index)
	_, err := w.Write(append(b[:], strings.Join(f.l.durable, "\n")...))
	return err
}

func (f *frozen) Release() {}

func (l *list) Restore(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.restored++
	l.durableIndex = binary.LittleEndian.Uint64(data)
	l.applied = l.durableIndex
	l.durable, l.seen = strings.Split(string(data[8:]), "\n"), nil
	return nil
}

// batchList is a list that takes entries in batches.
type batchList struct{ *list }

func (b batchList) ApplyBatch(entries []Entry) []any {
	b.mu.Lock()
	b.batches++
	b.mu.Unlock()
	out := make([]any, len(entries))
	for i, e := range entries {
		out[i] = b.Apply(e.Index, e.Term, e.Data)
	}
	return out
}

func config(dir string, kind LogKind, fsm FSM) Config {
	return Config{Group: "test", NodeID: "n1", Dir: dir, Log: kind, FSM: fsm, Bootstrap: true}
}

func mustOpen(t *testing.T, cfg Config) *Replica {
	t.Helper()
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if err := r.WaitLeader(within(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func mustPropose(t *testing.T, r *Replica, data ...string) {
	t.Helper()
	for _, d := range data {
		if _, err := r.Propose(within(t), []byte(d)); err != nil {
			t.Fatalf("propose %q: %v", d, err)
		}
	}
}

func words(prefix string, from, to int) []string {
	var out []string
	for i := from; i <= to; i++ {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}

func wantList(t *testing.T, l *list, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, l.all()); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}

func kinds(t *testing.T, f func(t *testing.T, kind LogKind)) {
	for _, kind := range []LogKind{WAL, Bolt} {
		t.Run(kind.String(), func(t *testing.T) { f(t, kind) })
	}
}

func TestRestartReplaysWhatIsNotDurable(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
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

func TestSnapshotCutsTheLog(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
		cfg := config(t.TempDir(), kind, &list{})
		cfg.SegmentBytes = 64 << 10
		r := mustOpen(t, cfg)
		big := strings.Repeat("x", 10_000)
		for range 50 {
			mustPropose(t, r, big)
		}
		before := r.LogBytes()
		if before < 500_000 {
			t.Errorf("LogBytes is %d after 500 kB of entries", before)
		}
		if err := r.Snapshot(); err != nil {
			t.Fatal(err)
		}
		first, err := r.store.FirstIndex()
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Stats().LastIndex; first < last {
			t.Errorf("log still holds entries %d to %d", first, last)
		}
		if after := r.LogBytes(); after > markBytes+20_000 {
			t.Errorf("LogBytes is %d after the snapshot, was %d", after, before)
		}
	})
}

func TestLogBytesAfterRestart(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, WAL, fsm))
	for range 20 {
		mustPropose(t, r, strings.Repeat("x", 50_000))
	}
	want := r.LogBytes()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = mustOpen(t, config(dir, WAL, fsm.reopened()))
	if got := r.LogBytes(); got < want || got > want+1000 { // an election and a barrier more
		t.Errorf("LogBytes is %d after the restart, was %d", got, want)
	}
}

// A copy of the directory, taken while the replica runs, is what a kill leaves.
func TestOpenAfterKill(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
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

func TestStateBehindSnapshotIsRestored(t *testing.T) {
	dir := t.TempDir()
	fsm := &list{}
	r := mustOpen(t, config(dir, WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, r, "b1")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	lost := &list{}
	mustOpen(t, config(dir, WAL, lost))
	if lost.restored != 1 {
		t.Errorf("restored %d times, want once", lost.restored)
	}
	wantList(t, lost, append(words("a", 1, 3), "b1"))
}

func TestSnapshotError(t *testing.T) {
	fsm := &list{persistErr: errors.New("no room")}
	r := mustOpen(t, config(t.TempDir(), WAL, fsm))
	mustPropose(t, r, words("a", 1, 3)...)
	first, _ := r.store.FirstIndex()
	if err := r.Snapshot(); !errors.Is(err, fsm.persistErr) {
		t.Errorf("Snapshot returned %v, want the error of Persist", err)
	}
	if now, _ := r.store.FirstIndex(); now != first {
		t.Errorf("a failed snapshot cut the log to %d", now)
	}
	mustPropose(t, r, "a4")
}

func TestConcurrentProposals(t *testing.T) {
	fsm := batchList{&list{}}
	r := mustOpen(t, config(t.TempDir(), WAL, fsm))
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
	cfg := config(t.TempDir(), WAL, &list{})
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
	r := mustOpen(t, config(t.TempDir(), WAL, fsm))
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
	cfg := config(dir, WAL, &list{})
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
	// It halts again: the entry is in the log and is not skipped.
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
	if err := makeDirs(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	g := newGuard(time.Minute, nil, nil, func(error) {})
	b, _, err := openBackend(Config{Dir: dir, SegmentBytes: 8 << 20}, g, newHCLogger(Config{}.withDefaults().Logger))
	if err != nil {
		t.Fatal(err)
	}
	if err := newLogStore(b, g, newMetrics(nil, "g"), WAL).SetUint64([]byte("CurrentTerm"), 1); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	mustPropose(t, mustOpen(t, config(dir, WAL, &list{})), "a")
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	cfg := config(t.TempDir(), WAL, &list{})
	cfg.Registerer = reg
	r := mustOpen(t, cfg)
	mustPropose(t, r, "a")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = f.Metric[0].GetGauge().GetValue()
	}
	want := []string{
		"cordwood_raft_applied_index", "cordwood_raft_apply_lag_entries", "cordwood_raft_commit_index", "cordwood_raft_last_index",
		"cordwood_raft_leader", "cordwood_raft_leader_known", "cordwood_raft_leadership_changes_total", "cordwood_raft_learners",
		"cordwood_raft_log_append_bytes_total", "cordwood_raft_log_append_seconds", "cordwood_raft_log_bytes", "cordwood_raft_log_damage_cut_total", "cordwood_raft_log_failures_total",
		"cordwood_raft_log_fsync_seconds", "cordwood_raft_log_oldest_age_seconds", "cordwood_raft_term", "cordwood_raft_voters",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(values))); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
	if values["cordwood_raft_leader"] != 1 || values["cordwood_raft_voters"] != 1 || values["cordwood_raft_apply_lag_entries"] != 0 || values["cordwood_raft_log_oldest_age_seconds"] <= 0 {
		t.Errorf("a group of one that applied an entry has metrics %v", values)
	}
	if err := r.Snapshot(); err != nil {
		t.Fatal(err)
	}
	families, err = reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch v := f.Metric[0].GetGauge().GetValue(); f.GetName() {
		case "cordwood_raft_log_oldest_age_seconds":
			if v != 0 {
				t.Errorf("after a snapshot of everything the oldest entry to apply again is %v s old", v)
			}
		case "cordwood_raft_snapshot_age_seconds":
			if v < 0 || v > 60 {
				t.Errorf("a snapshot that was just taken is %v s old", v)
			}
			values["snapshot taken"] = 1
		}
	}
	if values["snapshot taken"] != 1 {
		t.Error("nothing tells of the snapshot")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if families, _ := reg.Gather(); len(families) != 0 {
		t.Errorf("%d metrics are left after Close", len(families))
	}
}

func TestInspectLog(t *testing.T) {
	kinds(t, func(t *testing.T, kind LogKind) {
		dir := t.TempDir()
		r := mustOpen(t, config(dir, kind, &list{}))
		mustPropose(t, r, "alpha", "beta")
		if kind == Bolt { // one process at a time
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		var out strings.Builder
		if err := InspectLog(&out, dir, func(w io.Writer, data []byte) { _, _ = fmt.Fprintf(w, "  %s\n", data) }); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1 term 1 membership", "Voter n1 at n1", "command, 5 bytes\n  alpha\n", "command, 4 bytes\n  beta\n"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("output lacks %q:\n%s", want, out.String())
			}
		}
	})
	if err := InspectLog(io.Discard, filepath.Join(t.TempDir(), "none"), nil); err == nil {
		t.Error("a missing directory is no error")
	}
}

func TestSnapshotHeader(t *testing.T) {
	h := header{index: 7, term: 3}
	got, err := readHeader(strings.NewReader(string(h.encode())))
	if err != nil || got != h {
		t.Errorf("read %+v, %v", got, err)
	}
	const golden = "CWSN\x01\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00" // version 1, for ever
	if string(h.encode()) != golden {
		t.Errorf("the header is % x", h.encode())
	}
	newer := h.encode()
	newer[4] = 9
	if _, err := readHeader(strings.NewReader(string(newer))); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a newer version gives %v", err)
	}
	for _, bad := range []string{"", "CWSN", "XXXX" + string(h.encode()[4:])} {
		if _, err := readHeader(strings.NewReader(bad)); err == nil || errors.Is(err, ErrUnsupported) {
			t.Errorf("%q gives %v", bad, err)
		}
	}
}

// Three members over raft's in-memory transport: the leader hands on when it
// closes, and a member that missed the log is brought up by a snapshot.
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
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: fsms[id], Bootstrap: bootstrap, Transport: trans[id], Log: Bolt,
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
