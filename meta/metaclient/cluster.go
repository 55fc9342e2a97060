package metaclient

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// callTimeout is the time limit of a call that is not a proposal.
const callTimeout = 5 * time.Second

// Operations lists the operations by id.
func (c *Client) Operations() []*metapb.Operation { return c.view.operationList() }

// Operation returns the operation with the id.
func (c *Client) Operation(id uint64) (*metapb.Operation, bool) { return c.view.operation(id) }

// RetiredShards returns, in the order of ids, the retired shards whose replicas are not all deleted
// yet.
func (c *Client) RetiredShards() []*metapb.Shard { return c.view.retiredShards() }

// ShardRetired reports whether a shard with the id existed and was retired.
func (c *Client) ShardRetired(id uint32) bool { return c.view.shardRetired(id) }

// Settings returns the settings of the cluster.
func (c *Client) Settings() *metapb.Settings { return c.view.clusterSettings() }

// ClusterVersion returns the version up to which commands, messages and formats may be used;
// 0 until the view is complete.
func (c *Client) ClusterVersion() uint32 { return c.view.version() }

// Status asks the leader of the group for the state of the cluster.
func (c *Client) Status(ctx context.Context) (*metapb.StatusResponse, error) {
	return ask(ctx, c.members, "ask for the status",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.StatusResponse, error) {
			return m.Status(ctx, &metapb.StatusRequest{}, grpc.MaxCallRecvMsgSize(maxMessage))
		})
}

// Report sends the state of a node to the leader of the group.
func (c *Client) Report(ctx context.Context, req *metapb.ReportRequest) (*metapb.ReportResponse, error) {
	return ask(ctx, c.members, "report to the metadata group",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.ReportResponse, error) {
			return m.Report(ctx, req)
		})
}

// ShareQuotas reports what a router used of quotas to the leader of the group, and returns its shares.
func (c *Client) ShareQuotas(
	ctx context.Context, req *metapb.ShareQuotasRequest,
) (*metapb.ShareQuotasResponse, error) {
	return ask(ctx, c.members, "report the use of quotas",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.ShareQuotasResponse, error) {
			return m.ShareQuotas(ctx, req, grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))
		})
}

// ChangeMembers changes one member of the metadata group. If the change has been made already, it
// succeeds. advice is a recommendation about the new number of voters, or empty.
func (c *Client) ChangeMembers(
	ctx context.Context, node string, change metapb.ChangeMembersRequest_Change,
) (advice string, err error) {
	resp, err := ask(ctx, c.members, "change the metadata group",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.ChangeMembersResponse, error) {
			return m.ChangeMembers(ctx, &metapb.ChangeMembersRequest{NodeId: node, Change: change})
		})
	return resp.GetAdvice(), err
}

// readIndex returns the index of a command. A view that has reached it has everything that was
// acknowledged before the call.
func (c *Client) readIndex(ctx context.Context) (uint64, error) {
	resp, err := ask(ctx, c.members, "read the metadata",
		func(ctx context.Context, m metapb.MetaClient) (*metapb.ReadIndexResponse, error) {
			return m.ReadIndex(ctx, &metapb.ReadIndexRequest{})
		})
	return resp.GetIndex(), err
}

// Fresh waits until the view has everything that any member acknowledged, or returned to a reader,
// before the call. It calls the leader, which confirms that it still leads, and after a change
// waits up to 0.1 s for the watch. The error, which may be retried, means that there is no leader,
// or that the watch is behind.
func (c *Client) Fresh(ctx context.Context) error { return c.reach(ctx, c.readIndex) }

// Acknowledged waits until the view has everything that any member acknowledged before the call.
// While this client holds a lease (lease.go), it makes no call. In contrast to Fresh, the view may
// lack a change that was not acknowledged yet, but that other clients see already.
func (c *Client) Acknowledged(ctx context.Context) error {
	if c.lease.covers(c.view.index()) {
		return nil
	}
	return c.reach(ctx, c.renew)
}

// KeepLease is Acknowledged, and requests a lease even if this client holds one. A caller who calls it several times
// within the time of a lease always holds one.
func (c *Client) KeepLease(ctx context.Context) error { return c.reach(ctx, c.renew) }

// reach waits until the view has reached an index that ask returns.
func (c *Client) reach(ctx context.Context, ask func(context.Context) (uint64, error)) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	index, err := ask(ctx)
	if err != nil {
		return err
	}
	if !c.view.wait(ctx, index) {
		return errs.Wrap(errs.ShardNotReady, ctx.Err(),
			"read the metadata: this node's copy is behind command %d; try again", index).WithRetryAfter(time.Second)
	}
	return nil
}

// ask is members.ask for calls that may be repeated, and returns the answer.
func ask[R any](
	ctx context.Context, m *members, what string, f func(context.Context, metapb.MetaClient) (R, error),
) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	var answer R
	err := m.ask(ctx, what, true, func(ctx context.Context, c metapb.MetaClient) (err error) {
		answer, err = f(ctx, c)
		return err
	})
	return answer, err
}

// addCluster adds the part of a watch message about the cluster itself.
func (s *state) addCluster(r *metapb.WatchResponse) {
	for _, id := range r.DroppedNodes {
		delete(s.nodes, id)
	}
	for _, n := range r.Nodes {
		s.nodes[n.Id] = n
	}
	if len(r.DroppedNodes)+len(r.Nodes) > 0 {
		byID := func(a, b *metapb.Node) int { return strings.Compare(a.Id, b.Id) }
		s.nodeList = slices.SortedFunc(maps.Values(s.nodes), byID)
	}
	for _, sh := range r.Shards {
		if s.retired[sh.Id] == nil {
			s.shards[sh.Id] = sh
		}
	}
	for _, sh := range r.RetiredShards {
		s.retired[sh.Id] = sh
		delete(s.shards, sh.Id)
	}
	for _, id := range r.DroppedOperations {
		delete(s.operations, id)
	}
	for _, o := range r.Operations {
		s.operations[o.Id] = o
	}
	if r.Settings != nil {
		s.settings = r.Settings
	}
	s.version = max(s.version, r.ClusterVersion)
}

func (v *view) operationList() []*metapb.Operation {
	v.mu.RLock()
	defer v.mu.RUnlock()
	out := make([]*metapb.Operation, 0, len(v.state.operations))
	for _, id := range slices.Sorted(maps.Keys(v.state.operations)) {
		out = append(out, v.state.operations[id])
	}
	return out
}

func (v *view) operation(id uint64) (*metapb.Operation, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	o, ok := v.state.operations[id]
	return o, ok
}

// retiredShards returns, in the order of ids, the retired shards that a node still has to delete.
func (v *view) retiredShards() []*metapb.Shard {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var out []*metapb.Shard
	for _, id := range slices.Sorted(maps.Keys(v.state.retired)) {
		if s := v.state.retired[id]; len(s.Removed) > 0 {
			out = append(out, s)
		}
	}
	return out
}

func (v *view) shardRetired(id uint32) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.retired[id] != nil
}

func (v *view) clusterSettings() *metapb.Settings {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.settings
}

func (v *view) version() uint32 {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.state.version
}
