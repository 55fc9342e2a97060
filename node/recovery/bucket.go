package recovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"cordwood/meta"
	"cordwood/meta/catalog"
	"cordwood/node"
	"cordwood/proto/words"
	"cordwood/shard"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/states"
)

// BucketConfig selects a cluster in object storage that is made anew. Bucket and DataDir are required.
type BucketConfig struct {
	Bucket bucket.Bucket
	// Cluster is the id of the lost cluster. It may be empty if the location has only one.
	Cluster string
	// DataDir is the data folder that is made for the first node of the new cluster.
	DataDir string
	// Keys are the keys that the secret of the lost cluster gives for node.StatesKey. Without them, users, roles, grants
	// and tokens are left out.
	Keys [][]byte
	// Accept makes FromBucket create the cluster. Otherwise it only prints what it would do.
	Accept bool
	// AllowMissing makes it go on although objects are missing.
	AllowMissing bool
	// OthersGone makes it go on although the cluster seems to run, or was made anew before.
	OthersGone bool
	Now        func() time.Time
}

// lost is the cluster in object storage.
type lost struct {
	cfg   BucketConfig
	place states.Place
	p     *printer
	owner *states.Owner

	metadata *catalog.Export
	// written is when the metadata were stored.
	written  time.Time
	noAccess string // why users and tokens do not come back
	shards   []lostShard
	// missing has the keys of objects that states name and the location does not have.
	missing map[string]bool
}

// FromBucket makes a cluster of one node from what a lost cluster stored in object storage.
func FromBucket(ctx context.Context, cfg BucketConfig, w io.Writer) error {
	if err := fromBucket(ctx, cfg, &printer{w: w}); err != nil {
		if errors.Is(err, ErrNotAccepted) {
			return err
		}
		return fmt.Errorf("recover from %s: %w", cfg.Bucket.Location(), err)
	}
	return nil
}

func fromBucket(ctx context.Context, cfg BucketConfig, p *printer) error {
	l := &lost{cfg: cfg, p: p, missing: map[string]bool{}}
	if err := l.find(ctx); err != nil {
		return err
	}
	if err := l.checkGone(ctx); err != nil {
		return err
	}
	if err := l.read(ctx); err != nil {
		return err
	}
	if err := l.lookForObjects(ctx); err != nil {
		return err
	}
	if err := l.readLogs(ctx); err != nil {
		return err
	}
	// The folder is made first: an error of it changes nothing in the bucket.
	data, err := l.plan()
	if err != nil || data == nil {
		return err
	}
	defer func() { _ = data.Close() }() // this only unlocks the folder
	return l.create(ctx, data)
}

