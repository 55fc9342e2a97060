package replica

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

func entries(from, to, term uint64) []*raft.Log {
	var out []*raft.Log
	for i := from; i <= to; i++ {
		out = append(out, &raft.Log{Index: i, Term: term, Data: []byte{byte(i), byte(term)}})
	}
	return out
}

func TestRecentEntries(t *testing.T) {
	var r recent
	has := func(index, term uint64, want bool) {
		t.Helper()
		var l raft.Log
		if got := r.get(index, &l); got != want || got && (l.Index != index || l.Term != term || l.Data[1] != byte(term)) {
			t.Errorf("entry %d: got %v, %+v; want %v, of term %d", index, got, l, want, term)
		}
	}
	has(0, 0, false)
	first := entries(1, 100, 1)
	r.add(first)
	has(100-recentEntries, 1, false) // its place is another's
	has(100-recentEntries+1, 1, true)
	has(100, 1, true)
	has(101, 1, false)

	r.cut(90, 100)
	has(89, 1, true)
	has(90, 1, false)
	has(100, 1, false)
	second := entries(90, 95, 2)
	r.add(second)
	has(89, 1, true)
	has(95, 2, true)
	has(96, 1, false)
	runtime.KeepAlive(first)
	runtime.KeepAlive(second)
}

// Nothing is kept in memory only because it was written lately.
func TestRecentEntriesAreNotKept(t *testing.T) {
	var r recent
	r.add(entries(1, 8, 1))
	runtime.GC()
	runtime.GC()
	var l raft.Log
	for i := uint64(1); i <= 8; i++ {
		if r.get(i, &l) {
			t.Errorf("entry %d is still in memory", i)
		}
	}
}

// What the store hands out is what is in the log, also after its end was replaced.
func TestRecentEntriesFollowTheLog(t *testing.T) {
	for _, kind := range []LogKind{WAL, Bolt} {
		s := openStore(t, t.TempDir(), kind)
		first := entries(1, 10, 1)
		if err := s.StoreLogs(first); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRange(6, 10); err != nil {
			t.Fatal(err)
		}
		second := entries(6, 8, 2)
		if err := s.StoreLogs(second); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteRange(1, 2); err != nil {
			t.Fatal(err)
		}
		for i := uint64(1); i <= 10; i++ {
			var l raft.Log
			err := s.GetLog(i, &l)
			want := uint64(1)
			if i >= 6 {
				want = 2
			}
			if gone := i <= 2 || i > 8; gone != (err == raft.ErrLogNotFound) || !gone && (err != nil || l.Index != i || l.Term != want) { //nolint:errorlint // raft compares it so
				t.Errorf("%v: entry %d: %+v, %v", kind, i, l, err)
			}
		}
		runtime.KeepAlive(first)
		runtime.KeepAlive(second)
	}
}

func openStore(t *testing.T, dir string, kind LogKind) *logStore {
	t.Helper()
	cfg := config(dir, kind, &list{}).withDefaults()
	if err := makeDirs(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	g := newGuard(cfg.AppendDeadline, cfg.Logger, nil, func(err error) { t.Error(err) })
	backend, _, err := openBackend(cfg, g, newHCLogger(cfg.Logger))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return newLogStore(backend, g, newMetrics(nil, "test"), kind)
}

// counted is a pipeline that only counts what is sent.
type counted struct {
	raft.AppendPipeline
	sent int
}

func (c *counted) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	c.sent++
	return unsent{args, resp}, nil
}

// An idle leader does not tell its members the same again and again.
func TestAppendsThatTellNothingAreNotSent(t *testing.T) {
	c := &counted{}
	w := &wire{stuck: func() bool { return false }, last: func() uint64 { return 6 }}
	p := &wirePipeline{AppendPipeline: c, w: w, sent: time.Now()}
	send := func(want int, args raft.AppendEntriesRequest) {
		t.Helper()
		p.sent = p.sent.Add(-timerPause)
		if _, err := p.AppendEntries(&args, &raft.AppendEntriesResponse{}); err != nil {
			t.Fatal(err)
		}
		if c.sent != want {
			t.Errorf("%d appends were sent, want %d: the last one is %+v", c.sent, want, args)
		}
	}
	entries := entries(5, 6, 2)
	send(1, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 4, PrevLogTerm: 1, LeaderCommitIndex: 4, Entries: entries})
	send(1, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 4})
	send(2, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6}) // what is committed
	send(2, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
	send(3, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6, Entries: entries}) // again: not for us to judge
	if _, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6}, nil); err != nil || c.sent != 4 {
		t.Errorf("no timer asked for an append, and it was not sent: raft would ask again and again: %v", err)
	}
	c.sent--
	p.told = p.told.Add(-repeatAfter)
	send(4, raft.AppendEntriesRequest{Term: 2, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
	send(5, raft.AppendEntriesRequest{Term: 3, PrevLogEntry: 6, PrevLogTerm: 2, LeaderCommitIndex: 6})
}

// full is a pipeline that answers the first append, and has room for no other one.
type full struct {
	answers chan raft.AppendFuture
	closed  chan struct{}
	once    sync.Once
}

func (f *full) AppendEntries(*raft.AppendEntriesRequest, *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	<-f.closed
	return nil, raft.ErrPipelineShutdown
}
func (f *full) Consumer() <-chan raft.AppendFuture { return f.answers }
func (f *full) Close() error                       { f.once.Do(func() { close(f.closed) }); return nil }

// After an answer that is no success raft takes no more of them. What it sends nevertheless
// must not wait for ever: raft could not be stopped any more.
func TestPipelineEndsWithWhoTakesItsAnswers(t *testing.T) {
	for name, answer := range map[string]raft.AppendEntriesResponse{
		"refused": {Term: 2}, "newer term": {Term: 3, Success: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &full{answers: make(chan raft.AppendFuture, 1), closed: make(chan struct{})}
			w := &wire{stuck: func() bool { return false }, last: func() uint64 { return 6 }, peers: map[string]peerProgress{}}
			p := &wirePipeline{AppendPipeline: f, w: w, id: "b", out: make(chan raft.AppendFuture), done: make(chan struct{}), sent: time.Now()}
			go p.run()
			f.answers <- unsent{&raft.AppendEntriesRequest{Term: 2}, &answer}
			<-p.Consumer() // and nothing after it
			if _, err := p.AppendEntries(&raft.AppendEntriesRequest{Term: 2, Entries: entries(5, 6, 2)}, nil); !errors.Is(err, raft.ErrPipelineShutdown) {
				t.Errorf("an append after the last answer: %v", err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
