package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/shard/replica/raftlog"
)

// list is a state machine that records its commands. Its durable part outlives the replica, as a
// shard's segments do.
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

// reopened returns the state machine after a restart, with its durable part only.
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

// batchList is a list that applies entries in batches.
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

func config(dir string, kind raftlog.Kind, fsm FSM) Config {
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

func kinds(t *testing.T, f func(t *testing.T, kind raftlog.Kind)) {
	for _, kind := range []raftlog.Kind{raftlog.WAL, raftlog.Bolt} {
		t.Run(kind.String(), func(t *testing.T) { f(t, kind) })
	}
}
