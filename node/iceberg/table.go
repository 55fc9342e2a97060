package iceberg

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/iceberg"
	"cordwood/shard/manifest"
	"cordwood/shard/segment"
)

const (
	// shardsAtOnce is the maximum number of shards that are asked at the same time.
	shardsAtOnce = 8
	// maxNew is the maximum number of objects that one commit adds to a table, so that it ends in time. More are added by
	// further commits of the same run.
	maxNew = 2000
)

// hintName is the name of the file with the number of the current metadata file, and maxHint its maximum size.
const (
	hintName = "version-hint.text"
	maxHint  = 1 << 10
)

var errNoLeader = errors.New("the shard has no leader")

// found is what the shards have of a table.
type found struct {
	objects []*cold.Object
	shared  int64 // rows in objects that tables share
}

// gathering collects what the shards have. Most objects of a table have the same columns, which are kept once.
type gathering struct {
	mu      sync.Mutex // guards the fields below
	tables  map[uint64]*found
	columns map[string][]segment.Column
}

// gather asks the shards for the objects of tables. It fails if one does not answer: its objects would be missing.
func (c *Committer) gather(ctx context.Context, tables []*schema.Table, leaders map[uint32]string) (
	map[uint64]*found, error,
) {
	x := &gathering{tables: make(map[uint64]*found, len(tables)), columns: map[string][]segment.Column{}}
	byShard := map[uint32][]uint64{}
	for _, t := range tables {
		x.tables[t.ID] = &found{}
		for _, s := range t.Shards() {
			byShard[s] = append(byShard[s], t.ID)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(shardsAtOnce)
	for shard, ids := range byShard {
		g.Go(func() error {
			if err := c.ask(ctx, leaders[shard], shard, ids, x.take); err != nil {
				return fmt.Errorf("objects of shard %d: %w", shard, err)
			}
			return nil
		})
	}
	return x.tables, g.Wait()
}

// ask asks the leader of a shard for the objects of tables.
func (c *Committer) ask(ctx context.Context, node string, shard uint32, ids []uint64,
	emit func(*shardpb.ColdObjectsResponse) error,
) error {
	if node == "" {
		return errNoLeader
	}
	conn, err := c.cfg.Dial(node)
	if err != nil {
		return err
	}
	stream, err := shardpb.NewShardServiceClient(conn).ColdObjects(ctx, &shardpb.ColdObjectsRequest{
		ShardId: shard, TableIds: ids,
	})
	if err != nil {
		return errs.FromGRPC(err)
	}
	for {
		resp, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errs.FromGRPC(err)
		}
		if err := emit(resp); err != nil {
			return err
		}
	}
}

// take adds an answer of a shard.
func (x *gathering) take(resp *shardpb.ColdObjectsResponse) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var key []byte
	for i, b := range resp.Objects {
		o, err := manifest.DecodeObject(fmt.Sprintf("object %d of the answer", i), b)
		if err != nil {
			return err
		}
		if o.Cut = math.MaxUint64; i < len(resp.Sets) { // a node of an earlier version does not say it
			o.Cut = resp.Sets[i]
		}
		f := x.tables[o.Meta.TableID]
		if f == nil {
			continue
		}
		key = key[:0]
		for k := range o.Meta.Columns {
			key = append(binary.LittleEndian.AppendUint32(key, o.Meta.Columns[k].ID), byte(o.Meta.Columns[k].Type))
		}
		if same, ok := x.columns[string(key)]; ok {
			o.Meta.Columns = same
		} else {
			x.columns[string(key)] = o.Meta.Columns
		}
		f.objects = append(f.objects, &o)
	}
	for _, s := range resp.Shared {
		if f := x.tables[s.TableId]; f != nil {
			f.shared += s.Rows
		}
	}
	return nil
}

// commitTable commits a table if it has changed. x is its last commit, or nil.
func (c *Committer) commitTable(ctx context.Context, t *schema.Table, x *metapb.IcebergTable, f *found) error {
	k := c.tables[t.ID]
	if err := c.load(ctx, k, x); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = c.commitOnce(ctx, t, k, f); err != nil {
			return err
		}
	}
	return c.hint(ctx, t.ID, k)
}

