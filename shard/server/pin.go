package server

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/object"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
	"cordwood/shard/store"
)

func mergingProto(m manifest.Merging) *shardpb.TableMerging {
	out := &shardpb.TableMerging{TableId: m.TableID}
	for _, e := range m.Eras {
		rule := shardpb.MergeRule_MERGE_RULE_UNSPECIFIED
		switch e.Merge {
		case query.LastRow:
			rule = shardpb.MergeRule_MERGE_RULE_LAST_ROW
		case query.LastNonNull:
			rule = shardpb.MergeRule_MERGE_RULE_LAST_NON_NULL
		}
		out.Eras = append(out.Eras, &shardpb.MergeEra{Before: e.Before, Rule: rule})
	}
	return out
}

// pins are the open pins of a node.
type pins struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*store.Pinned
}

// add adds a pin. Pins of followers are always taken, because each replica takes the segments of one flush at a
// time.
func (p *pins) add(x *store.Pinned, follower bool) (id uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open) >= maxPins && !follower {
		return 0, false
	}
	if p.open == nil {
		p.open = map[uint64]*store.Pinned{}
		// Ids from before a restart must not be reused.
		p.last = uint64(time.Now().UnixNano())
	}
	p.last++
	p.open[p.last] = x
	return p.last, true
}

func (p *pins) get(id uint64, shard uint32) *store.Pinned {
	p.mu.Lock()
	defer p.mu.Unlock()
	if x := p.open[id]; x != nil && x.ShardID() == shard {
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

// pinnable returns the shard to be pinned as soon as that is possible. A replica that requests the
// state lacks entries that are no longer in the leader's log. If the other replicas are down, the
// leader needs this replica to commit anything, and is not ready before the replica has the state.
func (s *server) pinnable(ctx context.Context, req *shardpb.PinRequest) (Shard, error) {
	if !req.State {
		return s.ready(ctx, req.ShardId)
	}
	sh, ok := s.cfg.Shards(req.ShardId)
	if !ok {
		return nil, store.Unreachable(req.ShardId)
	}
	return sh, nil
}

// pin sends the list of a shard's segments, and then heartbeats until ctx ends.
func (s *server) pin(ctx context.Context, req *shardpb.PinRequest, send func(*shardpb.PinResponse) error) error {
	p, err := s.takePin(ctx, req)
	if err != nil {
		return err
	}
	defer p.Close()
	id, ok := s.pins.add(p, req.Flush != nil)
	if !ok {
		return errs.New(errs.ShardBusy, "shard %d: pin: %d backups are reading from this node; try again when one is done",
			req.ShardId, maxPins)
	}
	defer s.pins.remove(id)
	if err := sendPinned(p, id, send); err != nil {
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

// takePin pins the segments of a shard, its state, or the segments of one flush.
func (s *server) takePin(ctx context.Context, req *shardpb.PinRequest) (*store.Pinned, error) {
	if req.Flush != nil {
		return s.pinOffered(ctx, req)
	}
	sh, err := s.pinnable(ctx, req)
	if err != nil {
		return nil, err
	}
	take := sh.Pin
	if req.State {
		if err := sh.Replica().CheckLeads(); err != nil {
			return nil, err
		}
		if err := sameIncarnation(sh, req.Incarnation); err != nil {
			return nil, err
		}
		take = func(ctx context.Context) (*store.Pinned, error) { return sh.PinState(ctx, req.Objects) }
	}
	p, err := take(ctx)
	if err != nil {
		return nil, errs.Wrap(errs.ShardNotReady, err, "pin shard %d", req.ShardId).WithRetryAfter(time.Second)
	}
	if n := len(p.Objects); n > 0 && !req.Objects {
		p.Close()
		return nil, errs.New(errs.IllegalState, "shard %d: pin: rows are only in object storage (%s), which the caller "+
			"cannot read: use a program of the server's version", req.ShardId, query.CountOf(n, "object"))
	}
	return p, nil
}

// pinnedFiles lists the segments and objects of a pin in ascending order of Order.
func pinnedFiles(p *store.Pinned) []*shardpb.PinnedSegment {
	files := make([]*shardpb.PinnedSegment, 0, len(p.Segments)+len(p.Objects))
	for i := range p.Segments {
		seg := p.Segments[i].ToProto()
		seg.Damaged = p.Segments[i].Damaged != ""
		seg.LeftOut = p.LeftOut[p.Segments[i].ID]
		files = append(files, seg)
	}
	for i := range p.Objects {
		o := &p.Objects[i]
		seg := o.Meta.ToProto()
		seg.Id, seg.Order, seg.LeftOut = o.ID, o.Order, o.LeftOut
		files = append(files, seg)
	}
	slices.SortStableFunc(files, func(a, b *shardpb.PinnedSegment) int { return cmp.Compare(a.Order, b.Order) })
	return files
}

// sendPinned sends the pinned segments in messages of about pinListBytes. The last message has
// Complete set.
func sendPinned(p *store.Pinned, id uint64, send func(*shardpb.PinResponse) error) error {
	next := &shardpb.PinResponse{PinId: id, Index: p.Index}
	size := 0
	for _, seg := range pinnedFiles(p) {
		next.Segments = append(next.Segments, seg)
		if size += 64 + 40*len(seg.Columns) + 42*len(seg.Tables); size >= pinListBytes {
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
	return send(next)
}

// ReadSegment sends the file of a pinned segment.
func (s *server) ReadSegment(req *shardpb.ReadSegmentRequest,
	stream grpc.ServerStreamingServer[shardpb.ReadSegmentResponse],
) error {
	p := s.pins.get(req.PinId, req.ShardId)
	if p == nil {
		return errs.ToGRPC(errs.New(errs.InvalidArguments, "shard %d: read a segment: pin %d has ended; pin the shard "+
			"again", req.ShardId, req.PinId))
	}
	if o := p.Object(req.SegmentId); o != nil {
		return errs.ToGRPC(s.readObject(stream, o, req))
	}
	return errs.ToGRPC(p.Read(stream.Context(), req.SegmentId, req.Offset, func(b []byte) error {
		return stream.Send(&shardpb.ReadSegmentResponse{Data: b})
	}))
}

// readObject sends a pinned object.
func (s *server) readObject(stream grpc.ServerStreamingServer[shardpb.ReadSegmentResponse], o *cold.Object,
	req *shardpb.ReadSegmentRequest,
) error {
	if req.Offset < 0 || req.Offset > o.Meta.Bytes {
		return errs.New(errs.InvalidArguments, "shard %d: read object %s at offset %d: it has only %d bytes", req.ShardId,
			o.Key, req.Offset, o.Meta.Bytes)
	}
	err := s.cfg.Cold.Copy(stream.Context(), o, req.Offset, func(b []byte) error {
		for piece := range slices.Chunk(b, objectPiece) {
			if err := stream.Send(&shardpb.ReadSegmentResponse{Data: piece}); err != nil {
				return err
			}
		}
		return nil
	})
	if object.Lost(err) {
		return stream.Send(&shardpb.ReadSegmentResponse{Damaged: err.Error()})
	}
	return err
}

const (
	// objectPiece is the maximum number of bytes of an object in one message.
	objectPiece = 256 << 10
	// pinListBytes is the approximate size of one message of a pin's list.
	pinListBytes = 1 << 20
	// pinBeat is the time between two heartbeats of a pin's stream.
	pinBeat = 5 * time.Second
	// maxPins is the maximum number of pins of a node, because each keeps files that compaction has
	// replaced.
	maxPins = 64
)
