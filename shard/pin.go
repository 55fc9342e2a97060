package shard

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/manifest"
)

// Pinned are the segments that a shard had at one moment. Their files stay until
// Close, whatever becomes of the tables.
type Pinned struct {
	// Index is the index of the log up to which the segments hold everything.
	Index uint64
	// Segments are in rising order of Order.
	Segments []Segment
	// Expired is what has expired of the tables, by ascending table id.
	Expired []manifest.Expiry
	// Merging is how the rows of tables merge, or merged, of which some do, by ascending
	// table id: every segment of such a table is in one of its eras. Not of PinState.
	Merging []manifest.Merging
	// State is the shard's durable state; of PinState only.
	State *manifest.State

	s    *Shard
	live []*liveSegment
	once sync.Once
}

// Pin flushes the shard and pins the segments that it then has: with all rows that
// were acknowledged before the call, and perhaps some that were later.
func (s *Shard) Pin(ctx context.Context) (*Pinned, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	p := &Pinned{s: s}
	s.tables.mu.RLock()
	if s.tables.closed {
		s.tables.mu.RUnlock()
		return nil, unreachable(s.cfg.ID)
	}
	if n := len(s.tables.segs.aside); n > 0 {
		s.tables.mu.RUnlock()
		return nil, errs.New(errs.IllegalState, "shard %d: rows of %d tables cannot be written to segments, and would be missing (cordwood cluster status names them): start a newer version, or drop the tables", s.cfg.ID, n)
	}
	p.Index = s.tables.flushed.Load() // set with the segments, under mu
	seen := map[uint64]bool{}
	for _, list := range s.tables.segs.byTable {
		for _, l := range list {
			if !seen[l.ID] {
				seen[l.ID] = true
				l.refs.Add(1)
				p.live = append(p.live, l)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.tables.state.Expired)) {
		p.Expired = append(p.Expired, s.tables.state.Expired[id])
	}
	p.Merging = s.tables.pinnedMerging()
	s.tables.readers.Add(1)
	s.tables.mu.RUnlock()
	slices.SortFunc(p.live, func(a, b *liveSegment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.ID, b.ID))
	})
	for _, l := range p.live {
		p.Segments = append(p.Segments, Segment{Meta: l.Meta, Path: l.path, Damaged: l.damaged()})
	}
	return p, nil
}

// PinState flushes the shard and pins its durable state: the segments of State are those
// in Segments. Index is State's.
func (s *Shard) PinState(ctx context.Context) (*Pinned, error) {
	if err := s.Flush(ctx); err != nil {
		return nil, err
	}
	// What is committed is published before the lock is let go.
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	p := &Pinned{s: s, State: s.ledger.manifest.State()}
	p.Index = p.State.AppliedIndex
	s.tables.mu.RLock()
	defer s.tables.mu.RUnlock()
	if s.tables.closed {
		return nil, unreachable(s.cfg.ID)
	}
	for i := range p.State.Segments {
		l := s.tables.segs.live[p.State.Segments[i].ID]
		if l == nil {
			p.Close()
			return nil, errs.New(errs.ShardBusy, "shard %d: segment %d is not settled yet; try again", s.cfg.ID, p.State.Segments[i].ID).WithReason(errs.Busy).WithRetryAfter(time.Second)
		}
		l.refs.Add(1)
		p.live = append(p.live, l)
		p.Segments = append(p.Segments, Segment{Meta: l.Meta, Path: l.path, Damaged: l.damaged()})
	}
	return p, nil
}

// Close lets the segments go. It may be called twice.
func (p *Pinned) Close() {
	p.once.Do(func() {
		for _, l := range p.live {
			l.unref()
		}
		if p.State == nil {
			p.s.tables.readers.Add(-1)
		}
	})
}

// read sends the file of a segment from an offset on, piece by piece.
func (p *Pinned) read(ctx context.Context, id uint64, offset int64, emit func([]byte) error) error {
	i := slices.IndexFunc(p.Segments, func(s Segment) bool { return s.ID == id })
	if i < 0 {
		return errs.New(errs.InvalidArguments, "shard %d: segment %d is not pinned", p.s.cfg.ID, id)
	}
	seg := &p.Segments[i]
	if offset < 0 || offset > seg.Bytes {
		return errs.New(errs.InvalidArguments, "shard %d: read segment %d at %d: it has %d bytes", p.s.cfg.ID, id, offset, seg.Bytes)
	}
	f, err := p.s.cfg.FS.Open(seg.Path)
	if err != nil {
		return errs.Wrap(errs.Internal, err, "shard %d: read segment %d", p.s.cfg.ID, id)
	}
	defer f.Close()
	for offset < seg.Bytes {
		if err := ctx.Err(); err != nil {
			return errs.Wrap(errs.ContextCode(err), err, "shard %d: read segment %d", p.s.cfg.ID, id)
		}
		b := make([]byte, min(readBytes, seg.Bytes-offset))
		if _, err := io.ReadFull(io.NewSectionReader(f, offset, int64(len(b))), b); err != nil {
			return errs.Wrap(errs.Internal, err, "shard %d: read segment %s at %d", p.s.cfg.ID, seg.Path, offset)
		}
		if err := emit(b); err != nil {
			return err
		}
		offset += int64(len(b))
	}
	return nil
}

