package lokiapi

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/words"
	"cordwood/router/loki/lines"
)

// The limits of queues. Entries wait in a queue for the next message. Sizes are in bytes of memory.
const (
	maxWaiting     = 10_000
	maxWaitingSize = 8 << 20
	// maxAllSize is the maximum size of all queues together. The last part of it is reserved for reports of dropped
	// entries, so that each client learns that entries are missing.
	maxAllSize     = 64 << 20
	maxEntriesSize = maxAllSize - 4<<20
	maxMessageSize = 1 << 20
	maxDroppedSize = 64 << 10
	// arrivedSize is about how much memory an entry takes in addition to its texts.
	arrivedSize = 128
)

// queues are the queues of all tails of a Handler. They share memory, in which messages that are being sent count, too.
//
// If the memory is used up, entries are dropped. If a queue with less than half of its share needs room then, the tail
// of the slowest client with more than its share ends. So clients that do not read take nothing from those that do.
type queues struct {
	mu   sync.Mutex // guards the rest, and all fields of the queues that change
	open map[*queue]struct{}
	// size is the memory of everything, of which reports are reports of dropped entries that wait.
	size, reports int
	dropped       int64 // the number of entries that were dropped
	now           func() time.Time
}

func newQueues() *queues { return &queues{open: map[*queue]struct{}{}, now: time.Now} }

// queue has the entries that wait for a client.
type queue struct {
	all   *queues
	apart bool
	end   context.CancelCauseFunc

	waiting []arrived
	dropped []arrived
	// size is the memory of everything below, of which droppedSize are reports of dropped entries and sending is the
	// message that is being sent. since is when it was begun, or zero.
	size, droppedSize, sending int
	since                      time.Time
	// over is true if the tail has ended or was ended. Its queue takes no more entries.
	over bool
}

// arrived is an entry that is queued for the next message, as JSON.
type arrived struct {
	stream string
	value  []byte
	at     time.Time
}

// memory returns about how much memory the entry takes, in bytes.
func (a *arrived) memory() int { return arrivedSize + len(a.stream) + cap(a.value) }

// join adds a queue. end ends the tail of its client. If apart is true, structured metadata and parsed labels are sent
// apart from the labels of the stream.
func (all *queues) join(apart bool, end context.CancelCauseFunc) *queue {
	q := &queue{all: all, apart: apart, end: end}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[q] = struct{}{}
	return q
}

// leave gives up the queue. It takes no more entries.
func (q *queue) leave() {
	q.all.mu.Lock()
	defer q.all.mu.Unlock()
	q.clear()
	q.resize(-q.sending)
	q.sending, q.over = 0, true
	delete(q.all.open, q)
}

// held returns the memory of all queues, and how many entries were dropped so far.
func (all *queues) held() (size int, dropped int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.size, all.dropped
}

// resize adds to the memory of the queue. mu must be held.
func (q *queue) resize(by int) {
	q.size += by
	q.all.size += by
}

// clear removes everything but the message that is being sent. mu must be held.
func (q *queue) clear() {
	q.resize(q.sending - q.size)
	q.all.reports -= q.droppedSize
	q.waiting, q.dropped, q.droppedSize = nil, nil, 0
}

// put queues entries for the next message. Entries beyond the limits are dropped.
func (q *queue) put(list []*lines.Entry) error {
	for _, e := range list {
		stream, value := q.encode(e)
		q.add(arrived{string(stream), slices.Clip(value), time.Time{}}, e.Nanos)
	}
	return nil
}

// encode returns the labels of the entry's stream, and the entry, as JSON.
func (q *queue) encode(e *lines.Entry) (stream, value []byte) {
	return appendLabels(nil, streamLabels(e, q.apart)), appendEntry(nil, e, q.apart)
}

// add queues an entry, or drops it.
func (q *queue) add(a arrived, nanos int64) {
	q.all.mu.Lock()
	defer q.all.mu.Unlock()
	switch {
	case q.over:
	case len(q.waiting) < maxWaiting && q.size < maxWaitingSize && q.all.room(q, a.memory()):
		a.at = q.all.now()
		q.waiting = append(q.waiting, a)
		q.resize(a.memory())
	default:
		q.drop(a.stream, nanos)
	}
}

