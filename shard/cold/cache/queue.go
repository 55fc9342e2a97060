package cache

import "container/list"

// queues decide which extents are removed, in the way of S3-FIFO: new extents go to a small queue. From there, those
// that a second query used go to the main queue, and all others out of the cache. So a scan pushes out only what other
// scans brought. An extent that returns soon after it was removed goes to the main queue. Extents in use are in neither
// queue; those that are no longer used return to the front.
type queues struct {
	small, main list.List // of *entry
	// smallBytes and bytes are of all entries, in the queues or in use.
	smallBytes, bytes int64
	// ghosts are extents that were removed from the small queue, the newest in front.
	ghosts     list.List // of ghost
	ghostIndex map[ghost]*list.Element
	entries    int
}

// queued is what the queues know of an entry.
type queued struct {
	at    *list.Element // in its queue; nil while it is in use
	bytes int64
	main  bool
	// uses counts the queries that used it since, at most maxUses.
	uses uint8
}

// ghost identifies an extent.
type ghost struct {
	name   string
	extent int
}

const (
	// smallShare is the share of the small queue, in percent.
	smallShare = 10
	maxUses    = 3
	// minGhosts is the least number of ghosts that is kept. Otherwise there are as many as entries.
	minGhosts = 1024
)

// enter adds an entry that is in use.
func (q *queues) enter(e *entry) {
	g := ghost{e.o.name, e.extent}
	if at := q.ghostIndex[g]; at != nil {
		q.ghosts.Remove(at)
		delete(q.ghostIndex, g)
		e.main = true
	}
	q.entries++
}

// grow changes the size of an entry.
func (q *queues) grow(e *entry, by int64) {
	e.bytes += by
	q.bytes += by
	if !e.main {
		q.smallBytes += by
	}
}

// rest puts an entry that is no longer in use into its queue.
func (q *queues) rest(e *entry) {
	if e.main {
		e.at = q.main.PushFront(e)
	} else {
		e.at = q.small.PushFront(e)
	}
}

// use takes an entry that comes into use out of its queue.
func (q *queues) use(e *entry) {
	if e.at == nil {
		return
	}
	if e.main {
		q.main.Remove(e.at)
	} else {
		q.small.Remove(e.at)
	}
	e.at = nil
}

// leave removes an entry that is not in use.
func (q *queues) leave(e *entry) {
	q.use(e)
	q.grow(e, -e.bytes)
	q.entries--
}

// victim returns an entry that is to be removed, or nil if all are in use.
func (q *queues) victim() *entry {
	for {
		fromSmall := q.small.Len() > 0 && (q.smallBytes*100 > q.bytes*smallShare || q.main.Len() == 0)
		if fromSmall {
			e := q.small.Back().Value.(*entry)
			if e.uses == 0 {
				q.haunt(e)
				return e
			}
			q.use(e)
			e.uses = 0
			e.main = true
			q.smallBytes -= e.bytes
			q.rest(e)
			continue
		}
		if q.main.Len() == 0 {
			return nil
		}
		e := q.main.Back().Value.(*entry)
		if e.uses == 0 {
			return e
		}
		e.uses--
		q.main.MoveToFront(e.at)
	}
}

// haunt remembers an entry of the small queue that is being removed.
func (q *queues) haunt(e *entry) {
	g := ghost{e.o.name, e.extent}
	if q.ghostIndex == nil {
		q.ghostIndex = map[ghost]*list.Element{}
	}
	if q.ghostIndex[g] == nil {
		q.ghostIndex[g] = q.ghosts.PushFront(g)
	}
	for q.ghosts.Len() > max(q.entries, minGhosts) {
		delete(q.ghostIndex, q.ghosts.Remove(q.ghosts.Back()).(ghost))
	}
}
