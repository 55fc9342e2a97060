package iceberg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
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
)

const (
	// readers is the maximum number of tails of objects that are read at the same time.
	readers = 8
	// maxNew is the maximum number of objects that one commit adds to a table. The next commit adds more.
	maxNew = 10_000
)

// found is what the shards have of a table.
type found struct {
	objects []*cold.Object
	shared  int64 // rows in objects that tables share
}

// gather asks the shards for the objects of tables. It fails if one does not answer: its objects would be missing.
func (c *Committer) gather(ctx context.Context, tables []*schema.Table, leaders map[uint32]string) (
	map[uint64]*found, error,
) {
	out := make(map[uint64]*found, len(tables))
	byShard := map[uint32][]uint64{}
	for _, t := range tables {
		out[t.ID] = &found{}
		for _, s := range t.Shards() {
			byShard[s] = append(byShard[s], t.ID)
		}
	}
	var mu sync.Mutex // guards out
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for shard, ids := range byShard {
		g.Go(func() error {
			err := c.ask(ctx, leaders[shard], shard, ids, func(resp *shardpb.ColdObjectsResponse) error {
				mu.Lock()
				defer mu.Unlock()
				return take(out, resp)
			})
			if err != nil {
				return fmt.Errorf("objects of shard %d: %w", shard, err)
			}
			return nil
		})
	}
	return out, g.Wait()
}

