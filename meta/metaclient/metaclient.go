// Package metaclient is how other roles reach the metadata group: Propose changes
// it, and a local view, kept up to date by a watch, answers what databases, tables,
// pipelines, shards and nodes there are without a call. The texts of pipelines are not
// in the view; they are read from the group when they are needed.
//
// The view is never ahead of the group, and may be behind it for a moment; nothing
// correct may depend on its being fresh, because shards check epoch and schema
// version themselves. What this client proposed itself is in the view before
// Propose returns.
//
// Life cycle: New, then Run in a goroutine of the caller's for as long as the
// client is used; WaitReady waits for the first complete view. All methods may be
// called concurrently. What they return is shared and must not be changed.
package metaclient

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// maxMessage bounds an answer and a piece of the state.
const maxMessage = 64 << 20

// viewTimeout bounds how long Propose waits for the watch.
const viewTimeout = 2 * time.Second

// Config says whom New's client talks to.
type Config struct {
	// Conn is the connection to a member of the metadata group. Required.
	Conn grpc.ClientConnInterface
	// Logger receives events. The default value discards.
	Logger *slog.Logger
	// ProposeTimeout bounds a Propose. The default value is 10 s.
	ProposeTimeout time.Duration
}

// Client is a client of the metadata group.
type Client struct {
	cfg    Config
	meta   metapb.MetaClient
	view   *view
	flight singleflight.Group
}

// New returns a client whose view is empty until Run has filled it.
func New(cfg Config) *Client {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ProposeTimeout == 0 {
		cfg.ProposeTimeout = 10 * time.Second
	}
	return &Client{cfg: cfg, meta: metapb.NewMetaClient(cfg.Conn), view: newView()}
}

// Run keeps the view up to date until ctx ends, and then returns nil. A broken
// watch is begun anew, after 50 ms at first and 2 s at most.
func (c *Client) Run(ctx context.Context) error {
	const shortest, longest = 50 * time.Millisecond, 2 * time.Second
	pause := shortest
	for ctx.Err() == nil {
		complete, err := c.follow(ctx)
		if ctx.Err() != nil {
			break
		}
		if complete {
			pause = shortest
		}
		c.cfg.Logger.Info("watch of the metadata ended; it is begun anew", "error", err, "pause", pause)
		select {
		case <-ctx.Done():
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause = min(2*pause, longest)
	}
	return nil
}

// follow runs one watch to its end. complete tells that it got the whole state.
func (c *Client) follow(ctx context.Context) (complete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.meta.Watch(ctx, &metapb.WatchRequest{}, grpc.MaxCallRecvMsgSize(maxMessage))
	if err != nil {
		return false, errs.FromGRPC(err)
	}
	var next *state // the state that is being received
	for {
		resp, err := stream.Recv()
		if err != nil {
			return complete, errs.FromGRPC(err)
		}
		if !resp.Reset_ {
			if !complete {
				return false, errs.New(errs.Unexpected, "watch the metadata: a change came before the state was complete")
			}
			c.view.change(resp)
			continue
		}
		if next == nil {
			next = newState()
		}
		next.add(resp)
		if !resp.Partial {
			c.view.replace(next)
			next, complete = nil, true
		}
	}
}

// WaitReady waits until the view has been complete once.
func (c *Client) WaitReady(ctx context.Context) error {
	select {
	case <-c.view.filled:
		return nil
	case <-ctx.Done():
		return errs.Wrap(errs.DeadlineExceeded, ctx.Err(), "wait for the metadata")
	}
}

// ConflictError says which columns of an EnsureSchema disagree with the tables'.
// It wraps an *errs.Error of code InvalidArguments.
type ConflictError struct {
	Conflicts []*metapb.Conflict
	err       *errs.Error
}

func (e *ConflictError) Error() string { return e.err.Error() }

// Unwrap returns the error that clients see.
func (e *ConflictError) Unwrap() error { return e.err }

// Propose puts a command through the metadata log. When it returns a result, that
// is in the view. Errors are *errs.Error, or *ConflictError around one:
//
//   - what the state machine refused has its code and no reason; nothing changed;
//   - else the reason tells whether the command may have been applied. NotLeader
//     and Busy were tried again here, until ctx or Config.ProposeTimeout ended, and
//     so was an EnsureSchema of unknown outcome, since it may be applied twice.
//
// Concurrent proposals of the same EnsureSchema become one command.
func (c *Client) Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ProposeTimeout)
	defer cancel()
	resp, err := c.proposeOnce(ctx, cmd)
	if err != nil {
		return nil, err
	}
	result := resp.GetResult()
	if result == nil {
		return nil, errs.New(errs.Unexpected, "propose to the metadata group: the answer has no result")
	}
	if result.ErrorCode != 0 {
		e := errs.New(errs.Code(result.ErrorCode), "%s", result.ErrorMessage)
		if len(result.Conflicts) > 0 {
			return nil, &ConflictError{Conflicts: result.Conflicts, err: e}
		}
		return nil, e
	}
	c.view.merge(resp.Index, result)
	if needsView(cmd) {
		// Databases, nodes, shards and pipelines are not merged from results. If the watch is not there, or
		// broken, the command is done all the same.
		c.awaitView(ctx, resp.Index)
	}
	return result, nil
}

