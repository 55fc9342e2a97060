package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/store"
)

const (
	// tailsStored and tailsLive limit the number of tails that use the engine at a time, so that
	// slots for queries remain: tailsStored for tails that read stored rows, which may take as long
	// as their reader, and tailsLive for tails that filter a group of new rows.
	tailsStored = 4
	tailsLive   = 2
	// tailGroup is the approximate number of encoded bytes of new rows that are filtered together.
	tailGroup = 256 << 10
	// tailPause is the minimum time between two groups, unless the next group is complete before.
	tailPause = 50 * time.Millisecond
	// tailTries is how often the engine is asked for a group while it is temporarily unable to
	// answer.
	tailTries = 4
)

// Tail sends rows of one table as they are applied.
func (s *server) Tail(req *shardpb.TailRequest, stream grpc.ServerStreamingServer[shardpb.TailChunk]) error {
	// The client waits for a first message, and asks the next replica if none arrives.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	return errs.ToGRPC(s.tail(req, stream))
}

func (s *server) tail(req *shardpb.TailRequest, stream grpc.ServerStreamingServer[shardpb.TailChunk]) error {
	if req.Name == nil || req.Table == nil {
		return errs.New(errs.InvalidArguments, "tail: the request has no name or no definition of the table")
	}
	ctx := s.forUser(stream.Context(), req.Share, nil, req.Table.Database)
	sh, err := s.present(ctx, req.ShardId, false, 0, 0)
	if err != nil {
		return err
	}
	t, err := sh.Tail(req.Table.Id)
	if err != nil {
		return err
	}
	defer t.Close()
	x := &tailRun{server: s, req: req, tail: t, table: schema.FromProto(req.Table), send: stream.Send}
	if err := x.stored(ctx); err != nil {
		return err
	}
	for {
		begin := time.Now()
		group, err := t.Next(ctx, tailGroup)
		if err != nil {
			return err
		}
		if err := x.group(ctx, group); err != nil {
			return err
		}
		if t.Waiting() >= tailGroup {
			continue
		}
		if err := sleep(ctx, tailPause-time.Since(begin)); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tailRun is one call of Tail.
type tailRun struct {
	server *server
	req    *shardpb.TailRequest
	tail   *store.Tail
	table  *schema.Table // the newest known definition
	send   func(*shardpb.TailChunk) error
}

// stored sends the stored rows that the request asks for. If it does not request any, stored sends
// an answer without rows, which confirms that the condition is valid.
func (x *tailRun) stored(ctx context.Context) error {
	view := x.tail.TakeView()
	defer view.Close()
	qt := x.queryTable()
	cold := x.server.newColdRows()
	defer cold.release()
	if x.req.Since != nil {
		show(&qt, view, x.req.Table.Id, cold)
		if qt.ExpiredBefore == nil || *qt.ExpiredBefore < *x.req.Since {
			qt.ExpiredBefore = x.req.Since
		}
	}
	leave, err := enter(ctx, x.server.stored)
	if err != nil {
		return err
	}
	defer leave()
	comment := ""
	if x.req.Since != nil {
		comment = storedComment
	}
	err = x.run(cold.with(ctx), qt, comment, func(ipc []byte) error { return x.sendChunks(ipc, false) })
	if err != nil {
		return err
	}
	return x.send(&shardpb.TailChunk{End: true})
}

// group sends the new rows that meet the condition.
func (x *tailRun) group(ctx context.Context, encoded [][]byte) error {
	qt := x.queryTable()
	for i, data := range encoded {
		b, err := column.Decode(data, nil)
		if err != nil {
			return errs.Wrap(errs.Internal, err, "tail: decode batch %d of table %d", i, x.req.Table.Id)
		}
		qt.Batches = append(qt.Batches, b)
	}
	var answer []byte
	for try := 1; ; try++ {
		leave, err := enter(ctx, x.server.live)
		if err != nil {
			return err
		}
		// The answer is completed before it is sent, so that a slow reader does not occupy the
		// engine.
		answer = answer[:0]
		err = x.run(ctx, qt, "", func(ipc []byte) error { answer = append(answer, ipc...); return nil })
		leave()
		if err == nil {
			break
		}
		if try == tailTries || ctx.Err() != nil || !passing(err) {
			return err
		}
		if err := sleep(ctx, time.Duration(try)*250*time.Millisecond); err != nil {
			return err
		}
	}
	return x.sendChunks(answer, true)
}

// passing reports whether the engine may answer a repeated request, because it was restarting or
// busy.
func passing(err error) bool {
	e := errs.From(err)
	return e.Status() >= 500 || e.Code == errs.RateLimited || e.Code == errs.RuntimeResourcesExhausted
}

// storedComment ends the statement for stored rows. A statement that ended query processes is refused by its text for
// some minutes. If the text were the same for new rows, one tail that reads too many stored rows would end all tails of
// the table.
const storedComment = " -- stored rows"

// run asks the engine for the rows of qt that meet the condition, the oldest first. comment ends the statement.
func (x *tailRun) run(ctx context.Context, qt query.Table, comment string, emit func([]byte) error) error {
	sql := "SELECT * FROM " + schema.QuoteIdent(qt.Database) + "." + schema.QuoteIdent(qt.Name)
	if x.req.Where != "" {
		sql += " WHERE (" + x.req.Where + "\n)" // a comment at the end of the condition ends at the newline
	}
	sql += " ORDER BY " + schema.QuoteIdent(x.table.TimeIndex().Name) + comment
	return x.server.cfg.Engine.Query(ctx, &query.Request{SQL: sql, Database: qt.Database, Tables: []query.Table{qt}}, emit)
}

// queryTable returns the present definition of the table, without rows. New rows are returned as
// they arrive: rows of one identity are not merged.
func (x *tailRun) queryTable() query.Table {
	if def := x.tail.Definition(); def != nil && def.Version > x.table.Version {
		x.table = def
	}
	qt := query.Table{Database: x.req.Name.Database, Name: x.req.Name.Name, Schema: x.table, Merge: query.Append}
	if x.req.TtlNanos > 0 {
		ttl := schema.TTL{D: time.Duration(x.req.TtlNanos)}
		if before, ok := ttl.ExpiredBefore(time.Now(), x.table.TimeIndex().Type); ok {
			qt.ExpiredBefore = &before
		}
	}
	return qt
}

// sendChunks sends a part of an Arrow IPC stream, perhaps the last one.
func (x *tailRun) sendChunks(ipc []byte, last bool) error {
	for len(ipc) > 0 {
		n := min(len(ipc), chunkBytes)
		if err := x.send(&shardpb.TailChunk{ArrowIpc: ipc[:n], End: last && n == len(ipc)}); err != nil {
			return err
		}
		ipc = ipc[n:]
	}
	return nil
}

// enter waits for a slot; leave returns it.
func enter(ctx context.Context, places chan struct{}) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "tail")
	}
}