// ask asks the leader of a shard for the objects of tables.
func (c *Committer) ask(ctx context.Context, node string, shard uint32, ids []uint64,
	emit func(*shardpb.ColdObjectsResponse) error,
) error {
	if node == "" {
		return errors.New("the shard has no leader")
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

// take adds an answer of a shard to what was found.
func take(out map[uint64]*found, resp *shardpb.ColdObjectsResponse) error {
	for i, b := range resp.Objects {
		o, err := manifest.DecodeObject(fmt.Sprintf("object %d of the answer", i), b)
		if err != nil {
			return err
		}
		if f := out[o.Meta.TableID]; f != nil {
			f.objects = append(f.objects, &o)
		}
	}
	for _, s := range resp.Shared {
		if f := out[s.TableId]; f != nil {
			f.shared += s.Rows
		}
	}
	return nil
}

// commitTable commits a table if it has changed. x is its last commit, or nil.
func (c *Committer) commitTable(ctx context.Context, t *schema.Table, x *metapb.IcebergTable, f *found) error {
	ctx, cancel := context.WithTimeout(ctx, tableTimeout)
	defer cancel()
	k := c.tables[t.ID]
	if k == nil || k.version != x.GetVersion() {
		k = &known{version: x.GetVersion()}
		if x != nil {
			var err error
			if k.state, err = c.load(ctx, x); err != nil {
				return err
			}
		}
		c.tables[t.ID] = k
	}
	format := iceberg.FormatOf(t)
	prev := k.state
	if prev != nil && prev.Metadata.Format != format {
		prev = nil // begun anew: fields have other ids
	}
	in := &iceberg.Input{
		Table: t, Format: format, Location: c.location(c.folder(t.ID)), Version: k.version + 1, Now: c.cfg.Now(),
		UUID: newUUID, ID: newID,
	}
	if err := c.choose(ctx, k, prev, f, in); err != nil {
		return err
	}
	if prev == nil && in.Held {
		return nil
	}
	out, err := iceberg.Next(prev, in)
	if err != nil {
		return err
	}
	if out != nil {
		if err := c.store(ctx, t, k, out); err != nil {
			return err
		}
	}
	return c.hint(ctx, t.ID, k)
}

// store stores the files of a commit, and makes them the current ones.
func (c *Committer) store(ctx context.Context, t *schema.Table, k *known, out *iceberg.Output) error {
	for name, b := range out.Files {
		if name == out.Name {
			continue // it names the others
		}
		if err := c.put(ctx, c.folder(t.ID)+"/"+name, b, false); err != nil {
			return err
		}
	}
	key := c.folder(t.ID) + "/" + out.Name
	if err := c.put(ctx, key, out.Files[out.Name], false); err != nil {
		return err
	}
	err := c.propose(ctx, &metapb.CommitIceberg{
		IfVersion: k.version, Table: &metapb.IcebergTable{TableId: t.ID, Uuid: out.State.Metadata.UUID, Key: key},
	})
	if err != nil {
		delete(c.tables, t.ID) // it may have been committed
		return err
	}
	c.metrics.commits.Inc()
	k.version, k.state = k.version+1, out.State
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
	version := strconv.FormatUint(k.version, 10)
	if err := c.put(ctx, path.Join(folder, "v"+version+".metadata.json"), b, true); err != nil {
		return err
	}
	if err := c.put(ctx, path.Join(folder, "version-hint.text"), []byte(version), true); err != nil {
		return err
	}
	k.hinted = k.version
	return nil
}

// choose decides which objects the commit shows.
func (c *Committer) choose(ctx context.Context, k *known, prev *iceberg.State, f *found, in *iceberg.Input) error {
	s, err := iceberg.NewSchema(in.Table, in.Format)
	reason := ""
	if err != nil {
		reason = err.Error()
	}
	had := map[string]*iceberg.File{}
	if prev != nil {
		had = prev.Shown()
	}
	left := f.shared
	var fresh []*cold.Object
	for _, o := range f.objects {
		nulls := func(uint32) int64 { return 0 }
		shown := had[c.location(o.Key)]
		if shown != nil {
			nulls = shown.Nulls
		}
		v := iceberg.Judge(in.Table, in.Format, o.Meta.Columns, nulls)
		switch {
		case v.Left:
			left += o.Meta.Rows
		case v.Reason != "":
			reason = v.Reason
		case shown == nil:
			fresh = append(fresh, o)
		}
		if shown != nil {
			in.Files = append(in.Files, *shown)
		}
	}
	k.left = left
	if reason == "" {
		var files []iceberg.File
		if files, reason, err = c.describe(ctx, fresh[:min(len(fresh), maxNew)], s, in); err != nil {
			return err
		}
		if reason == "" {
			in.Files = append(in.Files, files...)
		}
	}
	if k.reason != reason && reason != "" {
		c.cfg.Logger.Warn("a table is shown as Iceberg as it was before, because older objects do not fit its definition; "+
			"it follows when they have expired", "table", in.Table.Database+"."+in.Table.Name, "reason", reason)
	}
	k.reason, in.Held = reason, reason != ""
	return nil
}

// describe reads the footers of objects. reason is why the table cannot be shown with one of them.
func (c *Committer) describe(ctx context.Context, objects []*cold.Object, s *iceberg.Schema, in *iceberg.Input) (
	files []iceberg.File, reason string, err error,
) {
	files = make([]iceberg.File, len(objects))
	reasons := make([]string, len(objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	for i, o := range objects {
		g.Go(func() error {
			length := o.Meta.Bytes - o.TailOffset
			tail, err := c.cfg.Bucket.Range(ctx, o.Key, bucket.Range{
				Offset: o.TailOffset, Length: length, ObjectSize: o.Meta.Bytes,
				Parts: []bucket.Part{{Offset: o.TailOffset, Length: length, CRC: o.TailCRC}},
			})
			if err != nil {
				return err
			}
			md, err := iceberg.Footer(o, tail)
			if err != nil {
				return fmt.Errorf("object %s: %w", o.Key, err)
			}
			reasons[i] = iceberg.Judge(in.Table, in.Format, o.Meta.Columns, iceberg.Nulls(md)).Reason
			files[i] = iceberg.NewFile(o, c.location(o.Key), md, s, in.Table.TimeIndex().Type)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, "", err
	}
	for _, r := range reasons {
		if r != "" {
			return nil, r, nil
		}
	}
	return files, "", nil
}
