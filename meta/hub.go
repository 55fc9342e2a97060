package meta

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
)

// What the hub keeps for watches that lag behind, at most: so many changes, of so
// many bytes together.
const (
	hubChanges = 4096
	hubBytes   = 64 << 20
)

// hub keeps the newest changes, once for all watches. A watch that has fallen
// behind the oldest kept change is cut off and begins anew with the whole state,
// so that a slow one costs no memory.
type hub struct {
	mu sync.Mutex
	// ring holds the kept changes in log order, oldest at head.
	ring  [hubChanges]*change
	head  int
	count int
	bytes int
	// floor is the index of the newest change that is no longer kept: a watch that
	// has not seen it cannot continue.
	floor uint64
	// epoch grows when the state was replaced: all watches are cut off.
	epoch  int
	closed bool
	grown  chan struct{} // closed, and replaced, at every change of the above
}

func newHub(applied uint64) *hub { return &hub{floor: applied, grown: make(chan struct{})} }

// publish adds changes, which are in log order and must not be changed any more.
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

// reset forgets all changes: the state at index has nothing to do with them.
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

// generation names the line of states that changes are added to.
func (h *hub) generation() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.epoch
}

// after returns the kept changes after the given index, at most limit, and a
// channel that is closed when there may be more. The error, for which a retry is
// right, says that a watch at that index cannot continue.
func (h *hub) after(index uint64, epoch, limit int) ([]*change, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, nil, errs.New(errs.ShardNotReady, "watch the metadata: this member is closing; watch another, or later")
	case epoch != h.epoch:
		return nil, nil,
			errs.New(errs.ShardNotReady, "watch the metadata: the state was restored from a snapshot; begin anew")
	case index < h.floor:
		return nil, nil, errs.New(errs.ShardNotReady, "watch the metadata: %d changes behind; begin anew", h.count)
	}
	// The indexes rise along the ring.
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