// room reports whether the memory has room for an entry of a queue. It may end other tails to make room. mu must be
// held.
func (all *queues) room(q *queue, size int) bool {
	share := maxEntriesSize / len(all.open)
	for all.size-all.reports+size > maxEntriesSize {
		if q.size+size > share/2 {
			return false
		}
		slow := all.slowest(share)
		if slow == nil {
			return false
		}
		slow.over = true
		slow.clear()
		slow.end(errs.New(errs.RateLimited, "the client is too slow: %d MiB wait for %s, most of them for this one",
			maxEntriesSize>>20, words.Say(len(all.open), "tail", "tails")))
	}
	return true
}

// slowest returns the queue with more than a share whose client has taken no message for the longest time, or else the
// longest such queue. It returns nil if there is none. mu must be held.
func (all *queues) slowest(share int) *queue {
	var found *queue
	for q := range all.open {
		if !q.over && q.size > share && (found == nil || q.slowerThan(found)) {
			found = q
		}
	}
	return found
}

func (q *queue) slowerThan(other *queue) bool {
	switch {
	case q.since.IsZero() != other.since.IsZero():
		return other.since.IsZero()
	case !q.since.Equal(other.since):
		return q.since.Before(other.since)
	}
	return q.size > other.size
}

// drop remembers a dropped entry for the next message, without its line. mu must be held.
func (q *queue) drop(stream string, nanos int64) {
	q.all.dropped++
	out := append([]byte(`{"labels":`), stream...)
	out = append(out, `,"timestamp":"`...)
	a := arrived{value: slices.Clip(append(strconv.AppendInt(out, nanos, 10), '"', '}'))}
	if size := a.memory(); q.droppedSize+size <= maxDroppedSize && q.all.size+size <= maxAllSize {
		q.dropped = append(q.dropped, a)
		q.droppedSize += size
		q.all.reports += size
		q.resize(size)
	}
}

// next returns the next message, or nil if no entry is due. It counts as memory of the queue until sent is called. more
// is true if further entries are due.
func (q *queue) next(delay time.Duration) (text []byte, more bool) {
	list, dropped, more := q.take(delay)
	if len(list) == 0 && len(dropped) == 0 {
		return nil, false
	}
	return q.message(list, dropped), more
}

// take takes the entries and reports of the next message out of the queue.
func (q *queue) take(delay time.Duration) (list, dropped []arrived, more bool) {
	q.all.mu.Lock()
	defer q.all.mu.Unlock()
	now, n := q.all.now(), 0
	for n < len(q.waiting) && now.Sub(q.waiting[n].at) >= delay {
		if q.sending > maxMessageSize {
			more = true
			break
		}
		q.sending += q.waiting[n].memory()
		n++
	}
	list = q.waiting[:n:n]
	q.waiting = slices.Clone(q.waiting[n:])
	dropped, q.dropped = q.dropped, nil
	q.all.reports -= q.droppedSize
	q.sending, q.droppedSize = q.sending+q.droppedSize, 0
	if q.sending > 0 {
		q.since = now
	}
	return list, dropped, more
}

// sent tells that the client has taken the message.
func (q *queue) sent() {
	q.all.mu.Lock()
	defer q.all.mu.Unlock()
	q.resize(-q.sending)
	q.sending, q.since = 0, time.Time{}
}

// message returns a message with entries.
func (q *queue) message(list, dropped []arrived) []byte {
	size := 256
	for _, a := range list {
		size += len(a.stream) + len(a.value) + 32
	}
	for _, a := range dropped {
		size += len(a.value) + 1
	}
	out := append(make([]byte, 0, size), `{"streams":[`...)
	for i, stream := range streamsOf(list) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `{"stream":`...), stream[0].stream...), `,"values":[`...)
		out = append(appendValues(out, stream), ']', '}')
	}
	out = append(out, ']')
	if q.apart {
		out = append(out, `,"encodingFlags":["categorize-labels"]`...)
	}
	out = append(out, `,"dropped_entries":[`...)
	return append(appendValues(out, dropped), ']', '}')
}

func appendValues(out []byte, list []arrived) []byte {
	for i, a := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, a.value...)
	}
	return out
}

// streamsOf groups entries by their labels.
func streamsOf(list []arrived) (out [][]arrived) {
	index := map[string]int{}
	for _, a := range list {
		i, known := index[a.stream]
		if !known {
			i = len(out)
			index[a.stream], out = i, append(out, nil)
		}
		out[i] = append(out[i], a)
	}
	return out
}
