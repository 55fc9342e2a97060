package handoff

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/leader"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// world answers the writes of a target in place of nodes.
type world struct {
	mu sync.Mutex
	// answers holds the answers of each node; the last one is repeated.
	answers map[string][]func(*shardpb.WriteRequest) (*shardpb.WriteResponse, error)
	calls   []string
}

// conn is the connection to a node of a world.
type conn struct {
	grpc.ClientConnInterface
	w    *world
	node string
}

func (c conn) Invoke(_ context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.calls = append(c.w.calls, c.node)
	list := c.w.answers[c.node]
	if len(list) > 1 {
		c.w.answers[c.node] = list[1:]
	}
	resp, err := list[0](args.(*shardpb.WriteRequest))
	if err != nil {
		return errs.ToGRPC(err)
	}
	proto.Merge(reply.(*shardpb.WriteResponse), resp)
	return nil
}

// target returns a target whose shard is believed to be on nodes.
func (w *world) target(nodes ...string) *target {
	x := New(Config{ShardID: 1, Peers: func(id string) (grpc.ClientConnInterface, error) {
		if w.answers[id] == nil {
			return nil, errors.New("no such node")
		}
		return conn{w: w, node: id}, nil
	}})
	h := &tableCopy{of: x, nodes: map[uint32][]string{3: nodes}}
	return &target{of: h, shard: 3, group: leader.NewGroup(&x.nodes)}
}

type answer = func(*shardpb.WriteRequest) (*shardpb.WriteResponse, error)

func taken(*shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
	return &shardpb.WriteResponse{Index: 1}, nil
}

func refused(code errs.Code, reason errs.Reason, leader string) answer {
	return func(*shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
		e := errs.New(code, "refused").WithReason(reason)
		e.Leader = leader
		return nil, e
	}
}

// TestSend checks that the leader of the target is found, that it is asked again while that may
// succeed, and that sending stops once the batch can never be appended.
func TestSend(t *testing.T) {
	t.Parallel()
	needs := func(req *shardpb.WriteRequest) (*shardpb.WriteResponse, error) {
		if len(req.Tables) == 0 {
			return &shardpb.WriteResponse{NeedTables: []uint64{9}}, nil
		}
		return taken(req)
	}
	for _, c := range []struct {
		name    string
		nodes   []string
		answers map[string][]answer
		calls   string
		want    string // text in the error
	}{
		{"leads", []string{"a", "b"}, map[string][]answer{"a": {taken}, "b": {taken}}, "a", ""},
		{
			"named by another", []string{"a", "b", "c"}, map[string][]answer{
				"a": {refused(errs.ShardNotReady, errs.NotLeader, "c")}, "b": {taken}, "c": {taken},
			}, "a c", "",
		},
		{"cannot be reached", []string{"gone", "b"}, map[string][]answer{"b": {taken}}, "b", ""},
		{
			"unknown outcome", []string{"a", "b"}, map[string][]answer{
				"a": {refused(errs.ShardUnreachable, errs.OutcomeUnknown, "")}, "b": {taken},
			}, "a b", "",
		},
		{
			"busy", []string{"a", "b"}, map[string][]answer{
				"a": {refused(errs.ShardBusy, errs.Busy, ""), taken}, "b": {taken},
			}, "a a", "",
		},
		{"needs the definition", []string{"a"}, map[string][]answer{"a": {needs}}, "a a", ""},
		{
			"an error without a reason", []string{"a"}, map[string][]answer{
				"a": {refused(errs.InvalidArguments, "", ""), taken},
			}, "a a", "",
		},
		{
			"refuses permanently", []string{"a", "b"}, map[string][]answer{
				"a": {refused(errs.TableNotFound, errs.TableGone, "")}, "b": {taken},
			}, "a", "the shard refuses it",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{answers: c.answers}
			x := w.target(c.nodes...)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := x.send(ctx, &copyDef{id: 9, proto: &schemapb.Table{Id: 9}}, []byte("batch"))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if got := strings.Join(w.calls, " "); got != c.calls {
				t.Errorf("called %s, want %s", got, c.calls)
			}
		})
	}
}

// TestSendWaits checks that sending reports why a batch is not appended while no node is known, and
// that it ends with its context.
func TestSendWaits(t *testing.T) {
	t.Parallel()
	x := (&world{}).target()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- x.send(ctx, &copyDef{}, nil) }()
	for waits := ""; !strings.Contains(waits, "no node is known to hold it"); {
		x.of.mu.Lock()
		waits = x.of.state.Waits
		x.of.mu.Unlock()
		select {
		case err := <-done:
			t.Fatalf("it ended with %v", err)
		default:
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestVerdictForgotten checks that a batch that may have been appended is sent again only as long
// as the shard remembers its number.
func TestVerdictForgotten(t *testing.T) {
	now := time.Unix(1e9, 0)
	j := verdicts{now: func() time.Time { return now }}
	unknown := errs.New(errs.ShardUnreachable, "broke").WithReason(errs.OutcomeUnknown)
	away := errs.New(errs.ShardNotReady, "away").WithReason(errs.NotLeader)
	if v := j.classify(away); !v.Retry || v.Unknown {
		t.Errorf("before it was sent: %+v", v)
	}
	now = now.Add(time.Hour)
	if v := j.classify(unknown); !v.Retry || !v.Unknown {
		t.Errorf("first unknown outcome: %+v", v)
	}
	now = now.Add(unknownFor)
	if v := j.classify(away); !v.Retry {
		t.Errorf("while the shard remembers it: %+v", v)
	}
	now = now.Add(time.Second)
	if v := j.classify(away); v.Retry || !j.tooLate {
		t.Errorf("once the shard may have forgotten it: %+v", v)
	}
}
