package metaclient

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// ReadSaved returns the saved values that match the request, in the order of kinds. It reads from the leader, so that
// users see values that they stored through another router.
func (c *Client) ReadSaved(ctx context.Context, req *metapb.ReadSavedRequest) ([]*metapb.ReadSavedResponse, error) {
	return ask(ctx, c.members, "read saved values",
		func(ctx context.Context, m metapb.MetaClient) ([]*metapb.ReadSavedResponse, error) {
			stream, err := m.ReadSaved(ctx, req, grpc.MaxCallRecvMsgSize(maxMessage))
			if err != nil {
				return nil, errs.FromGRPC(err)
			}
			var list []*metapb.ReadSavedResponse
			for {
				resp, err := stream.Recv()
				if errors.Is(err, io.EOF) {
					return list, nil
				}
				if err != nil {
					return nil, errs.FromGRPC(err)
				}
				list = append(list, resp)
			}
		})
}
