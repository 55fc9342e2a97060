package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// failingEngine sends one piece of an answer, and then returns the error of sending, or err.
type failingEngine struct {
	Engine
	err error
}

func (e failingEngine) Query(_ context.Context, _ *query.Request, emit func(ipc []byte) error) error {
	if err := emit([]byte("rows")); err != nil {
		return err
	}
	return e.err
}

// sendStream returns err for each message.
type sendStream struct {
	grpc.ServerStreamingServer[shardpb.QueryChunk]
	err error
}

func (s sendStream) Send(*shardpb.QueryChunk) error { return s.err }

// TestFilesAreExaminedAfterFailedQueriesOnly checks that the files of a query are examined if the engine failed, and
// not if the client went away.
func TestFilesAreExaminedAfterFailedQueriesOnly(t *testing.T) {
	t.Parallel()
	damaged := errs.New(errs.External, "the file cannot be read")
	for name, c := range map[string]struct {
		engine, stream error
		examines       bool
	}{
		"the engine fails":        {engine: damaged, examines: true},
		"the client goes away":    {stream: errors.New("the transport is closing")},
		"the answer is delivered": {},
	} {
		examined := false
		s := &server{cfg: Config{
			Engine: failingEngine{err: c.engine}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Shards: func(uint32) (Shard, bool) { examined = true; return nil, false },
		}}
		req := &shardpb.QueryRequest{Tables: []*shardpb.QueryTable{{
			Name: &shardpb.TableName{Name: "t"}, Table: &schemapb.Table{Id: 1}, ShardId: 1,
		}}}
		err := s.runQuery(t.Context(), req, &query.Request{}, &coldRows{}, &answer{stream: sendStream{err: c.stream}})
		if want := errors.Join(c.engine, c.stream); (err != nil) != (want != nil) || examined != c.examines {
			t.Errorf("%s: error %v, files were examined: %t", name, err, examined)
		}
	}
}
