package simulation

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/walfile"
)

// Log simulates the disk with the log of one raft group on one node. Synced data survives Crash. Crash also
// invalidates every open handle.
type Log struct {
	// Lazy makes appends return before they are synced, a fault that a checker for lost rows must find. The last Lazy
	// appends are lost in a crash.
	Lazy int
	// archive, if not nil, receives the entries that are removed from the start.
	archive *archive
	// trouble, if not nil, contains the faults of the disk. If losesWrites is set, an append to a full disk
	// succeeds without storing anything.
	trouble     *trouble
	losesWrites bool

	mu      sync.Mutex
	gen     int
	entries map[uint64]*raft.Log
	sums    map[uint64]uint32 // checksums of the data of each entry
	first   uint64
	last    uint64
	recent  []uint64             // the first index of each of the last Lazy appends
	lost    map[uint64]*raft.Log // the entries that crashes have removed
	values  map[string][]byte
	numbers map[string]uint64
}

// NewLog returns an empty log.
func NewLog() *Log {
	return &Log{
		entries: map[uint64]*raft.Log{}, sums: map[uint64]uint32{}, values: map[string][]byte{}, numbers: map[string]uint64{},
		lost: map[uint64]*raft.Log{},
	}
}

var errDead = errors.New("the node has crashed")

// Crash simulates a power loss.
func (l *Log) Crash() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gen++
	if len(l.recent) > 0 {
		for i := l.recent[0]; i <= l.last; i++ {
			l.lost[i] = l.entries[i]
		}
		l.cut(l.recent[0], l.last)
		l.recent = nil
	}
}

// Open returns a handle that is valid until the next Crash. Like the real logs, it checks all entries. name is used
// in the error.
func (l *Log) Open(name string) (raftlog.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range l.entries {
		if sum := crc32.ChecksumIEEE(e.Data); sum != l.sums[i] {
			return nil, &walfile.ErrCorrupt{
				File: name, What: fmt.Sprintf("entry %d has checksum %08x, want %08x", i, sum, l.sums[i]),
			}
		}
	}
	return &LogHandle{log: l, gen: l.gen}, nil
}

// Flip flips a bit of an entry, and returns the entry's index and a function that repairs it. pick chooses the entry
// and the bit; n is the number of choices. No handle may be open. index is 0 if the log has no data.
func (l *Log) Flip(pick func(n int) int) (index uint64, mend func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.DeleteFunc(slices.Sorted(maps.Keys(l.entries)), func(i uint64) bool {
		return len(l.entries[i].Data) == 0
	})
	if len(all) == 0 {
		return 0, nil
	}
	index = all[pick(len(all))]
	whole := l.entries[index]
	bad := *whole
	bad.Data = slices.Clone(whole.Data)
	bit := pick(8 * len(bad.Data))
	bad.Data[bit/8] ^= 1 << (bit % 8)
	l.entries[index] = &bad
	return index, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.entries[index] = whole
	}
}

// cut removes the entries from lo to hi at one end of the log.
func (l *Log) cut(lo, hi uint64) {
	for i := max(lo, l.first); i <= min(hi, l.last); i++ {
		// When a snapshot of another member is installed, the whole log is removed. Its entries may then differ from
		// the committed ones.
		if e := l.entries[i]; e != nil && l.archive != nil && lo <= l.first && hi < l.last {
			l.archive.put(e)
		}
		delete(l.entries, i)
		delete(l.sums, i)
	}
	switch {
	case lo <= l.first && hi >= l.last:
		l.first, l.last = 0, 0
	case lo <= l.first:
		l.first = max(l.first, hi+1)
	default:
		l.last = min(l.last, lo-1)
	}
}

// copy returns the content that would survive a crash now. setBack replaces the content with such a copy. No handle
// may be open.
func (l *Log) copy() *Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &Log{
		entries: maps.Clone(l.entries), sums: maps.Clone(l.sums), first: l.first, last: l.last,
		values: maps.Clone(l.values), numbers: maps.Clone(l.numbers), lost: map[uint64]*raft.Log{},
	}
}

func (l *Log) setBack(to *Log) {
	to = to.copy()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gen++
	l.entries, l.sums, l.first, l.last, l.recent = to.entries, to.sums, to.first, to.last, nil
	l.values, l.numbers = to.values, to.numbers
}

// LogHandle is a Log that a process has open. It is a raft log and stable store. After some errors raft panics, and
// after others it never answers its callers. So the handle of a crashed process reports success and changes nothing.
// No other node receives anything from that process.
type LogHandle struct {
	log *Log
	gen int
	// ghosts contains the entries that the remaining goroutines of a crashed process consider stored.
	ghosts sync.Map
}

