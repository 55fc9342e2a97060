package write

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// Key names a request, so that its client may send it again without storing its rows twice.
// The zero Key means that the request has none.
type Key struct {
	// Text is what the client sent.
	Text string
	// User keeps the keys of users apart.
	User string
	// Body is a hash of the request's body: another body under the same key is refused.
	// 0 means that bodies are not compared.
	Body uint64
	// Params is a hash of what else decides which rows the body becomes and where they go: other
	// parameters under the same key are refused as another body is.
	Params uint64
	// byUser says that the session contains a hash of the user.
	byUser bool
	// byParams says that Body covers Params.
	byParams bool
}

// withParams returns the key with a hash of body and parameters as its Body. The ids of the
// parts differ from those without: a request that is sent again across the upgrade is a new
// one, and not refused for its parameters.
func (k Key) withParams() Key {
	b := binary.BigEndian.AppendUint64([]byte("cordwood request parameters"), k.Body)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, k.Params))
	k.Body, k.byParams = max(binary.BigEndian.Uint64(sum[:]), 1), true
	return k
}

// userHash returns the part of a session that depends on the user.
func (k Key) userHash() uint16 {
	sum := sha256.Sum256([]byte("cordwood user " + k.User))
	return binary.BigEndian.Uint16(sum[:])
}

// session returns the session of the batches whose key has a hash.
func (k Key) session(hash uint64) uint64 {
	if k.byUser {
		return column.KeyedByUser(hash, k.userHash())
	}
	return hash | column.KeyedBit
}

// keysSince is the first cluster version in which shards know keys.
const keysSince = 2

// bodiesSince is the first cluster version in which routers put the body's hash into ids.
const bodiesSince = metapb.ProtocolKeyBodies

// paramsSince is the first cluster version in which that hash covers the parameters.
const paramsSince = metapb.ProtocolKeyParams

// keyMemory is how long the former shards are asked for keys after a table's writes moved to other
// shards. It is twice as long as they remember keys, because their clocks may be behind. It counts
// from the moment at which this writer first saw the new epoch, by the monotonic clock; the time
// in the table comes from another node's clock. After pastClocks that time alone decides: nodes
// whose clocks differ by more than a day do not talk to each other.
const (
	keyMemory  = 30 * time.Minute
	pastClocks = 25 * time.Hour
)

// epochs remembers since when a writer has known epochs of tables.
type epochs struct {
	mu    sync.Mutex // guards since
	since map[tableEpoch]time.Time
}

type tableEpoch struct {
	table uint64 // by its first id
	epoch uint32
}

// maxEpochs bounds what epochs remembers; what is forgotten counts as seen first when it is seen again.
const maxEpochs = 10_000

// known returns for how long an epoch has been known.
func (e *epochs) known(x tableEpoch, now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	since, ok := e.since[x]
	if !ok {
		if e.since == nil || len(e.since) >= maxEpochs {
			e.since = map[tableEpoch]time.Time{}
		}
		e.since[x], since = now, now
	}
	return now.Sub(since)
}

// batchID is the identity of a batch.
type batchID struct{ session, seq uint64 }

// id derives a batch id from the key, the table (by the id that it was made with), the number
// of the part that the request has for it, and the range of rows; path is the partition's, if
// the rows were divided by partitions. Resending the same request yields the same ids from any
// router, provided that its rows divide in the same way.
//
// The hash of the body, if there is one, is the upper half of the sequence number and not part
// of the session: so a shard can notice that a key comes with another body.
func (k Key) id(table uint64, nth, from, to int, path uint64) batchID {
	b := make([]byte, 0, 128+len(k.Text)+len(k.User))
	switch {
	case k.Body == 0:
		b = append(b, "cordwood request key 1"...)
	case !k.byParams:
		b = append(b, "cordwood request key 2"...)
	default:
		b = append(b, "cordwood request key 3"...)
	}
	for _, text := range []string{k.Text, k.User} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = binary.BigEndian.AppendUint64(b, table)
	for _, n := range []int{nth, from} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if k.Body == 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(to))
	}
	if path != 0 {
		b = binary.BigEndian.AppendUint64(b, path)
	}
	sum := sha256.Sum256(b)
	if k.Body != 0 {
		end := sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(to)))
		return batchID{k.session(binary.BigEndian.Uint64(sum[:])), column.KeyedSeq(k.Body, binary.BigEndian.Uint32(end[:]))}
	}
	return batchID{k.session(binary.BigEndian.Uint64(sum[:])), binary.BigEndian.Uint64(sum[8:])}
}

