package server

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/proto/tracing"
	"cordwood/proto/words"
)

// blocksOf returns a request for each block of a request.
func blocksOf(req *shardpb.QueryRequest) ([]*shardpb.QueryRequest, error) {
	if !req.Part || req.Sql != "" {
		return nil, errs.New(errs.InvalidArguments, "query: the request has several statements, but is not a part of a query")
	}
	out := make([]*shardpb.QueryRequest, len(req.Blocks))
	for i, b := range req.Blocks {
		if int(b.Table) >= len(req.Tables) {
			return nil, errs.New(errs.InvalidArguments, "query: statement %d of the request reads table %d, but there are "+
				"only %d", i, b.Table, len(req.Tables))
		}
		out[i] = &shardpb.QueryRequest{
			Sql: b.Sql, CountAs: b.CountAs, Tables: req.Tables[b.Table : b.Table+1 : b.Table+1],
			Database: req.Database, Limit: req.Limit, Timezone: req.Timezone, Part: true, Share: req.Share,
			QueryId: req.QueryId, AllowPartial: req.AllowPartial, AnyReplica: req.AnyReplica, Stages: req.Stages,
			MaxStalenessNanos: req.MaxStalenessNanos, Unchecked: req.Unchecked, Nodes: req.Nodes,
		}
	}
	return out, nil
}

// queryBlocks answers a part of a query that has several statements. It runs one after the other, so that the part
// takes one slot for queries at a time. All of them read the same views of their shards.
func (s *server) queryBlocks(ctx context.Context, q *runningQuery, req *shardpb.QueryRequest,
	stream grpc.ServerStreamingServer[shardpb.QueryChunk],
) error {
	list, err := blocksOf(req)
	if err != nil {
		return err
	}
	q.Enter(phaseGather)
	gathering, span := tracing.Start(ctx, "gather rows")
	span.Number("tables", int64(len(req.Tables)))
	views, err := s.open(gathering, req, false)
	if err != nil {
		span.End(err)
		return err
	}
	defer closeViews(views)
	answers := make([]*shardpb.BlockAnswer, len(list))
	blocks := make([]*prepared, len(list))
	var missing []words.Missing
	for i, of := range list {
		begun := time.Now()
		blocks[i], err = s.prepare(gathering, q, of, views)
		defer blocks[i].release()
		if err != nil {
			span.End(err)
			return err
		}
		missing = append(missing, blocks[i].missing...)
		answers[i] = &shardpb.BlockAnswer{}
		if req.Stages {
			answers[i].Stages = &shardpb.PartStages{GatherNanos: int64(time.Since(begun))}
		}
	}
	span.End(nil)
	q.Enter(phaseRun)
	out := &filled{ServerStreamingServer: stream, missing: missing}
	for i, of := range list {
		begun := time.Now()
		if err := s.answerBlock(ctx, of, blocks[i], out, answers[i]); err != nil {
			return err
		}
		if st := answers[i].Stages; st != nil {
			st.RunNanos = int64(time.Since(begun))
		}
	}
	return out.end(answers)
}

// answerBlock sends the rows of a block, and notes the number of their bytes in the description of its answer.
func (s *server) answerBlock(ctx context.Context, req *shardpb.QueryRequest, p *prepared, out *filled,
	of *shardpb.BlockAnswer,
) error {
	// The CPU time of a block counts for the database of its table.
	ctx = s.forUser(ctx, req.Share, req.Tables, req.Database)
	a := &answer{stream: out}
	defer a.end()
	if err := s.answer(ctx, p, "", a); err != nil {
		return err
	}
	of.Bytes = uint64(a.bytes)
	return nil
}

// filled sends an answer in messages of chunkBytes, because the answers to most blocks are much smaller. What is
// missing comes last, because it may become known only when a block runs.
type filled struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	next    []byte
	missing []words.Missing
}

// Send sends a full message, and keeps the rest for the next one.
func (f *filled) Send(chunk *shardpb.QueryChunk) error {
	if len(f.next)+len(chunk.ArrowIpc) > chunkBytes {
		full := &shardpb.QueryChunk{ArrowIpc: f.next}
		f.next = nil // the receiver may be in this process, and owns what was sent
		if err := f.ServerStreamingServer.Send(full); err != nil {
			return err
		}
	}
	f.next, f.missing = append(f.next, chunk.ArrowIpc...), append(f.missing, shardpb.MissingIn(chunk)...)
	return nil
}

// end sends the last message.
func (f *filled) end(blocks []*shardpb.BlockAnswer) error {
	last := &shardpb.QueryChunk{ArrowIpc: f.next, Blocks: blocks}
	last.Missing, last.Partial = shardpb.NewMissing(f.missing)
	return f.ServerStreamingServer.Send(last)
}

// statementOf returns the text of a request for the list of running queries.
func statementOf(req *shardpb.QueryRequest) string {
	if len(req.Blocks) == 0 {
		return req.Sql
	}
	var b strings.Builder
	for i, of := range req.Blocks {
		if b.Len() > listedSQL {
			break
		}
		if i > 0 {
			b.WriteString(";\n")
		}
		b.WriteString(of.Sql)
	}
	return b.String()
}