var (
	_ raft.LogStore    = (*LogHandle)(nil)
	_ raft.StableStore = (*LogHandle)(nil)
)

// use runs do on the log if the handle is valid.
func (h *LogHandle) use(do func(l *Log) error) error {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	if h.gen != h.log.gen {
		return errDead
	}
	return do(h.log)
}

// Close does nothing.
func (h *LogHandle) Close() error { return nil }

// FirstIndex returns 0 for an empty log.
func (h *LogHandle) FirstIndex() (uint64, error) {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.first, nil
}

// LastIndex returns 0 for an empty log.
func (h *LogHandle) LastIndex() (uint64, error) {
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	return h.log.last, nil
}

// GetLog reads an entry. The remaining goroutines of a crashed process can still read, also what the crash has
// removed. Raft panics if it cannot read an entry that it has to apply, and a leader that hands over tries again and
// again to send an entry that it lacks, without any time between.
func (h *LogHandle) GetLog(index uint64, out *raft.Log) error {
	if e, ok := h.ghosts.Load(index); ok {
		*out = *e.(*raft.Log)
		return nil
	}
	h.log.mu.Lock()
	defer h.log.mu.Unlock()
	e := h.log.entries[index]
	if e == nil && h.gen != h.log.gen {
		e = h.log.lost[index]
	}
	if e == nil {
		return raft.ErrLogNotFound
	}
	*out = *e
	return nil
}

// StoreLog appends an entry.
func (h *LogHandle) StoreLog(e *raft.Log) error { return h.StoreLogs([]*raft.Log{e}) }

// StoreLogs appends entries. For a crashed process it reports success without storing them. No other node gets the
// answer, and raft answers its waiting callers only if its log has not failed.
func (h *LogHandle) StoreLogs(entries []*raft.Log) error {
	full := h.log.trouble.write()
	if full != nil && !h.log.losesWrites {
		return full
	}
	err := h.use(func(l *Log) error {
		for _, e := range entries {
			if l.last != 0 && e.Index != l.last+1 {
				return fmt.Errorf("append of entry %d after %d", e.Index, l.last)
			}
			c := *e
			c.Data = append([]byte(nil), e.Data...)
			l.entries[e.Index], l.sums[e.Index] = &c, crc32.ChecksumIEEE(c.Data)
			l.last = e.Index
			if l.first == 0 {
				l.first = e.Index
			}
		}
		if (l.Lazy > 0 || full != nil) && len(entries) > 0 {
			l.recent = append(l.recent, entries[0].Index)
			if len(l.recent) > l.Lazy && full == nil {
				l.recent = l.recent[1:]
			}
		}
		return nil
	})
	if errors.Is(err, errDead) {
		for _, e := range entries {
			h.ghosts.Store(e.Index, e)
		}
		return nil
	}
	return err
}

// DeleteRange removes entries at one end of the log.
func (h *LogHandle) DeleteRange(lo, hi uint64) error {
	err := h.use(func(l *Log) error { l.cut(lo, hi); return nil })
	if errors.Is(err, errDead) {
		return nil
	}
	return err
}

// set stores a value or a number. Raft panics if it cannot store its term or its vote, so for a crashed process set
// reports success without storing anything. No other node notices what raft does after that.
func (h *LogHandle) set(do func(l *Log)) error {
	err := h.log.trouble.write()
	if err == nil {
		err = h.use(func(l *Log) error { do(l); return nil })
	}
	if errors.Is(err, errDead) {
		return nil
	}
	return err
}

// Set stores a value.
func (h *LogHandle) Set(key, value []byte) error {
	return h.set(func(l *Log) { l.values[string(key)] = append([]byte(nil), value...) })
}

// Get reads a value.
func (h *LogHandle) Get(key []byte) (v []byte, err error) {
	err = h.use(func(l *Log) error {
		have, ok := l.values[string(key)]
		if !ok {
			return errors.New("not found") // raft searches for this text
		}
		v = have
		return nil
	})
	return v, err
}

// SetUint64 stores a number.
func (h *LogHandle) SetUint64(key []byte, value uint64) error {
	return h.set(func(l *Log) { l.numbers[string(key)] = value })
}

// GetUint64 reads a number.
func (h *LogHandle) GetUint64(key []byte) (v uint64, err error) {
	err = h.use(func(l *Log) error {
		have, ok := l.numbers[string(key)]
		if !ok {
			return errors.New("not found")
		}
		v = have
		return nil
	})
	return v, err
}
