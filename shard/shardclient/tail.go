package shardclient

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/shardpb"
)

// Tail follows a table on a node that holds its shard. Tail itself returns an error that occurs
// before the first answer, such as an error about the condition. The caller must close the
// TailReader.
func (c *Client) Tail(ctx context.Context, req *shardpb.TailRequest) (*TailReader, error) {
	if len(c.order(req.ShardId)) == 0 {
		return nil, errs.New(errs.ShardUnreachable, "shard %d: tail: no node is known to hold it", req.ShardId)
	}
	r := &TailReader{}
	a := readRequest{
		what:   "tail",
		leader: true,
		shard:  req.ShardId,
		nodes:  func() []string { return c.order(req.ShardId) },
		dial:   c.cfg.DialTail,
	}
	cancel, err := c.ask(ctx, a, func(ctx context.Context, client shardpb.ShardServiceClient, p *leader.Pulse) error {
		stream, err := client.Tail(ctx, req, callOptions...)
		if err != nil {
			return err
		}
		if _, err := stream.Header(); err == nil {
			p.Alive()
		}
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			err = errs.New(errs.ShardUnreachable, "shard %d: tail: it ended before the first answer", req.ShardId)
		}
		if err == nil {
			r.stream, r.chunk = stream, chunk
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.cancel = cancel
	return r, nil
}

// TailReader reads the answers of a tail: consecutive Arrow IPC streams. One goroutine uses it;
// another may call Close.
type TailReader struct {
	stream grpc.ServerStreamingClient[shardpb.TailChunk]
	cancel context.CancelFunc
	chunk  *shardpb.TailChunk // the rest of the current chunk; nil if err is set
	err    error
}

// Next waits for the next answer, which Read then reads. The rest of the current answer is skipped.
func (r *TailReader) Next() error {
	for r.err == nil && !r.chunk.End {
		r.receive()
	}
	if r.err == nil {
		r.receive()
	}
	return r.err
}

func (r *TailReader) receive() {
	chunk, err := r.stream.Recv()
	switch {
	case errors.Is(err, io.EOF):
		r.err = errs.New(errs.ShardUnreachable, "tail: the shard ended it")
	case err != nil:
		r.err = errs.FromGRPC(err)
	default:
		r.chunk = chunk
	}
}

// Read reads the current answer. At its end it returns io.EOF.
func (r *TailReader) Read(p []byte) (int, error) {
	for r.err == nil {
		if len(r.chunk.ArrowIpc) > 0 {
			n := copy(p, r.chunk.ArrowIpc)
			r.chunk.ArrowIpc = r.chunk.ArrowIpc[n:]
			return n, nil
		}
		if r.chunk.End {
			return 0, io.EOF
		}
		r.receive()
	}
	return 0, r.err
}

// Err returns the error that ended the tail, or nil if it has not ended.
func (r *TailReader) Err() error { return r.err }

// Close ends the tail. It may be called twice.
func (r *TailReader) Close() { r.cancel() }
