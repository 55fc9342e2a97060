package rules

import (
	"cmp"
	"container/heap"
	"time"

	"cordwood/proto/column"
	"cordwood/shard/manifest"
)

// The id of a batch of a request with an idempotency key is a hash of this key, instead of a
// session and a number that were assigned to a router. So a repetition of the request has the same
// ids, whichever router receives it. column.KeyedSession recognises these ids.
const (
	// KeyTTL is how long, by the replicated clock, such a batch is remembered. maxKeys is the
	// maximum number of remembered batches. If there are more, one is forgotten: the oldest of the
	// user with the most, so that no user shortens the time of others' keys; after an entry without
	// users, the oldest of all. Both constants are part of the replicated rules, so changing one
	// needs a new kind of entry.
	KeyTTL  = 15 * time.Minute
	maxKeys = 200_000
)

// KeysLast returns for how long the state still remembers keys of requests if no more are added, at
// a time of the replicated clock. 0 means that it remembers none.
func (st *State) KeysLast(now int64) time.Duration {
	w := st.keys
	if w.last == none {
		return 0
	}
	return max(0, KeyTTL-time.Duration(now-w.keys[w.last].At))
}

// keyWindow remembers which batches with a key were appended.
type keyWindow struct {
	// byUser means that the user with the most batches loses one if there are too many.
	byUser bool
	max    int // maxKeys, unless a test sets it
	ids    map[BatchID]struct{}
	// bodies has, for each session in ids, the hash of the body in its newest batch.
	bodies map[uint64]uint32
	// keys are linked in the order in which they were appended, in one list of all and one list for
	// each user. Their times ascend, because the clock never goes back. free lists the unused
	// slots.
	keys        []linkedKey
	free        []int32
	first, last int32
	users       map[uint16]*userKeys
	most        mostKeys
}

// linkedKey is a batch with the slots of its neighbours and of the next one of its user; none means
// that there is none.
type linkedKey struct {
	manifest.Key
	before, after, next int32
}

const none = -1

// userKeys is the batches of the users with one hash.
type userKeys struct {
	user        uint16
	first, last int32
	count       int
	at          int // position in the heap
}

func newKeyWindow(stored []manifest.Key) *keyWindow {
	w := &keyWindow{
		max: maxKeys, ids: make(map[BatchID]struct{}, len(stored)), bodies: make(map[uint64]uint32, len(stored)),
		keys:  make([]linkedKey, 0, len(stored)),
		users: map[uint16]*userKeys{}, first: none, last: none,
	}
	for _, k := range stored {
		w.add(BatchID{k.Session, k.Seq}, k.At)
	}
	return w
}

func (w *keyWindow) has(id BatchID) bool {
	_, ok := w.ids[id]
	return ok
}

// reused reports whether the request's key was used with another body or with other parameters. It
// returns false for batches of older routers, whose ids do not depend on the body and which have a
// session for each id.
func (w *keyWindow) reused(id BatchID) bool {
	body, ok := w.bodies[id.Session]
	return ok && body != column.KeyedBody(id.Seq)
}

// add records that a batch was appended at a time of the replicated clock.
func (w *keyWindow) add(id BatchID, now int64) {
	if w.has(id) {
		return
	}
	switch {
	case w.len() < w.max:
	case w.byUser:
		w.forget(w.most[0])
	default:
		w.forgetOldest()
	}
	w.ids[id] = struct{}{}
	w.bodies[id.Session] = column.KeyedBody(id.Seq)
	at := w.place()
	w.keys[at] = linkedKey{manifest.Key{Session: id.Session, Seq: id.Seq, At: now}, w.last, none, none}
	if w.last == none {
		w.first = at
	} else {
		w.keys[w.last].after = at
	}
	w.last = at
	user := column.KeyedUser(id.Session)
	u := w.users[user]
	if u == nil {
		u = &userKeys{user: user, first: at, last: at}
		w.users[user] = u
		heap.Push(&w.most, u)
	} else {
		w.keys[u.last].next, u.last = at, at
	}
	u.count++
	heap.Fix(&w.most, u.at)
}

// place returns a slot for another key.
func (w *keyWindow) place() int32 {
	if n := len(w.free); n > 0 {
		at := w.free[n-1]
		w.free = w.free[:n-1]
		return at
	}
	w.keys = append(w.keys, linkedKey{})
	return int32(len(w.keys) - 1) //nolint:gosec // at most max
}

// age forgets batches that are too old at a time of the replicated clock.
func (w *keyWindow) age(now int64) {
	for w.first != none && now-w.keys[w.first].At > int64(KeyTTL) {
		w.forgetOldest()
	}
}

func (w *keyWindow) len() int { return len(w.ids) }

// forgetOldest forgets the oldest batch of all.
func (w *keyWindow) forgetOldest() { w.forget(w.users[column.KeyedUser(w.keys[w.first].Session)]) }

// forget forgets the oldest batch of a user.
func (w *keyWindow) forget(u *userKeys) {
	at := u.first
	k := &w.keys[at]
	delete(w.ids, BatchID{k.Session, k.Seq})
	if w.bodies[k.Session] == column.KeyedBody(k.Seq) {
		delete(w.bodies, k.Session)
	}
	if k.before == none {
		w.first = k.after
	} else {
		w.keys[k.before].after = k.after
	}
	if k.after == none {
		w.last = k.before
	} else {
		w.keys[k.after].before = k.before
	}
	w.free = append(w.free, at)
	u.first = k.next
	if u.count--; u.count > 0 {
		heap.Fix(&w.most, u.at)
		return
	}
	heap.Remove(&w.most, u.at)
	delete(w.users, u.user)
}

// stored returns the window as it is stored in the manifest.
func (w *keyWindow) stored() []manifest.Key {
	out := make([]manifest.Key, 0, w.len())
	for at := w.first; at != none; at = w.keys[at].after {
		out = append(out, w.keys[at].Key)
	}
	return out
}

// mostKeys is a heap of users ordered by their number of batches, descending, and by the hash if
// that is equal. The order must not depend on how users were added.
type mostKeys []*userKeys

func (h mostKeys) Len() int { return len(h) }

func (h mostKeys) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].count, h[i].count), cmp.Compare(h[i].user, h[j].user)) < 0
}

func (h mostKeys) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push and Pop implement heap.Interface.

func (h *mostKeys) Push(x any) {
	u := x.(*userKeys) //nolint:errcheck,forcetypeassert // add pushes nothing else
	u.at = len(*h)
	*h = append(*h, u)
}

func (h *mostKeys) Pop() any {
	last := len(*h) - 1
	u := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return u
}

// Keyed reports whether a batch belongs to a request with a key.
func Keyed(h *column.Header) bool { return column.KeyedSession(h.Session) }
