package replica

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// boltFile is the log's file name if it is a Bolt.
const boltFile = "raft.db"

// backend is a log and stable store of one of the kinds.
type backend interface {
	raft.LogStore
	raft.StableStore
	Close() error
}

func openBackend(cfg Config, logger hclog.Logger) (backend, error) {
	dir := filepath.Join(cfg.Dir, "log")
	if cfg.Log == Bolt {
		store, err := raftboltdb.New(raftboltdb.Options{
			Path: filepath.Join(dir, boltFile), MsgpackUseNewTimeFormat: true,
			BoltOptions: &bbolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
		})
		if errors.Is(err, bolterrors.ErrTimeout) {
			err = fmt.Errorf("%w: another process has %s open", err, dir)
		}
		return store, err
	}
	return wal.Open(dir, wal.WithSegmentSize(cfg.SegmentBytes), wal.WithLogger(logger))
}

// logStore is the log and stable store that raft uses. It latches on the first
// error of a write, bounds the time of an append, and counts bytes.
//
// Reads may come from several goroutines; appends and deletions of the log come
// from raft's main and snapshot goroutines, and the backend orders them.
type logStore struct {
	backend  backend
	deadline time.Duration
	metrics  *metrics
	fail     func(error)

	broken atomic.Pointer[error] // the latch: the first error of a write

	mu      sync.Mutex // guards sizes, loading; held for moments only
	sizes   sizes
	loading bool
	closed  chan struct{}
}

func newLogStore(b backend, deadline time.Duration, m *metrics, fail func(error)) *logStore {
	return &logStore{backend: b, deadline: deadline, metrics: m, fail: fail, loading: true, closed: make(chan struct{})}
}

// loaded ends the phase in which raft reads the log through once, and Bytes
// learns from it how large it is.
func (s *logStore) loaded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading = false
}

// close stops the deadline of an append that never came back from counting.
func (s *logStore) close() { close(s.closed) }

// Bytes is about how many bytes of entries the log holds.
func (s *logStore) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes.total()
}

// IsMonotonic has raft remove all older entries after it restored a snapshot.
// raft-wal needs that; with bolt it avoids a follower that downloads the same
// snapshot for ever because an old entry at its end disagrees (raft issue 697).
func (s *logStore) IsMonotonic() bool { return true }

func (s *logStore) FirstIndex() (uint64, error) { return s.backend.FirstIndex() }
func (s *logStore) LastIndex() (uint64, error)  { return s.backend.LastIndex() }

func (s *logStore) GetLog(index uint64, l *raft.Log) error {
	err := s.backend.GetLog(index, l)
	if err != nil && errors.Is(err, wal.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	if err == nil {
		s.mu.Lock()
		if s.loading {
			s.sizes.add(index, entryBytes(l))
		}
		s.mu.Unlock()
	}
	return err
}

func (s *logStore) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries; they are durable when it returns nil.
func (s *logStore) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	first, last := logs[0].Index, logs[len(logs)-1].Index
	var bytes int64
	for _, l := range logs {
		bytes += entryBytes(l)
	}
	start := time.Now()
	err := s.write(fmt.Sprintf("append entries %d to %d", first, last), func() error { return s.backend.StoreLogs(logs) })
	if err != nil {
		return err
	}
	s.metrics.appended(time.Since(start), bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logs {
		s.sizes.add(l.Index, entryBytes(l))
	}
	return nil
}

func (s *logStore) DeleteRange(from, to uint64) error {
	first, err := s.backend.FirstIndex()
	if err != nil {
		return err
	}
	err = s.write(fmt.Sprintf("delete entries %d to %d", from, to), func() error { return s.backend.DeleteRange(from, to) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if from <= first {
		s.sizes.cutHead(to)
	} else {
		s.sizes.cutTail(from)
	}
	return nil
}

func (s *logStore) Set(key, val []byte) error {
	return s.write("set "+string(key), func() error { return s.backend.Set(key, val) })
}

func (s *logStore) Get(key []byte) ([]byte, error) {
	val, err := s.backend.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, errNotFound
	}
	return val, err
}

func (s *logStore) SetUint64(key []byte, val uint64) error {
	return s.write("set "+string(key), func() error { return s.backend.SetUint64(key, val) })
}

func (s *logStore) GetUint64(key []byte) (uint64, error) {
	val, err := s.backend.GetUint64(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return 0, errNotFound
	}
	return val, err
}

// errNotFound is the error that raft expects, by its text, for a missing key.
var errNotFound = errors.New("not found")

// write does one write of the backend unless an earlier one failed. The first
// failure, and a write that exceeds the deadline, ends the replica.
func (s *logStore) write(what string, do func() error) error {
	if err := s.broken.Load(); err != nil {
		return fmt.Errorf("log: %s refused after an earlier failure: %w", what, *err)
	}
	watch := time.AfterFunc(s.deadline, func() {
		select {
		case <-s.closed:
		default:
			s.latch(fmt.Errorf("log: %s: the disk did not answer within %s", what, s.deadline))
		}
	})
	err := do()
	watch.Stop()
	if err != nil {
		err = fmt.Errorf("log: %s: %w", what, err)
		s.latch(err)
		return err
	}
	if err := s.broken.Load(); err != nil { // the deadline passed
		return *err
	}
	return nil
}

func (s *logStore) latch(err error) {
	if s.broken.CompareAndSwap(nil, &err) {
		s.metrics.failed()
		s.fail(err)
	}
}

// entryBytes is the size of an entry on disk, about.
func entryBytes(l *raft.Log) int64 { return int64(len(l.Data)+len(l.Extensions)) + 32 }

// sizes knows about how many bytes a range of entries has, in little memory: a
// mark for every markBytes of log.
type sizes struct {
	base, end int64 // bytes ever added before the first kept entry, and in all
	marks     []mark
}

type mark struct {
	index uint64 // last entry of the mark
	end   int64  // bytes ever added up to it
}

const markBytes = 64 << 10

func (s *sizes) total() int64 { return s.end - s.base }

// add counts an entry; those at or after index are forgotten, as they are overwritten.
func (s *sizes) add(index uint64, bytes int64) {
	s.cutTail(index)
	s.end += bytes
	if n := len(s.marks); n == 0 || s.marks[n-1].end-s.before(n-1) >= markBytes {
		s.marks = append(s.marks, mark{})
	}
	s.marks[len(s.marks)-1] = mark{index: index, end: s.end}
}

// before is the bytes ever added before mark i.
func (s *sizes) before(i int) int64 {
	if i == 0 {
		return s.base
	}
	return s.marks[i-1].end
}

// cutHead forgets the entries up to and including index.
func (s *sizes) cutHead(index uint64) {
	n := 0
	for n < len(s.marks) && s.marks[n].index <= index {
		s.base = s.marks[n].end
		n++
	}
	s.marks = append(s.marks[:0], s.marks[n:]...)
}

// cutTail forgets the entries from index on.
func (s *sizes) cutTail(index uint64) {
	for n := len(s.marks); n > 0 && s.marks[n-1].index >= index; n = len(s.marks) {
		s.end = s.before(n - 1)
		s.marks = s.marks[:n-1]
	}
}