// keyShard returns the shard of the table that takes a job of a request with a key. Every router
// chooses the same one, whatever the body is.
func (j *job) keyShard(shards []uint32) uint32 {
	if j.body {
		return shards[j.id.session%uint64(len(shards))]
	}
	return shards[j.id.seq%uint64(len(shards))]
}

// identify gives the jobs of a request with a key their identities. Their tables are known.
func (r *request) identify(key Key) {
	if key == (Key{}) {
		return
	}
	r.keyed = true
	nth := map[uint64]int{}
	for _, t := range r.targets {
		n := nth[t.table.Origin()]
		nth[t.table.Origin()]++
		for _, j := range t.jobs {
			j.body = key.Body != 0
			if p := j.part; p != nil {
				j.id = key.id(t.table.Origin(), n, p.from, p.to, p.path)
			} else {
				j.id = key.id(t.table.Origin(), n, j.from, j.to, 0)
			}
		}
	}
}

// earlier lists the former shards of a table that may have rows of a request that is sent
// again: they took its writes until a short time ago.
func (e *epochs) earlier(t *schema.Table, now time.Time) []uint32 {
	var out []uint32
	present := t.Writable()
	for i := 0; i+1 < len(t.Placement); i++ {
		next := &t.Placement[i+1]
		if next.Since == 0 || now.Sub(time.Unix(0, next.Since)) > pastClocks ||
			e.known(tableEpoch{t.Origin(), next.Epoch}, now) > keyMemory {
			continue
		}
		for _, id := range t.Placement[i].Shards() {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	if len(out) == 1 && len(present.More) == 0 && out[0] == present.ShardID {
		return nil
	}
	return out
}

// sealed remembers which shards know that a table's writes go elsewhere. They do not forget it.
type sealed struct {
	mu   sync.Mutex
	done map[seal]struct{}
}

type seal struct {
	table uint64
	epoch uint32
	shard uint32
}

// maxSeals bounds what sealed remembers; a shard that gets a definition again answers at once.
const maxSeals = 10_000

func (s *sealed) has(x seal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.done[x]
	return ok
}

func (s *sealed) add(x seal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil || len(s.done) >= maxSeals {
		s.done = map[seal]struct{}{}
	}
	s.done[x] = struct{}{}
}

// markStored marks the jobs of a request with a key that a former shard of their table has
// stored. That shard first gets the definition by which it takes no more writes of the table:
// batches that it has not appended by then it never will.
func (w *Writer) markStored(ctx context.Context, req *request) error {
	byShard := map[uint32][]*job{}
	now := time.Now()
	for _, t := range req.pending() {
		if t.discarded() {
			continue
		}
		for _, shard := range w.epochs.earlier(t.table, now) {
			if w.cfg.Meta.ShardRetired(shard) {
				continue // it was taken away after it had forgotten all keys
			}
			for _, j := range t.jobs {
				if !j.acked && j.shard != shard {
					byShard[shard] = append(byShard[shard], j)
				}
			}
		}
	}
	if len(byShard) == 0 {
		return nil
	}
	var mu sync.Mutex // jobs may be asked of several shards
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallelShards)
	for shard, jobs := range byShard {
		group.Go(func() error {
			has, err := w.storedOn(ctx, shard, jobs)
			if err != nil {
				return errs.Wrap(errs.ShardUnreachable, err, "shard %d took the writes before: is the request stored already?",
					shard)
			}
			mu.Lock()
			defer mu.Unlock()
			for i, j := range jobs {
				if has[i] {
					j.acked, j.err = true, nil
					w.metrics.recalls.Inc()
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (w *Writer) storedOn(ctx context.Context, shard uint32, jobs []*job) ([]bool, error) {
	var defs []*schemapb.Table
	var seals []seal
	keys := make([]*shardpb.BatchKey, len(jobs))
	for i, j := range jobs {
		keys[i] = &shardpb.BatchKey{Session: j.id.session, Sequence: j.id.seq}
		t := j.target.table
		x := seal{t.ID, t.Writable().Epoch, shard}
		if !w.seals.has(x) && !slices.Contains(seals, x) {
			seals, defs = append(seals, x), append(defs, t.ToProto())
		}
	}
	if len(defs) > 0 {
		if err := w.cfg.Shards.DefineTables(ctx, shard, defs); err != nil {
			return nil, err
		}
		for _, x := range seals {
			w.seals.add(x)
		}
	}
	has, err := w.cfg.Shards.CheckKeys(ctx, shard, keys)
	if err == nil && len(has) != len(jobs) {
		err = errs.New(errs.Internal, "shard %d: %d keys asked for, %d answered", shard, len(jobs), len(has))
	}
	return has, err
}
