package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// process is the view that one coordinator has of the world.
type process struct {
	w     *world
	leads bool
	stop  context.CancelFunc
}

func (p *process) Changed() <-chan struct{} {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return p.w.changed
}

func (p *process) Databases() []*schemapb.Database { return []*schemapb.Database{{Name: "public"}} }

func (p *process) Tables(string) []*schema.Table {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.w.tables), func(a, b *schema.Table) int { return cmp.Compare(a.ID, b.ID) })
}

func (p *process) Status(ctx context.Context) (*metapb.StatusResponse, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	p.w.settle()
	return p.w.status(), nil
}

func (p *process) Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if !p.leads || ctx.Err() != nil {
		return nil, errors.New("this process does not lead")
	}
	var result *metapb.Result
	err := p.w.effect(func() (err error) {
		result, err = p.w.apply(proto.CloneOf(cmd))
		return err
	})
	return result, err
}

func (p *process) ChangeMembers(_ context.Context, node string,
	change metapb.ChangeMembersRequest_Change,
) (string, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	w := p.w
	return "", w.effect(func() error {
		before := w.living(w.voters) - snapshot.Majority(len(w.voters))
		if before < 0 {
			return errors.New("no leader")
		}
		w.learners = slices.DeleteFunc(w.learners, func(x string) bool { return x == node })
		if change != metapb.ChangeMembersRequest_CHANGE_LEAD {
			w.voters = slices.DeleteFunc(w.voters, func(x string) bool { return x == node })
		}
		switch change {
		case metapb.ChangeMembersRequest_CHANGE_ADD_LEARNER:
			w.learners = append(w.learners, node)
		case metapb.ChangeMembersRequest_CHANGE_PROMOTE:
			w.voters = append(w.voters, node)
		case metapb.ChangeMembersRequest_CHANGE_LEAD:
			i := slices.Index(w.voters, node)
			w.voters[0], w.voters[i] = w.voters[i], w.voters[0]
		}
		if after := w.living(w.voters) - snapshot.Majority(len(w.voters)); after < 0 {
			w.fail("the metadata group has no majority after %s of %s (tolerated %d before): %v", change, node, before, w.voters)
		}
		return nil
	})
}

// conn is a connection to a node of the world.
type conn struct {
	p    *process
	node string
}

func (p *process) dial(node string) (grpc.ClientConnInterface, error) {
	return conn{p, node}, nil
}

func (c conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("no streams")
}

func (c conn) Invoke(ctx context.Context, _ string, args, reply any, _ ...grpc.CallOption) error {
	w := c.p.w
	if req, ok := args.(*shardpb.HandOverRequest); ok {
		time.Sleep(time.Duration(req.WaitMillis/10) * time.Millisecond)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.p.leads || ctx.Err() != nil {
		return errors.New("the caller has died")
	}
	if !w.down[c.node].IsZero() {
		return errors.New("the node does not answer")
	}
	if req, ok := args.(*shardpb.HandOverRequest); ok && !req.Begin { // this request changes nothing
		resp, err := w.handOver(c.node, req)
		proto.Merge(reply.(proto.Message), resp)
		return err
	}
	return w.effect(func() error {
		switch req := args.(type) {
		case *shardpb.HandOverRequest:
			resp, err := w.handOver(c.node, req)
			proto.Merge(reply.(proto.Message), resp)
			return err
		case *shardpb.ChangeReplicasRequest:
			if err := w.changeReplicas(c.node, req); err != nil {
				return err
			}
			g := w.groups[req.ShardId]
			proto.Merge(reply.(proto.Message), &shardpb.ChangeReplicasResponse{Voters: g.voters, Learners: g.learners})
		case *shardpb.DefineTablesRequest:
			if w.groups[req.ShardId].leader != c.node {
				return errors.New("it does not lead")
			}
			for _, t := range req.Tables {
				if w.defined[req.ShardId] == nil {
					w.defined[req.ShardId] = map[uint64]uint32{}
				}
				w.defined[req.ShardId][t.Id] = t.Placement[len(t.Placement)-1].Epoch
				w.seal(req.ShardId, t)
			}
		default:
			return fmt.Errorf("no such call: %T", args)
		}
		return nil
	})
}

func (w *world) changeReplicas(node string, req *shardpb.ChangeReplicasRequest) error {
	g, s := w.groups[req.ShardId], w.shards[req.ShardId]
	if g.leader != node {
		return errors.New("it does not lead")
	}
	id, now := req.NodeId, time.Now()
	voter, learner := slices.Contains(g.voters, id), slices.Contains(g.learners, id)
	cut := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == id })
	}
	before := w.whole(g) - snapshot.Majority(len(g.voters))
	switch req.Change {
	case shardpb.ChangeReplicasRequest_CHANGE_ADD_LEARNER:
		if at, open := g.opened[id]; !open || now.Before(at) {
			w.fail("shard %d: node %s joins without a replica", s.Id, id)
		}
		if !voter && !learner {
			g.learners = append(g.learners, id)
			g.ready[id] = now.Add(3 * time.Second)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_PROMOTE:
		if at, has := g.ready[id]; !voter && (!has || now.Before(at)) {
			w.fail("shard %d: node %s votes before it has the rows", s.Id, id)
		}
		if !voter {
			g.learners, g.voters = cut(g.learners), append(slices.Clone(g.voters), id)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_REMOVE:
		if id == g.leader {
			w.fail("shard %d: the leader is removed", s.Id)
		}
		g.learners, g.voters = cut(g.learners), cut(g.voters)
		delete(g.ready, id)
		after := w.whole(g) - snapshot.Majority(len(g.voters))
		if aim := int(s.Want) - snapshot.Majority(int(s.Want)); after < min(before, aim) {
			w.fail("shard %d tolerates %d failures after node %s was removed, and tolerated %d before", s.Id, after, id, before)
		}
	case shardpb.ChangeReplicasRequest_CHANGE_LEAD:
		if !voter || !w.down[id].IsZero() || g.damaged[id] == damagedLog {
			return errors.New("it cannot lead")
		}
		g.leader = id
	}
	return nil
}
