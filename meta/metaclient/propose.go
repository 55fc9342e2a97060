package metaclient

import (
	"context"
	"crypto/rand"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// ConflictError contains the columns of an EnsureSchema that disagree with the tables' columns. It
// wraps an *errs.Error with code InvalidArguments.
type ConflictError struct {
	Conflicts []*metapb.Conflict
	err       *errs.Error
}

func (e *ConflictError) Error() string { return e.err.Error() }

// Unwrap returns the error that clients see.
func (e *ConflictError) Unwrap() error { return e.err }

// maxCommand is the maximum size of a command, which leaves room for what surrounds it in a message.
const maxCommand = maxMessage - 1<<10

// Propose puts a command through the metadata log. When it returns a result, the result is in the view. Errors are
// *errs.Error, or *ConflictError around one:
//
//   - a refusal of the state machine has a code and no reason; nothing was changed;
//   - otherwise the reason tells whether the command may have been applied. It was proposed
//     again here, until ctx or Config.ProposeTimeout ended, after NotLeader and Busy;
//     and if its outcome was unknown as well, since the state machine executes
//     proposals with one id once. Clusters of version 1, and clients whose view is not
//     complete, have no ids: there, only an EnsureSchema or Bootstrap is repeated.
func (c *Client) Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ProposeTimeout)
	defer cancel()
	change := AuditedOf(ctx)
	cmd = change.withRecord(cmd)
	if n := proto.Size(cmd); n > maxCommand {
		return nil, errs.New(errs.InvalidArguments, "the change has %d bytes for the metadata group; at most %d are "+
			"possible: make it in several steps", n, maxCommand)
	}
	resp, err := c.proposeRetry(ctx, cmd)
	if err != nil {
		return nil, err
	}
	result := resp.GetResult()
	if result == nil {
		return nil, errs.New(errs.Unexpected, "propose to the metadata group: the answer has no result")
	}
	if result.ErrorCode != 0 {
		e := errs.New(errs.Code(result.ErrorCode), "%s", result.ErrorMessage)
		switch {
		case e.Status() == http.StatusServiceUnavailable:
			e = e.WithRetryAfter(time.Second)
		case e.Code == errs.RateLimited:
			e = e.WithRetryAfter(schema.QuotaWait)
			if q := result.Quota; q != nil {
				e.Quota = &errs.Quota{Database: q.Database, Name: q.Name, Limit: q.Limit, Value: q.Value, Unit: q.Unit}
			}
		}
		if len(result.Conflicts) > 0 {
			return nil, &ConflictError{Conflicts: result.Conflicts, err: e}
		}
		return nil, e
	}
	change.note(result)
	c.view.merge(resp.Index, result)
	if needsView(cmd) {
		// Databases, nodes, shards and pipelines are not merged from results. If the watch is
		// broken, the command has been executed nevertheless.
		c.awaitView(ctx, resp.Index)
	}
	return result, nil
}

// awaitView waits for a limited time until the watch has reached index.
func (c *Client) awaitView(ctx context.Context, index uint64) {
	select {
	case <-c.view.filled:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(ctx, viewTimeout)
	defer cancel()
	c.view.wait(ctx, index)
}

// needsView reports whether the changes of cmd reach the view only through the watch.
func needsView(cmd *metapb.Command) bool {
	switch cmd.GetOp().(type) {
	case *metapb.Command_EnsureSchema, *metapb.Command_CreateTable, *metapb.Command_AlterTable,
		*metapb.Command_DropTable, *metapb.Command_TruncateTable, *metapb.Command_ReplaceTables,
		*metapb.Command_RegisterSession:
		return false
	}
	return true
}

// proposeRetry proposes cmd until it is accepted, or may have been.
func (c *Client) proposeRetry(ctx context.Context, cmd *metapb.Command) (resp *metapb.ProposeResponse, err error) {
	repeat := cmd.GetEnsureSchema() != nil || cmd.GetBootstrap() != nil || len(cmd.Id) > 0
	if c.view.version() >= metapb.ProtocolCluster && len(cmd.Id) == 0 {
		cmd = proto.CloneOf(cmd)
		cmd.Id = make([]byte, 16)
		_, _ = rand.Read(cmd.Id) // it never fails
		repeat = true
	}
	err = c.members.ask(ctx, "propose to the metadata group", repeat,
		func(ctx context.Context, m metapb.MetaClient) (err error) {
			resp, err = m.Propose(ctx, &metapb.ProposeRequest{Command: cmd}, grpc.MaxCallRecvMsgSize(maxMessage),
				grpc.MaxCallSendMsgSize(maxMessage))
			return err
		})
	return resp, err
}
