package node

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// asked answers queries by calling do.
type asked struct {
	shardpb.UnimplementedShardServiceServer
	do func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error
}

func (s asked) Query(req *shardpb.QueryRequest, stream grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
	return s.do(req, stream)
}

func (asked) Analyze(_ context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error) {
	if req.Sql == "" {
		return nil, errs.ToGRPC(errs.New(errs.InvalidSyntax, "empty"))
	}
	return &shardpb.AnalyzeResponse{Explain: true, Tables: []*shardpb.TableName{{Name: req.Sql}}}, nil
}

func TestLocalQuery(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	for _, c := range []struct {
		name string
		do   func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error
		want string // what the caller receives
		code codes.Code
	}{
		{"answer", func(req *shardpb.QueryRequest, s grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
			mem := []byte("a " + req.Sql)
			err := s.SendHeader(nil)
			if err != nil {
				return err
			}
			err = s.Send(&shardpb.QueryChunk{Waits: true})
			if err != nil {
				return err
			}
			err = s.Send(&shardpb.QueryChunk{Missing: []*shardpb.Missing{{Reason: "p"}}, ArrowIpc: mem})
			copy(mem, "----------")
			return errors.Join(err, s.Send(&shardpb.QueryChunk{ArrowIpc: mem[:3]}))
		}, "waits p a question ---", codes.OK},
		{"nothing", func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
			return nil
		}, "", codes.OK},
		{"error after rows", func(_ *shardpb.QueryRequest, s grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
			return errors.Join(s.Send(&shardpb.QueryChunk{ArrowIpc: []byte("x")}), errors.New("oops"))
		}, "x", codes.Unknown},
		{"typed error", func(*shardpb.QueryRequest, grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
			return errs.ToGRPC(errs.New(errs.TableNotFound, "no"))
		}, "", codes.InvalidArgument},
		{"the caller cancels", func(_ *shardpb.QueryRequest, s grpc.ServerStreamingServer[shardpb.QueryChunk]) error {
			cancel()
			err := s.Send(&shardpb.QueryChunk{ArrowIpc: []byte("x")})
			for err == nil { // until the receiver is closed
				err = s.Send(&shardpb.QueryChunk{ArrowIpc: []byte("x")})
			}
			ended <- err
			return err
		}, "", codes.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := &localConn{shards: asked{do: c.do}}
			stream, err := shardpb.NewShardServiceClient(conn).Query(ctx, &shardpb.QueryRequest{Sql: "question"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Header(); err != nil && c.code != codes.Canceled {
				t.Errorf("no header: %v", err)
			}
			got := ""
			for err == nil {
				var chunk *shardpb.QueryChunk
				if chunk, err = stream.Recv(); err == nil && chunk.Waits {
					got += "waits "
				} else if err == nil {
					for _, p := range shardpb.MissingIn(chunk) {
						got += p.Reason + " "
					}
					got += string(chunk.ArrowIpc) + " "
				}
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if status.Code(err) != c.code {
				t.Errorf("got error %v, want %s", err, c.code)
			}
			if c.code != codes.Canceled && got != c.want && got != c.want+" " {
				t.Errorf("got %q, want %q", got, c.want)
			}
			conn.close(context.Background()) // waits for the service
		})
	}
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("the service's Send returned %v", err)
	}
}

func TestLocalQueryRefuses(t *testing.T) {
	conn := &localConn{shards: asked{}}
	conn.close(context.Background())
	if _, err := shardpb.NewShardServiceClient(conn).Query(context.Background(),
		&shardpb.QueryRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("after close: %v", err)
	}
}

func TestLocalAnalyze(t *testing.T) {
	client := shardpb.NewShardServiceClient(&localConn{shards: asked{}})
	a, err := client.Analyze(context.Background(), &shardpb.AnalyzeRequest{Sql: "t"})
	if err != nil || !a.Explain || len(a.Tables) != 1 || a.Tables[0].Name != "t" {
		t.Errorf("got %v, %v", a, err)
	}
	if _, err = client.Analyze(context.Background(),
		&shardpb.AnalyzeRequest{}); errs.CodeOf(errs.FromGRPC(err)) != errs.InvalidSyntax {
		t.Errorf("got %v, want the service's error", err)
	}
}
