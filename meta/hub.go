package meta

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
)

// These are the limits of the hub: the number of changes that it keeps, and their total size.
const (
	hubChanges = 4096
	hubBytes   = 64 << 20
)

// hub keeps the newest changes, once for all watches. A watch that has fallen behind the oldest
// kept change is ended and has to start again with the whole state, so a slow watch costs no
// memory.
type hub struct {
	mu sync.Mutex
	// ring holds the kept changes in log order, oldest at head.
	ring  [hubChanges]*change
	head  int
	count int
	bytes int
	// floor is the index of the newest change that is no longer kept. A watch that has not seen it
	// cannot continue.
	floor uint64
	// epoch is incremented when the state is replaced, which ends all watches.
	epoch  int
	closed bool
	grown  chan struct{} // closed, and replaced, when one of the fields above changes
}

func newHub(applied uint64) *hub { return &hub{floor: applied, grown: make(chan struct{})} }

// publish adds changes, which must be in log order and must not be changed any more.
func (h *hub) publish(changes []*change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range changes {
		size := proto.Size(c)
		for h.count == hubChanges || h.count > 0 && h.bytes+size > hubBytes {
			h.dropOldest()
		}
		h.ring[(h.head+h.count)%hubChanges] = c
		h.count++
		h.bytes += size
	}
	h.wake()
}

func (h *hub) dropOldest() {
	oldest := h.ring[h.head]
	h.ring[h.head] = nil
	h.floor = oldest.Index
	h.head = (h.head + 1) % hubChanges
	h.count--
	h.bytes -= proto.Size(oldest)
}

// reset drops all changes, because the state was replaced by one at index.
func (h *hub) reset(index uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ring, h.head, h.count, h.bytes = [hubChanges]*change{}, 0, 0, 0
	h.floor = index
	h.epoch++
	h.wake()
}

// close ends all watches.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	h.wake()
}

func (h *hub) wake() {
	close(h.grown)
	h.grown = make(chan struct{})
}

// generation returns the epoch to which changes are added.
func (h *hub) generation() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// after returns at most limit kept changes after the given index, and a channel that is closed when
// there may be more. An error means that a watch at this index cannot continue and has to be
// restarted.
func (h *hub) after(index uint64, epoch, limit int) ([]*change, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, nil, errs.New(errs.ShardNotReady, "watch the metadata: this member is closing; watch another, or later")
	case epoch != h.epoch:
		return nil, nil,
			errs.New(errs.ShardNotReady, "watch the metadata: the state was restored from a snapshot; start the watch again")
	case index < h.floor:
		return nil, nil, errs.New(errs.ShardNotReady, "watch the metadata: the watch is %d changes behind; start it "+
			"again", h.count)
	}
	// The indexes ascend along the ring.
	lo, hi := 0, h.count
	for lo < hi {
		mid := (lo + hi) / 2
		if h.ring[(h.head+mid)%hubChanges].Index <= index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	n := min(h.count-lo, limit)
	out := make([]*change, n)
	for i := range out {
		out[i] = h.ring[(h.head+lo+i)%hubChanges]
	}
	return out, h.grown, nil
}