// awaitView waits for the watch to come to index, for a while.
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

// needsView tells whether what cmd changes reaches the view by the watch only.
func needsView(cmd *metapb.Command) bool {
	switch cmd.GetOp().(type) {
	case *metapb.Command_EnsureSchema, *metapb.Command_CreateTable, *metapb.Command_AlterTable,
		*metapb.Command_DropTable, *metapb.Command_TruncateTable, *metapb.Command_RegisterSession:
		return false
	}
	return true
}

// proposeOnce proposes cmd, together with others that propose the same EnsureSchema.
func (c *Client) proposeOnce(ctx context.Context, cmd *metapb.Command) (*metapb.ProposeResponse, error) {
	demand := cmd.GetEnsureSchema()
	if demand == nil {
		return c.proposeRetry(ctx, cmd)
	}
	key, err := proto.MarshalOptions{Deterministic: true}.Marshal(demand)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "propose to the metadata group")
	}
	done := c.flight.DoChan(string(key), func() (any, error) {
		// It outlives the caller that happened to come first.
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.ProposeTimeout)
		defer cancel()
		return c.proposeRetry(shared, cmd)
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(*metapb.ProposeResponse), nil
	case <-ctx.Done():
		code := errs.Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			code = errs.DeadlineExceeded
		}
		return nil, errs.Wrap(code, ctx.Err(), "propose to the metadata group").WithReason(errs.OutcomeUnknown)
	}
}

// proposeRetry proposes cmd until it was taken, or may have been.
func (c *Client) proposeRetry(ctx context.Context, cmd *metapb.Command) (*metapb.ProposeResponse, error) {
	pause := 20 * time.Millisecond
	for {
		resp, err := c.meta.Propose(ctx, &metapb.ProposeRequest{Command: cmd}, grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))
		if err == nil {
			return resp, nil
		}
		err = errs.FromGRPC(err)
		again := false
		switch errs.ReasonOf(err) {
		case errs.NotLeader, errs.Busy:
			again = true
		case errs.OutcomeUnknown:
			again = cmd.GetEnsureSchema() != nil
		}
		if !again || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(max(errs.From(err).RetryAfter, pause/2+rand.N(pause))):
		}
		pause = min(2*pause, time.Second)
	}
}

// Database returns the database of that name.
func (c *Client) Database(name string) (*schemapb.Database, bool) { return c.view.database(name) }

// Databases lists the databases by name.
func (c *Client) Databases() []*schemapb.Database { return c.view.databases() }

// Table returns the table of that name.
func (c *Client) Table(database, name string) (*schema.Table, bool) {
	return c.view.table(database, name)
}

// TableByID returns the table with the id.
func (c *Client) TableByID(id uint64) (*schema.Table, bool) { return c.view.tableByID(id) }

// Tables lists the tables of a database by name.
func (c *Client) Tables(database string) []*schema.Table { return c.view.tables(database) }

// Shards lists the shards by id.
func (c *Client) Shards() []*metapb.Shard { return c.view.shardList() }

// Nodes lists the nodes by id.
func (c *Client) Nodes() []*metapb.Node { return c.view.nodeList() }

// DroppedTables lists, in rising order, the ids of tables that are no more.
func (c *Client) DroppedTables() []uint64 { return c.view.droppedIDs() }

// Changed returns a channel that is closed at the next change of the view. To miss
// none, take it before reading.
func (c *Client) Changed() <-chan struct{} { return c.view.changedCh() }

// ClusterID is empty until the cluster is bootstrapped and the view knows of it.
func (c *Client) ClusterID() string { return c.view.clusterID() }