// find finds the id of the lost cluster.
func (l *lost) find(ctx context.Context) error {
	l.place = states.Place{Bucket: l.cfg.Bucket, Cluster: l.cfg.Cluster}
	if l.cfg.Cluster != "" {
		return nil
	}
	found := map[string]bool{}
	err := l.cfg.Bucket.List(ctx, "", func(i bucket.Info) error {
		if cluster, rest, ok := strings.Cut(i.Key, "/"); ok && strings.HasPrefix(rest, "state/meta/") {
			found[cluster] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	ids := slices.Sorted(maps.Keys(found))
	switch len(ids) {
	case 0:
		return errors.New("there is no state of the metadata of a cluster: give the location of --object-storage-url of " +
			"the lost cluster")
	case 1:
		l.place.Cluster = ids[0]
		return nil
	}
	return fmt.Errorf("it has the states of %d clusters, say which one with --cluster: %s", len(ids),
		strings.Join(ids, ", "))
}

// checkGone returns an error if the cluster seems to run, or was made anew before.
func (l *lost) checkGone(ctx context.Context) error {
	alive, err := l.place.Alive(ctx)
	if err != nil {
		return err
	}
	if l.owner, err = l.place.Owner(ctx); err != nil {
		return err
	}
	l.p.line("cluster %s in %s", l.place.Cluster, l.cfg.Bucket.Location())
	if l.cfg.OthersGone {
		return l.p.err
	}
	if o := l.owner; o != nil {
		return fmt.Errorf("cluster %s was made from this one on %s, and uses and deletes its objects: if that one is lost "+
			"too, recover it with --cluster %s, or give --others-are-gone to begin again with this one", o.Cluster,
			stamp(o.Since), o.Cluster)
	}
	if until := alive.Until(); !alive.Written.IsZero() && l.cfg.Now().Before(until) {
		return fmt.Errorf("the cluster wrote at %s that it runs: stop all its nodes, and try again after %s, or give "+
			"--others-are-gone if they are lost", stamp(alive.Written), stamp(until))
	}
	return nil
}

// read reads the newest intact state of each group.
func (l *lost) read(ctx context.Context) error {
	groups, err := l.place.List(ctx)
	if err != nil {
		return err
	}
	h, body, err := l.newest(ctx, "the metadata", groups[0])
	if err != nil {
		return err
	}
	m, err := states.DecodeMetadata(body)
	if err != nil {
		return err
	}
	l.written, l.metadata = h.Written, &catalog.Export{Plain: m.Plain, Index: h.Index, Term: h.Term}
	switch {
	case len(m.Access) == 0:
		l.noAccess = "the cluster had no secret to encrypt them"
	case len(l.cfg.Keys) == 0:
		l.noAccess = "they are encrypted by the secret of the lost cluster: give --cluster-secret-file to get them"
	default:
		name := node.AccessName(l.place.Cluster, h.Index)
		if l.metadata.Access, err = states.Unseal(l.cfg.Keys, name, m.Access); err != nil {
			return fmt.Errorf("decrypt the users, roles and tokens with the secret of --cluster-secret-file: %w. Give the "+
				"secret of the lost cluster, or none, to go on without them", err)
		}
	}
	l.p.line("  metadata up to %s", stamp(l.written))
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		if id == 0 {
			continue
		}
		if err := l.readShard(ctx, id, groups[id]); err != nil {
			return err
		}
	}
	return l.p.err
}

// newest reads the newest intact state of a group. It prints which ones are damaged.
func (l *lost) newest(ctx context.Context, group string, list []states.Stored) (states.Header, []byte, error) {
	if len(list) == 0 {
		return states.Header{}, nil, fmt.Errorf("there is no state of %s of cluster %s: check the location and --cluster",
			group, l.place.Cluster)
	}
	var faults []error
	for i := range list {
		h, body, err := l.place.Read(ctx, &list[i])
		if err == nil {
			return h, body, nil
		}
		if ctx.Err() != nil {
			return h, nil, err
		}
		l.p.line("WARNING: a state of %s cannot be read, an older one is tried: %v", group, err)
		faults = append(faults, err)
	}
	return states.Header{}, nil, fmt.Errorf("%s: none of %s can be read: %w", group, words.Count(len(list), "state"),
		errors.Join(faults...))
}

// plan prints what comes back. If that is accepted, it makes the data folder.
func (l *lost) plan() (*node.Offline, error) {
	l.print()
	if n := len(l.missing); n > 0 && !l.cfg.AllowMissing {
		return nil, errors.Join(l.p.err, fmt.Errorf("%s missing in the bucket: give --allow-missing to go on without "+
			"their rows", words.Count(n, "object")))
	}
	if l.p.err != nil {
		return nil, l.p.err
	}
	if !l.cfg.Accept {
		return nil, ErrNotAccepted
	}
	return node.CreateOffline(l.cfg.DataDir, ulid.Make().String())
}

// create makes the files of the first node. The bucket is changed before the folder becomes usable.
func (l *lost) create(ctx context.Context, data *node.Offline) error {
	a := &meta.Anew{
		Dir: metaDir(data), NodeID: data.NodeID, ClusterID: data.ClusterID, State: l.metadata, Now: l.cfg.Now(),
	}
	for i := range l.shards {
		s := &l.shards[i]
		a.Shards = append(a.Shards, meta.AnewShard{
			ID: s.id, Incarnation: s.incarnation, Tables: s.tables, Dropped: s.dropped,
		})
	}
	made, err := a.Create()
	if err != nil {
		return err
	}
	for i := range l.shards {
		s := &l.shards[i]
		incarnation, ok := made.Incarnations[s.id]
		if !ok {
			continue // it had been removed
		}
		err := shard.Create(shard.Creation{
			Dir: shardDir(data, s.id), ID: s.id, Incarnation: incarnation, NodeID: data.NodeID, State: s.state,
			Log: func(f func([]byte) error) error { return s.log.Replay(ctx, l.place, s.state, f) },
		})
		if err != nil {
			return err
		}
	}
	err = l.place.TakeOver(ctx, data.ClusterID, l.owner, l.cfg.Now())
	if errors.Is(err, bucket.ErrExists) {
		return fmt.Errorf("another 'cordwood recover' has made a cluster from this one meanwhile; remove %s: %w",
			filepath.Clean(data.Path), err)
	}
	if err != nil {
		return err
	}
	if err := data.Finish(slices.Collect(maps.Keys(made.Incarnations))); err != nil {
		return err
	}
	for _, note := range made.Notes {
		l.p.line("NOTE: %s", note)
	}
	if n := len(made.Empty); n > 0 {
		l.p.line("NOTE: no state of %s was stored: made without rows", words.Count(n, "shard"))
	}
	l.p.line("done: %s is the data folder of node %s, the first of cluster %s.", data.Path, data.NodeID, data.ClusterID)
	l.p.line("Next:")
	l.p.line("  1. Start the node with the same --object-storage-url, and the settings and secrets of the lost nodes.")
	l.p.line("  2. Start other nodes with empty folders, and this one in --seeds: the cluster creates replicas on them.")
	l.p.line("Do not start nodes of cluster %s again. If one runs, it stores no states and deletes no objects.",
		l.place.Cluster)
	return l.p.err
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
