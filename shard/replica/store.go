package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// boltFile is the log's file name if it is a Bolt.
const boltFile = "raft.db"

// openBackend opens the log. marks are how large it is where it is known without reading
// it again, which is up to its newest file.
func openBackend(cfg Config, g *guard, logger hclog.Logger) (store Store, marks []mark, err error) {
	if cfg.Store != nil {
		store, err = cfg.Store()
		return store, nil, err
	}
	dir := filepath.Join(cfg.Dir, "log")
	if cfg.Log == Bolt {
		if err := checkBoltLog(filepath.Join(dir, boltFile)); err != nil {
			return nil, nil, err
		}
		store, err = raftboltdb.New(raftboltdb.Options{
			Path: filepath.Join(dir, boltFile), MsgpackUseNewTimeFormat: true,
			BoltOptions: &bbolt.Options{Timeout: 2 * time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
		})
		if errors.Is(err, bolterrors.ErrTimeout) {
			err = fmt.Errorf("%w: another process has %s open", err, dir)
		}
		return store, nil, err
	}
	meta := &walMeta{guard: g, needless: cfg.needless, cut: cfg.cut}
	filer := segment.NewFiler(dir, &walFS{fs.New(), g, meta})
	meta.filer = filer
	store, err = wal.Open(dir, wal.WithSegmentSize(cfg.SegmentBytes), wal.WithLogger(logger), wal.WithMetaStore(meta), wal.WithSegmentFiler(filer))
	if err != nil {
		// The library leaves the list open, and whoever opens the log next would wait for its
		// lock for ever.
		return nil, nil, errors.Join(err, meta.Close())
	}
	return store, meta.sealed, nil
}

// checkBoltLog checks the pages of a log before it is opened. A file that another
// process has open is left to the lock.
func checkBoltLog(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err == nil {
		err = checkBuckets(path, "conf", "logs")
	}
	if err != nil {
		return err
	}
	// Raft panics over an entry that cannot be read.
	return verifyBoltLog(path, &Verified{}, nil)
}

// logStore is the log and stable store that raft uses. It latches on the first
// error of a write, bounds the time of an append, waits for room on a full disk,
// checks what it reads, and counts bytes.
//
// Reads may come from several goroutines; appends and deletions of the log come
// from raft's main and snapshot goroutines, and the backend orders them.
type logStore struct {
	*guard
	backend Store
	metrics *metrics
	// sums has the store put a checksum into every entry: the backend has none.
	sums bool
	// history keeps what was applied from being taken back; nil: nothing was.
	history *history

	mu      sync.Mutex // guards what is below; held for moments only
	sizes   sizes
	recent  recent
	loading bool
	// covered is the index of the snapshot that the log was loaded with: raft read only the
	// entries behind it, and the last one.
	covered uint64
	// others are the entries since loading began that are no commands.
	others map[uint64]struct{}
}

func newLogStore(b Store, g *guard, m *metrics, kind LogKind) *logStore {
	return &logStore{guard: g, backend: b, metrics: m, sums: kind == Bolt, loading: true, others: map[uint64]struct{}{}}
}

// preload tells how large the log is up to covered, the index of the newest snapshot: raft
// reads only what is behind that. What marks do not tell is read if the log is small; of a WAL
// the newest file is not counted then.
func (s *logStore) preload(marks []mark, covered uint64) error {
	first, err := s.backend.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	for _, m := range marks {
		if m.index >= first && m.index <= covered {
			s.sizes.add(m.index, m.end)
		}
	}
	if !s.sums {
		return nil
	}
	for index := first; index <= covered; index++ {
		var l raft.Log
		if err := s.backend.GetLog(index, &l); errors.Is(err, raft.ErrLogNotFound) {
			break // the log ends before the snapshot does
		} else if err != nil {
			return err
		}
		s.sizes.add(index, entryBytes(&l))
	}
	return nil
}

// loaded ends the phase in which raft reads the log through once, and Bytes
// learns from it how large it is. It began behind the snapshot whose index is covered.
func (s *logStore) loaded(covered uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading, s.covered = false, covered
}

// isLoading tells whether raft has not begun its work.
func (s *logStore) isLoading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loading
}

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
	s.mu.Lock()
	found := s.recent.get(index, l)
	s.mu.Unlock()
	if found {
		return nil
	}
	if !s.sums {
		// raft-wal hands out entries that were cut off while their file is there, and raft
		// would send them to others instead of a snapshot.
		if first, err := s.backend.FirstIndex(); err != nil {
			return err
		} else if index < first {
			return raft.ErrLogNotFound // raft compares it with ==
		}
	}
	err := s.backend.GetLog(index, l)
	if err != nil && errors.Is(err, wal.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	if err == nil && s.sums {
		err = checkSum(l)
	}
	if err == nil {
		s.mu.Lock()
		if s.loading {
			s.note(l)
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
	if err := s.history.storing(logs); err != nil {
		s.latch(err)
		return err
	}
	stored := logs
	if s.sums {
		stored = withSums(logs)
	}
	start := time.Now()
	err := s.change(fmt.Sprintf("append entries %d to %d", first, last), func() error { return s.backend.StoreLogs(stored) })
	if err != nil {
		return err
	}
	s.metrics.appended(time.Since(start), bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logs {
		s.note(l)
	}
	s.recent.add(logs)
	return nil
}

// note takes an entry into account; mu is held.
func (s *logStore) note(l *raft.Log) {
	s.sizes.add(l.Index, entryBytes(l))
	if l.Type == raft.LogCommand {
		delete(s.others, l.Index)
	} else {
		s.others[l.Index] = struct{}{}
	}
}

// lastCommand is the index of the last command up to index. known is false if it lies
// before what this process has read or written of the log, or before the log: a snapshot
// covers that, so it is applied. Nobody knows whether the entries there are commands:
// those that stay in the log behind a snapshot, for other members, are not read.
func (s *logStore) lastCommand(index uint64) (last uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if _, other := s.others[index]; !other {
			break
		}
		index--
	}
	if index <= s.covered {
		return 0, false
	}
	if first, err := s.backend.FirstIndex(); err == nil && (first == 0 || index < first) {
		return 0, false
	}
	return index, true
}

// BytesAfter is about how many bytes of entries the log holds behind index.
func (s *logStore) BytesAfter(index uint64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes.after(index)
}

// entriesOf is how many of the last entries have so many bytes at most.
func (s *logStore) entriesOf(bytes int64, last uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return last - min(last, s.sizes.from(bytes))
}

func (s *logStore) DeleteRange(from, to uint64) error {
	first, err := s.backend.FirstIndex()
	if err != nil {
		return err
	}
	last, err := s.backend.LastIndex()
	if err != nil {
		return err
	}
	if err := s.history.cutting(from, to, last); err != nil {
		s.latch(err)
		return err
	}
	err = s.change(fmt.Sprintf("delete entries %d to %d", from, to), func() error { return s.backend.DeleteRange(from, to) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent.cut(from, to)
	if from <= first {
		s.sizes.cutHead(to)
	} else {
		s.sizes.cutTail(from)
	}
	for index := range s.others {
		if index >= from && index <= to {
			delete(s.others, index)
		}
	}
	return nil
}

// change does one write of the backend; see guard. A WAL waits for room by itself,
// below what it has in memory.
func (s *logStore) change(what string, do func() error) error {
	return s.write(what, func() error { return s.whileFull(what, writeFull, do) })
}

// Raft's own values lie in the store with the CRC-32C of key and value behind them;
// the backends have none. See FORMAT.md.

func (s *logStore) Set(key, val []byte) error {
	err := s.change("set "+string(key), func() error { return s.backend.Set(key, appendValueSum(key, val)) })
	if err != nil && !s.isLoading() || errors.Is(err, errWaitEnded) {
		// Raft panics if it cannot note its term or its vote, and must not go on as if it
		// had. It is being shut down, or the log has failed and the process is about to end with
		// the reason: its goroutine ends here.
		runtime.Goexit()
	}
	return err
}

func (s *logStore) Get(key []byte) ([]byte, error) {
	stored, err := s.backend.Get(key)
	if errors.Is(err, raftboltdb.ErrKeyNotFound) || err == nil && len(stored) == 0 {
		return nil, errNotFound
	}
	if err != nil {
		return nil, err
	}
	val, err := cutValueSum(key, stored)
	if err != nil {
		return nil, fmt.Errorf("log: %w; restore the directory from a replica or a backup", err)
	}
	return val, nil
}

func (s *logStore) SetUint64(key []byte, val uint64) error {
	return s.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

func (s *logStore) GetUint64(key []byte) (uint64, error) {
	val, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, fmt.Errorf("log: value of %s has %d bytes, want 8", key, len(val))
	}
	return binary.BigEndian.Uint64(val), nil
}

// errNotFound is the error that raft expects, by its text, for a missing key.
var errNotFound = errors.New("not found")

func valueSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, val)
}

func appendValueSum(key, val []byte) []byte {
	return binary.LittleEndian.AppendUint32(append([]byte(nil), val...), valueSum(key, val))
}

func cutValueSum(key, stored []byte) ([]byte, error) {
	n := len(stored) - 4
	if n < 0 || valueSum(key, stored[:n]) != binary.LittleEndian.Uint32(stored[n:]) {
		return nil, damagedf("value of %q, % x, is damaged: it does not match its checksum", key, stored)
	}
	return stored[:n], nil
}

// entrySum is the checksum of an entry, which lies where raft lets stores put their own.
func entrySum(l *raft.Log) []byte {
	var b [17]byte
	binary.LittleEndian.PutUint64(b[:], l.Index)
	binary.LittleEndian.PutUint64(b[8:], l.Term)
	b[16] = byte(l.Type)
	crc := crc32.Update(crc32.Checksum(b[:], castagnoli), castagnoli, l.Data)
	return binary.LittleEndian.AppendUint32(nil, crc)
}

// withSums returns entries with their checksums; raft goes on to use the others.
func withSums(logs []*raft.Log) []*raft.Log {
	out := make([]*raft.Log, len(logs))
	for i, l := range logs {
		c := *l
		c.Extensions = entrySum(l)
		out[i] = &c
	}
	return out
}

func checkSum(l *raft.Log) error {
	if want := entrySum(l); !bytes.Equal(l.Extensions, want) {
		return damagedf("log: entry %d is damaged: its checksum is %x, want %x; restore the directory from a replica or a backup", l.Index, l.Extensions, want)
	}
	l.Extensions = nil
	return nil
}
