package shardclient

import (
	"context"

	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// DefineTables makes a shard adopt table definitions that are newer than its own. When it returns
// nil, the shard's log gets no more rows of a table whose definition sends its writes to other
// shards.
func (c *Client) DefineTables(ctx context.Context, shard uint32, tables []*schemapb.Table) error {
	return c.onLeader(ctx, shard, "define tables", func(ctx context.Context, client shardpb.ShardServiceClient) error {
		_, err := client.DefineTables(ctx, &shardpb.DefineTablesRequest{ShardId: shard, Tables: tables}, callOptions...)
		return err
	})
}

// CheckKeys returns, in order, whether a shard has appended the batches of keys.
func (c *Client) CheckKeys(ctx context.Context, shard uint32, keys []*shardpb.BatchKey) ([]bool, error) {
	var resp *shardpb.CheckKeysResponse
	err := c.onLeader(ctx, shard, "check keys", func(ctx context.Context, client shardpb.ShardServiceClient) error {
		var err error
		resp, err = client.CheckKeys(ctx, &shardpb.CheckKeysRequest{ShardId: shard, Keys: keys}, callOptions...)
		return err
	})
	return resp.GetAppended(), err
}

// onLeader makes a call that is safe to repeat on the shard's leader, until it succeeds, is refused
// permanently or its time is up: Config.WriteTimeout, if ctx has no deadline.
func (c *Client) onLeader(ctx context.Context, shard uint32, what string,
	call func(context.Context, shardpb.ShardServiceClient) error,
) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.WriteTimeout)
		defer cancel()
	}
	w := leaderCall{c: c, shard: shard, what: what, call: call}
	return w.run(ctx)
}
