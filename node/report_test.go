package node

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/meta/metaclient"
	"cordwood/node/config"
	"cordwood/proto/metapb"
)

// fakeMeta answers the calls of a node to the metadata group, and records them.
type fakeMeta struct {
	grpc.ClientConnInterface
	calls chan string
	hold  chan struct{} // a report is answered when it can be received from
}

func (f *fakeMeta) Invoke(ctx context.Context, method string, _, reply any, _ ...grpc.CallOption) error {
	name := method[strings.LastIndexByte(method, '/')+1:]
	f.calls <- name
	switch name {
	case "Report":
		select {
		case <-f.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	case "Propose":
		proto.Merge(reply.(proto.Message), &metapb.ProposeResponse{Result: &metapb.Result{}})
	}
	return nil
}

// TestForgottenReplicaIsReportedFirst checks the order of reports. Once the metadata no longer list a replica, a new
// replica of the same shard may be placed on the node. No report that still lists the former replica may arrive after
// that, because the new replica would get a vote before it has rows.
func TestForgottenReplicaIsReportedFirst(t *testing.T) {
	f := &fakeMeta{calls: make(chan string, 16), hold: make(chan struct{})}
	n := newNode(&config.Config{}, Process{})
	n.registry, n.disk, n.data = newRegistry(Version{}), &disk{}, &dataDir{}
	n.log, n.meta = slog.New(slog.DiscardHandler), metaclient.New(metaclient.Config{Conn: f})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	old, forgotten := make(chan error, 1), make(chan error, 1)
	go func() { old <- n.reports.sendReport(ctx) }() // an earlier report that is still being sent
	got := []string{<-f.calls}
	go func() { forgotten <- n.forgetReplica(ctx, &metapb.Shard{Id: 1}) }()
	f.hold <- struct{}{}
	if err := <-old; err != nil {
		t.Fatal(err)
	}
	if call := <-f.calls; call != "Report" {
		t.Fatalf("%s was sent before a report without the replica", call)
	} else {
		got = append(got, call)
	}
	select {
	case call := <-f.calls:
		t.Fatalf("%s was sent before the report was accepted", call)
	case f.hold <- struct{}{}:
	}
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	if got = append(got, <-f.calls); !slices.Equal(got, []string{"Report", "Report", "Propose"}) {
		t.Errorf("the calls were %v", got)
	}
}