const (
	// readBytes is what one message of a segment's file carries.
	readBytes = 256 << 10
	// pinListBytes is about what one message of a pin's list carries.
	pinListBytes = 1 << 20
	// pinBeat is how often a pin's stream shows that it lives.
	pinBeat = 5 * time.Second
	// maxPins bounds the pins of a node: each keeps files that compaction has replaced.
	maxPins = 64
)

// pins are the open pins of a node.
type pins struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*Pinned
}

func (p *pins) add(x *Pinned) (id uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) >= maxPins {
		return 0, false
	}
	if p.open == nil {
		p.open = map[uint64]*Pinned{}
		// Ids of before a restart must not be taken for new ones.
		p.last = uint64(time.Now().UnixNano())
	}
	p.last++
	p.open[p.last] = x
	return p.last, true
}

func (p *pins) get(id uint64, shard uint32) *Pinned {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.open[id]; x != nil && x.s.cfg.ID == shard {
		return x
	}
	return nil
}

func (p *pins) remove(id uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
}

// Pin keeps a shard's segments for as long as the stream lives.
func (s *server) Pin(req *shardpb.PinRequest, stream grpc.ServerStreamingServer[shardpb.PinResponse]) error {
	return errs.ToGRPC(s.pin(stream.Context(), req, stream.Send))
}

// pinnable is the shard that is to be pinned, once it can be. Whoever asks for its state is a replica
// that lacks entries which are no longer in the leader's log: if the other replicas are away, the
// leader needs that one to commit anything, and is not ready before it has the state.
func (s *server) pinnable(ctx context.Context, req *shardpb.PinRequest) (*Shard, error) {
	if !req.State {
		return s.ready(ctx, req.ShardId)
	}
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, unreachable(req.ShardId)
	}
	return sh, nil
}

func (s *server) pin(ctx context.Context, req *shardpb.PinRequest, send func(*shardpb.PinResponse) error) error {
	shard := req.ShardId
	sh, err := s.pinnable(ctx, req)
	if err != nil {
		return err
	}
	take := sh.Pin
	if req.State {
		if err := sh.replica.CheckLeads(); err != nil {
			return err
		}
		if req.Incarnation != sh.cfg.Incarnation {
			return errs.New(errs.IllegalState, "shard %d: incarnation %d was asked for, this is incarnation %d", shard, req.Incarnation, sh.cfg.Incarnation)
		}
		take = sh.PinState
	}
	p, err := take(ctx)
	if err != nil {
		return errs.Wrap(errs.ShardNotReady, err, "pin shard %d", shard).WithRetryAfter(time.Second)
	}
	defer p.Close()
	id, ok := s.pins.add(p)
	if !ok {
		return errs.New(errs.ShardBusy, "shard %d: %d backups read from this node already; try again when one is done", shard, maxPins)
	}
	defer s.pins.remove(id)

	next := &shardpb.PinResponse{PinId: id, Index: p.Index}
	size := 0
	for i := range p.Segments {
		seg := p.Segments[i].ToProto()
		seg.Damaged = p.Segments[i].Damaged != ""
		next.Segments = append(next.Segments, seg)
		if size += 64 + 40*len(seg.Columns) + 32*len(seg.Tables); size >= pinListBytes {
			if err := send(next); err != nil {
				return err
			}
			next, size = &shardpb.PinResponse{PinId: id, Index: p.Index}, 0
		}
	}
	if p.State != nil {
		for piece := range slices.Chunk(p.State.Encode(), pinListBytes) {
			next.State = piece
			if err := send(next); err != nil {
				return err
			}
			next = &shardpb.PinResponse{PinId: id, Index: p.Index}
		}
	}
	for _, x := range p.Expired {
		next.Expired = append(next.Expired, &shardpb.ExpiredRows{TableId: x.TableID, Before: x.Before, Order: x.Order})
	}
	for _, m := range p.Merging {
		next.Merging = append(next.Merging, mergingProto(m))
	}
	next.Complete = true
	if err := send(next); err != nil {
		return err
	}
	beat := time.NewTicker(pinBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			if err := send(&shardpb.PinResponse{}); err != nil {
				return err
			}
		}
	}
}

// ReadSegment sends the file of a pinned segment.
func (s *server) ReadSegment(req *shardpb.ReadSegmentRequest, stream grpc.ServerStreamingServer[shardpb.ReadSegmentResponse]) error {
	p := s.pins.get(req.PinId, req.ShardId)
	if p == nil {
		return errs.ToGRPC(errs.New(errs.InvalidArguments, "shard %d: pin %d is not held any more", req.ShardId, req.PinId))
	}
	return errs.ToGRPC(p.read(stream.Context(), req.SegmentId, req.Offset, func(b []byte) error {
		return stream.Send(&shardpb.ReadSegmentResponse{Data: b})
	}))
}
