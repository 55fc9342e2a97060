package write

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// stickyBytes is the approximate number of bytes of a table that go to one of its shards before another shard is
// chosen. Small requests to the same shard become large batches.
const stickyBytes = 1 << 20

// partitions chooses a shard for tables that have several. It keeps a shard for stickyBytes, and then chooses the
// shard to which the fewest bytes are being sent.
type partitions struct {
	mu     sync.Mutex
	tables map[uint64]*sticky // by table id
}

type sticky struct {
	epoch uint32
	shard uint32
	left  int
}

// maxSticky limits the number of tables that are remembered.
const maxSticky = 10_000

// pick returns the shard for the given number of bytes of a table. It prefers shards that are not in avoid.
func (p *partitions) pick(t *schema.Table, bytes int, avoid []uint32, shards Shards) uint32 {
	place := t.Writable()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.tables[t.ID]
	if s == nil {
		if p.tables == nil || len(p.tables) >= maxSticky {
			p.tables = map[uint64]*sticky{}
		}
		s = &sticky{}
		p.tables[t.ID] = s
	}
	if s.epoch != place.Epoch || s.left <= 0 || slices.Contains(avoid, s.shard) || !canWrite(shards, s.shard, t.Database) {
		*s = sticky{epoch: place.Epoch, shard: least(place.Shards(), avoid, shards, t.Database), left: stickyBytes}
	}
	s.left -= bytes
	return s.shard
}

// least returns the shard to which the fewest bytes are being sent. It prefers shards that can take writes and are
// not in avoid.
func least(list, avoid []uint32, shards Shards, database string) uint32 {
	rank := func(id uint32) int {
		switch {
		case slices.Contains(avoid, id):
			return 2
		case !canWrite(shards, id, database):
			return 1
		}
		return 0
	}
	best, bestRank, bestLoad := uint32(0), 3, int64(0)
	for at, n := rand.IntN(len(list)), 0; n < len(list); at, n = (at+1)%len(list), n+1 {
		id := list[at]
		r, load := rank(id), shards.Load(id)
		if r < bestRank || r == bestRank && load < bestLoad {
			best, bestRank, bestLoad = id, r, load
		}
	}
	return best
}

// canWrite reports whether a shard can take writes of a database, as far as this node knows.
func canWrite(shards Shards, id uint32, database string) bool {
	if shards.Ailing(id) {
		return false
	}
	_, pressed := shards.Pressed(id, database)
	return !pressed
}

// route assigns a shard to each job that is not stored yet.
func (w *Writer) route(t *target) {
	place := t.table.Writable()
	if len(place.More) == 0 {
		for _, j := range t.jobs {
			if j.part == nil {
				j.shard = place.ShardID
			}
		}
		return
	}
	list := place.Shards()
	for _, j := range t.jobs {
		switch {
		case j.acked, j.part != nil: // a job of a partition already has its shard
		case j.id != batchID{}:
			j.shard = j.keyShard(list)
		default:
			j.shard = w.partitions.pick(t.table, j.bytes, j.avoid, w.cfg.Shards)
		}
	}
}

// again reports whether a request that failed may be sent again. ok is true if certainly no row of the failed jobs
// was stored, and either the local view of a table is old (stale) or another shard may accept the rows. It also
// records the shards to avoid.
func (r *request) again() (stale, ok bool) {
	var moved []*job
	for _, t := range r.targets {
		for _, j := range t.jobs {
			if j.acked || j.err == nil {
				continue
			}
			switch errs.ReasonOf(j.err) {
			case errs.SchemaStale, errs.WrongEpoch, errs.TableGone:
				stale = true
			case errs.Busy, errs.NotLeader:
				if j.part != nil || j.id != (batchID{}) || len(j.avoid)+1 >= len(t.table.Writable().Shards()) {
					return false, false
				}
				moved = append(moved, j)
			default:
				return false, false
			}
		}
	}
	for _, j := range moved {
		j.avoid = append(j.avoid, j.shard)
	}
	return stale, stale || len(moved) > 0
}

// Full returns an error if a table cannot be created because the quota of its database was used up a moment ago.
func (w *Writer) Full(database, table string) error {
	w.schemas.mu.Lock()
	defer w.schemas.mu.Unlock()
	return w.schemas.fullFor(database, table)
}

// Pressed reports whether the shards of a table are so busy that they would probably refuse rows, and when to
// retry. If the table does not exist, it returns false.
func (w *Writer) Pressed(database, table string) (retryAfter time.Duration, yes bool) {
	t, ok := w.cfg.Meta.Table(database, table)
	if !ok || len(t.Placement) == 0 {
		return 0, false
	}
	place := t.Writable()
	if len(place.More) == 0 {
		return w.cfg.Shards.Pressed(place.ShardID, database)
	}
	least := time.Duration(0)
	for _, id := range place.Shards() {
		after, pressed := w.cfg.Shards.Pressed(id, database)
		if !pressed {
			return 0, false
		}
		if least == 0 || after < least {
			least = after
		}
	}
	return least, true
}
