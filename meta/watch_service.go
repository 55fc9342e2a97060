package meta

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// The limits of the pieces in which the state is sent.
const (
	pieceTables    = 1000
	pieceBytes     = 1 << 20
	pieceDropped   = 100_000
	piecePipelines = 5000
)

// Watch sends the whole state, in pieces, and then every change in log order. If a watch cannot
// keep up, it is ended with an error and should be restarted.
func (m *Meta) Watch(req *metapb.WatchRequest, stream grpc.ServerStreamingServer[metapb.WatchResponse]) error {
	m.metrics.watches.Inc()
	defer m.metrics.watches.Dec()
	send := stream.Send
	if !req.GetAccess() {
		send = func(r *metapb.WatchResponse) error { return stream.Send(withoutAccess(r)) }
	}
	return errs.ToGRPC(m.machine.watch(stream.Context(), send))
}

// withoutAccess returns r without users, roles and tokens, which have the verifiers of passwords and hashes.
func withoutAccess(r *metapb.WatchResponse) *metapb.WatchResponse {
	if len(r.Principals)+len(r.DroppedPrincipals)+len(r.Tokens)+len(r.DroppedTokens) == 0 {
		return r
	}
	r = proto.CloneOf(r)
	r.Principals, r.DroppedPrincipals, r.Tokens, r.DroppedTokens = nil, nil, nil, nil
	return r
}

func (s *machine) watch(ctx context.Context, send func(*metapb.WatchResponse) error) error {
	epoch := s.hub.generation()
	index, err := s.sendState(ctx, send)
	if err != nil {
		return err
	}
	for {
		changes, grown, err := s.hub.after(index, epoch, 64)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if err := send(c); err != nil {
				return err
			}
			index = c.Index
		}
		if len(changes) > 0 {
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// sendState sends the whole state and returns the index of its first piece.
//
// Each piece is read in its own transaction, so that a slow receiver does not prevent the file's
// pages from being reused. Later pieces may therefore have newer objects than the index of the
// first piece. The changes after that index follow and make the receiver's state consistent. Since
// tables have a version and ids are never reused, the receiver can recognise a change that is older
// than its state.
func (s *machine) sendState(ctx context.Context, send func(*metapb.WatchResponse) error) (uint64, error) {
	first := &metapb.WatchResponse{Reset_: true, Partial: true}
	if err := s.catalog.View(func(tx *catalog.Tx) error { return fillFirst(first, tx) }); err != nil {
		return 0, errs.Wrap(errs.Internal, err, "watch the metadata")
	}
	if err := send(first); err != nil {
		return 0, err
	}
	if err := s.sendDropped(first.Index, send); err != nil {
		return 0, err
	}
	if err := s.sendPipelines(first.Index, send); err != nil {
		return 0, err
	}
	if err := s.sendPrincipals(first.Index, send); err != nil {
		return 0, err
	}
	return first.Index, s.sendTables(ctx, first.Index, send)
}

// fillFirst fills the first piece with everything small.
func fillFirst(first *metapb.WatchResponse, tx *catalog.Tx) (err error) {
	first.Index, _ = tx.Applied()
	first.ClusterId = tx.ClusterID()
	if first.Databases, err = tx.Databases.All(); err != nil {
		return err
	}
	if first.Nodes, err = tx.Nodes.All(); err != nil {
		return err
	}
	if first.Shards, err = tx.Shards.All(); err != nil {
		return err
	}
	if first.RetiredShards, err = tx.Shards.AllRetired(); err != nil {
		return err
	}
	if first.Settings, err = tx.Settings(); err != nil {
		return err
	}
	first.ClusterVersion = tx.ClusterVersion()
	first.Operations, err = tx.Operations.All()
	return err
}

// sendDropped sends the ids of dropped tables in pieces.
func (s *machine) sendDropped(index uint64, send func(*metapb.WatchResponse) error) error {
	last := uint64(0)
	for more := true; more; {
		piece := &metapb.WatchResponse{Index: index, Reset_: true, Partial: true}
		err := s.catalog.View(func(tx *catalog.Tx) error {
			list := tx.Tables.DroppedFrom(last, pieceDropped)
			for _, d := range list {
				piece.DroppedTables = append(piece.DroppedTables, d.ID)
				last = d.ID
			}
			more = len(list) == pieceDropped
			return nil
		})
		if err != nil {
			return errs.Wrap(errs.Internal, err, "watch the metadata")
		}
		if len(piece.DroppedTables) == 0 {
			return nil
		}
		if err := send(piece); err != nil {
			return err
		}
	}
	return nil
}

// sendTables sends the definitions of tables in pieces. The last piece is the last of the state.
func (s *machine) sendTables(ctx context.Context, index uint64, send func(*metapb.WatchResponse) error) error {
	last := uint64(0)
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := &metapb.WatchResponse{Index: index, Reset_: true}
		err := s.catalog.View(func(tx *catalog.Tx) (err error) {
			piece.Tables, done, err = tx.Tables.From(last, pieceTables, pieceBytes)
			return err
		})
		if err != nil {
			return errs.Wrap(errs.Internal, err, "watch the metadata")
		}
		if n := len(piece.Tables); n > 0 {
			last = piece.Tables[n-1].Id
		}
		piece.Partial = !done
		if err := send(piece); err != nil {
			return err
		}
	}
	return nil
}

// sendPrincipals sends the users, roles and tokens in pieces.
func (s *machine) sendPrincipals(index uint64, send func(*metapb.WatchResponse) error) error {
	var all []*metapb.AccessPrincipal
	var tokens []*metapb.AccessToken
	err := s.catalog.View(func(tx *catalog.Tx) (err error) {
		if all, err = tx.Principals.All(); err == nil {
			tokens, err = tx.Tokens.All()
		}
		return err
	})
	if err != nil {
		return errs.Wrap(errs.Internal, err, "watch the metadata")
	}
	piece := &metapb.WatchResponse{Index: index, Reset_: true, Partial: true}
	size := 0
	// full sends the piece if it is large enough.
	full := func(more proto.Message) error {
		if size += proto.Size(more); size < pieceBytes {
			return nil
		}
		done := piece
		piece, size = &metapb.WatchResponse{Index: index, Reset_: true, Partial: true}, 0
		return send(done)
	}
	for _, p := range all {
		piece.Principals = append(piece.Principals, p)
		if err := full(p); err != nil {
			return err
		}
	}
	for _, one := range tokens {
		piece.Tokens = append(piece.Tokens, one)
		if err := full(one); err != nil {
			return err
		}
	}
	if size == 0 {
		return nil
	}
	return send(piece)
}

// sendPipelines sends the list of versions of pipelines, without their texts.
func (s *machine) sendPipelines(index uint64, send func(*metapb.WatchResponse) error) error {
	var last *metapb.PipelineVersion
	for {
		piece := &metapb.WatchResponse{Index: index, Reset_: true, Partial: true}
		err := s.catalog.View(func(tx *catalog.Tx) (err error) {
			piece.Pipelines, err = tx.Pipelines.From("", last, piecePipelines)
			return err
		})
		if err != nil {
			return errs.Wrap(errs.Internal, err, "watch the metadata")
		}
		n := len(piece.Pipelines)
		if n == 0 {
			return nil
		}
		last = piece.Pipelines[n-1]
		if err := send(piece); err != nil {
			return err
		}
	}
}