// commitOnce makes at most one commit. more says that there are further objects to show.
func (c *Committer) commitOnce(ctx context.Context, t *schema.Table, k *known, f *found) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	in := &iceberg.Input{
		Table: t, Format: iceberg.FormatOf(t), Location: c.location(c.folder(t.ID)), Version: k.version + 1,
		Now: c.cfg.Now(), Read: c.reader(ctx), UUID: newUUID, ID: newID,
	}
	prev := k.state
	if prev != nil && prev.Metadata.Format != in.Format {
		prev = nil // begun anew: fields have other ids
	}
	ch, err := c.choose(ctx, t, in.Format, prev, f)
	if err != nil {
		return false, err
	}
	reason := ch.reason
	if reason != "" && prev == nil && k.state != nil {
		// The table stays in the former version of the format, and follows its objects.
		prev, in.Format = k.state, k.state.Metadata.Format
		if ch, err = c.choose(ctx, t, in.Format, prev, f); err != nil {
			return false, err
		}
	}
	if k.reason != reason && reason != "" {
		c.cfg.Logger.Warn("a table is shown as Iceberg as it was before, because older objects do not fit its definition; "+
			"it follows when they have expired, or their days were joined anew", "table", t.Database+"."+t.Name,
			"reason", reason)
	}
	k.reason, k.left = reason, ch.left
	if reason != "" && iceberg.Daily(t) {
		return false, nil // the shards join the days anew; until then, the objects of the last commit stay in the bucket
	}
	in.Files, in.Held = ch.files, ch.reason != ""
	if prev == nil && in.Held {
		return false, nil
	}
	out, err := iceberg.Next(prev, in)
	if err != nil || out == nil {
		return false, err
	}
	return ch.more, c.store(ctx, t, k, out)
}

// store stores the files of a commit, and makes them the current ones.
func (c *Committer) store(ctx context.Context, t *schema.Table, k *known, out *iceberg.Output) error {
	g, files := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for name, b := range out.Files {
		if name != out.Name { // which names the others
			g.Go(func() error { return c.put(files, c.folder(t.ID)+"/"+name, b, false) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	key := c.folder(t.ID) + "/" + out.Name
	if err := c.put(ctx, key, out.Files[out.Name], false); err != nil {
		return err
	}
	err := c.propose(ctx, &metapb.CommitIceberg{
		IfVersion: k.version, Table: &metapb.IcebergTable{TableId: t.ID, Uuid: out.State.Metadata.UUID, Key: key},
	})
	if err != nil {
		k.read = false // it may have been committed
		return err
	}
	c.metrics.commits.Inc()
	k.version, k.key, k.state = k.version+1, key, out.State
	return nil
}

// hint stores the files by which readers without a catalog find the current metadata file.
func (c *Committer) hint(ctx context.Context, table uint64, k *known) error {
	if k.state == nil || k.hinted == k.version {
		return nil
	}
	key, err := c.key(k.state.Location())
	if err != nil {
		return err
	}
	b, err := bucket.ReadAll(ctx, c.cfg.Bucket, key, maxFile)
	if err != nil {
		return err
	}
	folder := c.folder(table) + "/metadata"
	if k.version == 1 {
		if err := c.removeFormer(ctx, folder); err != nil {
			return err
		}
	}
	version := strconv.FormatUint(k.version, 10)
	if err := c.put(ctx, path.Join(folder, "v"+version+".metadata.json"), b, true); err != nil {
		return err
	}
	if err := c.put(ctx, path.Join(folder, hintName), []byte(version), true); err != nil {
		return err
	}
	k.hinted = k.version
	return nil
}

// removeFormer removes numbered metadata files from a time in which the table was shown before: readers go from the
// number in version-hint.text to higher ones as long as there are files.
func (c *Committer) removeFormer(ctx context.Context, folder string) error {
	var former []string
	err := c.cfg.Bucket.List(ctx, folder+"/v", func(i bucket.Info) error {
		if strings.HasSuffix(i.Key, ".metadata.json") && i.Key != folder+"/v1.metadata.json" {
			former = append(former, i.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.remove(ctx, former)
}

// remove removes files.
func (c *Committer) remove(ctx context.Context, keys []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for _, key := range keys {
		g.Go(func() error { return c.cfg.Bucket.Delete(ctx, key) })
	}
	return g.Wait()
}
