// Package metaclient connects other roles to the metadata group. Propose changes the metadata. A
// local view, which a watch keeps up to date, answers questions about databases, tables, pipelines,
// shards and nodes without a call. The texts of pipelines are not in the view; they are read from
// the group when they are needed.
//
// The view is never ahead of the group, and may be behind it for a moment. Correctness must not
// depend on a fresh view, because shards check epoch and schema version themselves. The changes
// that this client proposed are in the view before Propose returns.
//
// Life cycle: New, then Run in a goroutine of the caller as long as the client is used; WaitReady
// waits for the first complete view. All methods may be called concurrently. Their results are
// shared and must not be changed.
package metaclient

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// maxMessage is the maximum size of an answer and of a piece of the state.
const maxMessage = 64 << 20

// viewTimeout is how long Propose waits for the watch.
const viewTimeout = 2 * time.Second

// AccessChanges are changes of users, roles and tokens.
type AccessChanges struct {
	// Whole says that all users, roles and tokens are listed.
	Whole      bool
	Principals []*metapb.AccessPrincipal
	// Dropped are the names of removed users and roles, and DroppedTokens the ids of removed tokens.
	Dropped       []string
	Tokens        []*metapb.AccessToken
	DroppedTokens []string
}

// Config configures a client.
type Config struct {
	// Members returns the ids of the nodes that may be members of the metadata group, in the order
	// in which to ask them: this node first if it is one.
	Members func() []string
	// Dial returns the connection to a node, without waiting for it. It is called for every call. A
	// broken connection that has ResetConnectBackoff, as grpc connections have, is reconnected at
	// once.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// Conn is the connection to the only member, instead of Members and Dial.
	Conn grpc.ClientConnInterface
	// Logger receives events. If it is nil, they are discarded.
	Logger *slog.Logger
	// ProposeTimeout limits a Propose. The default value is 10 s.
	ProposeTimeout time.Duration
	// TryTimeout is the time limit of a call to one of several members. After it the next member is
	// asked, with twice the time. The default value is 2 s.
	TryTimeout time.Duration
	// OnAccess, if not nil, is called with the users, roles and tokens that have changed, before the view shows the
	// index of the change, and in the order of the log. It must not call the client.
	OnAccess func(AccessChanges)
	// LostAfter is the time without an answer from a leader after which calls ask every member only
	// once, and then fail. The default value is 5 s; tests on busy machines use more.
	LostAfter time.Duration
}

// Client is a client of the metadata group.
type Client struct {
	cfg     Config
	members *members
	view    *view
	lease   *lease
}

// New returns a client whose view is empty until Run has filled it.
func New(cfg Config) *Client {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ProposeTimeout == 0 {
		cfg.ProposeTimeout = 10 * time.Second
	}
	if cfg.TryTimeout == 0 {
		cfg.TryTimeout = 2 * time.Second
	}
	return &Client{cfg: cfg, members: newMembers(cfg), view: newView(cfg.OnAccess), lease: newLease()}
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

// Tables returns the tables of a database in the order of names. All callers share the list, so it
// must not be changed.
func (c *Client) Tables(database string) []*schema.Table { return c.view.tables(database) }

// Shards lists the shards by id.
func (c *Client) Shards() []*metapb.Shard { return c.view.shardList() }

// Shard returns a shard, or nil if the view does not have it.
func (c *Client) Shard(id uint32) *metapb.Shard { return c.view.shard(id) }

// Nodes lists the nodes by id. The list must not be changed.
func (c *Client) Nodes() []*metapb.Node { return c.view.nodeList() }

// DroppedTables returns the ids of dropped tables in ascending order.
func (c *Client) DroppedTables() []uint64 { return c.view.droppedIDs() }

// Changed returns a channel that is closed at the next change of the view. Get it before reading;
// otherwise a change may be missed.
func (c *Client) Changed() <-chan struct{} { return c.view.changedCh() }

// ClusterID returns "" until the cluster is bootstrapped and the view contains it.
func (c *Client) ClusterID() string { return c.view.clusterID() }
