// Package iceberg commits tables with the option iceberg as Apache Iceberg tables. The node that coordinates the
// cluster calls Committer.Run from time to time: it asks the shards for their objects, stores the metadata files of
// tables that have changed, and makes them the current ones by a command of the metadata, which only one node can do.
// What was begun and not committed is begun anew, under new names; files that no table needs are deleted later.
//
// Catalog reads the current metadata files on any node with object storage.
package iceberg

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/cold/states"
)

// Meta is what the package needs of the metadata.
type Meta interface {
	// ReadIceberg returns the last commit of a table, or of all tables if it is 0, from the leader.
	ReadIceberg(ctx context.Context, table uint64) ([]*metapb.IcebergTable, error)
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
}

// Config configures a Committer. Registerer may be nil.
type Config struct {
	Meta Meta
	// Dial returns the connection to a node.
	Dial func(nodeID string) (grpc.ClientConnInterface, error)
	// Bucket has the objects, and Root is the absolute location of its keys, without a slash at the end.
	Bucket  bucket.Bucket
	Root    string
	Cluster string
	// Alone returns an error if another cluster with the same id uses the bucket: then nothing is stored or deleted.
	Alone  func(context.Context) error
	Now    func() time.Time
	Logger *slog.Logger
	// Registerer registers the metrics.
	Registerer prometheus.Registerer
}

const (
	// maxFile is the maximum size of a file that is read.
	maxFile = 256 << 20
	// tableTimeout limits one commit of a table.
	tableTimeout = 5 * time.Minute
	// tablesAtOnce is the maximum number of tables that are committed at the same time, and filesAtOnce that of requests
	// to object storage for each of them.
	tablesAtOnce, filesAtOnce = 4, 8
)

// Committer commits tables. Run must not be called concurrently.
type Committer struct {
	cfg   Config
	place states.Place
	// tables are what is known of committed tables, by their ids.
	tables map[uint64]*known
	clean  cleaner
	maxNew int
	// failing is the last error, so that it is logged once. ran is set once Run was called.
	failing string
	ran     bool
	// resigned says that other nodes may have committed since the last Run.
	resigned atomic.Bool

	metrics metrics
	mu      sync.Mutex // guards the fields below
	troubles
}

// known is what a Committer remembers of a table.
type known struct {
	// version, key and state are the last commit, if read is set. A table that was not shown for a while begins with
	// version 1 again, so the key tells whether another node has committed.
	read    bool
	version uint64
	key     string
	state   *iceberg.State
	// hinted is the version that version-hint.text has, as far as this process knows.
	hinted uint64
	// reason is why the table is not shown as it is now; "" if it is.
	reason string
	left   int64 // rows of objects that cannot be shown
}

// New returns a Committer.
func New(cfg Config) *Committer {
	c := &Committer{
		cfg: cfg, place: states.Place{Bucket: cfg.Bucket, Cluster: cfg.Cluster}, maxNew: maxNew,
	}
	c.forget()
	c.export(cfg.Registerer)
	return c
}

// forget forgets what other nodes may have changed.
func (c *Committer) forget() {
	c.tables = map[uint64]*known{}
	c.clean = cleaner{since: map[string]time.Time{}}
}

// Run commits the tables that have changed. tables are all tables of the cluster, and leaders the nodes that lead the
// shards.
func (c *Committer) Run(ctx context.Context, tables []*schema.Table, leaders map[uint32]string) {
	if c.resigned.Swap(false) {
		c.forget()
	}
	err := c.run(ctx, tables, leaders)
	first := !c.ran
	c.ran = true
	switch {
	case ctx.Err() != nil:
	case first && errors.Is(err, errNoLeader): // as usual when a cluster starts
		c.cfg.Logger.Debug("could not commit tables as Iceberg yet; it is tried again", "error", err)
	case err != nil:
		c.metrics.failures.Inc()
		if text := err.Error(); text != c.failing {
			c.failing = text
			c.cfg.Logger.Warn("could not commit tables as Iceberg; it is tried again", "error", err)
		}
	default:
		c.failing = ""
	}
	if ctx.Err() == nil {
		c.report(tables, err)
	}
}

