package metaclient

import (
	"context"
	"errors"
	"io"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// ReadIceberg returns the last commits of tables that are shown as Apache Iceberg, in the order of their ids: of one
// table, or of all if table is 0. It reads from the leader.
func (c *Client) ReadIceberg(ctx context.Context, table uint64) ([]*metapb.IcebergTable, error) {
	return ask(ctx, c.members, "read the commits of Iceberg tables",
		func(ctx context.Context, m metapb.MetaClient) ([]*metapb.IcebergTable, error) {
			stream, err := m.ReadIceberg(ctx, &metapb.ReadIcebergRequest{TableId: table})
			if err != nil {
				return nil, errs.FromGRPC(err)
			}
			var list []*metapb.IcebergTable
			for {
				x, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return list, nil
				}
				if err != nil {
					return nil, errs.FromGRPC(err)
				}
				list = append(list, x)
			}
		})
}
