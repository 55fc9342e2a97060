package shard

import (
	"time"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
)

// Batches of requests with a key of the client's have the hash of that key for their id,
// rather than a session and a number that were given to a router: whoever sends the
// request again, by whichever router, sends the same ids. column.KeyedSession tells them.
const (
	// keyTTL is how long, by the replicated clock, such a batch is remembered, and maxKeys
	// how many are: beyond it the oldest one is forgotten. They are part of the replicated
	// rules: a change needs a new entry version.
	keyTTL  = 15 * time.Minute
	maxKeys = 200_000
)

// keyWindow remembers which batches with a key were appended.
type keyWindow struct {
	ids map[batchID]struct{}
	// bodies has, for each session in ids, what the newest of its batches says of the body.
	bodies map[uint64]uint32
	// queue has the ids in the order in which they were appended, from head on: their
	// times ascend, because the clock never goes back.
	queue []manifest.Key
	head  int
}

func newKeyWindow(stored []manifest.Key) *keyWindow {
	w := &keyWindow{ids: make(map[batchID]struct{}, len(stored)), bodies: make(map[uint64]uint32, len(stored))}
	for _, k := range stored {
		w.add(batchID{k.Session, k.Seq}, k.At)
	}
	return w
}

func (w *keyWindow) has(id batchID) bool {
	_, ok := w.ids[id]
	return ok
}

// reused tells whether the request's key was used with another body. Keys of routers that put no
// body into ids have a session for each id, so it tells nothing of them.
func (w *keyWindow) reused(id batchID) bool {
	body, ok := w.bodies[id.session]
	return ok && body != column.KeyedBody(id.seq)
}

// add notes that a batch was appended at a time of the replicated clock.
func (w *keyWindow) add(id batchID, now int64) {
	if w.has(id) {
		return
	}
	if w.len() >= maxKeys {
		w.pop()
	}
	w.ids[id] = struct{}{}
	w.bodies[id.session] = column.KeyedBody(id.seq)
	w.queue = append(w.queue, manifest.Key{Session: id.session, Seq: id.seq, At: now})
}

// age forgets what is too old at a time of the replicated clock.
func (w *keyWindow) age(now int64) {
	for w.len() > 0 && now-w.queue[w.head].At > int64(keyTTL) {
		w.pop()
	}
}

func (w *keyWindow) len() int { return len(w.queue) - w.head }

// pop forgets the oldest batch.
func (w *keyWindow) pop() {
	k := &w.queue[w.head]
	delete(w.ids, batchID{k.Session, k.Seq})
	if w.bodies[k.Session] == column.KeyedBody(k.Seq) {
		delete(w.bodies, k.Session)
	}
	w.head++
	if w.head > 1024 && w.head > len(w.queue)/2 {
		w.queue = append(w.queue[:0], w.queue[w.head:]...)
		w.head = 0
	}
}

// stored returns the window as the manifest keeps it.
func (w *keyWindow) stored() []manifest.Key {
	return append([]manifest.Key(nil), w.queue[w.head:]...)
}

// keyed tells whether a batch belongs to a request with a key.
func keyed(h *column.Header) bool { return column.KeyedSession(h.Session) }

// HasKey tells whether a batch of a request with a key was appended, as far as the shard
// remembers and this replica has applied.
func (s *Shard) HasKey(session, seq uint64) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.state.keys.has(batchID{session, seq})
}