func (c *Committer) run(ctx context.Context, all []*schema.Table, leaders map[uint32]string) error {
	var shown []*schema.Table
	for _, t := range all {
		if iceberg.FormatOf(t) != 0 && t.TimeIndex() != nil {
			shown = append(shown, t)
		}
	}
	commits, err := c.cfg.Meta.ReadIceberg(ctx, 0)
	if err != nil || len(shown) == 0 && len(commits) == 0 && c.clean.done {
		return err
	}
	if err := c.place.CheckOwner(ctx); err != nil {
		return err
	}
	if err := c.cfg.Alone(ctx); err != nil {
		return err
	}
	committed := make(map[uint64]*metapb.IcebergTable, len(commits))
	for _, x := range commits {
		committed[x.TableId] = x
	}
	found, err := c.gather(ctx, shown, leaders)
	if err != nil {
		return err
	}
	failed := make([]error, len(shown)+1)
	wanted := make(map[uint64]bool, len(shown))
	for _, t := range shown {
		wanted[t.ID] = true
		if c.tables[t.ID] == nil {
			c.tables[t.ID] = &known{}
		}
	}
	maps.DeleteFunc(c.tables, func(id uint64, _ *known) bool { return !wanted[id] })
	var g errgroup.Group
	g.SetLimit(tablesAtOnce)
	for i, t := range shown {
		g.Go(func() error {
			if err := c.commitTable(ctx, t, committed[t.ID], found[t.ID]); err != nil {
				failed[i] = fmt.Errorf("table %s.%s: %w", t.Database, t.Name, err)
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, x := range commits {
		if wanted[x.TableId] {
			continue
		}
		if err := c.propose(ctx, &metapb.CommitIceberg{Table: x, IfVersion: x.Version, Forget: true}); err != nil {
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return c.removeOld(ctx)
}

// propose proposes a command, and returns its refusal as an error.
func (c *Committer) propose(ctx context.Context, x *metapb.CommitIceberg) error {
	res, err := c.cfg.Meta.Propose(ctx, &metapb.Command{Op: &metapb.Command_CommitIceberg{CommitIceberg: x}})
	if err == nil && res.ErrorCode != 0 {
		err = errors.New(res.ErrorMessage)
	}
	return err
}

// folder is the key of the folder of a table.
func (c *Committer) folder(table uint64) string {
	return fmt.Sprintf("%s/iceberg/%d", c.cfg.Cluster, table)
}

// location returns the absolute location of a key.
func (c *Committer) location(key string) string { return c.cfg.Root + "/" + key }

// key returns the key of an absolute location.
func (c *Committer) key(location string) (string, error) {
	key, ok := strings.CutPrefix(location, c.cfg.Root+"/")
	if !ok {
		return "", fmt.Errorf("%s is not below %s: object storage was moved; set the table option iceberg anew", location,
			c.cfg.Root)
	}
	return key, nil
}

// load reads the commit x, which may be nil, into k.
func (c *Committer) load(ctx context.Context, k *known, x *metapb.IcebergTable) error {
	if k.read && k.version == x.GetVersion() && k.key == x.GetKey() {
		return nil
	}
	*k = known{}
	if x == nil {
		k.read = true
		return nil
	}
	st, err := iceberg.Load(c.location(x.Key), c.reader(ctx))
	if errors.Is(err, bucket.ErrNotFound) {
		return fmt.Errorf("a file of the last commit is missing: %w; restore it from a version or a copy of the bucket, or "+
			"unset the table option iceberg, wait for --object-storage-iceberg-every, and set it again", err)
	}
	if err != nil {
		return fmt.Errorf("read the last commit: %w", err)
	}
	*k = known{read: true, version: x.Version, key: x.Key, state: st}
	return nil
}

// reader returns a function that reads a file by its absolute location.
func (c *Committer) reader(ctx context.Context) func(location string) ([]byte, error) {
	return func(location string) ([]byte, error) {
		key, err := c.key(location)
		if err != nil {
			return nil, err
		}
		return bucket.ReadAll(ctx, c.cfg.Bucket, key, maxFile)
	}
}

// put stores a file.
func (c *Committer) put(ctx context.Context, key string, b []byte, replace bool) error {
	return c.cfg.Bucket.Put(ctx, key, bucket.Content{
		Body: bytes.NewReader(b), Size: int64(len(b)), CRC: crc32.Checksum(b, bucket.Castagnoli), Checked: true,
		Replace: replace,
	})
}

// newUUID returns a random UUID.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newID returns a random positive number.
func newID() int64 {
	var b [8]byte
	rand.Read(b[:])
	return max(int64(binary.LittleEndian.Uint64(b[:])&math.MaxInt64), 1)
}
