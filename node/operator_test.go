package node

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
)

// obliging answers every call with success.
type obliging struct {
	metapb.UnimplementedMetaServer
	shardpb.UnimplementedShardServiceServer
}

func (obliging) Propose(context.Context, *metapb.ProposeRequest) (*metapb.ProposeResponse, error) {
	return &metapb.ProposeResponse{}, nil
}

func (obliging) Write(context.Context, *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	return &shardpb.WriteResponse{}, nil
}

func (obliging) Stats(context.Context, *shardpb.StatsRequest) (*shardpb.StatsResponse, error) {
	return &shardpb.StatsResponse{}, nil
}

func (obliging) Pin(_ *shardpb.PinRequest, s grpc.ServerStreamingServer[shardpb.PinResponse]) error {
	return s.Send(&shardpb.PinResponse{Complete: true})
}

// TestOperatorCalls checks which calls users with different rights may make.
func TestOperatorCalls(t *testing.T) {
	var log lockedBuffer
	s := newOperatorServer(obliging{}, obliging{}, audit.New(slog.New(slog.NewTextHandler(&log, nil)), nil))
	defer func() {
		if err := s.stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	const audited = 7
	s.internal = func(table uint64) bool { return table == audited }
	rows := &column.Builder{}
	rows.Add(schema.Column{ID: 1, Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp}).SetInt(0, 1)
	rows.EndRow()
	rows.Finish()
	forged := rows.Encode(nil, column.Header{TableID: audited})
	propose := func(op *metapb.Command) func(conn grpc.ClientConnInterface) error {
		return func(conn grpc.ClientConnInterface) error {
			_, err := metapb.NewMetaClient(conn).Propose(ctx, &metapb.ProposeRequest{Command: op})
			return err
		}
	}
	calls := map[string]struct {
		read, write bool // whether a user who may only read may call it, and one who may also write
		call        func(conn grpc.ClientConnInterface) error
	}{
		"pin": {true, true, func(conn grpc.ClientConnInterface) error {
			stream, err := shardpb.NewShardServiceClient(conn).Pin(ctx, &shardpb.PinRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}},
		"write": {false, true, func(conn grpc.ClientConnInterface) error {
			_, err := shardpb.NewShardServiceClient(conn).Write(ctx, &shardpb.WriteRequest{})
			return err
		}},
		"write audit records": {false, false, func(conn grpc.ClientConnInterface) error {
			_, err := shardpb.NewShardServiceClient(conn).Write(ctx, &shardpb.WriteRequest{Batches: [][]byte{forged}})
			return err
		}},
		"change the table of the audit records": {
			false, false, propose(&metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: &metapb.AlterTable{
				Database: schema.PrivateDatabase, Name: schema.AuditTable,
			}}}),
		},
		"stats": {false, false, func(conn grpc.ClientConnInterface) error {
			_, err := shardpb.NewShardServiceClient(conn).Stats(ctx, &shardpb.StatsRequest{})
			return err
		}},
		"create a table": {
			false, true, propose(&metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{}}}),
		},
		"register a node": {
			false, false, propose(&metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{}}}),
		},
		"bootstrap": {
			false, false, propose(&metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{}}}),
		},
		"nothing": {false, false, propose(&metapb.Command{})},
	}
	for user, right := range map[string]access.Right{
		"reader": access.ReadOnly, "writer": access.WriteOnly, "both": access.ReadWrite,
	} {
		conn, err := grpc.NewClient("passthrough:///x", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
				here, there := net.Pipe()
				go s.serve(there, &access.Caller{Sender: access.Sender{User: user, Right: right, Proof: "password"}})
				return here, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range calls {
			want := right == access.ReadWrite && c.write || right == access.ReadOnly && c.read
			err := c.call(conn)
			if (err == nil) != want || err != nil && errs.CodeOf(errs.FromGRPC(err)) != errs.PermissionDenied {
				t.Errorf("%s: %s: %v, allowed should be %t", user, name, err, want)
			}
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	text := log.String()
	for line, want := range map[string]int{
		`principal=reader auth=password address="" action="back up" object_kind=cluster database="" object="" ` +
			`statement="" outcome=ok`: 1,
		`principal=both auth=password address="" action=restore object_kind=cluster database="" object="" ` +
			`statement="" outcome=ok`: 1,
		`principal=both auth=password address="" action="create table" object_kind=table database="" object="" ` +
			`statement="" outcome=ok`: 1,
		`principal=reader auth=password address="" action="create table" object_kind=table database="" object="" ` +
			`statement="" outcome=refused code=7006`: 1,
		`principal=both auth=password address="" action="register node" object_kind=node database="" object="" ` +
			`statement="" outcome=refused code=7006`: 1,
	} {
		if n := strings.Count(text, line); n != want {
			t.Errorf("%d lines, want %d, with %s:\n%s", n, want, line, text)
		}
	}
}

// lockedBuffer is a buffer for log lines of several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// TestOperatorConnectionAfterStop checks that a connection that arrives after the server has stopped
// is closed.
func TestOperatorConnectionAfterStop(t *testing.T) {
	s := newOperatorServer(obliging{}, obliging{}, audit.New(nil, nil))
	if err := s.stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	s.serve(there, &access.Caller{Sender: access.Everybody()})
	if _, err := here.Read(make([]byte, 1)); err == nil {
		t.Error("the connection stays open")
	}
}
