package shardclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
)

// everyWait is the time limit of each node when all nodes are asked.
const everyWait = 3 * time.Second

// every asks all nodes at once. If some do not answer, the error lists them, and the other answers
// are returned too, in the order of the nodes.
func every[T any](ctx context.Context, c *Client,
	call func(ctx context.Context, node string, client shardpb.ShardServiceClient) (T, error),
) ([]T, error) {
	nodes := c.cfg.Nodes()
	answers := make([]T, len(nodes))
	failed := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, node := range nodes {
		wg.Go(func() {
			conn, err := c.cfg.Dial(node)
			if err == nil {
				limited, cancel := context.WithTimeout(ctx, everyWait)
				defer cancel()
				answers[i], err = call(limited, node, shardpb.NewShardServiceClient(conn))
				if err != nil && limited.Err() != nil && ctx.Err() == nil {
					err = errs.New(errs.ShardUnreachable, "no answer within %s", everyWait)
				}
			}
			if err != nil {
				failed[i] = ofNode(node, errs.FromGRPC(err))
			}
		})
	}
	wg.Wait()
	return answers, joinErrors(failed)
}

// ofNode adds the node to an error that does not begin with it.
func ofNode(node string, err error) error {
	if prefix := "node " + node + ": "; !strings.HasPrefix(err.Error(), prefix) {
		return fmt.Errorf("%s%w", prefix, err)
	}
	return err
}

// joinErrors returns an error with the texts of all errors in one line, or nil if there is none.
func joinErrors(list []error) error {
	var texts []string
	for _, err := range list {
		if err != nil {
			texts = append(texts, err.Error())
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return &joinedError{errors.Join(list...), strings.Join(texts, "; ")}
}

// joinedError is several errors whose texts are in one line.
type joinedError struct {
	error
	text string
}

func (e *joinedError) Error() string { return e.text }

func (e *joinedError) Unwrap() error { return e.error }

// Stats describes the shards of all nodes, ordered by shard id; a shard with several replicas is
// returned once for each. If some nodes do not answer, the error lists them, and the other answers
// are returned too.
func (c *Client) Stats(ctx context.Context, req *shardpb.StatsRequest) ([]*shardpb.ShardStats, error) {
	answers, err := every(ctx, c, func(ctx context.Context, _ string,
		client shardpb.ShardServiceClient,
	) ([]*shardpb.ShardStats, error) {
		resp, err := client.Stats(ctx, req, callOptions...)
		return resp.GetShards(), err
	})
	all := slices.Concat(answers...)
	slices.SortStableFunc(all, func(a, b *shardpb.ShardStats) int { return cmp.Compare(a.ShardId, b.ShardId) })
	if err != nil {
		return all, errs.Wrap(errs.ShardUnreachable, err, "shard statistics")
	}
	return all, nil
}

// Queries lists the queries that run on all nodes, and the parts that nodes run for queries of
// other nodes. If some nodes do not answer, the error lists them, and the other answers are
// returned too.
func (c *Client) Queries(ctx context.Context) ([]*shardpb.RunningQuery, error) {
	answers, err := every(ctx, c, func(ctx context.Context, node string,
		client shardpb.ShardServiceClient,
	) ([]*shardpb.RunningQuery, error) {
		resp, err := client.Queries(ctx, &shardpb.QueriesRequest{}, callOptions...)
		for _, q := range resp.GetQueries() {
			q.NodeId = node
		}
		return resp.GetQueries(), err
	})
	all := slices.Concat(answers...)
	if err != nil {
		return all, errs.Wrap(errs.ShardUnreachable, err, "the queries of nodes that do not answer are not listed")
	}
	return all, nil
}

// KillQuery ends the calls of a query on all nodes, and returns their number. If some nodes do not
// answer, the error lists them, and its code is ShardUnreachable.
func (c *Client) KillQuery(ctx context.Context, req *shardpb.KillQueryRequest) (killed int, err error) {
	answers, err := every(ctx, c, func(ctx context.Context, _ string,
		client shardpb.ShardServiceClient,
	) (uint32, error) {
		resp, err := client.KillQuery(ctx, req, callOptions...)
		return resp.GetKilled(), err
	})
	for _, n := range answers {
		killed += int(n)
	}
	if err != nil {
		return killed, errs.Wrap(errs.ShardUnreachable, err, "kill query %s", req.QueryId)
	}
	return killed, nil
}
