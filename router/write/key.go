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
	"cordwood/proto/turns"
)

// Key identifies a request, so that the client may send it again without storing its rows twice. A request with the
// zero Key has no key.
type Key struct {
	// Text is the key that the client sent.
	Text string
	// User separates the keys of different users.
	User string
	// Body is a hash of the request's body. Another body with the same key is refused. If it is 0, bodies are not
	// compared.
	Body uint64
	// Params is a hash of the parameters that decide which rows are created and where they go. Other parameters with
	// the same key are refused in the same way as another body.
	Params uint64
	// byUser is set if the session id contains a hash of the user.
	byUser bool
	// byParams is set if the hash Body covers Params.
	byParams bool
}

// withParams returns the key with a Body that is a hash of body and parameters. Its batch ids differ from those of
// older versions. So a request that is sent again across the upgrade counts as new, and is not refused for its
// parameters.
func (k Key) withParams() Key {
	b := binary.BigEndian.AppendUint64([]byte("cordwood request parameters"), k.Body)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, k.Params))
	k.Body, k.byParams = max(binary.BigEndian.Uint64(sum[:]), 1), true
	return k
}

// userHash returns the part of a session id that depends on the user.
func (k Key) userHash() uint16 {
	sum := sha256.Sum256([]byte("cordwood user " + k.User))
	return binary.BigEndian.Uint16(sum[:])
}

// session returns the session id for batches whose key has the given hash.
func (k Key) session(hash uint64) uint64 {
	if k.byUser {
		return column.KeyedByUser(hash, k.userHash())
	}
	return hash | column.KeyedBit
}

// keysSince is the first cluster version whose shards support keys.
const keysSince = 2

// bodiesSince is the first cluster version whose routers put the hash of the body into ids.
const bodiesSince = metapb.ProtocolKeyBodies

// paramsSince is the first cluster version whose hash covers the parameters.
const paramsSince = metapb.ProtocolKeyParams

// keyMemory is how long former shards are asked for keys after a table's writes moved to other shards. It is twice as
// long as shards remember keys, because their clocks may be behind. It starts when this writer first sees the new
// epoch, measured by the monotonic clock, because the time in the table comes from another node's clock. But if the
// time in the table is older than pastClocks, only that time counts, because nodes whose clocks differ by more than a
// day do not communicate.
const (
	keyMemory  = 30 * time.Minute
	pastClocks = 25 * time.Hour
)

// epochs remembers when the writer first saw each epoch of a table.
type epochs struct {
	mu    sync.Mutex // guards since
	since map[tableEpoch]time.Time
}

type tableEpoch struct {
	table uint64 // the table's first id
	epoch uint32
}

// maxEpochs limits the number of epochs that are remembered. An epoch that was forgotten counts as new when it is
// seen again.
const maxEpochs = 10_000

// known returns how long the writer has known an epoch.
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

// id derives the id of a batch from the key, the table (by its first id), the number of the part of the request for
// this table, and the range of rows. path is the partition's path if the rows were divided by partition. If a
// request is sent again to any router, the ids are the same, provided that its rows are divided in the same way.
//
// The hash of the body, if there is one, is the upper half of the sequence number and not part of the session. So a
// shard can detect that a key is used with another body.
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

// keyShard returns the shard for a job of a request with a key. Every router chooses the same shard for a key,
// independent of the body.
func (j *job) keyShard(shards []uint32) uint32 {
	if j.body {
		return shards[j.id.session%uint64(len(shards))]
	}
	return shards[j.id.seq%uint64(len(shards))]
}

// identify sets the batch ids of the jobs of a request with a key. Their tables must be known.
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

// earlier returns the former shards of a table that may have rows of a repeated request, because they took the
// table's writes until recently.
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

// sealed remembers which shards know that other shards now take a table's writes. Shards do not forget this.
type sealed struct {
	mu   sync.Mutex
	done map[seal]struct{}
}

type seal struct {
	table uint64
	epoch uint32
	shard uint32
}

// maxSeals limits the number of entries that sealed remembers. If a shard gets the same definition again, it answers
// at once.
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

// markStored marks the jobs that a former shard of their table has stored, if the request has a key. The former
// shard first gets the definition that ends its writes of the table, so that it never appends the batches later.
func (w *Writer) markStored(ctx context.Context, req *request) error {
	byShard := map[uint32][]*job{}
	now := time.Now()
	for _, t := range req.pending() {
		if t.discarded() {
			continue
		}
		for _, shard := range w.epochs.earlier(t.table, now) {
			if w.cfg.Meta.ShardRetired(shard) {
				continue // it is not removed before it has forgotten all keys
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
	turns.Leave(ctx)
	var mu sync.Mutex // several goroutines may change the same jobs
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallelShards)
	for shard, jobs := range byShard {
		group.Go(func() error {
			has, err := w.storedOn(ctx, shard, jobs)
			if err != nil {
				return errs.Wrap(errs.ShardUnreachable, err, "ask former shard %d whether it has stored the request",
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
		err = errs.New(errs.Internal, "shard %d: %d keys were requested, %d were answered", shard, len(jobs), len(has))
	}
	return has, err
}
